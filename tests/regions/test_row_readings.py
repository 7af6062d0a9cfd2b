"""Numbers of a person as conditions on rows: which numbers have one region, however they are written."""

import json
from fractions import Fraction

import pytest
from laws import for_each
from regions.ward import plan_of, scope, where

from gateway.overlap.history import History, PriorRelease, comparable_indexes
from gateway.regions.names import region_text
from gateway.regions.region import EVERYTHING, Region
from gateway.regions.row_readings import EVERY_NUMBER, ReadingKind
from gateway.regions.scope import ReleaseScope, aggregate_scopes
from gateway.regions.scope_json import scope_json, scope_of_json

_HAVING = "SELECT COUNT(*) FROM (SELECT patient_id FROM visits GROUP BY 1 HAVING {}) t"
_JOINED = (
    "SELECT COUNT(*) FROM (SELECT v.patient_id FROM visits v JOIN patients p ON p.patient_id = v.patient_id "
    "GROUP BY 1 HAVING {}) t"
)
_DEAR = where("cost > 1000", "visits")
_ALIKE = ReadingKind.ALIKE.every


def _scopes(sql: str) -> list[ReleaseScope]:
    return [one for one in aggregate_scopes(plan_of(sql), scope(sql), {}) if one.row_reading]


def _read(sql: str, kind: str = EVERY_NUMBER, shape: str = "visits") -> set[Region]:
    return {one.region for one in _scopes(sql) if (one.row_reading, one.shape) == (kind, shape)}


@for_each(
    "condition",
    [
        "MAX(cost) > 1000",
        "MAX(cost * 2) > 2000",
        "MAX(cost) * 2 > 2000",
        "-MIN(-cost) > 1000",
        "MIN(5000 - cost) < 4000",
        "MAX(cost / 4) > 250",
        "MAX(cost::numeric) > 1000",
        "MAX(greatest(cost, 0)) > 1000",
        "MAX(coalesce(cost, 0)) > 1000",
        "MAX(CASE WHEN cost >= 0 THEN cost END) > 1000",
        "MAX(CASE WHEN cost >= 500 THEN cost ELSE 0 END) > 1000",
        "MAX(least(cost, 4000)) > 1000",
        "MAX(abs(cost)) > 1000",
        "MAX(cost) FILTER (WHERE cost >= 0) > 1000",
        "SUM(cost + 0) > 1000",
        "AVG(cost + 1) > 1001",
        "BOOL_OR(cost > 1000)",
        "NOT BOOL_AND(cost <= 1000)",
        "COUNT(*) FILTER (WHERE cost > 1000) > 0",
        "COUNT(CASE WHEN cost > 1000 THEN 1 END) >= 1",
        "SUM((cost > 1000)::int) > 0",
    ],
)
def test_number_of_one_row_is_a_condition_on_the_row(condition: str) -> None:
    """All these are true for a person with one visit exactly if it costs more than 1,000."""
    there = where("cost IS NOT NULL", "visits")
    found = {region_text(one.meet(there)) for one in _read(_HAVING.format(condition))}
    assert region_text(_DEAR) in found


@for_each(
    "condition",
    [
        "SUM(cost * 2) > 20000",
        "-SUM(-cost) > 10000",
        "SUM(cost / 2) > 5000",
        "SUM(coalesce(cost, 0)) > 10000",
        "SUM(greatest(cost, 0)) > 10000",
        "SUM(CASE WHEN cost >= 0 THEN cost ELSE 0 END) > 10000",
        "SUM(CASE WHEN cost < 2500 THEN cost ELSE cost + 0 END) > 10000",
        "SUM(cost * (cost >= 0)::int) > 10000",
        "SUM(3 * CASE WHEN cost < 2500 THEN cost ELSE cost END) > 30000",
    ],
)
def test_sum_of_alike_rows_is_a_multiple_of_one_sum(condition: str) -> None:
    """Sums have one axis for all multiples of an expression."""
    there = where("cost IS NOT NULL", "visits")
    [plain] = _read(_HAVING.format("SUM(cost) > 10000"), _ALIKE)
    found = {region_text(one.meet(there)) for one in _read(_HAVING.format(condition), _ALIKE)}
    assert region_text(plain.meet(there)) in found
    [other] = _read(_HAVING.format("SUM(cost) > 10001"), _ALIKE)
    assert region_text(other) != region_text(plain)


@pytest.mark.parametrize(
    "condition", ["COUNT(cost) > 4", "COUNT(cost * 2) > 4", "SUM(1) > 4", "SUM(2) > 8"]
)
def test_count_of_alike_rows_is_their_number(condition: str) -> None:
    """A column without NULL counts all rows."""
    there = where("cost IS NOT NULL", "visits")
    [plain] = _read(_HAVING.format("COUNT(*) > 4"), _ALIKE)
    [found] = _read(_HAVING.format(condition), _ALIKE)
    assert region_text(found.meet(there)) == region_text(plain.meet(there))


@for_each(
    ("condition", "other"),
    [
        ("SUM(cost * income) > 500", "SUM(income * 2 * cost) > 1000"),
        ("SUM(cost * (income + 1)) > 500", "SUM(income * cost + cost) > 500"),
        ("SUM(cost - income) > 500", "SUM(income - cost) < -500"),
    ],
)
def test_arithmetic_of_columns_is_one_value(condition: str, other: str) -> None:
    """Products and differences are compared by their polynomial, up to a factor."""
    shape = scope(
        "SELECT COUNT(*) FROM visits v JOIN patients p ON p.patient_id = v.patient_id"
    ).shape
    found = _read(_JOINED.format(condition), _ALIKE, shape)
    assert found
    assert found == _read(_JOINED.format(other), _ALIKE, shape)


