"""Scopes as text: each part of a region as people write it, in its order and number."""

from dataclasses import replace
from fractions import Fraction

import pytest
from laws import for_each

from gateway.catalog.domains import Interval, Values
from gateway.catalog.tables import Column, ColumnClass, ColumnRef, Dataset, Protection, Table
from gateway.catalog.types import parse_type
from gateway.overlap.description import region_lines, unread_lines
from gateway.policy.policy import UnreadableConditions
from gateway.regions.axis import FIRST, LAST, AxisKind, RegionAxis
from gateway.regions.cells import Cells, NameCells, StepCells
from gateway.regions.region import EVERYTHING, NOTHING, Box, Region
from gateway.regions.scope import GroupKey, ReleaseScope

REGIONS = ("north", "east", "south", "west")
PATIENTS = Table(
    "patients",
    (
        Column("patient_id", parse_type("bigint"), column_class=ColumnClass.IDENTIFIER),
        Column("region", parse_type("text"), Values(REGIONS), ColumnClass.QUASI),
        Column("birth_year", parse_type("integer"), Interval(1920, 2020, Fraction(1))),
        Column("born", parse_type("date")),
        Column("seen", parse_type("timestamp")),
        Column("weight", parse_type("numeric(6,2)")),
        Column("income", parse_type("numeric")),
        Column("smoker", parse_type("boolean")),
    ),
    Protection("patient_id", 1, 1),
)
CLINIC = Dataset("clinic", "patient", (PATIENTS,))


def _axis(
    name: str, kind: AxisKind = AxisKind.STEPS, low: int | None = None, high: int | None = None
) -> RegionAxis:
    return RegionAxis(
        name=f"patients.{name}",
        kind=kind,
        low=low,
        high=high,
        size=None,
        nullable=True,
        readable=True,
        quasi=True,
        column=ColumnRef("patients", name),
    )


YEAR = _axis("birth_year", AxisKind.STEPS, 1920, 2020)
REGION = _axis("region", AxisKind.NAMES)
REGION_KEY = GroupKey("patients.region", REGION, (*REGIONS,), None)
CONDITION = RegionAxis(
    "lower(patients.name) ~~ 'a%'", AxisKind.NAMES, None, None, 2, True, False, False, None
)


def _region(*boxes: dict[RegionAxis, Cells]) -> Region:
    axes = {axis.name: axis for box in boxes for axis in box}
    made = tuple(
        Box(tuple(sorted((axis.name, cells) for axis, cells in box.items()))) for box in boxes
    )
    return Region(tuple(axes[name] for name in sorted(axes)), made)


def _told(
    region: Region, *keys: GroupKey, tables: frozenset[str] = frozenset({"patients"})
) -> list[str]:
    scope = ReleaseScope("scan patients", tables, region, keys, ())
    return list(region_lines(scope, CLINIC))


def _part(axis: RegionAxis, cells: Cells) -> str:
    """What is said of one axis."""
    [line] = _told(_region({axis: cells}))
    return line.removeprefix("patients where ").removesuffix(", as one group")


def test_region_is_told_with_its_keys() -> None:
    """One line says which rows and in which groups."""
    region = _region(
        {YEAR: StepCells(((FIRST, 1949),)), REGION: NameCells(frozenset({"south", "north"}))}
    )
    key = GroupKey("patients.region", REGION, ("north", "south"), None)
    year = GroupKey("patients.birth_year", YEAR, tuple(range(1920, 1950)), None)
    assert _told(region, key) == [
        "patients where birth_year 1920 to 1949, region north or south, cut by region (2 groups)"
    ]
    assert _told(region, key, year)[0].endswith(", cut by region and birth_year (60 groups)")
    assert _told(region)[0].endswith(", as one group")


def test_region_is_told_when_it_is_all_or_nothing() -> None:
    """Neither has a condition to tell."""
    assert _told(EVERYTHING, REGION_KEY) == ["patients, all rows, cut by region (4 groups)"]
    assert _told(NOTHING) == ["patients, none of the rows, as one group"]


def test_region_is_told_part_by_part_when_it_has_several() -> None:
    """The first ones, and how many there are."""
    boxes: list[dict[RegionAxis, Cells]] = [
        {YEAR: StepCells(((year, year),))} for year in range(1930, 1950, 2)
    ]
    told = _told(_region(*boxes))
    assert told[0] == "patients in one of 10 parts, as one group"
    assert told[1] == "  where birth_year 1930"
    assert len(told) == 1 + 8 + 1
    assert told[-1] == "  and 2 more"
    assert len(_told(_region(*boxes[:8]))) == 1 + 8


def test_tables_are_named_where_there_are_several() -> None:
    """A column of one of two is told with its table."""
    tables = frozenset({"visits", "patients"})
    told = _told(_region({YEAR: StepCells(((1950, LAST),))}), REGION_KEY, tables=tables)
    assert told == [
        "patients and visits where patients.birth_year 1950 to 2020, cut by patients.region (4 groups)"
    ]


def test_groups_of_the_data_and_keys_without_an_axis_are_told_so() -> None:
    """What nobody lists has no number, and what is not about one column is known by its text."""
    found = GroupKey("patients.name", _axis("name", AxisKind.NAMES), None, None)
    odd = GroupKey("(patients.birth_year + patients.weight)", None, None, None)
    assert _told(EVERYTHING, found) == [
        "patients, all rows, cut by name (groups are found in the data)"
    ]
    assert _told(EVERYTHING, odd)[1] == (
        "the key `(patients.birth_year + patients.weight)` is compared by its text alone"
    )


