"""Plans in which columns are read by levels: nothing above a scan reads a finer value, wherever it stands."""

import re
from dataclasses import replace
from fractions import Fraction

from binding.cases import Case, accepted, bind_case
from binding.clinic import CLINIC
from fix_permissions import ALICE, EVERY_LEVEL, EVERYTHING, permit, policy_of, question, table_of
from fix_policy import BASE, read
from laws import for_each

from gateway.binding.bound import Cut
from gateway.catalog.domains import Interval
from gateway.catalog.tables import ColumnRef
from gateway.datasets.view import Views
from gateway.plan.aggregates import Aggregate
from gateway.plan.node import Node, walk_nodes
from gateway.plan.print import explain_plan
from gateway.plan.relations import Scan
from gateway.plan.scalars import Ref
from gateway.plan.sql_text import scalar_sql
from gateway.policy.applicable import RequestContext, applicable_rules
from gateway.policy.decide import ColumnUse, decide, filter_rows
from gateway.policy.generalization import generalize, level_value
from gateway.policy.levels import (
    ColumnLevel,
    PeriodLevel,
    StepLevel,
)
from gateway.policy.policy import Operation, Policy, Rule
from gateway.policy.row_rules import BoundRows, BoundTest, parse_row_rule
from gateway.ranges.enumerate import list_values
from gateway.twin import Twin

YEAR = ColumnRef("patients", "birth_year")
PATIENTS = table_of("patients")
ROWS = {"patients": (frozenset({BoundRows((BoundTest("birth_year", (1950,)),))}),)}
# what levels make of a column `@`, as plans are printed
_FORMS = (
    r"left\(@, 1\)",
    r"\(\(@ / 10\) \* 10\)",
    r"case (?:when \(@ (?:<|>=) \S+(?: as numeric\))?\) then \S+(?: as numeric\))? )+else cast\(null as numeric\) end",
    r"cast\(date_trunc\('month', cast\(@ as timestamp without time zone\)\) as date\)",
    r"date_trunc\('year', @\)",
    r"left join on \(@ = [^)]* chapter\"?\.code\)",
)


def plans_of(case: Case) -> list[Aggregate]:
    """The plans of the case's releases; they are not bound while tests are collected."""
    bound = bind_case(case)
    return [release.plan for release in bound.releases] if isinstance(bound, Cut) else []


def stored_ids(plan: Node) -> list[str]:
    """The stored columns that have levels."""
    return [
        one.id
        for node in walk_nodes(plan)
        if isinstance(node, Scan)
        for column, one in zip(node.table.columns, node.fields, strict=True)
        if ColumnRef(node.table.name, column.name) in EVERY_LEVEL
    ]


def plain_reads(plan: Node) -> list[str]:
    """The stored columns that an expression of the plan reads by no level."""
    lines = (line for line in explain_plan(plan).splitlines() if " scan codes as " not in line)
    text = "\n".join(lines)
    found = []
    for name in stored_ids(plan):
        left = text
        for form in _FORMS:
            left = re.sub(form.replace("@", re.escape(name)), "…", left)
        if re.search(rf"(?<![\w\".]){re.escape(name)}(?![\w\"])", left):
            found.append(name)
    return found


@for_each("case", accepted())
def test_plan_reads_levelled_columns_by_their_levels_alone(case: Case) -> None:
    """In every accepted statement: keys, conditions, aggregates, windows, unions, joins, EXISTS; types stay."""
    for plan in plans_of(case):
        made = generalize(plan, EVERY_LEVEL)
        assert plain_reads(made) == []
        assert [(one.id, one.type) for one in made.fields] == [
            (one.id, one.type) for one in plan.fields
        ]
        assert generalize(plan, {}) is plan


def test_law_finds_plans_that_were_not_generalized() -> None:
    """The negative control: many of these plans read columns as they are, before."""
    plans = [plan for case in accepted() for plan in plans_of(case)]
    assert sum(bool(plain_reads(plan)) for plan in plans) > 100


@for_each("case", accepted())
def test_row_rule_reads_stored_values_directly_above_the_scan(case: Case) -> None:
    """The rule of the policy is not generalised, and nothing of another row gets anywhere."""
    for plan in plans_of(case):
        made = filter_rows(generalize(plan, EVERY_LEVEL), CLINIC, ROWS)
        lines = explain_plan(made).splitlines()
        scans = [place for place, line in enumerate(lines) if "scan patients as" in line]
        rules = [lines[place - 1] for place in scans]
        assert all(re.search(r"filter \(.*\.birth_year in \(1950\)\)", line) for line in rules)


