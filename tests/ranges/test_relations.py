"""Ranges: nothing that an expression can come to lies outside of its range, or beside its step."""

from collections.abc import Callable
from dataclasses import replace
from datetime import date
from fractions import Fraction

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from samples import draws
from sensitivity.analyses import dataset, ends, plan_of, span, whole
from sensitivity.reference import computed, conditions, expressions, holds

from gateway.catalog.domains import Domain, Interval, Values
from gateway.catalog.types import ColumnType, parse_type
from gateway.functions import range_arithmetic as arithmetic
from gateway.functions.range_arithmetic import Bounds, Range, bounds, divide, range_bounds
from gateway.plan.fields import BOOLEAN, DOUBLE, INTEGER, NUMERIC, Field
from gateway.plan.node import Node, walk_nodes
from gateway.plan.relations import Project
from gateway.plan.scalars import Call, Case, Literal, Ref, Scalar
from gateway.ranges.expressions import bounds_of, narrow_columns
from gateway.ranges.relations import (
    _columns_of,
    _domain_bounds,
    aggregate_bounds,
    columns_of,
    domain_bounds,
    range_of,
    ranges_of,
)

_HUNDREDTH = Fraction(1, 100)
_ends = st.tuples(st.integers(-9, 9), st.integers(0, 9)).map(lambda e: (e[0], e[0] + e[1]))


@st.composite
def _tables(draw: st.DrawFn) -> tuple[dict[str, Range], dict[str, Fraction | None]]:
    """Ranges of the columns, and a row within them."""
    columns: dict[str, Range] = {}
    row: dict[str, Fraction | None] = {}
    for name in ("a", "b", "c"):
        low, high = draw(_ends)
        step = _HUNDREDTH if name == "c" else Fraction(1)
        columns[name] = Range(Fraction(low), Fraction(high), step)
        place = draw(st.one_of(st.integers(int(low / step), int(high / step)), st.none()))
        row[name] = None if place is None else place * step
    return columns, row


def _within(value: Fraction, found: Range) -> bool:
    on_step = found.step is None or value % found.step == 0
    return found.low <= value <= found.high and on_step


@settings(max_examples=draws(1_500), deadline=None, derandomize=True)
@given(expressions, _tables())
def test_range_holds_every_value_of_an_expression(
    scalar: Scalar, table: tuple[dict[str, Range], dict[str, Fraction | None]]
) -> None:
    """Whatever the columns hold within their ranges, the expression is NULL or in its own, on its step."""
    columns, row = table
    found, value = range_of(scalar, columns), computed(scalar, row)
    if found is not None and value is not None:
        assert _within(value, found)


@settings(max_examples=draws(800), deadline=None, derandomize=True)
@given(conditions(expressions), st.booleans(), _tables())
def test_narrowing_keeps_every_row_that_gets_through(
    condition: Scalar,
    wanted: bool,  # noqa: FBT001 - drawn
    table: tuple[dict[str, Range], dict[str, Fraction | None]],
) -> None:
    """A row for which the condition is true (or is not) lies in the ranges narrowed by that."""
    columns, row = table
    if (holds(condition, row) is True) is not wanted:
        return
    narrowed = narrow_columns(
        condition, {k: range_bounds(v) for k, v in columns.items()}, bounds_of, holds=wanted
    )
    for name, value in row.items():
        found = narrowed[name].range
        assert found is not None
        assert value is None or _within(value, found)


def _broken_product(x: Range, y: Range) -> Bounds:
    return bounds(min(x.low * y.low, x.high * y.high), max(x.low * y.low, x.high * y.high))


def _broken_quotient(x: Range, y: Range, _grain: Fraction | None, *, whole: bool) -> Bounds:
    return divide(x, y, Fraction(2), whole=whole)


@pytest.mark.parametrize(
    ("operator", "name", "wrong"),
    [("*", "multiply", _broken_product), ("/", "divide", _broken_quotient)],
)
def test_range_check_notices_wrong_arithmetic(
    monkeypatch: pytest.MonkeyPatch, operator: str, name: str, wrong: Callable[..., Bounds]
) -> None:
    """The law above can fail: with a wrong rule for one operation there is a value outside."""
    monkeypatch.setattr(arithmetic, name, wrong)
    one = Call(operator, (Ref(_A), Ref(_B)), INTEGER)
    found = range_of(one, {"a": span(-3, 3, Fraction(1)), "b": span(-3, 3, Fraction(1))})
    assert found is not None
    values = [
        computed(one, {"a": Fraction(a), "b": Fraction(b)})
        for a in range(-3, 4)
        for b in range(-3, 4)
    ]
    assert any(value is not None and not _within(value, found) for value in values)


_A, _B, _X = Field("a", INTEGER), Field("b", INTEGER), Field("x", NUMERIC)


def _call(name: str, *parts: Scalar) -> Scalar:
    return Call(name, parts, NUMERIC)


