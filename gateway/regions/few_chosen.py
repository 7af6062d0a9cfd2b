"""Persons who have no row that a narrow condition chose, where values of each person are compared.

`HAVING count(*) FILTER (WHERE cost = 308.71) = 0` leaves the same few persons out as NOT EXISTS does. The condition
is on a number with few values, but which persons have which number is up to the narrow condition in the aggregate.

INVARIANT: a region that can tell the persons with such rows from the others is compared as all persons but those few,
over the rows that the number was computed from, and over the tables that these were joined to.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from typing import Final

from gateway.plan.scalars import Ref, Scalar, column_ids
from gateway.regions.axis import RegionAxis, partner_axis
from gateway.regions.cells import Cells, intersection, is_empty, is_fine, is_only_null
from gateway.regions.conditional_aggregates import regions_of
from gateway.regions.join_partners import ALONE
from gateway.regions.names import region_text, shorten
from gateway.regions.region import NOTHING, Region, TooLarge, region_along, region_of_cells
from gateway.regions.relation import OUTER, Atom, is_of_few_values, is_small
from gateway.regions.resolved_plan import ResolvedPlan
from gateway.regions.tabulate import value_cells

_COUNTED: Final = frozenset({"count", "sum"})


@dataclass(frozen=True, slots=True)
class _Chosen:
    """A value of each person from rows that narrow conditions chose. `axes`: whether the person has a row of each.

    `alone`: the other rows do not move it, so without such a row it is 0 or NULL. An arm without rows, such as that for NULL
    beside `cost IS NOT NULL`, is no such condition: nobody has its rows.
    """

    name: str
    axes: tuple[RegionAxis, ...]
    alone: bool


def without_chosen(
    followed: ResolvedPlan, regions: Iterable[Region], keys: Iterable[Scalar]
) -> Iterator[ResolvedPlan]:
    """The rows of these regions, and of groups by these keys, as all rows but those of the few."""
    known: dict[str, tuple[_Chosen, ...]] = {}
    for region in dict.fromkeys((followed.region, *regions)):
        yield from _without(followed, region, known)
    divided = {each for one in keys for each in column_ids(one)}
    found = [one for name in sorted(divided) for one in _behind(name, followed, known)]
    if found:
        yield from _over(followed, found, _apart(followed.region, found, known))


def _without(
    followed: ResolvedPlan, region: Region, known: dict[str, tuple[_Chosen, ...]]
) -> Iterator[ResolvedPlan]:
    for box in region.boxes:
        found = [
            one
            for name, cells in box.parts
            for one in _behind(name, followed, known)
            if _has_others(one, name, cells, followed)
        ]
        if found:
            yield from _over(followed, found, _apart(Region(region.axes, (box,)), found, known))


def _behind(
    name: str, followed: ResolvedPlan, known: dict[str, tuple[_Chosen, ...]]
) -> tuple[_Chosen, ...]:
    """The values of persons from chosen rows that this base was computed from."""
    if name not in known:
        made = sorted(followed.lineage.made_of([name]))
        known[name] = tuple(one for each in made for one in _chosen(each, followed))
    return known[name]


def _chosen(name: str, followed: ResolvedPlan) -> Iterator[_Chosen]:
    behind = followed.behind(name)
    if behind is None:
        return
    rows, measure = behind
    if all(is_of_few_values(Region(rows.region.axes, (box,))) for box in rows.region.boxes):
        return  # few persons have any row
    regions = tuple(dict.fromkeys(regions_of(measure, rows)))
    small = [one for one in regions if one.boxes and is_small(one)]
    if small and not _are_all_rows(small, rows.region):
        alone = len(regions) == 1 and measure.function in _COUNTED and not measure.distinct
        axes = tuple(
            partner_axis(
                shorten(f"exists ({rows.shape} where {region_text(one)})"), quasi=True, few=True
            )
            for one in small
        )
        yield _Chosen(name, axes, alone)


def _are_all_rows(arms: Iterable[Region], rows: Region) -> bool:
    """Whether every row is in one of these, but for NULL, and they divide listed names alone, of which none is narrow.

    INVARIANT: nobody who has a row has none of these then.
    """
    left = rows
    for one in arms:
        if any(is_fine(axis) for axis in one.axes if axis not in rows.axes):
            return False
        try:
            left = left.without(one)
        except TooLarge:
            return False
    return all(any(is_only_null(cells) for _, cells in box.parts) for box in left.boxes)


def _has_others(one: _Chosen, name: str, cells: Cells, followed: ResolvedPlan) -> bool:
    """Whether persons without such a row can be in these cells."""
    near = followed.lineage.partners.near.get(name)
    direct = name == one.name or (isinstance(near, Ref) and near.field.id == one.name)
    if not (direct and one.alone) or cells.null:
        return True
    base = followed.bases[name]
    zero = None if base.axis is None else value_cells(base.field, base.axis, 0)
    return zero is None or not is_empty(intersection(cells, zero))


def _apart(region: Region, found: list[_Chosen], known: dict[str, tuple[_Chosen, ...]]) -> Region:
    """The rows of the region of persons without such rows. What was computed from these says nothing else."""
    apart = {axis for one in found for axis in one.axes}
    made = NOTHING
    for box in region.boxes:
        part = None
        for axis in sorted(apart, key=lambda each: each.name):
            alone = region_along(axis, ALONE)
            part = alone if part is None else part.meet(alone)
        for name, cells in box.parts:
            if part is not None and not set(known.get(name, ())) & set(found):
                part = part.meet(region_of_cells(region.axis(name), cells))
        if part is not None:
            made = made.join(part)
    return made


def _over(followed: ResolvedPlan, found: list[_Chosen], region: Region) -> Iterator[ResolvedPlan]:
    """These rows, with the groupings that gave the values and without them: as rows of the tables of their persons."""
    relation, grouped = followed.relation, followed.lineage.grouped
    yield replace(followed, region=region, partners=())
    said = {grouped[one.name][0] for one in found if one.name in grouped}
    links = frozenset(
        one
        for one in relation.links
        if not (one.startswith(OUTER) and any(text in one for text in said))
    )
    atoms = [one for one in relation.atoms if not any(text in one.text for text in said)]
    if not atoms:
        reached = sorted({each for one in relation.atoms for each in one.reaches})
        atoms = [Atom(one.rpartition(".")[0], one) for one in reached]
    if atoms and (links != relation.links or tuple(atoms) != relation.atoms):
        apart = replace(relation, links=links, atoms=tuple(atoms))
        yield replace(followed, relation=apart, region=region, partners=())
