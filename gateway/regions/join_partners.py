"""Join partners: rows with a match in outer joins and EXISTS, and what a query reveals of the other side.

INVARIANT: a query that reveals whether rows have a partner, or a value of the partner, counts as a query about
the rows of an inner join.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Final

from gateway.plan.fields import BOOLEAN
from gateway.plan.narrowed_domains import conjuncts
from gateway.plan.scalars import (
    Call,
    Case,
    Literal,
    Ref,
    Scalar,
    StagedMember,
    column_ids,
    map_parts,
)
from gateway.regions.axis import RegionAxis, is_of_partner
from gateway.regions.base_columns import Base
from gateway.regions.cells import Cells, NameCells
from gateway.regions.normal_form import normal
from gateway.regions.predicate import opaque_region, region_of
from gateway.regions.region import NOTHING, Region, region_along, region_of_cells
from gateway.regions.relation import Relation, joined

_WITH_PARTNER: Final = NameCells(frozenset({"true"}))
ALONE: Final = NameCells(frozenset(), null=True)


@dataclass
class Partners:
    """`met` has for each outer join, and each EXISTS, the rows that have a partner.

    `near` has the value of a far side's column in these rows. `there` are the bases that say whether a row has a partner;
    `apart` has the same with the conditions on the person's only row beside it. `outer_joins` are the links of outer joins
    with conditions.
    """

    met: list[Relation] = field(default_factory=list)
    near: dict[str, Scalar] = field(default_factory=dict)
    there: set[str] = field(default_factory=set)
    outer_joins: set[str] = field(default_factory=set)
    apart: dict[str, Scalar] = field(default_factory=dict)
    few: dict[str, tuple[Ref, frozenset[str]]] = field(default_factory=dict)
    """For each link of an outer join with grouped rows that few persons have: whether a row has one, and the columns of the
    far side.
    """

    def is_of_partner(self, axis: RegionAxis) -> bool:
        """Whether the axis says that a row meets one of many, or has a value of the far side of an outer join.

        A partner that few persons have is narrow by itself, and hides nothing.
        """
        if is_of_partner(axis):
            return axis.size is not None
        return axis.name in self.near

    def add_outer(self, said: str, there: Ref, apart: Scalar) -> None:
        """Remember the link of an outer join with conditions, and whether a row has a partner."""
        self.outer_joins.add(said)
        self.there.add(there.field.id)
        self.apart[there.field.id] = apart
        self.near[there.field.id] = Literal(value=True, type=BOOLEAN)

    def meet(
        self,
        left: Relation,
        right: Relation,
        links: frozenset[str],
        conditions: tuple[Scalar, ...],
    ) -> None:
        """Remember the rows that have a partner: a query may reveal them."""
        self.met.append(joined(left, right, links, {}, (*left.conditions, *conditions)))

    def with_partner(
        self, met: Relation, whole: Relation, bases: Mapping[str, Base]
    ) -> Iterator[Relation]:
        """The rows that have a partner, with the conditions and columns that an inner join would have.

        The number of rows without a partner reveals the number of rows with one. So if the conditions can select rows
        without, all rows with a partner are revealed as well.
        """
        columns = {name: normal(self.near_of(one)) for name, one in whole.columns.items()}
        asked = (part for one in whole.conditions for part in conjuncts(normal(self.near_of(one))))
        added = [one for one in asked if one not in met.conditions]
        yield replace(met, columns=columns, conditions=(*met.conditions, *added))
        region = region_of(whole.conditions, bases)
        if any(self._can_be_without(part) for box in region.boxes for part in box.parts):
            own = [one for one in whole.conditions if not column_ids(one) & self.near.keys()]
            yield replace(met, columns=columns, conditions=(*met.conditions, *own))

    def near_of(self, scalar: Scalar) -> Scalar:
        """The expression for rows that have their partner."""
        match scalar:
            case Ref(there):
                near = self.near.get(there.id)
                return scalar if near is None else self.near_of(near)
            case Case(((when, then),)) if column_ids(when) <= self.there:
                return self.near_of(then)
            case StagedMember():
                return scalar
            case _:
                return map_parts(scalar, self.near_of)

    def without_partner(
        self, whole: Relation, bases: Mapping[str, Base]
    ) -> Iterator[tuple[Relation, Region]]:
        """The rows of the preserved side, if the conditions select rows because they have no partner.

        Conditions that mix columns of the partner with its absence are opaque.
        """
        outer = whole.links & self.outer_joins
        region = region_of(whole.conditions, bases)
        if outer and any(self._is_without(part) for box in region.boxes for part in box.parts):
            asked = {one.name for one in region.axes} & self.near.keys() - self.there
            if asked:
                far = tuple(Ref(bases[name].field) for name in sorted(asked))
                region = opaque_region(Call("of a partner or none", far, BOOLEAN), bases)
            else:
                region = region_of(
                    (
                        part
                        for one in whole.conditions
                        for part in conjuncts(normal(self._apart(one)))
                    ),
                    bases,
                )
            yield replace(whole, links=whole.links - outer), region
        yield from self.without_few(whole, region, bases)

    def _apart(self, scalar: Scalar) -> Scalar:
        """The expression in which conditions on the person's only row stand beside the existence of a partner."""
        match scalar:
            case Ref(there):
                return self.apart.get(there.id, scalar)
            case Call("is null" | "is not null", (Ref(there),)) if there.id in self.apart:
                held = self.apart[there.id]
                return held if scalar.function == "is not null" else Call("not", (held,), BOOLEAN)
            case _:
                return map_parts(scalar, self._apart)

    def _is_without(self, part: tuple[str, Cells]) -> bool:
        name, cells = part
        return name in self.there and cells != _WITH_PARTNER

    def _can_be_without(self, part: tuple[str, Cells]) -> bool:
        """Whether rows without a partner may be in these cells: of a column of the far side, or of EXISTS."""
        name, cells = part
        near = self.near.get(name)
        if isinstance(near, Literal):
            return cells != _WITH_PARTNER
        return near is not None and cells.null

    def divides(self, whole: Relation, key: Scalar) -> bool:
        """Whether a key reads columns of a partner that few persons have."""
        return any(column_ids(key) & self.few[said][1] for said in whole.links & self.few.keys())

    def without_few(
        self, whole: Relation, region: Region, bases: Mapping[str, Base], *, all_rows: bool = False
    ) -> Iterator[tuple[Relation, Region]]:
        """The rows of the region with NULL for a partner that few persons have: all rows, except for those of the few.

        With `all_rows`, the rows of the region are divided by columns of the partner, so these are among the parts.
        """
        for said in sorted(whole.links & self.few.keys()):
            there, far = self.few[said]
            axis = bases[there.field.id].axis
            boxes = [
                box
                for box in region.boxes
                if all_rows or any(name in far and cells.null for name, cells in box.parts)
            ]
            if axis is None or not boxes:
                continue
            found = NOTHING
            for box in boxes:
                part = region_along(axis, ALONE)
                for name, cells in box.parts:
                    if name not in far:
                        part = part.meet(region_of_cells(region.axis(name), cells))
                found = found.join(part)
            yield replace(whole, links=whole.links - {said}), found
