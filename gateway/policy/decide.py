"""Decisions: what a subject may ask of a dataset, and the row filters that hold for it.

May this subject query these tables and columns in these ways for this purpose? Default deny; forbid overrides
permit. A use is permitted if some applicable permitting rule grants it and no applicable forbidding rule names it.
Rules are a set: their order does not matter.

INVARIANT: adding a forbidding rule never permits what was refused; without rules nothing is permitted.
INVARIANT: a refusal depends on the query, the subject and the policy, and names nothing that the subject may not
see: hidden and non-existent names read alike.
INVARIANT: a row filter stands directly above every scan of the table, wherever in the plan that is, so nothing of
a forbidden row gets anywhere. Values are compared as data; none is ever SQL text.
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Protocol

from gateway.catalog.tables import (
    Column,
    ColumnRef,
    Dataset,
    Membership,
    membership_column,
    visible_part,
)
from gateway.errors import Code, NotPermitted
from gateway.plan.aggregates import Aggregate
from gateway.plan.fields import BOOLEAN
from gateway.plan.node import BrokenPlan, Node
from gateway.plan.relations import Filter, Scan
from gateway.plan.rewrite import rewrite_plan
from gateway.plan.scalars import Call, Literal, Ref, Scalar
from gateway.policy.applicable import ApplicableRules, RequestContext, applicable_rules
from gateway.policy.combinations import require_together
from gateway.policy.levels import ColumnLevel, ReadLevel, ReadLevels
from gateway.policy.policy import Budget, Operation, Policy, Rule, smallest_budget
from gateway.policy.row_rules import BoundMembership, BoundRows, BoundTest
from gateway.policy.subjects import Subject


@dataclass(frozen=True, order=True)
class TableUse:
    """A use of a table's rows: counting rows or units, and joining on the unit, need no more."""

    table: str


@dataclass(frozen=True, order=True)
class ColumnUse:
    """A use of a column in one way; a statement may use it in several."""

    column: ColumnRef
    operation: Operation

    @property
    def table(self) -> str:
        return self.column.table


Use = TableUse | ColumnUse


class FoundUse(Protocol):
    """A use as the binder reports it, with the operation's word."""

    @property
    def column(self) -> ColumnRef: ...
    @property
    def operation(self) -> str: ...


# Every clause must hold, and a clause holds where any of its row rules does.
Rows = tuple[frozenset[BoundRows], ...]

_VERBS: Mapping[Operation, str] = {
    Operation.AGGREGATE: "aggregated",
    Operation.GROUP_BY: "grouped by",
    Operation.FILTER: "filtered on",
    Operation.JOIN: "joined on",
}


@dataclass(frozen=True)
class Decision:
    """A permission: its budget, the rows that may be read, and the ids of the rules behind it.

    `levels` are the columns that the statement may read no finer than by a level.
    """

    purpose: str | None
    budget: Budget
    rows: Mapping[str, Rows]
    because: tuple[str, ...]
    levels: ReadLevels = field(default_factory=dict)


def decide(
    rules: ApplicableRules, tables: Iterable[str] = (), uses: Iterable[FoundUse] = ()
) -> Decision:
    """The decision of the rules that apply on a statement that uses tables and columns so, or the refusal."""
    require_permits(rules)
    granting: dict[Use, tuple[Rule, ...]] = {}
    columns = {ColumnUse(use.column, Operation(use.operation)) for use in uses}
    read = {TableUse(table) for table in tables} | {TableUse(use.table) for use in columns}
    for use in sorted(read | columns, key=_order):
        if not _allowed(rules, use):
            raise _refusal(rules, use)
        granting[use] = tuple(rule for rule in rules.permits if _grants(rule, use))
    # a public table is granted by any rule at all, and no rule is its reason
    reasons = {rule for by in granting.values() for rule in by} or set(rules.permits)
    restrictions = [rule.together for rule in reasons if rule.together is not None]
    require_together(restrictions, (one.column for one in columns))
    budgets = [rule.budget for rule in reasons if rule.budget is not None]
    because = tuple(sorted(rule.id for rule in reasons))
    finest = {use: _finest(by, use) for use, by in granting.items()}
    rows = _rows(rules, finest)
    levels = _read_levels(finest)
    return Decision(rules.purpose, smallest_budget(budgets), rows, because, levels)


def _finest(rules: tuple[Rule, ...], use: Use) -> tuple[Rule, ...]:
    """The rules that grant the use by its finest level: only their rows may be read so finely."""
    if isinstance(use, TableUse) or not rules:
        return rules
    places = {rule: _place(_level(rule, use)) for rule in rules}
    least = min(places.values())
    return tuple(rule for rule in rules if places[rule] == least)


