"""Sides of UNION ALL: each is compared as a query of its own.

The rows of a union are those of its sides, so its aggregates add up what the sides have. An analyst who leaves
one side empty learns of the other alone. Therefore the auditor compares each side as if the whole statement read
only that side: its tables, its conditions, and its own expression in the place of each column of the union.

INVARIANT: every condition in a side of a union is in the region of a scope, readable or not. A statement with too
many sides is opaque. `tests/regions/test_union_sides.py` holds both.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final, TypeAlias

from gateway.plan.narrowed_domains import conjuncts
from gateway.plan.scalars import Ref, Scalar, map_parts, walk_scalar
from gateway.plan.sql_text import scalar_sql
from gateway.regions.normal_form import normal
from gateway.regions.region import TooLarge
from gateway.regions.relation import (
    Atom,
    Relation,
    is_equality,
    links_of_both,
    ungroup,
    without_repeated,
)

MOST_SIDES: Final = 32
"""More sides of one statement are not compared one by one."""
Links: TypeAlias = Mapping[str, Scalar]
MOST_RELATIONS: Final = 4 * MOST_SIDES
"""More relations of one statement, at any depth, are not compared one by one."""
_MOST_PARTS: Final = 1_000
_DEEPEST: Final = 120


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
        """The expression in rows of this side; `TooLarge` if it is very long or deep.

        INVARIANT: its parts are counted before they are put together. Each union of a union may double them.
        """
        read = [one.field.id for one in walk_scalar(scalar) if isinstance(one, Ref)]
        inside = [self.columns[one] for one in read if one in self.columns]
        if not inside:
            return scalar
        parts = sum(1 for each in (scalar, *inside) for _ in walk_scalar(each))
        if parts > _MOST_PARTS or _depth(scalar) + max(map(_depth, inside)) > _DEEPEST:
            raise TooLarge
        return normal(self._replaced(scalar))

    def _replaced(self, scalar: Scalar) -> Scalar:
        if isinstance(scalar, Ref):
            return self.columns.get(scalar.field.id, scalar)
        return map_parts(scalar, self._replaced)


def _depth(scalar: Scalar) -> int:
    """How deep the parts of the expression are nested."""
    deepest, left = 0, [(scalar, 1)]
    while left:
        one, depth = left.pop()
        deepest = max(deepest, depth)
        left.extend((part, depth + 1) for part in one.parts)
    return deepest


def rows_of_side(relation: Relation, union: Atom, side: UnionSide, equalities: Links) -> Relation:
    """The relation with the rows of this side in the place of the union.

    `equalities` are the links between columns by their texts. A link to a column of the union is a condition, unless it
    is a column of a table in this side.
    """
    others = tuple(one for one in relation.atoms if one is not union)
    below = side.relation
    asked = [part for one in relation.conditions for part in conjuncts(side.inside(one))]
    links = set[str]()
    for link in relation.links:
        equality = equalities.get(link)
        made = None if equality is None else side.inside(equality)
        if made is None:
            links.add(_outer_inside(link, side))
        elif is_equality(made):
            links.add(scalar_sql(made))
        else:
            asked += conjuncts(made)
    return replace(
        relation,
        columns={name: side.inside(one) for name, one in relation.columns.items()},
        atoms=without_repeated((*others, *below.atoms)),
        links=links_of_both(frozenset(links), below.links),
        conditions=(*asked, *below.conditions),
    )


def _outer_inside(link: str, side: UnionSide) -> str:
    """The link of an outer join, which names columns in its text; what it asks is in the rows with a partner."""
    for name, scalar in side.columns.items():
        link = link.replace(name, scalar_sql(scalar))
    return link


def relations_inside(
    relation: Relation,
    rows: Mapping[str, Relation],
    unions: Mapping[str, tuple[UnionSide, ...]],
    equalities: Links,
) -> tuple[Relation, ...] | None:
    """The relation, the rows that it groups, and the sides of the unions in it, at any depth; None if they are too many.

    `rows` are what groups were made of and `unions` the sides of unions, by the texts of their atoms.
    """
    found, left = list[Relation](), [relation]
    while left:
        one = left.pop()
        found.append(one)
        if len(found) > MOST_RELATIONS:
            return None
        if (grouped := ungroup(one, rows)) is not one:
            left.append(grouped)
        union = union_of(one, unions)
        if union is None:
            continue
        try:
            left += (rows_of_side(one, union, side, equalities) for side in unions[union.text])
        except TooLarge:
            return None
    return tuple(found)


def union_of(relation: Relation, unions: Mapping[str, tuple[UnionSide, ...]]) -> Atom | None:
    """The first union among the atoms."""
    return next((one for one in relation.atoms if one.text in unions), None)
