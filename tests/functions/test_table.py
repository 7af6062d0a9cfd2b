"""The table of functions is total: each row has all its facets, and its SQL on both engines."""

from collections.abc import Iterator, Mapping
from dataclasses import fields, replace
from fractions import Fraction
from typing import Final

import pytest
from engines.extremes import RANGES, bound
from engines.scalar_cases import ALL
from sqlalchemy import column

from gateway.binding.expressions import _ARITHMETIC, _COMPARISONS
from gateway.binding.patterns import LIKES
from gateway.catalog.types import Family
from gateway.engines.sql.expressions import RENDERINGS, ScalarSql
from gateway.engines.sql.partial_select import Dialect, Sql
from gateway.engines.sql.pieces import Render
from gateway.errors import Refusal
from gateway.functions.conditions import GREATEST
from gateway.functions.function import Function
from gateway.functions.numbers import FLOOR
from gateway.functions.range_arithmetic import Bounds, Range
from gateway.functions.result_sizes import Size, size_of_type
from gateway.functions.table import CALLED, FUNCTIONS, function_of
from gateway.plan.fields import DOUBLE
from gateway.plan.node import BrokenPlan
from gateway.plan.scalars import Call, Ref, Scalar, walk_scalar
from gateway.ranges.expressions import bounds_of, grain_of
from gateway.ranges.relations import range_of

_REQUIRED: Final = frozenset({"name", "nulls", "computes", "range", "cost", "size", "copies"})
_UNWRITTEN: Final = frozenset({"is unknown", "is not unknown", "is not true", "is not false"})
"""Nothing an analyst writes becomes one of these: `x IS NOT TRUE` is read as `NOT (x IS TRUE)`."""
_GRAMMAR: Final = frozenset(
    {
        *(*_ARITHMETIC.values(), *_COMPARISONS.values(), *LIKES.values()),
        *("and", "or", "not", "in", "||", "negate", "extract", "age_in", "not like", "not ilike"),
        "trunc_in_zone",
        *("is null", "is not null", "is true", "is false"),
    }
)


def gaps(functions: Mapping[str, Function], renderings: Mapping[str, Render]) -> Iterator[str]:
    """What is missing in a table of functions, or in the one of their SQL."""
    for name, function in functions.items():
        if function.name != name:
            yield f"{name}: called {function.name}"
        for one in fields(Function):
            if one.name in _REQUIRED and getattr(function, one.name) is None:
                yield f"{name}: no {one.name}"
        signature = function.signature
        if signature is not None and max(signature.literal, default=0) >= signature.most:
            yield f"{name}: a constant behind the last argument"
    yield from (f"{name}: no SQL" for name in functions.keys() - renderings.keys())
    yield from (f"{name}: SQL of no function" for name in renderings.keys() - functions.keys())


def calls() -> dict[str, list[Call]]:
    """Calls of each function, out of expressions that an analyst can write."""
    found: dict[str, list[Call]] = {}
    for sql in (one for some in ALL.values() for one in some):
        for one in walk_scalar(bound(sql)):
            if isinstance(one, Call):
                found.setdefault(one.function, []).append(one)
    return found


class _Known:
    def range(self, scalar: Scalar) -> Range | None:
        return range_of(scalar, RANGES)

    def grain(self, scalar: Scalar) -> Fraction | None:
        return grain_of(scalar)


def test_every_function_has_all_its_facets_and_its_sql() -> None:
    """Nothing binds of which cost, range, size, NULL behaviour, copies or SQL are not said."""
    assert list(gaps(FUNCTIONS, RENDERINGS)) == []


def test_a_row_without_a_facet_is_found() -> None:
    """The check fails on a row without a cost, under another name, or without SQL; and on SQL without a row."""
    broken = replace(FLOOR, cost=None)  # type: ignore[arg-type]
    assert list(gaps({"floor": broken}, RENDERINGS))[:1] == ["floor: no cost"]
    assert list(gaps({"ground": FLOOR}, {"ground": RENDERINGS["floor"]})) == [
        "ground: called floor"
    ]
    assert list(gaps({"floor": FLOOR}, {})) == ["floor: no SQL"]
    assert list(gaps({}, {"floor": RENDERINGS["floor"]})) == ["floor: SQL of no function"]