@for_each(
    "condition",
    [
        "SUM(cost + 1) > 10000",
        "SUM(CASE WHEN cost < 2500 THEN cost ELSE cost + 0.001 END) > 10000",
        "SUM(cost + weight) + COUNT(*) > 5",
    ],
)
def test_sum_beside_the_number_of_rows_is_opaque(condition: str) -> None:
    """A constant for each row makes it a condition on two numbers, and one of them could hide a person."""
    assert any(one.unreadable for one in _scopes(_HAVING.format(condition)))


@for_each(
    "condition",
    [
        "SUM(CASE WHEN diagnosis = 'flu' THEN cost ELSE 0 END) > 100",
        "SUM(least(cost, 500)) > 1000",
        "COUNT(DISTINCT diagnosis) > 2",
        "AVG(cost) > 100 AND COUNT(*) > 3",
        "MAX(visit_date) > DATE '2024-03-05'",
    ],
)
def test_ordinary_number_is_readable(condition: str) -> None:
    """Honest conditions on numbers are regions in each reading."""
    assert not any(one.unreadable for one in _scopes(_HAVING.format(condition)))


def test_each_number_is_read_whatever_the_others_are() -> None:
    """`MIN(cost) < 10 AND MAX(cost) > 1000` has no person with one row: it must not hide the largest cost."""
    asked = _HAVING.format("MIN(cost) < 10 AND MAX(cost * 2) > 2000")
    assert _read(asked) == set()
    assert _DEAR in _read(asked, ReadingKind.ONE.value)
    assert where("cost < 10", "visits") in _read(asked, ReadingKind.ONE.value)


def test_each_number_is_read_for_all_values_of_the_others() -> None:
    """With OR, persons of some values of one number have any value of the other: these do not hide the rest."""
    asked = _HAVING.format("MAX(cost * 2) > 2000 OR COUNT(DISTINCT diagnosis) = 1")
    assert _DEAR in _read(asked, ReadingKind.ONE.value)


def test_number_over_a_union_is_read_in_each_side() -> None:
    """A side of nobody changes no number, but its name."""
    rows = "SELECT patient_id, cost FROM visits{}"
    asked = f"SELECT COUNT(*) FROM (SELECT patient_id FROM ({rows.format('')} UNION ALL {rows.format(' WHERE cost < 0')}) u "
    asked += "GROUP BY 1 HAVING SUM(cost) > 10000) t"
    [plain] = _read(_HAVING.format("SUM(cost) > 10000"), _ALIKE)
    assert region_text(plain) in map(region_text, _read(asked, _ALIKE))


@for_each("condition", ["COUNT(*) < 5", "COUNT(*) >= 1"])
def test_reading_that_says_nothing_is_one_of_all_numbers_alone(condition: str) -> None:
    """All persons with one row: other numbers of the same rows are conditions on them."""
    asked = _HAVING.format(condition)
    assert _read(asked) == {EVERYTHING}
    assert _read(asked, ReadingKind.ONE.value) == set()


def test_reading_that_nobody_meets_is_no_scope() -> None:
    """Nobody with one row has three."""
    assert _read(_HAVING.format("COUNT(*) > 2")) == set()


@for_each(
    "sql",
    [
        "SELECT COUNT(*) FROM visits WHERE cost > 1000",
        "SELECT AVG(n) FROM (SELECT patient_id, COUNT(*) AS n FROM visits GROUP BY 1) t",
        "SELECT AVG(m) FROM (SELECT patient_id, MAX(cost * 2) AS m FROM visits GROUP BY 1) t",
    ],
)
def test_rows_without_conditions_on_numbers_have_no_reading(sql: str) -> None:
    """There is no condition that could be written in other words."""
    assert _scopes(sql) == []


def test_value_of_another_row_is_read_over_the_columns_of_that_row() -> None:
    """LAG of an expression is the expression of LAG."""
    asked = (
        "SELECT COUNT(*) FROM (SELECT LAG({}) OVER (PARTITION BY patient_id ORDER BY visit_date, visit_id) AS l "
        "FROM visits) t WHERE l > {}"
    )
    assert _read(asked.format("cost", 1000)) == _read(asked.format("cost * 2", 2000)) != set()
    assert _read(asked.format("cost", 1000)) != _read(asked.format("cost * 2", 2001))


def test_reading_is_compared_with_readings_of_its_kind_and_rows() -> None:
    """A sum of alike rows is no answer, and the reading of one row has the axes of rows."""
    plain = ReleaseScope("visits", frozenset({"visits"}), _DEAR, (), ())
    kinds = {"", EVERY_NUMBER, ReadingKind.ONE.value, _ALIKE}
    made = {
        one: ReleaseScope("visits", plain.tables, _DEAR, (), (), row_reading=one) for one in kinds
    }
    for kind, expected in (
        ("", {"", EVERY_NUMBER}),
        (EVERY_NUMBER, {"", EVERY_NUMBER}),
        (ReadingKind.ONE.value, {ReadingKind.ONE.value}),
        (_ALIKE, {_ALIKE}),
    ):
        for other in kinds:
            told = History([PriorRelease("q1", "q1", made[other], None, Fraction(800))])
            assert bool(comparable_indexes(made[kind], (told,))) is (other in expected)


def test_reading_is_equal_after_the_round_trip() -> None:
    """A state that an older version wrote has no readings."""
    [made] = [
        one for one in _scopes(_HAVING.format("SUM(cost * 2) > 9")) if one.row_reading == _ALIKE
    ][:1]
    written = json.loads(json.dumps(scope_json(made)))
    assert scope_of_json(written) == made
    del written["row_reading"]
    assert not scope_of_json(written).row_reading
