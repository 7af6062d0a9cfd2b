"""Relations as they are followed down: what is joined, what every column is, which conditions hold."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Final

from gateway.functions.range_arithmetic import Bounds
from gateway.plan.aggregates import Measure, WindowCall
from gateway.plan.node import is_unit
from gateway.plan.scalars import Call, Change, Ref, Scalar
from gateway.regions.cells import cell_count
from gateway.regions.region import Region

OUTER: Final = "left join"
"""How the link of an outer join begins."""
_FINE: Final = 24
_MOST_NESTED: Final = 8


@dataclass(frozen=True, slots=True)
class Atom:
    """A relation that is joined. `single` is its table, where that has one row of each person; `reaches` are the tables
    of that kind in which every row of it is declared to have its person.
    """

    text: str
    single: str | None = None
    reaches: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True)
class Relation:
    """`columns` says of every field, by its id, what it is; the expressions refer to bases. `links` are texts."""

    columns: Mapping[str, Scalar]
    atoms: tuple[Atom, ...]
    links: frozenset[str] = frozenset()
    conditions: tuple[Scalar, ...] = ()

    @property
    def shape(self) -> str:
        joined = " join ".join(sorted(one.text for one in self.atoms))
        return f"{joined} on {' and '.join(sorted(self.links))}" if self.links else joined


def links_of_both(left: frozenset[str], right: frozenset[str]) -> frozenset[str]:
    """Equalities hold once, however often they are said; an outer join that both have has multiplied rows twice."""
    found = set(left)
    for one in sorted(right):
        link = one
        while link in found and one.startswith(OUTER):
            link += " again"
        found.add(link)
    return frozenset(found)


def is_small(region: Region) -> bool:
    """Whether few values of quasi-identifiers are asked for."""
    for box in region.boxes:
        for name, cells in box.parts:
            axis = region.axis(name)
            found = cell_count(cells, axis)
            if axis.quasi and found is not None and found <= _FINE:
                return True
    return False


def is_equality(part: Scalar) -> bool:
    return (
        isinstance(part, Call)
        and part.function == "="
        and all(isinstance(one, Ref) for one in part.parts)
    )


def without_repeated(atoms: tuple[Atom, ...]) -> tuple[Atom, ...]:
    """Without tables of one row of each person that another relation reaches anyway."""
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
    """Of a person whose rows were grouped there is a row: that is no condition."""
    plain = measure.function == "count" and not measure.arguments and measure.where is None
    if not plain or bounds is None or bounds.range is None or bounds.range.high < 1:
        return bounds
    return replace(bounds, low=max(bounds.range.low, Fraction(1)))


def ungroup(relation: Relation, rows: Mapping[str, Relation]) -> Relation:
    """The relation with rows in the place of what they were grouped to; `rows` by the texts of atoms."""
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
    """A window function over bases; that it looks at one person goes without saying."""
    partition = tuple(one for one in call.partition if not is_unit(one))
    return replace(call, partition=partition).map_scalars(resolved)
