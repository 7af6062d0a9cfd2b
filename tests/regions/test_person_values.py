"""Values that are computed from the rows of each person: what is compared besides the conditions on them."""

import json
from fractions import Fraction

import pytest
from laws import for_each
from regions.ward import plan_of, scope, where

from gateway.overlap.history import History, PriorRelease, comparable_indexes
from gateway.regions.names import region_text
from gateway.regions.region import EVERYTHING, Region
from gateway.regions.scope import ReleaseScope, aggregate_scopes
from gateway.regions.scope_json import scope_json, scope_of_json

_DEAR = where("cost > 1000", "visits")
_RICH = where("income > 1000")


def _any_numbers(sql: str) -> set[tuple[str, Region]]:
    every = aggregate_scopes(plan_of(sql), scope(sql), {})
    return {(one.shape, one.region) for one in every if one.any_numbers}


@for_each(
    ("sql", "shape", "rows"),
    [
        (
            "SELECT COUNT(*) FROM (SELECT patient_id, BOOL_OR(cost > 1000) AS b FROM visits GROUP BY 1) t WHERE b",
            "visits",
            _DEAR,
        ),
        (
            "SELECT COUNT(*) FROM (SELECT patient_id FROM visits WHERE cost > 1000 GROUP BY 1 HAVING COUNT(*) > 2) t",
            "visits",
            _DEAR,
        ),
        (
            (
                "SELECT COUNT(*) FROM (SELECT ROW_NUMBER() OVER (PARTITION BY patient_id ORDER BY visit_date) AS n "
                "FROM visits WHERE cost > 1000) t WHERE n = 2"
            ),
            "visits",
            _DEAR,
        ),
        (
            (
                "SELECT COUNT(*) FROM patients WHERE patient_id IN "
                "(SELECT patient_id FROM visits GROUP BY 1 HAVING BOOL_OR(cost > 1000))"
            ),
            "visits",
            _DEAR,
        ),
        (
            (
                "SELECT COUNT(*) FROM (SELECT patient_id FROM "
                "(SELECT patient_id, visit_date, BOOL_OR(cost > 1000) AS b FROM visits GROUP BY 1, 2) d WHERE b GROUP BY 1) t"
            ),
            "visits",
            _DEAR,
        ),
        (
            (
                "SELECT COUNT(*) FROM patients p LEFT JOIN (SELECT patient_id, COUNT(*) AS n FROM visits GROUP BY 1) t "
                "ON t.patient_id = p.patient_id WHERE n > 2 AND income > 1000"
            ),
            "patients",
            _RICH,
        ),
    ],
)
def test_rows_behind_a_number_are_compared_whatever_it_is(
    sql: str, shape: str, rows: Region
) -> None:
    """A condition on a number may say nothing beside the condition inside it."""
    found = _any_numbers(sql)
    assert (shape, rows) in found
    assert not any(one.of_person for _, region in found for one in region.axes)


@pytest.mark.parametrize(
    "sql",
    [
        "SELECT COUNT(*) FROM visits WHERE cost > 1000",
        "SELECT COUNT(*) FROM (SELECT patient_id, COUNT(*) AS n FROM visits GROUP BY 1) t",
        "SELECT COUNT(*) FROM visits v JOIN patients p ON p.patient_id = v.patient_id WHERE p.income > 1000",
    ],
)
def test_rows_without_conditions_on_numbers_are_compared_once(sql: str) -> None:
    """There is no condition that could hide a difference."""
    assert _any_numbers(sql) == set()


def _of(region: Region, *, any_numbers: bool = False) -> ReleaseScope:
    return ReleaseScope("visits", frozenset({"visits"}), region, (), (), any_numbers=any_numbers)


def test_rows_of_any_numbers_are_not_compared_with_rows_of_some() -> None:
    """A region that was not released makes none of the regions that it was taken from narrow."""
    some = scope(
        "SELECT COUNT(*) FROM (SELECT COUNT(*) OVER (PARTITION BY patient_id) AS n FROM visits) t WHERE n > 2"
    )
    plain, any_ = _of(_DEAR), _of(EVERYTHING, any_numbers=True)
    assert some.numbers
    for new, expected in (
        (plain, {_DEAR, some.region, EVERYTHING}),
        (some, {_DEAR, some.region}),
        (any_, {_DEAR, EVERYTHING}),
    ):
        told = History(
            PriorRelease(f"q{n}", f"q{n}", one, None, Fraction(800))
            for n, one in enumerate((plain, some, any_))
        )
        indexes = comparable_indexes(new, (told,))
        assert {entry.region for one in indexes for entry in one.entries} == expected