def test_division_has_no_range_when_the_divisor_comes_near_zero() -> None:
    """Between 0 and 1 there is no largest quotient; among whole numbers there is."""
    one = Literal(1, INTEGER)
    assert range_of(_call("/", one, Ref(_X)), {"x": span(0, 10, _HUNDREDTH)}) is None
    found = range_of(_call("/", Literal(Fraction(7), NUMERIC), Ref(_A)), {"a": span(-2, 10)})
    assert found == span(-7, 7)


def test_division_by_nothing_but_zero_bounds_nothing_away() -> None:
    """Where the divisor is always zero the quotient is always NULL, and needs no refusal."""
    assert range_of(_call("/", Ref(_X), Ref(_A)), {"x": span(1, 2), "a": span(0, 0)}) is not None


def test_clamping_gives_a_range_to_what_has_none() -> None:
    """GREATEST(LEAST(x, 100), 0) is from 0 to 100, whatever `x` is."""
    inner = _call("least", Ref(_X), Literal(100, INTEGER))
    assert range_of(inner, {}) is None
    found = range_of(_call("greatest", inner, Literal(0, INTEGER)), {})
    assert found is not None
    assert ends(found) == (0, 100)


def test_case_narrows_a_column_that_has_no_range() -> None:
    """A branch sees the rows that reach it: WHEN x BETWEEN 0 AND 9 THEN x is from 0 to 9."""
    between = Call(
        "and",
        (
            Call(">=", (Ref(_X), Literal(0, INTEGER)), BOOLEAN),
            Call("<=", (Ref(_X), Literal(9, INTEGER)), BOOLEAN),
        ),
        BOOLEAN,
    )
    case = Case(((between, Ref(_X)),), Literal(None, NUMERIC), NUMERIC)
    found = range_of(case, {})
    assert found is not None
    assert ends(found) == (0, 9)
    # a branch that is reached when the condition is not true sees the others
    other = Case(((between, Literal(1, INTEGER)),), Ref(_X), NUMERIC)
    assert range_of(other, {}) is None


@pytest.mark.parametrize(
    ("name", "low", "high", "least", "most"),
    [("sqrt", 4, 9, 2, 3), ("ln", 1, 20, 0, 3), ("log", 1, 1000, 0, 3), ("exp", 0, 2, 1, 7.39)],
)
def test_function_has_the_range_of_its_ends(
    name: str, low: int, high: int, least: float, most: float
) -> None:
    """Functions that grow go from what they are at one end to what they are at the other."""
    found = range_of(Call(name, (Ref(_X),), DOUBLE), {"x": span(low, high)})
    assert found is not None
    assert float(found.low) == pytest.approx(least, abs=0.01)
    assert float(found.high) == pytest.approx(most, abs=0.01)
    assert found.low <= Fraction(least) + Fraction(1, 10**6)


def test_logarithm_has_no_range_when_it_comes_near_zero() -> None:
    """The logarithm of a hundredth of a hundredth goes on and on."""
    assert range_of(Call("ln", (Ref(_X),), DOUBLE), {"x": span(0, 9)}) is None
    assert range_of(Call("ln", (Ref(_A),), DOUBLE), {"a": span(0, 9)}) is not None


def test_range_is_given_up_when_numbers_grow_too_long() -> None:
    """An expression cannot make us compute with numbers of thousands of digits."""
    scalar: Scalar = Ref(_X)
    for _ in range(40):
        scalar = Call("power", (scalar, Literal(16, INTEGER)), NUMERIC)
    assert range_of(scalar, {"x": span(2, 3)}) is None


def _derived(function: str, argument: Range, rows: int | None) -> Range | None:
    found = aggregate_bounds(function, range_bounds(argument), rows)
    return None if found is None else found.range


@pytest.mark.parametrize(
    ("function", "expected"),
    [
        ("count", span(0, 3, Fraction(1))),
        ("row_number", span(1, 3, Fraction(1))),
        ("sum", span(-6, 15, Fraction(1))),
        ("avg", span(-2, 5)),
        ("min", span(-2, 5, Fraction(1))),
        ("lag", span(-2, 5, Fraction(1))),
    ],
)
def test_derived_column_has_the_range_that_rows_and_values_give(
    function: str, expected: Range
) -> None:
    """Of at most R rows: COUNT from 0 to R, SUM R times the ends, the rest among the values."""
    assert _derived(function, span(-2, 5, Fraction(1)), 3) == expected


def test_derived_column_has_no_range_without_a_bound_on_rows_or_values() -> None:
    """What nothing bounds stays without a range."""
    assert aggregate_bounds("sum", None, 3) is None
    assert _derived("sum", span(0, 1), None) is None
    assert aggregate_bounds("count", None, None) is None


def test_sum_of_positive_values_starts_at_zero() -> None:
    """A unit may have no row at all for a FILTER, so a sum of values from 2 to 5 may be 0."""
    assert _derived("sum", span(2, 5), 3) == span(0, 15)