def with_levels(name: str = "levels", place: int = 1, *operations: Operation) -> Rule:
    """A rule that permits everything, but years in keys and conditions by steps of 5 or 10."""
    level = ColumnLevel(place, StepLevel(Fraction((5, 10)[place])))
    given = operations or (Operation.GROUP_BY, Operation.FILTER)
    return replace(permit(name=name), levels={one: {YEAR: level} for one in given})


def bound_plan(sql: str, policy: Policy, twin: Twin) -> str:
    found = Views(policy).bind(question(sql), twin.borrowed)
    assert isinstance(found.bound, Cut)
    return "\n".join(explain_plan(one.plan) for one in found.bound.releases)


def test_plan_is_that_of_the_statement_with_the_level_written_out(twin: Twin) -> None:
    """So the auditor and the release cache see what they see of somebody who writes the level himself."""
    for sql in (
        "SELECT birth_year, COUNT(*) FROM patients GROUP BY 1",
        "SELECT COUNT(*) FROM patients WHERE birth_year > 1950",
        "SELECT COUNT(*) FILTER (WHERE birth_year > 1950) FROM patients",
    ):
        written = sql.replace("birth_year", "birth_year / 10 * 10")
        coarse = bound_plan(sql, policy_of(with_levels()), twin)
        assert coarse == bound_plan(written, EVERYTHING, twin)
        assert coarse != bound_plan(sql, EVERYTHING, twin)


def test_aggregate_reads_the_column_as_it_is_only_where_it_is_no_condition(twin: Twin) -> None:
    """A sum does; a choice, a comparison, a filter of it, and a sum that is rounded do not."""
    policy = policy_of(with_levels())
    group = "FROM patients GROUP BY birth_year"
    assert "avg(patients.birth_year)" in bound_plan(f"SELECT AVG(birth_year) {group}", policy, twin)
    for conditional in (
        "SUM(CASE WHEN birth_year > 1955 THEN 1 ELSE 0 END)",
        "SUM(CASE WHEN smoker THEN NULLIF(birth_year, 1955) END)",
        "SUM(ABS(birth_year - 1955))",
        "SUM(birth_year * 0.0000001 + 1000000000)",
        "COUNT(*) FILTER (WHERE birth_year > 1955)",
    ):
        said = bound_plan(f"SELECT {conditional} {group}", policy, twin)
        left = said.replace("((patients.birth_year / 10) * 10)", "…")
        assert "birth_year" not in left, said


def test_finest_level_of_several_rules_holds_with_the_rows_of_its_rules() -> None:
    """Several permits are a union: the finest level, and where it is granted; a use without a level is finer than all."""
    north, south = (
        {"patients": parse_row_rule(f"region = '{one}'", PATIENTS)} for one in ("north", "south")
    )
    fine, coarse = (
        replace(with_levels(name, place), rows=rows)
        for name, place, rows in (("fine", 0, north), ("coarse", 1, south))
    )
    uses = [ColumnUse(YEAR, Operation.GROUP_BY)]

    def decided(*rules: Rule) -> tuple[set[str], list[str]]:
        here = applicable_rules(policy_of(*rules), ALICE, RequestContext("rest", None, 12, 3))
        made = decide(here, ["patients"], uses)
        values = {
            test.values[0]
            for clause in made.rows["patients"]
            if len(clause) == 1
            for one in clause
            for test in one.tests
            if isinstance(test, BoundTest)
        }
        return {str(one) for one in values}, [one.level.name for one in made.levels.values()]

    assert decided(coarse) == ({"south"}, ["10"])
    assert decided(coarse, fine) == ({"north"}, ["5"])
    assert decided(coarse, fine, replace(permit(name="all"), rows=south)) == ({"south"}, [])


def test_coarsest_level_of_the_uses_holds_for_the_whole_statement() -> None:
    """Keys by 5 and conditions by 10: all is by 10; what is aggregated alone has its own level."""
    rule = replace(
        permit(),
        levels={
            Operation.GROUP_BY: {YEAR: ColumnLevel(0, StepLevel(Fraction(5)))},
            Operation.FILTER: {YEAR: ColumnLevel(1, StepLevel(Fraction(10)))},
        },
    )
    here = applicable_rules(policy_of(rule), ALICE, RequestContext("rest", None, 12, 3))

    def levels(*operations: Operation) -> list[tuple[str, str | None]]:
        uses = [ColumnUse(YEAR, one) for one in operations]
        found = decide(here, ["patients"], uses).levels.values()
        return [
            (one.level.name, None if one.measures is None else one.measures.name) for one in found
        ]

    assert levels(Operation.GROUP_BY) == [("5", "5")]
    assert levels(Operation.GROUP_BY, Operation.FILTER) == [("10", "10")]
    assert levels(Operation.GROUP_BY, Operation.FILTER, Operation.AGGREGATE) == [("10", None)]
    assert levels(Operation.AGGREGATE) == []


