"""Scopes: shapes, definitions and names, without any alias."""

from dataclasses import replace
from datetime import date

import pytest
from laws import for_each
from regions.ward import NOON, WARD, column, plan_of, scope

from gateway.binding.bind import bind
from gateway.binding.bound import Cut
from gateway.catalog.domains import Values
from gateway.catalog.tables import ColumnRef, Dataset, Protection, Table
from gateway.plan.node import BrokenPlan
from gateway.regions.axis import AxisKind, RegionAxis
from gateway.regions.names import region_text
from gateway.regions.scope import normal_text, scope_of

_VISITS = "SELECT COUNT(*) FROM visits v JOIN patients p ON p.patient_id = v.patient_id"


def test_scope_names_tables_and_columns_and_no_alias() -> None:
    """A question about one table is that table, and its axes are the columns it is narrowed by."""
    made = scope("SELECT COUNT(*) FROM patients zz WHERE zz.birth_year < 1950 AND zz.smoker")
    assert made.shape == "patients"
    assert made.tables == {"patients"}
    assert [one.name for one in made.region.axes] == ["patients.birth_year", "patients.smoker"]
    assert region_text(made.region) == (
        "patients.birth_year in [..1949] and patients.smoker in ('true')"
    )
    assert made.unreadable == ()


@pytest.mark.parametrize(
    ("sql", "expected"),
    [
        (
            "SELECT COUNT(*) FROM patients WHERE birth_year < 1950",
            RegionAxis("patients.birth_year", AxisKind.STEPS, 1920, 2020, 101, False, True, False,
                 ColumnRef("patients", "birth_year")),
        ),
        (
            "SELECT COUNT(*) FROM patients WHERE height < 150",
            RegionAxis("patients.height", AxisKind.STEPS, 100, 220, 25, True, True, False,
                 ColumnRef("patients", "height"), stride=5),
        ),
        (
            "SELECT COUNT(*) FROM patients WHERE income < 5",
            RegionAxis("patients.income", AxisKind.STEPS, 0, 400_000_000_000, 200_001, True, True, False,
                 ColumnRef("patients", "income"), stride=2_000_000),
        ),
        (
            "SELECT COUNT(*) FROM patients WHERE name = 'alice'",
            RegionAxis("patients.name", AxisKind.NAMES, None, None, None, True, True, True,
                 ColumnRef("patients", "name")),
        ),
        (
            "SELECT COUNT(*) FROM patients WHERE sex = 'f'",
            RegionAxis("patients.sex", AxisKind.NAMES, None, None, 2, True, True, False,
                 ColumnRef("patients", "sex"), frozenset({"f", "m"})),
        ),
        (
            "SELECT COUNT(*) FROM visits WHERE visit_date < '2024-01-01'",
            RegionAxis("visits.visit_date", AxisKind.STEPS, 18262, 20818, 2557, False, True, True,
                 ColumnRef("visits", "visit_date")),
        ),
        (
            "SELECT COUNT(*) FROM visits WHERE cost < 5",
            RegionAxis("visits.cost", AxisKind.STEPS, 0, 500_000, 500_001, True, True, False,
                 ColumnRef("visits", "cost")),
        ),
        (
            "SELECT COUNT(*) FROM visits WHERE ward < 5",
            RegionAxis("visits.ward", AxisKind.STEPS, None, None, None, True, True, False,
                 ColumnRef("visits", "ward")),
        ),
    ],
)  # fmt: skip
def test_axis_is_what_the_policy_declares_of_the_column(sql: str, expected: RegionAxis) -> None:
    """Its cells, how many there are, whether NULL is one, and whether it tells who somebody is."""
    assert scope(sql).region.axes == (expected,)


def test_join_that_restricts_nothing_leaves_the_shape_alone() -> None:
    """The one row of a person in a table that every row is declared to reach is just more columns."""
    made = scope(f"{_VISITS} WHERE p.region = 'north' AND v.cost > 10")
    assert made.shape == "visits"
    assert made.tables == {"patients", "visits"}
    assert [one.name for one in made.region.axes] == ["patients.region", "visits.cost"]


def test_join_stays_in_the_shape_when_nobody_declares_that_it_restricts_nothing() -> None:
    """Without a declared join rows may be lost, so it is another shape."""
    tables = [
        replace(one, columns=tuple(replace(each, joins=None) for each in one.columns))
        for one in WARD.tables
    ]
    made = scope(_VISITS, Dataset("ward", "patient", tuple(tables)))
    assert made.shape == "patients join visits"


