"""Predicates as regions: where a condition is true and where it is false, in SQL's three-valued logic.

INVARIANT: the regions are exact. A condition that is not understood is an axis of its own, named by its normal
text, and so is one that would be too many boxes.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Final

from gateway.catalog.types import Family
from gateway.plan.fields import BOOLEAN
from gateway.plan.scalars import Call, Case, Literal, Scalar, column_ids
from gateway.plan.sql_text import scalar_sql
from gateway.regions.axis import AxisKind, RegionAxis
from gateway.regions.base_columns import Base, Bases
from gateway.regions.cells import NameCells
from gateway.regions.choices import MOST_RESULTS, as_choice, distribute_choice
from gateway.regions.listed_values import tabulate_listed
from gateway.regions.names import shorten
from gateway.regions.normal_form import MIRRORED, OPPOSITE, conjunction, normal
from gateway.regions.region import (
    EVERYTHING,
    NOTHING,
    Region,
    TooLarge,
    region_along,
    region_of_cells,
)
from gateway.regions.region_work import WorkSpent, compute_once
from gateway.regions.tabulate import tabulate_condition
from gateway.regions.time_differences import over_one_base

MOST_CROSSING: Final = 64
"""Conditions about several things each, side by side: the region of as many has too many boxes in most cases."""
MOST_PARTS: Final = 1_000
_EITHER: Final = frozenset({"true", "false"})
_NEGATIVE: Final = frozenset({"<>", ">", ">=", "is distinct from"}) | {
    one for one in OPPOSITE if one.startswith("is not ") and one != "is not distinct from"
}


@dataclass(frozen=True, slots=True)
class TruthRegions:
    """Where a condition is true, and where it is false; elsewhere it is NULL."""

    true: Region
    false: Region

    @property
    def unknown(self) -> Region:
        return EVERYTHING.without(self.true.join(self.false))


_TRUE: Final = TruthRegions(EVERYTHING, NOTHING)
_FALSE: Final = TruthRegions(NOTHING, EVERYTHING)
_NULL: Final = TruthRegions(NOTHING, NOTHING)


def region_of(conditions: Iterable[Scalar], bases: Bases) -> Region:
    """The rows for which all of these are true. The conditions are normal.

    If very many of them are about several columns each, these become one opaque condition. So do all of them if they
    take more work than is allowed (`region_work`).
    """
    given = {scalar_sql(one): one for one in conditions}
    try:
        return _region_of(given, bases)
    except WorkSpent:
        return opaque_region(conjunction(given.values()), bases)


def _region_of(given: Mapping[str, Scalar], bases: Bases) -> Region:
    crossing = {said: one for said, one in given.items() if len(column_ids(one)) > 1}
    found = EVERYTHING
    if len(crossing) > MOST_CROSSING:
        found = opaque_region(conjunction(crossing.values()), bases)
        given = {said: one for said, one in given.items() if said not in crossing}
    for _, one in sorted(given.items()):
        truth = truth_of(one, bases)
        try:
            found = found.meet(truth.true)
        except TooLarge:
            found = found.meet(_unread(one, bases).true)
    return found


def truth_of(scalar: Scalar, bases: Bases) -> TruthRegions:
    """The regions of a normal condition. A condition that would be too much work is opaque."""
    return compute_once("truth", scalar, bases, lambda: _truth_of(scalar, bases))


def _truth_of(scalar: Scalar, bases: Bases) -> TruthRegions:
    try:
        _require_few(scalar)
        found = _read(scalar, bases)
    except TooLarge:
        found = None
    return _unread(scalar, bases) if found is None else found


def _require_few(scalar: Scalar) -> None:
    """Refuse too many parts.

    INVARIANT: the parts are counted before any of them is read.
    """
    if isinstance(scalar, Call) and scalar.function in {"and", "or"}:
        if sum(len(column_ids(one)) > 1 for one in scalar.parts) > MOST_CROSSING:
            raise TooLarge
        if len(scalar.parts) > MOST_PARTS:
            raise TooLarge


def _read(scalar: Scalar, bases: Bases) -> TruthRegions | None:  # noqa: PLR0911 - one answer for each kind
    if isinstance(scalar, Literal):
        return _NULL if scalar.value is None else _TRUE if scalar.value is True else _FALSE
    if isinstance(scalar, Call):
        match scalar.function:
            case "and":
                return _both([truth_of(one, bases) for one in scalar.parts])
            case "or":
                return _turned(_both([_turned(truth_of(one, bases)) for one in scalar.parts]))
            case "not":
                return _turned(truth_of(scalar.parts[0], bases))
            case "in":
                if (found := _over_one(scalar, bases)) is not None:
                    return found
                members = [_equal(scalar, one) for one in scalar.parts[1:]]
                return _turned(_both([_turned(truth_of(one, bases)) for one in members]))
    found = _over_one(scalar, bases)
    if found is None:
        found = _taken_apart(scalar, bases)
    if found is None:
        found = _over_listed(scalar, bases)
    return found


def _both(truths: list[TruthRegions]) -> TruthRegions:
    """Where all of them are true. They are combined in pairs, since each may make the next one longer."""
    while len(truths) > 1:
        pairs = zip(truths[::2], truths[1::2], strict=False)
        made = [
            TruthRegions(one.true.meet(two.true), one.false.join(two.false)) for one, two in pairs
        ]
        truths = [*made, *truths[2 * len(made) :]]
    return truths[0] if truths else _TRUE


def _turned(truth: TruthRegions) -> TruthRegions:
    return TruthRegions(truth.false, truth.true)


def _equal(membership: Call, member: Scalar) -> Scalar:
    return normal(Call("=", (membership.parts[0], member), BOOLEAN, membership.nullable))


def _over_one(scalar: Scalar, bases: Bases) -> TruthRegions | None:
    """The regions of a condition over one base that has an axis, or over the difference of two times; None for others."""
    over = over_one_base(scalar, bases)
    if over is None:
        return None
    written, base = over
    if base.axis is None:
        return None
    found = tabulate_condition(written, base.field, base.axis)
    if found is None:
        return None
    true, false = found
    return TruthRegions(region_of_cells(base.axis, true), region_of_cells(base.axis, false))


def _over_listed(scalar: Scalar, bases: Bases) -> TruthRegions | None:
    """The regions of a condition over several columns with few listed values, computed for all combinations."""
    there = [bases[one] for one in sorted(column_ids(scalar))]
    table = tabulate_listed(scalar, there)
    if table is None:
        return None
    true, false = NOTHING, NOTHING
    for value, box in table:
        region = EVERYTHING
        for axis, cells in box:
            region = region.meet(region_of_cells(axis, cells))
        if value is True:
            true = true.join(region)
        elif value is False:
            false = false.join(region)
    return TruthRegions(true, false)


def _taken_apart(  # noqa: PLR0911 - one answer for each kind of condition
    scalar: Scalar, bases: Bases
) -> TruthRegions | None:
    """The regions of a condition that is made of conditions in other ways than AND, OR and NOT."""
    if isinstance(scalar, Case):
        return _of_case(scalar, bases)
    if not isinstance(scalar, Call):
        return None
    first = scalar.parts[0] if scalar.parts else scalar
    if first.type.family is Family.BOOLEAN and scalar.function.startswith("is "):
        return _of_test(scalar.function, truth_of(first, bases))
    if scalar.function == "coalesce" and scalar.type.family is Family.BOOLEAN:
        made = as_choice(scalar)
        return _of_case(made, bases) if isinstance(made, Case) else None
    if scalar.function in {"is null", "is not null"}:
        return _of_results(scalar, bases)
    if scalar.function in MIRRORED and len(scalar.parts) == 2:  # noqa: PLR2004 - two sides
        return _pushed(scalar, bases)
    return None


def _of_results(test: Call, bases: Bases) -> TruthRegions | None:
    """IS NULL and IS NOT NULL of a choice, as a choice of these tests."""
    found = distribute_choice(test)
    if not isinstance(found, Case):
        return None
    branches = tuple((normal(when), normal(then)) for when, then in found.branches)
    return _of_case(Case(branches, normal(found.otherwise), BOOLEAN), bases)


def _of_test(function: str, truth: TruthRegions) -> TruthRegions | None:
    regions = {"is true": truth.true, "is false": truth.false, "is null": truth.unknown}
    word = function.replace("is not ", "is ")
    if word not in regions:
        return None
    held = regions[word]
    apart = EVERYTHING.without(held)
    return TruthRegions(held, apart) if word == function else TruthRegions(apart, held)


def _of_case(case: Case, bases: Bases) -> TruthRegions | None:
    if case.type.family is not Family.BOOLEAN:
        return None
    true, false, left = NOTHING, NOTHING, EVERYTHING
    for when, then in (*case.branches, (Literal(value=True, type=BOOLEAN), case.otherwise)):
        here = left.meet(truth_of(when, bases).true)
        result = truth_of(then, bases)
        true, false = true.join(here.meet(result.true)), false.join(here.meet(result.false))
        left = left.without(here)
    return TruthRegions(true, false)


def _pushed(comparison: Call, bases: Bases) -> TruthRegions | None:
    """A comparison of a choice, as a choice of comparisons: with a constant, or of a choice among constants."""
    parts = tuple(distribute_choice(one) for one in comparison.parts)
    for place, what in enumerate(parts):
        other = parts[1 - place]
        if not isinstance(what, Case) or isinstance(other, Case):
            continue
        if isinstance(other, Literal) or _is_among_constants(what):
            return _chosen(comparison, what, place, bases)
    return None


def _is_among_constants(case: Case) -> bool:
    results = case.results
    return len(results) <= MOST_RESULTS and all(isinstance(one, Literal) for one in results)


def _chosen(comparison: Call, case: Case, place: int, bases: Bases) -> TruthRegions | None:
    """The comparison with each result of the choice in this place."""

    def beside(one: Scalar) -> Scalar:
        parts = tuple(one if at == place else part for at, part in enumerate(comparison.parts))
        return normal(replace(comparison, parts=parts))

    branches = tuple((normal(when), beside(then)) for when, then in case.branches)
    return _of_case(Case(branches, beside(case.otherwise), BOOLEAN), bases)


def opaque_region(scalar: Scalar, bases: Bases) -> Region:
    """Rows that depend on the expression in an unknown way.

    INVARIANT: an axis that is true or false never has the name of a column's axis, or of a difference of columns: of what
    is no condition, the axis is named after a value of it.
    """
    said = scalar_sql(scalar)
    if scalar.type.family is not Family.BOOLEAN:
        said = f"a value of {said}"
    axis = opaque_axis(said, (bases[one] for one in sorted(column_ids(scalar))))
    return region_along(axis, NameCells(frozenset({"true"})))


def _unread(scalar: Scalar, bases: Bases) -> TruthRegions:
    """The regions of a condition that cannot be read: an axis of its own, where it is true, false or NULL."""
    if isinstance(scalar, Call) and scalar.function == "not":
        return _turned(_unread(scalar.parts[0], bases))
    if isinstance(scalar, Call) and scalar.function in _NEGATIVE:
        # a condition and its opposite have one axis
        return _turned(_unread(replace(scalar, function=OPPOSITE[scalar.function]), bases))
    there = [bases[one] for one in column_ids(scalar)]
    axis = opaque_axis(scalar_sql(scalar), there)
    held, apart = (region_along(axis, NameCells(frozenset({one}))) for one in ("true", "false"))
    return TruthRegions(held, apart)


def opaque_axis(said: str, there: Iterable[Base]) -> RegionAxis:
    """The axis of an opaque condition. `there` are the bases that it reads."""
    quasi = any(one.quasi for one in there)
    return RegionAxis(
        shorten(said),
        AxisKind.NAMES,
        low=None,
        high=None,
        size=2,
        nullable=True,
        readable=False,
        quasi=quasi,
        column=None,
        names=_EITHER,
    )