def _level(rule: Rule, use: ColumnUse) -> ColumnLevel | None:
    """The level by which a rule grants a use; None: as the column is."""
    return rule.levels.get(use.operation, {}).get(use.column)


def _place(level: ColumnLevel | None) -> int:
    return -1 if level is None else level.place


def _read_levels(granting: Mapping[Use, tuple[Rule, ...]]) -> ReadLevels:
    """How each column is read: everywhere by the coarsest of the levels of its uses, in aggregates by theirs."""
    found: dict[ColumnRef, list[ColumnLevel]] = {}
    measured: dict[ColumnRef, ColumnLevel | None] = {}
    for use, by in granting.items():
        if isinstance(use, ColumnUse) and by:
            level = _level(by[0], use)
            if use.operation is Operation.AGGREGATE:
                measured[use.column] = level
            if level is not None:
                found.setdefault(use.column, []).append(level)
    levels: dict[ColumnRef, ReadLevel] = {}
    for column, there in found.items():
        coarsest = max(there, key=_place)
        # what is not aggregated has no finer level in aggregates
        finest = measured.get(column, coarsest)
        levels[column] = ReadLevel(coarsest.level, None if finest is None else finest.level)
    return levels


def require_permits(rules: ApplicableRules) -> None:
    """Refuse a subject without any permitting rule, before anything else of the dataset is mentioned."""
    if not rules.permits:
        raise NotPermitted(Code.DATASET_NOT_PERMITTED, f"`{rules.dataset.name}`")


def usable_columns(
    policy: Policy, subject: Subject, circumstances: RequestContext
) -> Mapping[ColumnRef, frozenset[Operation]]:
    """Every column the subject may use now, and its permitted operations."""
    return usable_columns_by(applicable_rules(policy, subject, circumstances))


def usable_tables(
    policy: Policy, subject: Subject, circumstances: RequestContext
) -> frozenset[str]:
    """Every table whose rows may take part in an answer to the subject now."""
    rules = applicable_rules(policy, subject, circumstances)
    return frozenset(
        table.name for table in policy.dataset.tables if _allowed(rules, TableUse(table.name))
    )


def usable_columns_by(rules: ApplicableRules) -> Mapping[ColumnRef, frozenset[Operation]]:
    """Every column that the rules permit, and its permitted operations."""
    found: dict[ColumnRef, frozenset[Operation]] = {}
    for table in rules.dataset.tables:
        for column in table.columns:
            if column.is_array:
                continue
            reference = ColumnRef(table.name, column.name)
            ways = frozenset(
                operation
                for operation in Operation
                if _allowed(rules, ColumnUse(reference, operation))
            )
            if ways:
                found[reference] = ways
    return found


def usable_levels_by(rules: ApplicableRules) -> Mapping[ColumnRef, Mapping[Operation, str]]:
    """The finest levels of the columns that the rules permit by levels alone, for each operation."""
    found: dict[ColumnRef, dict[Operation, str]] = {}
    for column, operations in usable_columns_by(rules).items():
        for operation in operations:
            use = ColumnUse(column, operation)
            given = [_level(rule, use) for rule in rules.permits if _grants(rule, use)]
            named = [one for one in given if one is not None]
            if given and len(named) == len(given):
                found.setdefault(column, {})[operation] = min(named, key=_place).level.name
    return found


def visible_by(rules: ApplicableRules) -> Dataset:
    """The part of the dataset that the rules show."""
    tables: dict[str, set[str]] = {
        table.name: set() for table in rules.dataset.tables if _allowed(rules, TableUse(table.name))
    }
    for reference in (*usable_columns_by(rules), *_shown_by(rules)):
        if reference.table in tables:
            tables[reference.table].add(reference.column)
            column = rules.dataset.find(reference)
            if column is not None and column.json is not None:
                # the path of a column means the column
                tables[reference.table].add(column.json.document)
    return visible_part(rules.dataset, tables)


def _shown_by(rules: ApplicableRules) -> Iterator[ColumnRef]:
    """The columns that no query reads, and that the rules grant all the same: they are seen to exist."""
    for table in rules.dataset.tables:
        for column in table.unused:
            reference = ColumnRef(table.name, column.name)
            if any(_allowed(rules, ColumnUse(reference, one)) for one in Operation):
                yield reference


def _allowed(rules: ApplicableRules, use: Use) -> bool:
    granted = any(_grants(rule, use) for rule in rules.permits)
    granted = granted or (_is_public(rules.dataset, use) and bool(rules.permits))
    return granted and not any(_forbids(rule, use) for rule in rules.forbids)


def _is_public(dataset: Dataset, use: Use) -> bool:
    """True for a public table, which everybody may read who is granted any table of the dataset."""
    table = dataset.table(use.table)
    return table is not None and table.public