_T = dataset(3, {"x": ("integer", whole(0, 100)), "y": ("numeric", None)})


def _child(sql: str) -> Node:
    return plan_of(sql, _T).child


def test_filter_narrows_only_where_it_was_asked_for() -> None:
    """A database may compute before it filters, so total expressions see the ranges without filters."""
    child = _child("SELECT COUNT(*) FROM t WHERE x BETWEEN 10 AND 20 AND y > 0 AND y < 5")
    assert ranges_of(child)["t.x"] == span(0, 100, Fraction(1))
    assert "t.y" not in ranges_of(child)
    narrowed = ranges_of(child, narrowed=True)
    assert ends(narrowed["t.x"]) == (10, 20)
    assert ends(narrowed["t.y"]) == (0, 5)


def test_filter_that_nothing_passes_narrows_nothing() -> None:
    """A contradiction leaves the ranges as they were."""
    child = _child("SELECT COUNT(*) FROM t WHERE x > 50 AND x < 20")
    found = ranges_of(child, narrowed=True)["t.x"]
    assert found.low <= found.high


def test_union_has_the_hull_of_both_sides() -> None:
    """A row of a union is a row of one of its sides."""
    sql = "SELECT SUM(v) FROM (SELECT x AS v FROM t UNION ALL SELECT -x AS v FROM t) AS both"
    [found] = [one for name, one in ranges_of(_child(sql)).items() if name.endswith(".v")]
    assert ends(found) == (-100, 100)


def test_project_has_the_ranges_of_its_expressions() -> None:
    """A computed column has the range of what computes it."""
    child = _child("SELECT SUM(v) FROM (SELECT 2 * x + 1 AS v FROM t) AS s")
    assert isinstance(child, Project)
    [found] = ranges_of(child).values()
    assert found == span(1, 201, Fraction(1))


def test_range_is_closed_under_replacing_a_column_by_its_range() -> None:
    """A Ref has the range that it is given, and none when it is given none."""
    assert range_of(Ref(replace(_A, id="elsewhere")), {"a": span(0, 1)}) is None


def test_column_that_is_said_never_to_be_null_does_not_bound_a_choice() -> None:
    """Enforcement can make NULL of any column, so COALESCE and GREATEST are bounded by all they may give."""
    there = Field("t.x", NUMERIC, nullable=False)
    far = Literal(Fraction(10**6), NUMERIC)
    columns = {"t.x": Range(Fraction(0), Fraction(5), None)}
    for name in ("coalesce", "least"):
        found = range_of(Call(name, (Ref(there), far), NUMERIC), columns)
        assert found is not None
        assert found.high == 10**6


def test_range_is_found_in_time_when_sums_nest_deep() -> None:
    """Every operand is looked at once: forty nested sums are no work."""
    sum_: Scalar = Ref(Field("t.x", INTEGER))
    for _ in range(40):
        sum_ = Call("+", (sum_, Literal(1, INTEGER)), INTEGER)
    found = range_of(sum_, {"t.x": Range(Fraction(0), Fraction(5), None)})
    assert found is not None
    assert (found.low, found.high) == (Fraction(40), Fraction(45))


@pytest.mark.parametrize("narrowed", [False, True])
def test_bounds_of_a_node_are_the_same_when_they_come_from_memory(*, narrowed: bool) -> None:
    """Node by node, in both readings: the same object the second time, and what is computed anew."""
    of = dataset(3, {"x": ("integer", whole(5, 9)), "y": ("integer", whole(0, 100))})
    sql = "SELECT x, SUM(y) FROM t WHERE y BETWEEN 10 AND 20 GROUP BY x"
    plans = [plan_of(sql, of), plan_of(sql.replace("20", "30"), of)]
    for node in [one for plan in plans for one in walk_nodes(plan)]:
        assert columns_of(node, narrowed=narrowed) is columns_of(node, narrowed=narrowed)
        assert columns_of(node, narrowed=narrowed) == _columns_of(node, narrowed=narrowed)
    below = [columns_of(one.below[0], narrowed=narrowed) for one in plans]
    assert (below[0] == below[1]) is not narrowed, "a filter narrows the plan that it is in"


@pytest.mark.parametrize(
    "domain",
    [
        Values((date(2024, 1, 1), date(2024, 3, 1))),
        Interval(date(2024, 1, 1), date(2024, 1, 31), Fraction(1)),
        Interval(-3, 9, Fraction(3)),
    ],
    ids=repr,
)
def test_bounds_of_a_domain_are_those_of_its_column_when_they_come_from_memory(
    domain: Domain,
) -> None:
    """A date among timestamps is its midnight in microseconds, whichever type was asked about first."""
    types: list[ColumnType] = [parse_type("date"), parse_type("timestamp"), parse_type("date")]
    for one in types:
        assert domain_bounds(domain, one) == _domain_bounds(domain, one)
        assert domain_bounds(domain, one) is domain_bounds(domain, one)
