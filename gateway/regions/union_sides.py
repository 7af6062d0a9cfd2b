"""Sides of UNION ALL: each is compared as a query of its own.

The rows of a union are those of its sides, so its aggregates add up what the sides have. An analyst who leaves
one side empty learns of the other alone. Therefore the auditor compares each side as if the whole statement read
only that side: its tables, its conditions, and its own expression in the place of each column of the union.

INVARIANT: every condition in a side of a union is in the region of a scope, readable or not. A statement with too
many sides is opaque. `tests/regions/test_union_sides.py` holds both.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final

from gateway.plan.narrowing import conjuncts
from gateway.plan.scalars import Ref, Scalar, column_ids, map_parts
from gateway.plan.sql_text import scalar_sql
from gateway.regions.normal_form import normal
from gateway.regions.relation import Atom, Relation, links_of_both, ungroup, without_repeated

MOST_SIDES: Final = 32
"""More sides of one statement are not compared one by one."""
_MOST_INSIDE: Final = 4 * MOST_SIDES


@dataclass(frozen=True, slots=True)
class SideRows:
    """The rows of a side with their text, its columns in the order of the union's, and its join partners."""

    text: str
    relation: Relation
    columns: tuple[Scalar, ...]
    met: tuple[Relation, ...]

    @property
    def order(self) -> tuple[str, ...]:
        """Sort key: the text, then the columns if both sides have one text."""
        return (self.text, *map(scalar_sql, self.columns))


@dataclass(frozen=True, slots=True)
class UnionSide:
    """`columns` says what each column of the union is in this side, by the id of its base. `met` are the join
    partners that were found below the side.
    """

    relation: Relation
    columns: Mapping[str, Scalar]
    met: tuple[Relation, ...]

    @classmethod
    def all_of(cls, sides: Sequence["SideRows"], made: Sequence[Ref]) -> tuple["UnionSide", ...]:
        """The sides of a union with these columns."""
        names = [one.field.id for one in made]
        return tuple(
            cls(one.relation, dict(zip(names, one.columns, strict=True)), one.met) for one in sides
        )

    def inside(self, scalar: Scalar) -> Scalar:
        """The expression in rows of this side."""
        if self.columns.keys().isdisjoint(column_ids(scalar)):
            return scalar
        return normal(self._replaced(scalar))

    def _replaced(self, scalar: Scalar) -> Scalar:
        if isinstance(scalar, Ref):
            return self.columns.get(scalar.field.id, scalar)
        return map_parts(scalar, self._replaced)


def rows_of_side(relation: Relation, union: Atom, side: UnionSide) -> Relation:
    """The relation with the rows of this side in the place of the union."""
    others = tuple(one for one in relation.atoms if one is not union)
    below = side.relation
    asked = (part for one in relation.conditions for part in conjuncts(side.inside(one)))
    links = frozenset(_link_inside(one, side) for one in relation.links)
    return replace(
        relation,
        columns={name: side.inside(one) for name, one in relation.columns.items()},
        atoms=without_repeated((*others, *below.atoms)),
        links=links_of_both(links, below.links),
        conditions=(*asked, *below.conditions),
    )


def _link_inside(link: str, side: UnionSide) -> str:
    for name, scalar in side.columns.items():
        link = link.replace(name, scalar_sql(scalar))
    return link


def relations_inside(
    relation: Relation,
    rows: Mapping[str, Relation],
    unions: Mapping[str, tuple[UnionSide, ...]],
) -> tuple[Relation, ...]:
    """The relation, the rows that it groups, and the sides of the unions in it, at any depth.

    `rows` are what groups were made of and `unions` the sides of unions, by the texts of their atoms.
    """
    found, left = list[Relation](), [relation]
    while left and len(found) < _MOST_INSIDE:
        one = left.pop()
        found.append(one)
        if (grouped := ungroup(one, rows)) is not one:
            left.append(grouped)
        union = union_of(one, unions)
        if union is not None:
            left += (rows_of_side(one, union, side) for side in unions[union.text])
    return tuple(found)


def union_of(relation: Relation, unions: Mapping[str, tuple[UnionSide, ...]]) -> Atom | None:
    """The first union among the atoms."""
    return next((one for one in relation.atoms if one.text in unions), None)
