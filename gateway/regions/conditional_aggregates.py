"""Conditional aggregates (FILTER, CASE and other conditions inside aggregates) as regions of their own.

`count(*) FILTER (WHERE c)`, `sum(CASE WHEN c THEN x ELSE 0 END)` and `sum(x * CAST(c AS integer))` reveal the
rows where c is true, as a query of their own with WHERE c would. A CASE with more results reveals the rows of
each of its branches; NULLIF, COALESCE, GREATEST, LEAST and ABS are written as the choices that they are. Any
other argument that is not affine in its columns (`plan/affine`) reveals the rows of each of its values, if
these are few, and otherwise rows that cannot be compared.

INVARIANT: a row that moves such an aggregate by more than an affine function of its columns is in a region that
is returned for it, or in an opaque one. Values chosen earlier, among the rows or the mixed values of a person,
are opaque.
"""

from collections.abc import Iterable, Iterator
from dataclasses import replace
from itertools import islice
from typing import Final

from gateway.catalog.types import ColumnType, Family, Kind
from gateway.plan.affine import Affinity, choice_results
from gateway.plan.aggregates import Measure
from gateway.plan.fields import BOOLEAN
from gateway.plan.scalars import Call, Case, Cast, Literal, Ref, Scalar, column_ids, walk_scalar
from gateway.regions.cells import NameCells
from gateway.regions.choices import as_choice, of_condition
from gateway.regions.chosen_bounds import chooses_bounds
from gateway.regions.names import region_text
from gateway.regions.normal_form import normal
from gateway.regions.predicate import opaque_axis, opaque_region, truth_of
from gateway.regions.region import EVERYTHING, Region, TooLarge, region_along, region_of_cells
from gateway.regions.resolved_plan import ResolvedPlan
from gateway.regions.tabulate import tabulate_values

MOST_ARMS: Final = 16
"""So many branches of a choice, or values of an expression, are looked at one by one."""
_ADDED: Final = frozenset({"sum", "avg"})
_WHOLE: Final = ColumnType(Kind.INTEGER)
_TRUE: Final = Literal(value=True, type=BOOLEAN)
_FALSE: Final = Literal(value=False, type=BOOLEAN)


def regions_of(measure: Measure, followed: ResolvedPlan) -> Iterator[Region]:
    """The regions that the aggregate reveals, besides the query's own."""
    where = () if measure.where is None else (measure.where,)
    base = followed.narrowed(where) if where else followed.region
    arguments = tuple(map(followed.resolved, measure.arguments))
    chosen = followed.choice_of(measure)
    if chosen is not None:
        yield join_regions(base, opaque_region(chosen, followed.bases))
    covered = False
    for argument in arguments:
        if alone := _alone(measure, argument):
            covered = True
            yield _met(base, alone, followed)
        else:
            yield from _of_argument(measure, argument, base, followed)
    if where and not covered:
        yield base


def _alone(measure: Measure, argument: Scalar) -> tuple[Scalar, ...]:
    """Conditions that hold for every row that changes the aggregate, if it reveals nothing else; else none."""
    parts = _conditions(argument)
    moving: list[Scalar] = []
    if measure.function in _ADDED or (measure.function == "count" and not measure.distinct):
        moving.extend(_moving(argument, zero=measure.function == "sum"))
    if len(parts) != 1 or not moving:
        return ()
    if measure.function == "count":
        inside = [one for part in parts for one in choice_results(part)]
        return () if any(map(_conditions, inside)) else tuple(moving)
    counted = _arms_that_count(_as_choice(parts[0]), zero=measure.function == "sum")
    return tuple(moving) if counted == 1 else ()


def _conditions(argument: Scalar) -> tuple[Scalar, ...]:
    """The largest parts of it that are conditions. It is over bases, so no name stands for another expression."""
    return Affinity({}).parts(argument)


def _of_argument(
    measure: Measure, argument: Scalar, base: Region, followed: ResolvedPlan
) -> Iterator[Region]:
    parts = _conditions(argument)
    if parts and measure.function == "count" and not measure.distinct:
        # COUNT reveals only whether the argument is NULL
        there = Call("is not null", (argument,), BOOLEAN, nullable=False)
        yield _met(base, (there,), followed)
        return
    plain = column_ids(argument).isdisjoint(followed.lineage.conditional)
    if measure.distinct and plain and not chooses_bounds(argument):
        return  # as many as groups of each person by this key, and nobody chose where these begin
    moving = tuple(_moving(argument, zero=True)) if measure.function == "sum" else ()
    if moving:
        yield _met(base, moving, followed)
    for whole in parts:
        found = list(islice(_arms(_as_choice(whole), followed), MOST_ARMS + 1))
        if not found or len(found) > MOST_ARMS:
            found = [opaque_region(whole, followed.bases), *_tested(whole, followed)]
        for arm in found:
            yield join_regions(base, arm)


