"""Row rules become sets of values; nothing of them is ever text in a statement."""

from datetime import date
from fractions import Fraction

import pytest
from fix_policy import BASE, changed, people, read
from laws import for_each

from gateway.catalog.tables import Table
from gateway.policy.conditions.parser import InvalidCondition
from gateway.policy.row_rules import BoundMembership, BoundTest, bind_rows, parse_row_rule

SUBJECTS = people(
    "alice: {region: north, regions: [north, east], year: '1950', many: ['1950', '1951']}\n"
    "mallory: {region: \"x' OR 'a' = 'a\", regions: [], year: old}\n"
)


@pytest.fixture(scope="module")
def patients() -> Table:
    table = read(BASE).accepted.dataset.table("patients")
    assert table is not None
    return table


@pytest.fixture(scope="module")
def visits() -> Table:
    table = read(BASE).accepted.dataset.table("visits")
    assert table is not None
    return table


@pytest.mark.parametrize(
    ("text", "tests"),
    [
        ("region = subject.region", [BoundTest("region", ("north",))]),
        ("region in subject.regions", [BoundTest("region", ("north", "east"))]),
        ("region IN ('north', 'it''s')", [BoundTest("region", ("north", "it's"))]),
        ("patients.region = 'north'", [BoundTest("region", ("north",))]),
        ("birth_year = subject.year", [BoundTest("birth_year", (1950,))]),
        ("birth_year in subject.many", [BoundTest("birth_year", (1950, 1951))]),
        ("income = 10.50", [BoundTest("income", (Fraction(21, 2),))]),
        ("region = subject.name", [BoundTest("region", ("alice",))]),
        (
            "region = 'north' AND birth_year = -1 and patient_id in (1, 2, 1)",
            [
                BoundTest("region", ("north",)),
                BoundTest("birth_year", (-1,)),
                BoundTest("patient_id", (1, 2)),
            ],
        ),
    ],
)
def test_row_rule_is_bound_to_values_of_the_column(
    patients: Table, text: str, tests: list[BoundTest]
) -> None:
    """Constants and attributes are read by the type of their column."""
    bound = bind_rows(parse_row_rule(text, patients), SUBJECTS["alice"], None)
    assert bound is not None
    assert list(bound.tests) == tests


@pytest.fixture(scope="module")
def consenting() -> Table:
    line = "      consents: {type: 'text[]', class: sensitive}\n"
    table = changed("      weight:", f"{line}      weight:").dataset.table("patients")
    assert table is not None
    return table


@for_each(
    ("text", "test"),
    [
        ("request.purpose = ANY (consents)", BoundMembership("consents", "care")),
        ("request.purpose=any(patients.consents)", BoundMembership("consents", "care")),
        ("subject.region = ANY (consents)", BoundMembership("consents", "north")),
        ("'it''s' = ANY (consents)", BoundMembership("consents", "it's")),
        ("region = request.purpose", BoundTest("region", ("care",))),
    ],
)
def test_row_rule_reads_the_purpose_and_arrays(
    text: str, test: BoundTest | BoundMembership, consenting: Table
) -> None:
    """A value on the left is compared with the elements of an array; the purpose is bound as it was checked."""
    rule = parse_row_rule(text, consenting)
    bound = bind_rows(rule, SUBJECTS["alice"], "care")
    assert bound is not None
    assert bound.tests == (test,)
    assert rule.reads_purpose is ("request" in text)
    without = bind_rows(rule, SUBJECTS["alice"], None)
    assert (without is None) is rule.reads_purpose


@for_each(
    "text",
    [
        "consents = request.purpose",
        "consents = 'care'",
        "consents in ('care')",
        "request.purpose = ANY (region)",
        "request.purpose = ANY (nope)",
        "request.purpose = ALL (consents)",
        "request.purpose = consents",
        "request.purpose in (consents)",
        "request.purpose = ANY consents",
        "request.purpose = ANY (consents",
        "request.purpose = ANY ('{care}')",
        "request.address = ANY (consents)",
        "subject.regions.a = ANY (consents)",
        "region in request.purpose",
        "region = request.hour",
        "birth_year = ANY (consents)",
        "5 = ANY (consents)",
    ],
)
def test_row_rule_refuses_other_uses_of_arrays_and_requests(text: str, consenting: Table) -> None:
    """Only an element is looked for, and only the purpose of a request is read."""
    with pytest.raises(InvalidCondition):
        parse_row_rule(text, consenting)


def test_row_rule_with_a_list_on_the_left_holds_for_no_row(consenting: Table) -> None:
    """A list of attributes is no element."""
    rule = parse_row_rule("subject.regions = ANY (consents)", consenting)
    assert bind_rows(rule, SUBJECTS["alice"], "care") is None


def test_row_rule_compares_dates(visits: Table) -> None:
    """A date is written as text and is a date."""
    bound = bind_rows(parse_row_rule("visit_date = '2026-01-31'", visits), SUBJECTS["alice"], None)
    assert bound is not None
    assert bound.tests == (BoundTest("visit_date", (date(2026, 1, 31),)),)


@pytest.mark.parametrize(
    ("subject", "text"),
    [
        ("alice", "region = subject.team"),  # nobody has it
        ("alice", "region = subject.regions"),  # a list is not one value
        ("alice", "region in subject.region"),  # nor one value a list
        ("mallory", "birth_year = subject.year"),  # no number
        ("mallory", "region in subject.regions"),  # nothing in it
        ("alice", "region = 'north' AND birth_year = subject.region"),
    ],
)
def test_row_rule_that_cannot_be_bound_holds_for_no_row(
    patients: Table, subject: str, text: str
) -> None:
    """A missing or unfit attribute never opens more rows."""
    assert bind_rows(parse_row_rule(text, patients), SUBJECTS[subject], None) is None


def test_row_rule_takes_an_attribute_for_a_value_whatever_it_looks_like(patients: Table) -> None:
    """SQL in an attribute is a region nobody lives in."""
    bound = bind_rows(
        parse_row_rule("region = subject.region", patients), SUBJECTS["mallory"], None
    )
    assert bound is not None
    assert bound.tests == (BoundTest("region", ("x' OR 'a' = 'a",)),)


@for_each(
    "text",
    [
        "",
        "region",
        "region =",
        "region = ",
        "= 'a'",
        "region == 'a'",
        "region != 'a'",
        "region < 'a'",
        "region like 'a%'",
        "NOT region = 'a'",
        "region = 'a' OR true",
        "region = 'a';",
        "region = 'a' --",
        "region = 'a' /* b */",
        "region = (SELECT 'a')",
        "region = lower('a')",
        "region = other.region",
        "region = birth_year",
        "region = subject.a.b",
        "region = subject",
        "region = NULL",
        "region IS NULL",
        "region = 'a",
        'region = "a"',
        "region in ()",
        "region in ('a'",
        "region in ('a',)",
        "region in 'a'",
        "region in (subject.region)",
        "region = 'a' AND",
        "visits.cost = 1",
        "nothing = 'a'",
        "birth_year = 1.5",
        "birth_year = '1950'",
        "birth_year = 99999999999",
        "region = 1",
        "region = true",
        "weight = 1",
        "region = $1",
        "region = :a",
        " and ".join(["region = 'a'"] * 17),
        "region in (" + ",".join(f"'{n}'" for n in range(300)) + "," * 2000 + ")",
    ],
)
def test_row_rule_is_refused_when_it_is_anything_else(patients: Table, text: str) -> None:
    """Equality, membership and AND are all there is."""
    with pytest.raises(InvalidCondition):
        parse_row_rule(text, patients)