def test_shapes_differ_by_what_is_joined() -> None:
    """Other tables, other keys and outer joins are other shapes."""
    shapes = [
        scope(f"SELECT COUNT(*) FROM {joined}").shape
        for joined in (
            "visits",
            "labs",
            "patients",
            "labs l JOIN visits v ON v.patient_id = l.person",
            "visits v JOIN visits w USING (patient_id)",
            "patients p JOIN regions r ON r.region = p.region",
            "patients p JOIN regions r ON r.capital = p.region",
            "patients p LEFT JOIN regions r ON r.region = p.region",
            "patients p LEFT JOIN labs l ON l.person = p.patient_id",
        )
    ]
    assert len(set(shapes)) == len(shapes)


def test_condition_of_a_join_on_a_side_is_part_of_the_region() -> None:
    """It does not matter whether a row is left out before an inner join, by it, or after it."""
    said = {
        region_text(scope(sql).region)
        for sql in (
            "SELECT COUNT(*) FROM labs l JOIN visits v ON v.patient_id = l.person AND l.value < 5",
            "SELECT COUNT(*) FROM labs l JOIN visits v ON v.patient_id = l.person WHERE l.value < 5",
            "SELECT COUNT(*) FROM (SELECT * FROM labs WHERE value < 5) l JOIN visits v ON v.patient_id = l.person",
        )
    }
    assert said == {"labs.value in [..4]"}


def test_condition_below_a_left_join_is_part_of_its_definition() -> None:
    """On the side that may be missing it leaves out no row that is kept."""
    made = scope(
        "SELECT COUNT(*) FROM patients p LEFT JOIN (SELECT * FROM labs WHERE value < 5) l"
        " ON l.person = p.patient_id"
    )
    assert made.region.is_everything
    assert "labs.value in [..4]" in made.shape


def test_count_of_a_person_is_an_axis_of_its_own() -> None:
    """From one to as many rows as a person has; what is below the grouping is in its name and in the shape."""
    made = scope(
        "SELECT COUNT(*) FROM (SELECT patient_id, COUNT(*) AS n FROM visits WHERE cost > 10"
        " GROUP BY patient_id) x WHERE n BETWEEN 2 AND 4"
    )
    [axis] = made.region.axes
    assert (axis.kind, axis.low, axis.high, axis.size) == (AxisKind.STEPS, 1, 10, 10)
    assert axis.readable
    assert axis.name == f"count(*) of {made.shape}"
    assert made.shape == "(visits where visits.cost in [1001..] by person)"
    assert made.unreadable == ()


def test_condition_on_persons_is_part_of_the_region_below_a_grouping_by_person() -> None:
    """It leaves out persons as a whole, so it is the same below the grouping, above it, and in another question."""
    below = scope(
        "SELECT COUNT(*) FROM (SELECT v.patient_id, COUNT(*) AS n FROM visits v"
        " JOIN patients p ON p.patient_id = v.patient_id WHERE p.region = 'north' AND v.cost > 10"
        " GROUP BY v.patient_id) x WHERE n > 2"
    )
    above = scope(
        "SELECT COUNT(*) FROM (SELECT patient_id, COUNT(*) AS n FROM visits WHERE cost > 10"
        " GROUP BY patient_id) x JOIN patients p ON p.patient_id = x.patient_id"
        " WHERE x.n > 2 AND p.region = 'north'"
    )
    assert below.shape == above.shape == "(visits where visits.cost in [1001..] by person)"
    assert below.region == above.region
    assert "patients.region" in [one.name for one in below.region.axes]


def test_key_of_a_grouping_by_person_is_the_column_it_was() -> None:
    """Conditions on it mean the same above the grouping."""
    made = scope(
        "SELECT COUNT(*) FROM (SELECT patient_id, ward AS w, COUNT(*) AS n FROM visits"
        " GROUP BY patient_id, ward) x WHERE w = 3"
    )
    assert [one.name for one in made.region.axes] == ["visits.ward"]


def test_mark_is_an_axis_of_its_own() -> None:
    """EXISTS over many rows is true or false of a row; what it asks is in its name."""
    made = scope(
        "SELECT COUNT(*) FROM patients p WHERE smoker AND NOT EXISTS"
        " (SELECT 1 FROM visits v WHERE v.patient_id = p.patient_id AND v.cost > 10)"
    )
    assert made.shape == "patients"
    assert region_text(made.region) == (
        "exists (visits where visits.cost in [1001..]) in () or null and patients.smoker in ('true')"
    )


@pytest.mark.parametrize(
    ("condition", "quasi"),
    [
        ("v.cost > 10", False),
        ("v.visit_date >= '2020-06-01'", False),
        ("v.visit_date = '2024-03-01'", True),
    ],
)
def test_mark_tells_who_somebody_is_when_it_asks_for_few_values(
    condition: str, *, quasi: bool
) -> None:
    """Whether somebody was there on one day is as good as a name."""
    made = scope(
        "SELECT COUNT(*) FROM patients p WHERE EXISTS"
        f" (SELECT 1 FROM visits v WHERE v.patient_id = p.patient_id AND {condition})"
    )
    [axis] = made.region.axes
    assert axis.quasi is quasi
    assert axis.size == (None if quasi else 1)


