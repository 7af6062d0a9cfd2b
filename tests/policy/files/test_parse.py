"""A policy file is read exactly, or refused where it is wrong."""

from datetime import date, timedelta
from fractions import Fraction

import pytest
from fix_policy import BASE, ENVIRONMENT, Case, cases, changed, read
from laws import for_each

from gateway.catalog.domains import Anything, Interval, Values
from gateway.catalog.tables import ColumnRef
from gateway.policy.policy import (
    Mechanism,
    Operation,
    ReportedRanges,
    Results,
    UnreadableConditions,
)
from gateway.units import Delta, Epsilon

REFUSED = cases("refused.txt")
ACCEPTED = cases("accepted.txt")


@for_each("case", REFUSED, ids=lambda case: case.title)
def test_policy_is_refused_where_it_is_wrong(case: Case) -> None:
    """Every mistake has its line, its column, and a sentence; nothing of the policy is used."""
    found = read(case.text)
    assert found.said == case.says
    assert found.policy is None


@for_each("case", ACCEPTED, ids=lambda case: case.title)
def test_policy_is_accepted(case: Case) -> None:
    """What people may write; what is merely odd is warned of."""
    found = read(case.text)
    assert found.said == ()
    said = [
        f"{warning.place.line}:{warning.place.column}: {warning.message}"
        + (f" [{warning.hint}]" if warning.hint else "")
        for warning in found.warnings
    ]
    assert tuple(said) == case.says
    assert found.policy is not None


def test_cases_of_policies_are_many_and_differ() -> None:
    """No case is there twice, and what must be refused has its case."""
    titles = [case.title for case in (*REFUSED, *ACCEPTED)]
    assert len(set(titles)) == len(titles)
    assert len(REFUSED) >= 100


def test_several_mistakes_are_told_in_the_order_of_the_file() -> None:
    """Whoever checks a file hears of everything at once."""
    text = BASE.replace("[1920, 2020]", "[2020, 1920]").replace("[patients, visits]", "[patient]")
    text = text.replace("max_age: 7d", "max_age: 7d").replace("step: 1}", "step: 3}")
    lines = [said.partition(":")[0] for said in read(text).said]
    assert lines == ["15", "16"]  # the rules are read when there are tables to speak of
    text = BASE.replace("region = ", "regio = ").replace("request.hour", "hour")
    assert [said.partition(":")[0] for said in read(text).said] == ["36", "40"]


def test_policy_has_everything_the_file_says() -> None:
    """Amounts are exact, defaults are those of the documents."""
    policy = read(BASE).accepted
    assert policy.name == "clinic"
    assert policy.dataset.unit == "patient"
    assert policy.source.identity == "duckdb:////data/clinic.duckdb"
    privacy = policy.privacy
    assert privacy.budget.epsilon == Epsilon.parse("10")
    assert privacy.budget.delta == Delta.parse("0.000001")
    assert privacy.default_price == Epsilon(Fraction(1, 20))
    assert privacy.mechanism is Mechanism.AUTO
    assert policy.max_age == timedelta(days=7)
    assert (policy.auditing.min_units, policy.auditing.narrow_cells) == (10, 1)
    assert policy.auditing.trust_groups == (frozenset({"alice", "bob"}),)
    assert policy.auditing.opaque is UnreadableConditions.REFUSE
    assert (policy.sizes.enumerated_groups, policy.sizes.result_rows) == (10_000, 100_000)
    permit, forbid = policy.rules
    assert permit.budget is not None
    assert permit.budget.delta == privacy.budget.delta
    assert permit.use is not None
    assert permit.use[Operation.GROUP_BY] == {ColumnRef("patients", "region")}
    assert forbid.use is None
    assert forbid.tables == {"patients", "visits", "regions"}


@pytest.mark.parametrize("opaque", list(UnreadableConditions))
def test_policy_says_what_becomes_of_conditions_that_cannot_be_compared(
    opaque: UnreadableConditions,
) -> None:
    """Each of the three ways can be written, by its name."""
    text = BASE.replace("{min_units: 10, ", f"{{min_units: 10, opaque_predicates: {opaque}, ")
    assert read(text).accepted.auditing.opaque is opaque


