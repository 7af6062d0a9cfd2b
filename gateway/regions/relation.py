"""Relations as they are followed down: what is joined, what every column is, which conditions hold."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Final

from gateway.functions.range_arithmetic import Bounds
from gateway.plan.aggregates import Measure, WindowCall
from gateway.plan.fields import BOOLEAN, Field
from gateway.plan.node import is_unit
from gateway.plan.scalars import Call, Case, Change, Literal, Ref, Scalar
from gateway.regions.axis import AxisKind, RegionAxis
from gateway.regions.cells import Cells, cell_count, is_only_null, without_null
from gateway.regions.region import Region

OUTER: Final = "left join"
"""How the link of an outer join begins."""
_FINE: Final = 24
_FEW: Final = 3  # days, years or amounts: fewer than a week, which is a common window
_MOST_NESTED: Final = 8


@dataclass(frozen=True, slots=True)
class Atom:
    """A relation that is joined. `single` is its table if that has one row for each person. `reaches` are tables of that
    kind in which, by declaration, the person of each of its rows has a row.
    """

    text: str
    single: str | None = None
    reaches: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True)
class Relation:
    """`columns` has for every field, by its id, its expression over bases. `links` are equalities between tables, as texts."""

    columns: Mapping[str, Scalar]
    atoms: tuple[Atom, ...]
    links: frozenset[str] = frozenset()
    conditions: tuple[Scalar, ...] = ()

    @property
    def shape(self) -> str:
        joined = " join ".join(sorted(one.text for one in self.atoms))
        return f"{joined} on {' and '.join(sorted(self.links))}" if self.links else joined


def links_of_both(left: frozenset[str], right: frozenset[str]) -> frozenset[str]:
    """The links of both sides. A repeated equality changes nothing; a repeated outer join multiplies rows twice."""
    found = set(left)
    for one in sorted(right):
        link = one
        while link in found and one.startswith(OUTER):
            link += " again"
        found.add(link)
    return frozenset(found)


def is_small(region: Region) -> bool:
    """Whether the region selects few values: of a quasi-identifier, or among the many values of another column."""
    return any(
        _is_few(cells, region.axis(name)) for box in region.boxes for name, cells in box.parts
    )


def _is_few(cells: Cells, axis: RegionAxis) -> bool:
    if axis.kind is AxisKind.NAMES:
        found = cell_count(cells, axis) if axis.quasi else None
        return found is not None and found <= _FINE
    if axis.column is None or is_only_null(cells):
        return False
    found = cell_count(without_null(cells), axis)
    if found is None or found > _FEW:
        return False
    return axis.quasi or axis.size is None or found * _FINE <= axis.size


def is_equality(part: Scalar) -> bool:
    return (
        isinstance(part, Call)
        and part.function == "="
        and all(isinstance(one, Ref) for one in part.parts)
    )


def is_met(part: Scalar) -> Scalar:
    """A condition that rows have to meet, where an equality of a column with itself says that it is not NULL."""
    if isinstance(part, Call) and is_equality(part) and part.parts[0] == part.parts[1]:
        return Call("is not null", part.parts[:1], BOOLEAN, nullable=False)
    return part


def without_repeated(atoms: tuple[Atom, ...]) -> tuple[Atom, ...]:
    """The relations without those tables of one row per person that another relation reaches anyway."""
    kept = list(atoms)
    for one in atoms:
        others = [each for each in kept if each is not one]
        if one.single is not None and any(one.single in each.reaches for each in others):
            kept = others
    return tuple(kept)


def is_always_met(left: Relation, right: Relation) -> bool:
    return all(
        atom.single is not None and any(atom.single in each.reaches for each in left.atoms)
        for atom in right.atoms
    )


def row_count_bounds(measure: Measure, bounds: Bounds | None) -> Bounds | None:
    """The bounds, where COUNT(*) of a person's rows is at least 1: a person without rows has no group."""
    plain = measure.function == "count" and not measure.arguments and measure.where is None
    if not plain or bounds is None or bounds.range is None or bounds.range.high < 1:
        return bounds
    return replace(bounds, low=max(bounds.range.low, Fraction(1)))


def ungroup(relation: Relation, rows: Mapping[str, Relation]) -> Relation:
    """The relation with the rows that were grouped in the place of the groups. `rows` has them by the texts of atoms."""
    found = relation
    for _ in range(_MOST_NESTED):
        grouped = next((one for one in found.atoms if one.text in rows), None)
        if grouped is None:
            break
        inner = rows[grouped.text]
        others = tuple(one for one in found.atoms if one is not grouped)
        found = Relation(
            {},
            without_repeated((*others, *inner.atoms)),
            links_of_both(found.links, inner.links),
            (*found.conditions, *inner.conditions),
        )
    return found


def over_bases(call: WindowCall, resolved: Change) -> WindowCall:
    """A window function over bases, without the unit in PARTITION BY: each window is over one person."""
    partition = tuple(one for one in call.partition if not is_unit(one))
    return replace(call, partition=partition).map_scalars(resolved)


def value_where(condition: Scalar, value: Scalar) -> Scalar:
    """The value where the condition is true, and NULL elsewhere."""
    return Case(((condition, value),), Literal(None, value.type), value.type)


def is_there(one: Field) -> Scalar:
    return Call("is not null", (Ref(one),), BOOLEAN, nullable=False)
