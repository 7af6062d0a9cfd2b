"""A relation followed down to its tables, remembered for as long as the same plan is asked about."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Final, TypeAlias

from gateway.lru_cache import LruCache
from gateway.plan.aggregates import Measure
from gateway.plan.node import Node, walk_nodes
from gateway.plan.relations import Scan, StagedRows, conjuncts
from gateway.plan.scalars import Scalar
from gateway.regions.base_columns import Bases
from gateway.regions.lineage import Lineage
from gateway.regions.normal_form import normal
from gateway.regions.predicate import region_of
from gateway.regions.region import Region
from gateway.regions.relation import Relation

_MOST_KEPT: Final = 16


@dataclass(frozen=True, slots=True)
class ResolvedPlan:
    """`region` is which rows of what the `shape` says, `tables` are the protected ones that are read."""

    lineage: Lineage
    relation: Relation
    region: Region
    tables: frozenset[str]

    @property
    def rows(self) -> "ResolvedPlan | None":
        """Its rows, where they were grouped by person."""
        found = self.lineage.rows_of(self.relation)
        if found is None:
            return None
        return ResolvedPlan(self.lineage, found, self.lineage.region(found), self.tables)

    @property
    def met(self) -> "Iterator[ResolvedPlan]":
        """For each outer join the rows that have a partner, and those that were asked to have none."""
        for one in self.lineage.partners.met:
            found = self._over(self.lineage.partners.with_partner(one, self.relation, self.bases))
            if not found.region.is_nothing:
                yield found
        alone = self.lineage.partners.without_partner(self.relation, self.bases)
        if alone is not None:
            yield replace(self, relation=alone[0], region=alone[1])

    def windows(self, names: Iterable[str]) -> "Iterator[tuple[ResolvedPlan, Measure]]":
        """Totals that windows made, of these names, and the rows that they were made of."""
        for name in sorted(self.lineage.window_rows.keys() & frozenset(names)):
            below = self.lineage.window_rows[name]
            yield self._over(self.lineage.with_bases(below)), self.lineage.measures[name]

    def _over(self, relation: Relation) -> "ResolvedPlan":
        return replace(self, relation=relation, region=self.lineage.region(relation))

    @property
    def bases(self) -> Bases:
        return self.lineage.bases

    @property
    def shape(self) -> str:
        return self.relation.shape

    def resolved(self, scalar: Scalar) -> Scalar:
        """The normal expression over bases."""
        return self.lineage.resolved(scalar, self.relation.columns)

    def choice_of(self, measure: Measure) -> Scalar | None:
        """What of the aggregate was chosen by a condition, where anything was."""
        return self.lineage.choice_of(measure, self.relation.columns)

    def narrowed(self, conditions: Iterable[Scalar]) -> Region:
        """The region, as far as these are true, too."""
        added = (part for one in conditions for part in conjuncts(self.resolved(one)))
        return region_of((*self.relation.conditions, *added), self.bases)

    def where(self, conditions: Iterable[Scalar]) -> Region:
        """The rows of which these are true, which are over bases already."""
        return region_of(
            (part for one in conditions for part in conjuncts(normal(one))), self.bases
        )


def resolve_plan(
    plan: Node, constants: Mapping[str, str], known: Mapping[str, StagedRows] | None = None
) -> ResolvedPlan:
    """What the relation is. A plan is asked about several times in a row: for its ground and for its aggregates."""
    there = dict(known or {})
    ids = frozenset((name, id(rows)) for name, rows in there.items())
    key = (id(plan), frozenset(constants.items()), ids)

    def resolve() -> _Resolved:
        lineage = Lineage.over(plan, constants, there)
        relation = lineage.of(plan)
        protected = (one.table for one in walk_nodes(plan) if isinstance(one, Scan))
        tables = frozenset(one.name for one in protected if not one.public)
        return plan, there, ResolvedPlan(lineage, relation, lineage.region(relation), tables)

    return _KEPT.get(key, resolve)[2]


_Resolved: TypeAlias = tuple[Node, Mapping[str, StagedRows], ResolvedPlan]
"""The plan and the rows are kept beside what was made of them, so that their ids stay their own."""
_Key: TypeAlias = tuple[int, frozenset[tuple[str, str]], frozenset[tuple[str, int]]]
_KEPT: Final[LruCache[_Key, _Resolved]] = LruCache(_MOST_KEPT)


def clear_resolved() -> None:
    """As if nothing had been asked yet."""
    _KEPT.clear()