@pytest.mark.parametrize("age", ["0d", "0s", "00w"])
def test_policy_gives_nothing_again_when_the_age_is_zero(age: str) -> None:
    """A `max_age` of nothing, in any unit, is allowed: it switches reuse off."""
    assert read(BASE.replace("max_age: 7d", f"max_age: {age}")).accepted.max_age == timedelta(0)


def test_policy_says_how_answers_look_when_the_file_does() -> None:
    """Results are clamped, nothing is blanked and nobody waits, unless the file says otherwise."""
    assert read(BASE).accepted.results == Results(
        clamp=True, suppress_small=False, reply_grid_ms=None
    )
    answers = "answers: {clamp_results: false, suppress_small: true, reply_grid_ms: 250}\n"
    assert read(BASE + answers).accepted.results == Results(
        clamp=False, suppress_small=True, reply_grid_ms=250
    )


def test_policy_says_which_results_are_in_ranges_when_the_file_does() -> None:
    """Numbers are exact, days are numbers, times are seconds; of nothing else anything is said."""
    text = BASE.replace("[0, 5000]}", "[0, 5000]}, report: {ranges: 0.5}")
    text = text.replace(
        "[2020-01-01, 2026-12-31]}", "[2020-01-01, 2026-12-31]}, report: {ranges: 7}"
    )
    text = text.replace(
        "      visit_date:",
        "      at: {type: timestamp, class: quasi, report: {ranges: 15m}}\n      visit_date:",
    )
    policy = read(text + "answers: {report: {count: 10}}\n").accepted
    columns = {
        ColumnRef("visits", "cost"): Fraction(1, 2),
        ColumnRef("visits", "at"): Fraction(900),
        ColumnRef("visits", "visit_date"): Fraction(7),
    }
    assert policy.results.reported == ReportedRanges(Fraction(10), columns)
    assert read(BASE).accepted.results.reported == ReportedRanges()


def test_domains_are_read_by_the_type_of_their_column() -> None:
    """Bounds and steps are exact; the step is the type's own unless it is given."""
    dataset = read(BASE).accepted.dataset
    domain = {
        str(ColumnRef(table.name, column.name)): column.domain
        for table in dataset.tables
        for column in table.columns
    }
    assert domain["patients.region"] == Values(("north", "east"))
    assert domain["patients.birth_year"] == Interval(1920, 2020, Fraction(1))
    assert domain["patients.income"] == Interval(Fraction(0), Fraction(200_000), Fraction(1))
    assert domain["visits.cost"] == Interval(Fraction(0), Fraction(5000), Fraction(1, 100))
    day = Interval(date(2020, 1, 1), date(2026, 12, 31), Fraction(1))
    assert domain["visits.visit_date"] == day
    assert domain["patients.weight"] == Anything()


def test_class_means_the_columns_of_the_tables_of_the_rule() -> None:
    """`class:quasi` of a rule about one table is not the whole dataset's."""
    rule = changed("tables: [patients, visits]", "tables: [patients]").rules[0]
    assert rule.use is not None
    assert {column.table for column in rule.use[Operation.AGGREGATE]} == {"patients"}


def test_password_of_a_source_is_in_no_repr_and_no_message() -> None:
    """Neither when the source is good nor when it is not."""
    for url in (
        "postgresql://u:hunter2@h/db",
        "postgresql://u:hunter2@h,i/db",
        "mysql://:hunter2@h",
    ):
        found = read(BASE, {"CLINIC_URL": url})
        assert "hunter2" not in repr(found)
        assert "hunter2" not in " ".join(found.said)


def test_decimal_is_never_read_through_a_float() -> None:
    """A tenth is a tenth."""
    assert changed("default: 0.05", "default: 0.1").privacy.default_price.value == Fraction(1, 10)
    assert ENVIRONMENT["CLINIC_URL"]