def _tested(part: Scalar, followed: ResolvedPlan) -> list[Region]:
    """The rows that conditions and choices inside tell from others: what is computed from them may do so, too."""

    def found() -> Iterator[Region]:
        for one in walk_scalar(part):
            if isinstance(one, Call) and one.type.family is Family.BOOLEAN:
                yield truth_of(normal(one), followed.bases).true
            elif isinstance(choice := _as_choice(one), Case):
                yield from _branches(choice, followed)

    return list(islice(found(), MOST_ARMS))


def _arms(part: Scalar, followed: ResolvedPlan) -> Iterator[Region]:
    """The rows of each branch of a choice, or of each value."""
    if isinstance(part, Case):
        if len(part.branches) >= MOST_ARMS:
            return
        for place, here in enumerate(_branches(part, followed)):
            yield here
            for inner in _conditions(part.results[place]):
                for one in list(islice(_arms(_as_choice(inner), followed), MOST_ARMS + 1)) or [
                    opaque_region(inner, followed.bases)
                ]:
                    yield join_regions(here, one)
        return
    names = column_ids(part)
    base = followed.bases[next(iter(names))] if len(names) == 1 else None
    if base is None or base.axis is None:
        return
    classes = tabulate_values(part, base.field, base.axis)
    if classes is None or len(classes) > MOST_ARMS:
        return
    for cells in classes.values():
        yield region_of_cells(base.axis, cells)


def _branches(case: Case, followed: ResolvedPlan) -> list[Region]:
    """The rows of each result of a choice, one condition after the other."""
    found, left = list[Region](), EVERYTHING
    try:
        for when, _ in case.branches:
            true = truth_of(normal(when), followed.bases).true
            found.append(left.meet(true))
            left = left.without(true)
    except TooLarge:
        return [_met(EVERYTHING, (_arm(case, one),), followed) for one in range(len(case.results))]
    return [*found, left]


def _arm(case: Case, place: int) -> Scalar:
    """The condition under which this result is the one."""
    branches = tuple(
        (when, _TRUE if number == place else _FALSE)
        for number, (when, _) in enumerate(case.branches)
    )
    return Case(branches[: place + 1], _TRUE if place == len(case.branches) else _FALSE, BOOLEAN)


def _arms_that_count(part: Scalar, *, zero: bool) -> int:
    """The number of results that are not written as NULL, or with `zero` as 0, plus those that contain conditions."""
    if not isinstance(part, Case):
        return 2
    counted = [one for one in part.results if _moves(one, zero=zero) is _TRUE]
    return len(counted) + sum(bool(_conditions(one)) for one in part.results)


def _as_choice(part: Scalar) -> Scalar:
    """The expression as a CASE over its values if it chooses; a condition becomes 1 and 0."""
    made = as_choice(part)
    if made.type.family is Family.BOOLEAN and not isinstance(made, Ref | Case):
        return of_condition(made, Literal(0, _WHOLE))
    return made


def _met(base: Region, conditions: Iterable[Scalar], followed: ResolvedPlan) -> Region:
    narrowed = followed.where(conditions)
    return join_regions(base, narrowed)


def join_regions(base: Region, other: Region) -> Region:
    """The rows of both; they are opaque if both together would be too many boxes.

    INVARIANT: neither of the two is left out. Two queries with other conditions beside the same choice differ in its rows.
    """
    try:
        return base.meet(other)
    except TooLarge:
        axis = opaque_axis(f"{region_text(base)} and {region_text(other)}", ())
        quasi = any(one.quasi for one in (*base.axes, *other.axes))
        return region_along(replace(axis, quasi=quasi), NameCells(frozenset({"true"})))


def _moving(scalar: Scalar, *, zero: bool) -> Iterator[Scalar]:
    """Conditions for the value not to be NULL; with `zero`, also not to be 0."""
    scalar = _as_choice(scalar) if not isinstance(scalar, Cast) else scalar
    match scalar:
        case Case():
            results = tuple(_moves(one, zero=zero) for one in scalar.results)
            if _FALSE in results:
                whens = (when for when, _ in scalar.branches)
                *branches, otherwise = results
                yield Case(tuple(zip(whens, branches, strict=True)), otherwise, BOOLEAN)
        case Cast(what) if what.type.family is Family.BOOLEAN and zero:
            yield what
        case Cast(what):
            yield from _moving(what, zero=zero)
        case Call("*", parts):
            for one in parts:
                yield from _moving(one, zero=zero)


def _moves(result: Scalar, *, zero: bool) -> Literal:
    if isinstance(result, Cast):
        return _moves(result.what, zero=zero)
    nothing = isinstance(result, Literal) and (result.value is None or (zero and result.value == 0))
    return _FALSE if nothing else _TRUE