def test_negative_numbers_and_columns_without_a_domain_are_rounded_down() -> None:
    """Whole numbers are divided towards zero, so that form is for columns that are never negative."""
    scan = Scan(PATIENTS, "p", "patient")
    below = replace(scan.fields[2], domain=Interval(-5, 5, Fraction(1)))
    wide = replace(below, domain=Interval(-50_000, 50_000, Fraction(1)))
    forms = ((scan.fields[2], "/ 10"), (below, "< 0"), (wide, "floor"), (scan.fields[0], "floor"))
    for column, form in forms:
        assert form in scalar_sql(level_value(StepLevel(Fraction(10)), column))
    assert level_value(StepLevel(Fraction(1)), scan.fields[2]) == Ref(scan.fields[2])
    assert list_values(level_value(StepLevel(Fraction(10)), below), {}) == frozenset({-10, 0, None})
    exact = replace(scan.fields[3], domain=Interval(Fraction(-7), Fraction(12), Fraction(1)))
    assert list_values(level_value(StepLevel(Fraction(5)), exact), {}) == frozenset(
        {-10, -5, 0, 5, 10, None}
    )


_YEARS = "birth_year: {type: integer, levels: years, "
_DEFINED = "levels: {years: {steps: [1, 5, 10]}}\naccess:\n"
_USE = "group_by: [{patients.birth_year: 10}, class:quasi]"


def edited(*changes: tuple[str, str]) -> str:
    """The base policy with levels, and these changes."""
    first = (("birth_year: {type: integer, ", _YEARS), ("access:\n", _DEFINED))
    text = BASE
    for old, new in (*first, ("group_by: [patients.region]", _USE), *changes):
        assert old in text, old
        text = text.replace(old, new, 1)
    return text


def test_levels_are_read_from_the_file() -> None:
    """An entry with a level restricts the column, also beside a class that names it."""
    rule = read(edited()).accepted.rules[0]
    assert rule.levels == {Operation.GROUP_BY: {YEAR: ColumnLevel(2, StepLevel(Fraction(10)))}}
    assert rule.use is not None
    assert YEAR in rule.use[Operation.GROUP_BY]
    dates = edited(
        ("visit_date: {", "visit_date: {levels: times, "),
        ("levels: {years", "levels: {times: {steps: [month, year]}, years"),
        ("{patients.birth_year: 10}", "{visits.visit_date: year}"),
    )
    [level] = read(dates).accepted.rules[0].levels[Operation.GROUP_BY].values()
    assert level == ColumnLevel(1, PeriodLevel("year"))


@for_each(
    ("old", "new", "says"),
    [
        ("patients.birth_year: 10}", "patients.birth_year: 20}", "has no level `20`"),
        ("{patients.birth_year: 10}", "{patients.income: 10}", "is no column with `levels`"),
        ("{patients.birth_year: 10}", "{patients.birth_year: 10, visits.cost: 1}", "one column"),
        ("class:quasi]\n    rows", "patients.birth_year]\n    rows", "is given twice"),
        ("levels: years, ", "levels: year, ", "the file has no `levels` `year`"),
        ("[1, 5, 10]", "[1, 5, 12]", "a multiple of the one before"),
        ("[1, 5, 10]", "[10, 5, 1]", "a multiple of the one before"),
        ("[1, 5, 10]", "[0.5, 10]", "is no step of `integer`"),
        ("[1, 5, 10]", "[month]", "is not a finite decimal number"),
        ("steps: [1, 5, 10]", "prefixes: [3, 1]", "has no prefixes"),
        ("steps: [1, 5, 10]", "steps: [10], prefixes: [3]", "levels have one form"),
        ("steps: [1, 5, 10]", "table: regions", "levels have one form"),
        ("steps: [1, 5, 10]", "table: patients, columns: [region]", "is no public table"),
        ("steps: [1, 5, 10]", "table: regions, columns: [code]", "must declare its columns"),
        ("      patient_id: {", "      patient_id: {levels: years, ", "a key, an array"),
    ],
)
def test_levels_that_mean_nothing_are_refused(old: str, new: str, says: str) -> None:
    """Unknown levels and columns, wrong orders, types without such levels, two forms at once."""
    found = read(edited((old, new)))
    assert found.policy is None
    assert any(says in one for one in found.said), found.said


def test_forbid_names_columns_and_no_levels() -> None:
    """A forbid of a level would read as a permit of finer ones."""
    forbid = "when: request.hour < 6\n    use: {group_by: [{patients.birth_year: 10}]}"
    found = read(edited(("when: request.hour < 6", forbid)))
    assert any("a forbid forbids columns" in one for one in found.said)