def _grants(rule: Rule, use: Use) -> bool:
    if use.table not in rule.tables:
        return False
    return isinstance(use, TableUse) or use.column in (rule.use or {}).get(use.operation, ())


def _forbids(rule: Rule, use: Use) -> bool:
    """A rule without `use` forbids its tables; one with `use` forbids these uses alone."""
    if use.table not in rule.tables:
        return False
    if rule.use is None:
        return True
    return isinstance(use, ColumnUse) and use.column in rule.use.get(use.operation, ())


def _rows(rules: ApplicableRules, granting: Mapping[Use, tuple[Rule, ...]]) -> Mapping[str, Rows]:
    """The readable rows: for every use, some rule that grants it must include the row."""
    clauses: dict[str, set[frozenset[BoundRows]]] = {}
    for use, by in granting.items():
        if not by or any(use.table not in rules.rows[rule.id] for rule in by):
            continue  # the table is public, or a rule grants this use on all rows
        alternatives = frozenset(rules.rows[rule.id][use.table] for rule in by)
        clauses.setdefault(use.table, set()).add(alternatives)
    return {table: tuple(sorted(found, key=repr)) for table, found in sorted(clauses.items())}


def _refusal(rules: ApplicableRules, use: Use) -> NotPermitted:
    """The refusal, with the binder's codes for non-existent names."""
    seen = visible_by(rules)
    table = seen.table(use.table)
    if table is None or isinstance(use, TableUse):
        return NotPermitted(Code.RELATION_UNKNOWN, f"`{use.table}`")
    if table.column(use.column.column) is None:
        return NotPermitted(Code.COLUMN_UNKNOWN, f"`{use.column}`")
    ways = usable_columns_by(rules).get(use.column, frozenset())
    can = " or ".join(_VERBS[operation] for operation in Operation if operation in ways)
    hint = f"it may be {can}" if can else "the column may only be used to count and join units"
    detail = f"column `{use.column}` may not be {_VERBS[use.operation]}"
    return NotPermitted(Code.OPERATION_NOT_PERMITTED, detail, hint)


def _order(use: Use) -> tuple[str, str, str]:
    """Tables first, then columns: the refusal does not depend on the order in which uses were found."""
    if isinstance(use, TableUse):
        return "", use.table, ""
    return use.column.table, use.column.column, use.operation


def filter_rows(plan: Aggregate, dataset: Dataset, rows: Mapping[str, Rows]) -> Aggregate:
    """The plan restricted to the rows that the decision permits; `dataset` is the whole one."""

    def permitted(node: Node) -> Node:
        if not isinstance(node, Scan) or node.table.name not in rows:
            return node
        # a rule may name a column that the subject does not see
        whole = dataset.table(node.table.name)
        columns = node.table.columns if whole is None else whole.columns
        read = _memberships(rows[node.table.name], columns)
        plain = tuple(one for one in columns if not one.is_array)
        scan = Scan(replace(whole or node.table, columns=(*plain, *read)), node.alias, node.unit)
        return Filter(scan, _joined("and", [_clause(one, scan) for one in rows[node.table.name]]))

    made = rewrite_plan(plan, permitted)
    if not isinstance(made, Aggregate):
        raise BrokenPlan("a release that is none any more")
    return made


def _memberships(rows: Rows, columns: Iterable[Column]) -> tuple[Column, ...]:
    """The tests of array columns, each once."""
    arrays = {one.name: one for one in columns if one.is_array}
    tests = {test for clause in rows for one in clause for test in one.tests}
    return tuple(
        membership_column(arrays[test.array], test.value)
        for test in sorted(tests, key=repr)
        if isinstance(test, BoundMembership)
    )


def _clause(alternatives: frozenset[BoundRows], scan: Scan) -> Scalar:
    either = [
        _joined("and", [_test(test, scan) for test in one.tests])
        for one in sorted(alternatives, key=repr)
    ]
    return _joined("or", either)


def _test(test: BoundTest | BoundMembership, scan: Scan) -> Scalar:
    for column, one in zip(scan.table.columns, scan.fields, strict=True):
        if isinstance(test, BoundMembership):
            if column.membership == Membership(test.array, test.value):
                return Ref(one)
        elif column.name == test.column:
            among = tuple(Literal(value, one.type) for value in test.values)
            return Call("in", (Ref(one), *among), BOOLEAN, one.nullable)
    raise BrokenPlan("a row rule over a column that is not scanned")


def _joined(word: str, conditions: list[Scalar]) -> Scalar:
    if len(conditions) == 1:
        return conditions[0]
    return Call(word, tuple(conditions), BOOLEAN, any(one.nullable for one in conditions))