def test_mark_of_a_condition_that_nobody_understands_is_not_understood() -> None:
    """What is hidden in EXISTS is no more readable than outside."""
    made = scope(
        "SELECT COUNT(*) FROM patients p WHERE EXISTS"
        " (SELECT 1 FROM visits v WHERE v.patient_id = p.patient_id AND v.diagnosis LIKE 'a%')"
    )
    [axis] = made.region.axes
    assert not axis.readable
    assert made.unreadable == (axis.name,)


def test_window_is_an_axis_over_the_rows_it_counts() -> None:
    """The rows are still those of the table; what the window saw is in the name of its column."""
    made = scope(
        "SELECT COUNT(*) FROM (SELECT patient_id, ROW_NUMBER() OVER (PARTITION BY patient_id"
        " ORDER BY visit_date) AS n FROM visits WHERE cost > 10) x WHERE n = 1"
    )
    assert made.shape == "visits"
    window, cost = made.region.axes
    assert cost.name == "visits.cost"
    assert window.name.startswith("row_number() over (partition by  order by visits.visit_date)")
    assert "visits.cost in [1001..]" in window.name


def test_window_differs_by_the_columns_that_complete_its_order() -> None:
    """Of two rows of one day the first is another one where other columns are seen."""
    one, other = (
        scope(
            "SELECT COUNT(*) FROM (SELECT patient_id, ROW_NUMBER() OVER (PARTITION BY patient_id"
            f" ORDER BY visit_date) AS n FROM (SELECT {seen} FROM visits) v) x WHERE n = 1"
        ).region
        for seen in ("patient_id, visit_date", "patient_id, visit_date, cost")
    )
    assert one != other


def test_union_is_a_shape_with_its_conditions() -> None:
    """Its rows come from either side, whichever is written first."""
    one, other = (
        scope(
            f"SELECT COUNT(*) FROM (SELECT patient_id, ward FROM visits WHERE ward = {first}"
            f" UNION ALL SELECT patient_id, ward FROM visits WHERE ward = {second}) x"
        ).shape
        for first, second in ((1, 2), (1, 3))
    )
    assert one != other


@for_each(
    "condition",
    [
        "name LIKE 'a%'",
        "LENGTH(name) = 5",
        "name < 'm'",
        "birth_year = height",
        "birth_year + height > 2000",
        "name = region",
        "income > 5.00000001",
        "SQRT(income) > 5",
        "birth_year > (SELECT AVG(birth_year) FROM patients)",
        "region IN (SELECT region FROM regions WHERE people > 4)",
    ],
)
def test_condition_that_is_not_understood_is_an_axis_of_its_own(condition: str) -> None:
    """It is named, it is no more than true or false, and its opposite is the rest of the same axis."""
    made = scope(f"SELECT COUNT(*) FROM patients WHERE {condition}")
    [axis] = made.region.axes
    assert not axis.readable
    assert made.unreadable == (axis.name,)
    assert (axis.kind, axis.names) == (AxisKind.NAMES, frozenset({"true", "false"}))
    opposite = scope(f"SELECT COUNT(*) FROM patients WHERE NOT ({condition})").region
    assert opposite.axes == made.region.axes
    assert made.region.meet(opposite).is_nothing


def test_condition_is_read_as_far_as_it_can_be() -> None:
    """Beside what is not understood the rest of a condition is still a region."""
    made = scope(
        "SELECT COUNT(*) FROM patients WHERE birth_year < 1950 AND (name LIKE 'a%' OR smoker)"
    )
    assert [one.readable for one in made.region.axes] == [False, True, True]
    assert len(made.unreadable) == 1
    without = scope("SELECT COUNT(*) FROM patients WHERE birth_year < 1950").region
    assert without.covers(made.region)


def test_condition_of_too_many_boxes_is_not_understood() -> None:
    """A checkerboard of two columns is one condition, not a thousand boxes."""
    squares = " OR ".join(
        f"(birth_year = {1920 + place} AND height = {100 + place})" for place in range(80)
    )
    made = scope(f"SELECT COUNT(*) FROM patients WHERE smoker AND ({squares})")
    assert len(made.unreadable) == 1
    assert [one.readable for one in made.region.axes] == [False, True]
    assert len(made.unreadable[0]) < 300


def test_values_that_were_released_are_told_by_what_they_are() -> None:
    """The same statement over another release is another question."""
    plan = plan_of("SELECT COUNT(*) FROM patients WHERE birth_year > (SELECT AVG(birth_year) FROM patients)")  # fmt: skip
    one, other = (scope_of(plan, None, {"_s1": content}).region for content in ("first", "second"))
    assert one != other


