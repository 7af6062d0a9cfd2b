"""The work of reading the conditions of one statement is counted, and ends where it would take seconds."""

from collections.abc import Callable, Iterator

import pytest
from overlap.sequences import Asked
from overlap.walk import DEFAULTS, parts, scopes, walked

from gateway.plan import sql_text
from gateway.plan.scalars import Scalar
from gateway.ranges.enumerate import evaluate_at
from gateway.regions import cell_classes, tabulate
from gateway.regions import key_cells as keys
from gateway.regions.cells import Cells, StepCells
from gateway.regions.region_work import (
    MOST_COMPUTED,
    MOST_WORK,
    WorkSpent,
    allow_work,
    compute_once,
    forget_computed,
    spend_work,
)
from gateway.regions.resolved_plan import clear_resolved

_READINGS = 3  # of the rows, of the keys and of the aggregates: each has an allowance of its own


@pytest.fixture(autouse=True)
def _nothing_is_remembered() -> Iterator[None]:
    _forget()
    yield
    _forget()


def _forget() -> None:
    for one in (tabulate._TABULATED, tabulate._COMPARED, keys._REMEMBERED):
        one.clear()
    clear_resolved()
    parts.cache_clear()


@pytest.fixture
def ranges(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """The number of ranges in each division of an axis."""
    seen: list[int] = []
    divide = cell_classes._of_steps

    def counted(axis: object, given: list[Cells | None], *rest: object) -> object:
        seen.append(sum(len(one.ranges) for one in given if isinstance(one, StepCells)))
        return divide(axis, given, *rest)  # type: ignore[arg-type]  # handed on as they are

    monkeypatch.setattr(cell_classes, "_of_steps", counted)
    return seen


@pytest.fixture
def computed(monkeypatch: pytest.MonkeyPatch) -> list[Scalar]:
    """The expressions that were computed for a cell."""
    seen: list[Scalar] = []
    evaluate: Callable[..., object] = evaluate_at

    def counted(scalar: Scalar, *rest: object) -> object:
        seen.append(scalar)
        return evaluate(scalar, *rest)

    monkeypatch.setattr(tabulate, "evaluate_at", counted)
    return seen


def _hours_and_days(many: int, zone: str) -> str:
    time = f"prescribed_at{zone}"
    both = (
        f"(extract(hour FROM {time}) <> {one % 24} OR extract(dow FROM {time}) <> {one % 7})"
        for one in range(many)
    )
    return f"SELECT COUNT(*) FROM prescriptions WHERE {' AND '.join(both)}"


@pytest.mark.parametrize("zone", ["", " AT TIME ZONE 'UTC'"], ids=["session", "named"])
@pytest.mark.parametrize("many", [10, 30, 60])
def test_ranges_of_hours_and_weekdays_are_counted(many: int, zone: str, ranges: list[int]) -> None:
    """However many such conditions a statement has, no more ranges are looked at than are allowed."""
    [scope] = scopes("clinic", _hours_and_days(many, zone))
    assert scope.unreadable
    assert sum(ranges) <= _READINGS * MOST_WORK


def test_alternatives_over_five_columns_are_counted(ranges: list[int]) -> None:
    """Sixty of them by AND end as one opaque condition, before they were combined again and again."""
    groups = (
        f"(cost > {50 * one + 1} OR visit_date < '2022-{one % 12 + 1:02}-{one % 28 + 1:02}'"
        f" OR birth_year < {1930 + one} OR income > {1000 * one} OR region = 'north')"
        for one in range(60)
    )
    joined = "visits JOIN patients ON patients.patient_id = visits.patient_id"
    sql = f"SELECT COUNT(*) FROM {joined} WHERE {' AND '.join(groups)}"
    assert all(one.unreadable for one in scopes("clinic", sql))
    assert sum(ranges) <= _READINGS * MOST_WORK


def test_expressions_are_computed_for_a_limited_number_of_cells(computed: list[Scalar]) -> None:
    """Many different expressions are as much work together as a few, and the later ones are opaque."""
    conditions = (f"(dose * {one} + 1) % 1999 <> {one}" for one in range(1, 60))
    [scope] = scopes(
        "clinic", f"SELECT COUNT(*) FROM prescriptions WHERE {' AND '.join(conditions)}"
    )
    assert scope.unreadable
    assert computed
    assert len(computed) <= MOST_COMPUTED


def test_scope_is_the_same_when_everything_was_computed_before() -> None:
    """What a statement may spend does not depend on what is remembered of others."""
    conditions = " AND ".join(f"(dose * {one}) % 5 <> 4" for one in range(3, 30))
    sql = f"SELECT COUNT(*) FROM prescriptions WHERE {conditions}"
    first = scopes("clinic", sql)
    for one in range(3, 30):
        scopes("clinic", f"SELECT COUNT(*) FROM prescriptions WHERE (dose * {one}) % 5 <> 4")
    parts.cache_clear()
    clear_resolved()
    assert scopes("clinic", sql) == first
    assert first[0].unreadable


@pytest.mark.parametrize("zone", ["", " AT TIME ZONE 'UTC'"], ids=["session", "named"])
def test_weekdays_and_months_of_a_dashboard_are_read(zone: str, computed: list[Scalar]) -> None:
    """A part of a time is computed once for all conditions about it, and so many of them stay below the limit."""
    time = f"prescribed_at{zone}"
    parts_of_time = [("dow", one) for one in range(7)] + [("month", one + 1) for one in range(12)]
    sums = ", ".join(
        f"COUNT(*) FILTER (WHERE extract({part} FROM {time}) = {one})"
        for part, one in parts_of_time
    )
    found = scopes("clinic", f"SELECT {sums} FROM prescriptions")
    assert len(found) == 1 + len(parts_of_time)
    assert not any(one.unreadable for one in found)
    days = 7 * 366
    assert len(computed) < 2 * days + 1_000


def test_choice_beside_conditions_of_too_many_boxes_is_opaque() -> None:
    """The conditions are not left out: two queries that differ in them differ in the rows of the choice."""
    squares = " OR ".join(
        f"(birth_year = {1930 + one} AND income > {1000 * one + 500})" for one in range(40)
    )
    choice = "SUM(CASE WHEN region = 'north' OR cost > 100 THEN 1 ELSE 0 END)"
    joined = "patients JOIN visits ON visits.patient_id = patients.patient_id"
    sql = f"SELECT {choice} FROM {joined} WHERE {squares}"
    assert any(one.unreadable for one in scopes("clinic", sql))
    narrower = f"SELECT {choice} FROM {joined} WHERE ({squares}) AND region <> 'south'"
    walk = walked(Asked("choice", "clinic", (("alice", sql), ("alice", narrower))), DEFAULTS)
    assert walk.refusal is not None


def test_long_condition_in_an_aggregate_below_exists_is_opaque() -> None:
    """It is too much work while the plan is followed down, too: the condition is opaque, and nothing fails."""
    long = " OR ".join(
        f"(extract(day FROM visit_date) <> {one % 28 + 1} AND extract(dow FROM visit_date) <> {one % 7}"
        f" AND cost > {7 * one})"
        for one in range(40)
    )
    counted = f"SELECT patient_id, COUNT(*) FILTER (WHERE {long}) AS n FROM visits GROUP BY 1"
    sql = (
        "SELECT COUNT(*) FROM patients p WHERE NOT EXISTS"
        f" (SELECT 1 FROM ({counted}) t WHERE t.patient_id = p.patient_id AND n > 0)"
    )
    assert any(one.unreadable for one in scopes("clinic", sql))


def test_condition_that_is_read_again_is_charged_again() -> None:
    """Whether a condition fits the allowance does not depend on what was remembered: only the computing is saved."""
    calls = list[int]()

    def work() -> int:
        calls.append(1)
        spend_work(MOST_WORK // 3)
        return 7

    what, bases = object(), object()
    with allow_work():
        assert [compute_once("truth", what, bases, work) for _ in range(3)] == [7, 7, 7]
        assert len(calls) == 1
        with pytest.raises(WorkSpent):
            compute_once("truth", what, bases, work)
        assert compute_once("other", what, bases, lambda: 8) == 8
    with allow_work():
        assert compute_once("truth", what, bases, work) == 7
        forget_computed()
        calls.pop()
        assert compute_once("truth", what, bases, work) == 7
    assert len(calls) == 2
    assert [compute_once("truth", what, bases, work) for _ in range(2)] == [7, 7], "no allowance"
    assert len(calls) == 4


def test_parts_of_nested_choices_are_written_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Thirty choices in each other took seconds: each was written and solved again for every one around it."""
    texts = list[Scalar]()

    def written(scalar: Scalar, write: Callable[[Scalar], str] = sql_text._written) -> str:
        texts.append(scalar)
        return write(scalar)

    monkeypatch.setattr(sql_text, "_written", written)
    chosen = "cost"
    for step in range(30):
        chosen = f"CASE WHEN {chosen} > {step}00 THEN cost + {step} ELSE cost END"
    sql = f"SELECT COUNT(*) FROM (SELECT patient_id, SUM({chosen}) AS m FROM visits GROUP BY 1) t WHERE m > 3"
    parts.cache_clear()
    clear_resolved()
    assert scopes("clinic", sql)
    assert len(texts) < 150_000  # before: 713,119