def test_scope_of_any_numbers_is_equal_after_the_round_trip() -> None:
    """A state that an older version wrote says nothing of numbers."""
    made = _of(_DEAR, any_numbers=True)
    written = json.loads(json.dumps(scope_json(made)))
    assert scope_of_json(written) == made
    del written["any_numbers"]
    assert scope_of_json(written) == _of(_DEAR)


_OUTER = "SELECT COUNT(*) FROM patients p LEFT JOIN ({}) t ON t.patient_id = p.patient_id WHERE income > 1000"
_NUMBERED = (
    "SELECT patient_id, cost FROM (SELECT patient_id, cost, "
    "ROW_NUMBER() OVER (PARTITION BY {} ORDER BY visit_date) AS n FROM visits) v WHERE {}"
)


@for_each(
    "rows",
    [
        "SELECT patient_id, COUNT(*) AS n FROM visits GROUP BY 1",
        "SELECT patient_id, COUNT(*) AS n FROM visits WHERE cost > 5 GROUP BY 1 HAVING COUNT(*) > 2",
        "SELECT DISTINCT patient_id FROM visits",
        "SELECT DISTINCT ON (patient_id) patient_id, cost FROM visits ORDER BY patient_id, visit_date",
        _NUMBERED.format("patient_id", "n = 2"),
        _NUMBERED.format("patient_id", "(n = 1 AND cost > 5) OR (n <= 1 AND cost < 3)"),
    ],
)
def test_outer_join_with_one_row_of_each_person_is_no_other_shape(rows: str) -> None:
    """It neither adds nor removes rows."""
    made = scope(_OUTER.format(rows))
    assert made.shape == "patients"
    assert made.region == _RICH


@for_each(
    "rows",
    [
        "SELECT patient_id, cost FROM visits",
        "SELECT patient_id, visit_date, COUNT(*) AS n FROM visits GROUP BY 1, 2",
        _NUMBERED.format("patient_id", "n <= 2"),
        _NUMBERED.format("patient_id", "(n = 1 AND cost > 5) OR (n = 2 AND cost < 3)"),
        _NUMBERED.format("patient_id", "n = 1 OR cost > 5"),
        _NUMBERED.format("patient_id, visit_date", "n = 1"),
        "SELECT v.patient_id FROM (" + _NUMBERED.format("patient_id", "n = 1")
        + ") v JOIN visits w ON w.patient_id = v.patient_id",
    ],
)  # fmt: skip
def test_outer_join_with_several_rows_of_a_person_stays_in_the_shape(rows: str) -> None:
    """It multiplies rows, so their numbers cannot be compared."""
    assert "left join" in scope(_OUTER.format(rows)).shape


def test_rows_of_the_person_in_a_window_are_at_least_the_row_itself() -> None:
    """More than one are a condition."""
    counted = "SELECT COUNT(*) FROM (SELECT COUNT(*) OVER (PARTITION BY patient_id) AS n FROM visits) t WHERE n >= {}"
    assert scope(counted.format(1)).region.is_everything
    assert not scope(counted.format(2)).region.is_everything


def test_axes_of_a_number_are_left_out_of_every_box() -> None:
    """What is left covers the region."""
    made = where("income > 1000 AND height > 150 OR smoker")
    heights = made.without_axes(frozenset({"patients.height"}))
    assert region_text(heights) == region_text(where("income > 1000 OR smoker"))
    assert heights.covers(made)
    assert made.without_axes(frozenset({"patients.sex"})) is made


@for_each(
    ("value", "is_column"),
    [
        ("MAX(income)", True),
        ("MIN(income)", True),
        ("MAX(income) FILTER (WHERE smoker)", False),
        ("SUM(income)", False),
    ],
)
def test_largest_value_of_the_only_row_is_the_column(value: str, *, is_column: bool) -> None:
    """With a condition inside, it is another number: NULL for some."""
    made = scope(
        f"SELECT COUNT(*) FROM (SELECT patient_id, {value} AS m FROM patients GROUP BY 1) t WHERE m > 1000"
    )
    assert (made.region == _RICH) is is_column
    assert bool(made.numbers) is not is_column


def test_largest_value_of_several_rows_is_a_number_of_the_person() -> None:
    """Visits are several; the person's income beside them is one."""
    asked = (
        "SELECT COUNT(*) FROM (SELECT v.patient_id, MAX({}) AS m FROM visits v "
        "JOIN patients p ON p.patient_id = v.patient_id GROUP BY 1) t WHERE m > 1000"
    )
    assert scope(asked.format("v.cost")).numbers
    assert scope(asked.format("p.income")).region == _RICH
