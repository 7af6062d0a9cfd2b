"""Policies over the dataset of the binding cases: everything permitted, nothing permitted, all but one use."""

from collections.abc import Iterable, Mapping
from dataclasses import replace
from datetime import UTC, datetime
from fractions import Fraction

from binding.clinic import CLINIC
from fix_policy import BASE, read

from gateway.catalog.tables import ColumnRef, Table
from gateway.datasets.view import Question
from gateway.plan.uses import Use
from gateway.policy.conditions.condition import compile_condition
from gateway.policy.levels import (
    Level,
    PeriodLevel,
    PrefixLevel,
    ReadLevel,
    ReadLevels,
    StepLevel,
    TableLevel,
)
from gateway.policy.policy import Effect, Operation, Policy, Rule
from gateway.policy.row_rules import parse_row_rule
from gateway.policy.subjects import Subject
from gateway.requests.request import Request


def table_of(name: str) -> Table:
    """A table of the cases."""
    found = CLINIC.table(name)
    assert found is not None
    return found


_LEVELS: Mapping[ColumnRef, Level] = {
    ColumnRef("patients", "region"): PrefixLevel(1),
    ColumnRef("patients", "birth_year"): StepLevel(Fraction(10)),
    ColumnRef("patients", "income"): StepLevel(Fraction(5000)),
    ColumnRef("visits", "visit_date"): PeriodLevel("month"),
    ColumnRef("visits", "admitted"): PeriodLevel("year"),
    ColumnRef("visits", "diagnosis"): TableLevel(table_of("codes"), "code", "chapter"),
}
# every column that can have levels, read by one in all its uses
EVERY_LEVEL: ReadLevels = {column: ReadLevel(level, level) for column, level in _LEVELS.items()}
ALICE = Subject("alice", {"role": "researcher", "region": "north", "purposes": ("care-quality",)})
NOON = datetime(2026, 3, 2, 12, tzinfo=UTC)
_BASE = read(BASE).accepted
_EVERYBODY = compile_condition('subject.name != ""')


def policy_of(*rules: Rule) -> Policy:
    """The dataset of the cases under these rules."""
    return replace(_BASE, dataset=CLINIC, rules=rules)


def permit(
    *,
    name: str = "everything",
    without: Iterable[Use] = (),
    tables: frozenset[str] | None = None,
    rows: Mapping[str, str] | None = None,
) -> Rule:
    """A rule that permits everybody every use but some."""
    there = frozenset(one.name for one in CLINIC.tables) if tables is None else tables
    left_out = {(use.column, use.operation.value) for use in without}
    use = {
        operation: frozenset(
            reference
            for table in CLINIC.tables
            for column in table.columns
            if table.name in there
            and ((reference := ColumnRef(table.name, column.name)), operation.value) not in left_out
        )
        for operation in Operation
    }
    rules = {}
    for table_name, text in (rows or {}).items():
        table = CLINIC.table(table_name)
        assert table is not None
        rules[table_name] = parse_row_rule(text, table)
    budget = _BASE.privacy.budget
    return Rule(name, Effect.PERMIT, _EVERYBODY, there, use, rules, budget)


EVERYTHING = policy_of(permit())
NOTHING = policy_of()


def without_column(policy: Policy, table: str, column: str) -> Policy:
    """The policy over a dataset that never had the column."""
    tables = tuple(
        replace(one, columns=tuple(each for each in one.columns if each.name != column))
        if one.name == table
        else one
        for one in policy.dataset.tables
    )
    return replace(policy, dataset=replace(policy.dataset, tables=tables))


def question(sql: str, subject: Subject = ALICE) -> Question:
    return Question(Request(sql), subject, "rest", NOON)