@pytest.mark.parametrize(
    ("cells", "told"),
    [
        (StepCells(((FIRST, 1949),)), "birth_year 1920 to 1949"),
        (StepCells(((1950, LAST),)), "birth_year 1950 to 2020"),
        (StepCells(((1950, 1959),)), "birth_year 1950 to 1959"),
        (StepCells(((1950, 1950),), null=True), "birth_year 1950 or NULL"),
        (StepCells(((1950, 1950), (1960, 1969))), "birth_year 1950 or 1960 to 1969"),
        (StepCells(((FIRST, LAST),)), "birth_year not NULL"),
        (StepCells((), null=True), "birth_year NULL"),
        (
            StepCells(tuple((year, year) for year in range(1930, 1950, 2))),
            "birth_year 1930, 1932, 1934, 1936, 1938, 1940 or 4 more",
        ),
    ],
)
def test_numbers_are_told_with_the_ends_of_their_domain(cells: StepCells, told: str) -> None:
    """What is open to an end is told by that end, NULL apart."""
    assert _part(YEAR, cells) == told


@for_each(
    ("column", "first", "last", "told"),
    [
        ("patient_id", 7, 7, "patient_id 7"),
        ("patient_id", FIRST, -1, "patient_id up to -1"),
        ("patient_id", 1, LAST, "patient_id from 1 on"),
        ("patient_id", FIRST, LAST, "patient_id not NULL"),
        ("weight", 5050, 7000, "weight 50.5 to 70"),
        ("born", 0, 19_722, "born 1970-01-01 to 2023-12-31"),
        ("born", -1, LAST, "born from 1969-12-31 on"),
        ("born", 2**61, LAST, f"born from cell {2**61} on"),
        ("seen", 0, 86_400_000_000, "seen 1970-01-01 to 1970-01-02"),
        ("seen", FIRST, 1_500_000, "seen up to 1970-01-01 00:00:01.500000"),
        ("seen", 2**61, LAST, f"seen from cell {2**61} on"),
    ],
)
def test_values_are_told_by_the_type_of_their_column(
    column: str, first: int, last: int, told: str
) -> None:
    """Cells are whole numbers; decimals, days and moments come out as they are written."""
    assert _part(_axis(column), StepCells(((first, last),))) == told


@pytest.mark.parametrize(
    ("first", "last", "told"),
    [
        (2_000_000, 5_000_000, "income 1 to 2.5"),
        (2_000_001, 5_000_000, "income above 1 to 2.5"),
        (2_000_000, 4_999_999, "income 1 to below 2.5"),
        (FIRST, 4_999_999, "income below 2.5"),
        (5_000_001, LAST, "income above 2.5"),
        (5_000_000, LAST, "income from 2.5 on"),
        (-3, -3, "income between -0.000002 and -0.000001"),
        (4_000_000, 4_000_000, "income 2"),
    ],
)
def test_numbers_without_digits_of_their_own_are_told_with_open_ends(
    first: int, last: int, told: str
) -> None:
    """Odd cells are what lies between two: an end that is not one of the values is told so."""
    assert _part(_axis("income"), StepCells(((first, last),))) == told


def test_what_is_computed_for_each_person_is_told_by_name() -> None:
    """Counts in numbers; of other things no type is known, so no value is made up."""
    many = replace(YEAR, name="count(*) of (visits by person)", column=None, low=0, high=10)
    total = replace(many, name="sum(visits.cost) of (visits by person)")
    assert _part(many, StepCells(((4, LAST),))) == f"{many.name} 4 to 10"
    assert _part(total, StepCells(((4, LAST),))) == f"{total.name} in a part of its range"
    assert _part(total, StepCells((), null=True)) == f"{total.name} NULL"


@pytest.mark.parametrize(
    ("cells", "told"),
    [
        (NameCells(frozenset({"north"})), "region north"),
        (NameCells(frozenset({"west", "north", "east"})), "region east, north or west"),
        (NameCells(frozenset({"north"}), null=True), "region north or NULL"),
        (NameCells(frozenset({"north", "east"}), rest=True), "region anything but east or north"),
        (NameCells(frozenset(), rest=True), "region not NULL"),
        (NameCells(frozenset(), null=True), "region NULL"),
        (NameCells(frozenset("abcdefgh")), "region a, b, c, d, e, f or 2 more"),
    ],
)
def test_names_are_told_as_what_they_are_or_are_not(cells: NameCells, told: str) -> None:
    """Sorted, so that the same set is the same words."""
    assert _part(REGION, cells) == told


@pytest.mark.parametrize(
    ("cells", "told"),
    [
        (NameCells(frozenset({"true"})), f"`{CONDITION.name}`"),
        (NameCells(frozenset({"false"})), f"not `{CONDITION.name}`"),
        (
            NameCells(frozenset({"false"}), null=True),
            f"not `{CONDITION.name}` or `{CONDITION.name}` is NULL",
        ),
    ],
)
def test_condition_that_nobody_reads_is_told_by_its_text(cells: NameCells, told: str) -> None:
    """There is nothing else to say of it."""
    assert _part(CONDITION, cells) == told


@pytest.mark.parametrize("opaque", list(UnreadableConditions))
def test_conditions_that_cannot_be_compared_are_told_once(opaque: UnreadableConditions) -> None:
    """And what the policy makes of them; of the others nothing is said."""
    plain = ReleaseScope("s", frozenset({"patients"}), EVERYTHING, (), ())
    odd = ReleaseScope("s", frozenset({"patients"}), EVERYTHING, (), ("name LIKE 'a%'", "a = b"))
    *texts, policy = unread_lines([plain, odd, odd], opaque)
    assert texts == [
        "cannot be compared with other questions: `name LIKE 'a%'`",
        "cannot be compared with other questions: `a = b`",
    ]
    assert policy.startswith(f"`opaque_predicates: {opaque.value}`: ")
    assert list(unread_lines([plain], opaque)) == []