@pytest.mark.parametrize("facet", sorted(_REQUIRED | {"signature"}))
def test_a_row_cannot_be_made_without_a_facet_on_which_safety_rests(facet: str) -> None:
    """These facets have no default: who adds a function has to say them."""
    given = {one.name: getattr(GREATEST, one.name) for one in fields(Function)}
    del given[facet]
    with pytest.raises(TypeError, match=facet):
        Function(**given)


def test_facets_that_are_left_out_say_the_least() -> None:
    """A row with the required facets alone is not computed, not solved, not listed, and may be NULL."""
    bare = Function(**{one: getattr(FLOOR, one) for one in (*_REQUIRED, "signature")})
    left = {one.name: getattr(bare, one.name) for one in fields(Function)}
    assert bare.gaps.name == "UNKNOWN"
    said = {name for name, facet in left.items() if facet} - _REQUIRED
    assert said == {"signature", "gaps"}


def test_everything_that_the_grammar_gives_is_in_the_table() -> None:
    """Operators have rows as functions have; and nothing else has one."""
    assert FUNCTIONS.keys() == _GRAMMAR | CALLED | _UNWRITTEN


_MIXABLE: Final = (
    frozenset({Family.DATE, Family.TIMESTAMP}),
    frozenset({Family.WHOLE, Family.EXACT}),
    frozenset({Family.EXACT, Family.FLOAT}),
)


def unmixed(made: Mapping[str, list[Call]]) -> list[str]:
    """Functions that take any types together, and pairs of types with which no expression calls them."""
    alike = {name for name, row in FUNCTIONS.items() if row.signature and row.signature.same_type}
    taking = {*_COMPARISONS.values(), "in", *(alike - {"mod"})}
    found = {
        name: {frozenset(part.type.family for part in call.parts) for call in made.get(name, [])}
        for name in taking
    }
    return [
        f"{name}: {sorted(one.name for one in pair)}"
        for name, pairs in found.items()
        for pair in _MIXABLE
        if pair not in pairs
    ]


def test_every_function_that_mixes_types_is_held_against_the_databases() -> None:
    """Whoever adds a row that compares values adds expressions, which `test_function_facets.py` runs on both."""
    made = calls()
    assert unmixed(made) == []
    assert unmixed({**made, "nullif": []})


def test_a_function_that_is_not_in_the_table_is_no_plan() -> None:
    """An unknown function is refused by whoever meets it first, never assumed to be harmless."""
    unknown = Call("median_of_three", (), DOUBLE)
    for ask in (function_of, lambda call: bounds_of(call, {})):
        with pytest.raises(BrokenPlan, match="median_of_three"):
            ask(unknown)


def test_facets_answer_for_every_function_that_can_be_written() -> None:
    """For calls of every function: a range, a number of copies for each operand, a cost and a size."""
    made = calls()
    assert made.keys() == FUNCTIONS.keys() - _UNWRITTEN
    for name, some in made.items():
        function = FUNCTIONS[name]
        for call in some:
            sizes = [size_of_type(one.type) for one in call.parts]
            assert isinstance(bounds_of(call, {}), Bounds), call
            assert isinstance(function.size(call, sizes), Size), call
            assert function.cost(call, sizes) > 0, call
            assert len(function.copies(call, _Known())) == len(call.parts), call


@pytest.mark.parametrize("dialect", ["postgresql", "duckdb"])
def test_every_function_is_rendered_for_the_engine(dialect: Dialect) -> None:
    """Every function that can be written has SQL there, or is refused for a reason an analyst is told."""
    columns: dict[str, Sql] = {
        one.field.id: column(one.field.id)
        for some in calls().values()
        for call in some
        for one in walk_scalar(call)
        if isinstance(one, Ref)
    }
    rendering = ScalarSql(dialect, columns, RANGES, {})
    done = set()
    for name, some in calls().items():
        for call in some:
            try:
                rendering.sql(call)
            except (Refusal, BrokenPlan):
                continue  # an operand that nothing bounds
            done.add(name)
    assert done == FUNCTIONS.keys() - _UNWRITTEN