def test_expression_that_doubles_with_every_step_stays_short() -> None:
    """Forty CTEs that each add a column to itself are read at once, and to a short text."""
    steps = ["a0 AS (SELECT birth_year AS y FROM patients)"]
    steps += [f"a{one} AS (SELECT y + y AS y FROM a{one - 1})" for one in range(1, 40)]
    made = scope(f"WITH {', '.join(steps)} SELECT COUNT(*) FROM a39 WHERE y > 5")
    assert all(len(one.name) < 300 for one in made.region.axes)


def test_moment_that_is_not_folded_is_refused() -> None:
    """A scope with `current_date` in it would differ tomorrow."""
    bound = bind("SELECT COUNT(*) FROM visits WHERE visit_date > CURRENT_DATE", WARD)
    assert isinstance(bound, Cut)
    with pytest.raises(BrokenPlan):
        scope_of(bound.releases[-1].plan, None, {})
    assert NOON.date().isoformat() == "2026-03-02"


@pytest.mark.parametrize(
    ("sql", "other"),
    [
        ("SELECT SUM(p.income) FROM patients p", "SELECT SUM(income) FROM patients"),
        ("SELECT SUM(income + 1) FROM patients", "SELECT SUM(1 + q.income) FROM patients q"),
        (
            "SELECT SUM(x.i) FROM (SELECT income * 2 AS i FROM patients) x",
            "SELECT SUM(2 * income) FROM patients",
        ),
        (
            "SELECT SUM(CASE WHEN NOT birth_year >= 1950 THEN 1 END) FROM patients",
            "SELECT SUM(CASE WHEN birth_year < 1950 THEN 1 END) FROM patients",
        ),
    ],
)
def test_normal_text_is_the_same_for_what_means_the_same(sql: str, other: str) -> None:
    """Aliases, the order of what is added, and how a condition is written make no difference."""
    said = []
    for one in (sql, other):
        plan = plan_of(one)
        [(_, measure)] = plan.measures
        said.append(normal_text(plan.child, measure.arguments[0], {}))
    assert said[0] == said[1]


def test_normal_text_differs_for_what_differs() -> None:
    """Other columns, other constants and another kind of division are other texts."""
    said = set()
    for argument in ("income", "height", "height / 2", "height / 2.0", "height / 3", "height + 2"):
        plan = plan_of(f"SELECT SUM({argument}) FROM patients")
        [(_, measure)] = plan.measures
        said.add(normal_text(plan.child, measure.arguments[0], {}))
    assert len(said) == 6


@pytest.mark.parametrize(
    ("kind", "condition", "readable"),
    [
        ("double precision", "x < 0.1", True),
        ("double precision", "x < 5000000000", False),
        ("real", "x < 4", True),
        ("real", "x < 0.1", False),
        ("numeric", "x < 5000000000", True),
        ("numeric", "x < 0.0000001", False),
    ],
)
def test_number_is_not_read_where_sources_might_not_tell_it_from_others(
    kind: str, condition: str, *, readable: bool
) -> None:
    """Large floats stand for many decimals, and a `real` for different ones on different sources."""
    table = Table("t", (column("u", "bigint"), column("x", kind)), Protection("u", 1, 1))
    made = scope(f"SELECT COUNT(*) FROM t WHERE {condition}", Dataset("d", "person", (table,)))
    assert (made.unreadable == ()) is readable


@pytest.mark.parametrize(
    "condition",
    [
        "x = '2024-03-01'",
        "x = TIMESTAMP '2024-03-01 00:00'",
        "x < '2024-03-02'",
        "x IN ('2024-03-01')",
    ],
)
def test_days_that_are_listed_one_by_one_are_names(condition: str) -> None:
    """However one of them is written, it is the same one."""
    days = Values((date(2024, 3, 1), date(2024, 3, 2)))
    table = Table("t", (column("u", "bigint"), column("x", "date", days)), Protection("u", 1, 1))
    made = scope(f"SELECT COUNT(*) FROM t WHERE {condition}", Dataset("d", "person", (table,)))
    assert region_text(made.region) == "t.x in ('2024-03-01')"


def test_names_with_odd_letters_cannot_be_read_as_others() -> None:
    """A column whose name looks like a path is quoted."""
    protection = Protection("u", 1, 1)
    tables = (
        Table("t", (column("u", "bigint"), column("a.b", "text", Values(("x",)))), protection),
    )
    made = scope("SELECT COUNT(*) FROM t WHERE \"a.b\" = 'x'", Dataset("d", "person", tables))
    assert [one.name for one in made.region.axes] == ['t."a.b"']
