"""Keys whose boundaries the query chose, such as `year >= 1923`: they divide rows as a condition does.

If the cells of the groups are known, the auditor compares groups. Otherwise each value of such a key is the region of a
condition. What cannot be read as one is opaque, as it is in WHERE.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

from gateway.catalog.types import Family
from gateway.plan.fields import BOOLEAN
from gateway.plan.scalars import Call, Case, Cast, Literal, Scalar, column_ids
from gateway.regions.base_columns import Bases
from gateway.regions.cells import is_fine
from gateway.regions.chosen_bounds import chooses_bounds
from gateway.regions.conditional_aggregates import join_regions
from gateway.regions.predicate import opaque_region, region_of
from gateway.regions.region import Region, region_of_cells
from gateway.regions.tabulate import tabulate_values
from gateway.regions.time_differences import write_difference

_MOST_VALUES: Final = 16


@dataclass(frozen=True, slots=True)
class KeyPart:
    """The rows for which a key comes from one place: those of a region, divided by `rest` if it is not one value there."""

    region: Region
    rest: Scalar | None = None


def parts_of_key(
    scalar: Scalar, bases: Bases, computed: frozenset[str] = frozenset()
) -> Iterator[KeyPart]:
    """The regions into which a key divides the rows if the query chose its boundaries, as far as they can be read.

    `scalar` is the key over bases, `computed` are those of them that hold a condition. A key over names and listed
    values alone chooses no boundary.
    """
    names = column_ids(scalar)
    over = write_difference(scalar, bases)
    if over is not None:
        scalar, bases = over[0], {**bases, over[1].field.id: over[1]}
    axes = [bases[one].axis for one in column_ids(scalar)]
    fine = any(one is None or is_fine(one) for one in axes)
    if names & computed or (fine and chooses_bounds(scalar)):
        yield from _parts(scalar, (), bases)


def _parts(scalar: Scalar, given: tuple[Scalar, ...], bases: Bases) -> Iterator[KeyPart]:
    """The parts where these conditions are true."""
    match scalar:
        case Case():
            for when, then in scalar.branches:
                yield from _parts(then, (*given, when), bases)
                given = (*given, _not(when))
            yield from _parts(scalar.otherwise, given, bases)
        case Literal():
            yield KeyPart(region_of(given, bases))
        case _ if scalar.type.family is Family.BOOLEAN:
            yield KeyPart(region_of((*given, scalar), bases))
            yield KeyPart(region_of((*given, _not(scalar)), bases))
        case Cast(what) if what.type.family is Family.BOOLEAN:
            yield from _parts(what, given, bases)
        case Call("coalesce", (one, Literal())):
            yield from _parts(one, given, bases)
        case _ if given and not chooses_bounds(scalar):
            yield KeyPart(region_of(given, bases), scalar)
        case _:
            within = region_of(given, bases)
            for region in _regions_of_values(scalar, bases):
                yield KeyPart(join_regions(within, region))


def _regions_of_values(scalar: Scalar, bases: Bases) -> Iterator[Region]:
    """The region of each value; none if there are many, as in a table over a column; opaque if nobody can list them."""
    names = column_ids(scalar)
    base = bases[next(iter(names))] if len(names) == 1 else None
    if base is None or base.axis is None:
        classes = None
    else:
        classes = tabulate_values(scalar, base.field, base.axis, as_key=True)
    if classes is None or base is None or base.axis is None:
        yield opaque_region(scalar, bases)
    elif len(classes) <= _MOST_VALUES:
        for cells in classes.values():
            yield region_of_cells(base.axis, cells)


def _not(condition: Scalar) -> Scalar:
    return Call("not", (condition,), BOOLEAN)
