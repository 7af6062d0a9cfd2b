"""Join partners: rows with a match in outer joins and EXISTS, and what a query reveals of the other side.

INVARIANT: a query that reveals whether rows have a partner, or a value of the partner, counts as a query about
the rows of an inner join.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from gateway.plan.fields import BOOLEAN
from gateway.plan.relations import conjuncts
from gateway.plan.scalars import Call, Case, Ref, Scalar, StagedMember, column_ids, map_parts
from gateway.regions.base_columns import Base
from gateway.regions.cells import Cells, NameCells
from gateway.regions.normal_form import normal
from gateway.regions.predicate import opaque_region, region_of
from gateway.regions.region import Region
from gateway.regions.relation import Relation, links_of_both, without_repeated


@dataclass
class Partners:
    """`met` has for each outer join, and each EXISTS, the rows that have a partner.

    `near` is what a column of the far side is in these, `there` are the names of whether a row has one, `outer_joins` the
    links of outer joins with conditions.
    """

    met: list[Relation] = field(default_factory=list)
    near: dict[str, Scalar] = field(default_factory=dict)
    there: set[str] = field(default_factory=set)
    outer_joins: set[str] = field(default_factory=set)

    def meet(
        self,
        left: Relation,
        right: Relation,
        links: frozenset[str],
        conditions: tuple[Scalar, ...],
    ) -> None:
        """Keep the rows that have a partner, for whoever is told of them."""
        atoms = without_repeated((*left.atoms, *right.atoms))
        both = links_of_both(left.links, right.links) | links
        self.met.append(Relation({}, atoms, both, (*left.conditions, *conditions)))

    def with_partner(self, met: Relation, whole: Relation, bases: Mapping[str, Base]) -> Relation:
        """The rows that have a partner, and what was asked and told of them, as an inner join has them."""
        columns = {name: normal(self._near_of(one)) for name, one in whole.columns.items()}
        asked = (part for one in whole.conditions for part in conjuncts(normal(self._near_of(one))))
        added = [one for one in asked if one not in met.conditions]
        found = replace(met, columns=columns, conditions=(*met.conditions, *added))
        if not region_of(found.conditions, bases).is_nothing:
            return found
        # who counts those that have none has learned how many have one
        near = [one for one in whole.conditions if not column_ids(one) & self.near.keys()]
        return replace(found, conditions=(*met.conditions, *near))

    def _near_of(self, scalar: Scalar) -> Scalar:
        """The expression where every row has its partner."""
        match scalar:
            case Ref(there):
                near = self.near.get(there.id)
                return scalar if near is None else self._near_of(near)
            case Case(((when, then),)) if column_ids(when) <= self.there:
                return self._near_of(then)
            case StagedMember():
                return scalar
            case _:
                return map_parts(scalar, self._near_of)

    def without_partner(
        self, whole: Relation, bases: Mapping[str, Base]
    ) -> tuple[Relation, Region] | None:
        """The rows themselves, where some are left since they have no partner, or may be; None where none are.

        What is asked of the partner in the same breath as whether there is one, nobody reads.
        """
        outer = whole.links & self.outer_joins
        region = region_of(whole.conditions, bases)
        without = [box for box in region.boxes if any(map(self._is_without, box.parts))]
        if not outer or not without:
            return None
        asked = {one.name for one in region.axes} & self.near.keys() - self.there
        if asked:
            far = tuple(Ref(bases[name].field) for name in sorted(asked))
            region = opaque_region(Call("of a partner or none", far, BOOLEAN), bases)
        return replace(whole, links=whole.links - outer), region

    def _is_without(self, part: tuple[str, Cells]) -> bool:
        name, cells = part
        return name in self.there and cells != NameCells(frozenset({"true"}))
