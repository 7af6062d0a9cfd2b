"""A relation followed down to its tables, remembered for as long as the same plan is asked about."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Final, TypeAlias

from gateway.lru_cache import LruCache
from gateway.plan.aggregates import Aggregate, Measure
from gateway.plan.fields import BIGINT
from gateway.plan.narrowed_domains import conjuncts
from gateway.plan.node import Node, walk_nodes
from gateway.plan.relations import Scan, StagedRows
from gateway.plan.scalars import Scalar, column_ids
from gateway.regions.base_columns import Bases
from gateway.regions.cells import StepCells
from gateway.regions.lineage import Lineage
from gateway.regions.normal_form import normal
from gateway.regions.predicate import region_of
from gateway.regions.region import Region
from gateway.regions.region_work import allow_work
from gateway.regions.relation import Atom, Relation
from gateway.regions.row_readings import ReadingKind, substitute
from gateway.regions.union_sides import UnionSide, rows_of_side, union_of

_MOST_KEPT: Final = 16
_COUNT: Final = Measure("count", (), BIGINT)


@dataclass(frozen=True, slots=True)
class ResolvedPlan:
    """`region` are the selected rows of the tables in `shape`; `tables` are the protected tables that are read.

    `partners` are the rows with join partners that concern it. `within` are the sides of unions that it is about. `read_as` are
    numbers of persons as expressions over rows. `has_partner`: its rows are those that met their partners.
    """

    lineage: Lineage
    relation: Relation
    region: Region
    tables: frozenset[str]
    partners: tuple[Relation, ...]
    within: tuple[UnionSide, ...] = ()
    read_as: Mapping[str, Scalar] = field(default_factory=dict)
    has_partner: bool = False

    @property
    def rows(self) -> "ResolvedPlan | None":
        """The rows that were grouped by person; None if nothing was grouped."""
        found = self.lineage.rows_of(self.relation)
        if found is None:
            return None
        return self._over(found)

    def persons(self, keys: Iterable[Scalar]) -> "ResolvedPlan | None":
        """The same with EXISTS in the place of rows that were grouped by person; None if none were, or it is opaque."""
        found = self.lineage.persons_of(self.relation, column_ids(*keys))
        return None if found is None else replace(self._over(found), partners=())

    def counted_persons(self, measures: Iterable[Measure]) -> "Iterator[ResolvedPlan]":
        """The persons whom these measures count by their rows, or by one row of each."""
        if not self.relation.links and all(one.single for one in self.relation.atoms):
            return
        once = self.lineage.has_first_rows(self.relation)
        for one in measures:
            if one.counts_units or once:
                asked = () if one.where is None else tuple(conjuncts(self.resolved(one.where)))
                found = self.lineage.persons_of_rows(self.relation, asked)
                if found is not None:
                    yield replace(self._over(found), partners=())

    @property
    def sides(self) -> "tuple[ResolvedPlan, ...]":
        """The same of each side of its first union of protected rows alone; empty if it reads none."""
        union = union_of(self.relation, self.lineage.unions)
        if union is None:
            return ()
        return tuple(self._in_side(union, one) for one in self.lineage.unions[union.text])

    def _in_side(self, union: Atom, side: UnionSide) -> "ResolvedPlan":
        below = rows_of_side(self.relation, union, side, self.lineage.equalities)
        found = self._over(below)
        return replace(found, partners=side.met, within=(*self.within, side))

    def inside(self, scalar: Scalar) -> Scalar:
        """An expression over bases, as it is in the sides that this is about."""
        for one in self.within:
            scalar = one.inside(scalar)
        return substitute(scalar, self.read_as) if self.read_as else scalar

    def near(self, scalar: Scalar) -> Scalar:
        """The same, with the partners' columns in the place of columns of far sides where all rows have their partner."""
        return self.inside(self.lineage.partners.near_of(scalar) if self.has_partner else scalar)

    @property
    def met(self) -> "Iterator[ResolvedPlan]":
        """For each outer join the rows that have a partner, and those that were selected because they have none."""
        for one in self.partners:
            for relation in self.lineage.partners.with_partner(one, self.relation, self.bases):
                found = self._over(relation)
                if not found.region.is_nothing:
                    yield replace(found, partners=(), has_partner=True)
        for relation, region in self.lineage.partners.without_partner(self.relation, self.bases):
            yield replace(self, relation=relation, region=region, partners=())

    def without_few(
        self, regions: Iterable[Region], keys: Iterable[Scalar]
    ) -> "Iterator[ResolvedPlan]":
        """The rows without a partner that few have, of regions of aggregates and of groups by these keys."""
        partners, asked = self.lineage.partners, [(one, False) for one in regions]
        if any(partners.divides(self.relation, one) for one in keys):
            asked.append((self.region, True))
        for region, all_rows in asked:
            found = partners.without_few(self.relation, region, self.bases, all_rows=all_rows)
            for relation, without in found:
                yield replace(self, relation=relation, region=without, partners=())

    def row_readings(
        self, names: frozenset[str]
    ) -> "Iterator[tuple[str, ResolvedPlan, frozenset[str]]]":
        """The same with numbers of persons as expressions over rows: the kind of reading, and the numbers that stay.

        All numbers are read at once, and each by itself. `names` are bases that are read beside the conditions.
        """
        there = self.lineage.readings.keys() & (names | column_ids(*self.relation.conditions))
        numbers = frozenset(there)
        known = {name: self.lineage.reading_inside(name, self.inside) for name in numbers}
        for kind in ReadingKind if numbers else ():
            several = {name: found for name in numbers if (found := known[name].of(kind))}
            for name in sorted(several):
                part = self._read_as({name: several[name]})
                yield kind.value, part, numbers - {name}
            if several:
                every = {name: several.get(name, known[name].one) for name in numbers}
                yield kind.every, self._read_as(every), frozenset()

    def _read_as(self, read: Mapping[str, Scalar]) -> "ResolvedPlan":
        """The same with these expressions in the places of numbers."""
        given = self.relation
        read = {name: self.near(one) for name, one in read.items()}
        columns = {name: substitute(one, read) for name, one in given.columns.items()}
        conditions = (substitute(one, read) for one in given.conditions)
        asked = tuple(part for one in conditions for part in conjuncts(one))
        made = self._over(replace(given, columns=columns, conditions=asked))
        return replace(made, read_as=read, partners=())

    @property
    def over_bases(self) -> "ResolvedPlan":
        """The same for expressions that are over bases already."""
        return replace(self, relation=self.lineage.with_bases(self.relation))

    def windows(self, names: Iterable[str]) -> "Iterator[tuple[ResolvedPlan, Measure]]":
        """Totals of windows with these names, and the rows that they were computed from.

        Numbers of rows are like a count of the rows where the conditions keep the first one, and so each person with a row.
        """
        for name in sorted(self.lineage.window_rows.keys() & frozenset(names)):
            measure = self.lineage.measures.get(name, _COUNT if self._keeps_first(name) else None)
            if measure is not None:
                below = self.lineage.with_bases(self.lineage.window_rows[name])
                yield replace(self._over(below), partners=()), measure

    def reads(self, names: frozenset[str]) -> frozenset[str]:
        """The bases behind these and behind its conditions."""
        return self.lineage.made_of(names | column_ids(*self.relation.conditions))

    def measures_of_persons(self, names: frozenset[str]) -> list[Measure]:
        """The aggregates that gave the values of persons that it reads beside these names, other than windows."""
        made, windows = self.lineage.measures, self.lineage.window_rows
        return [made[one] for one in sorted(made.keys() & self.reads(names) - windows.keys())]

    def behind(self, name: str) -> "tuple[ResolvedPlan, Measure] | None":
        """The rows of a person that a value was computed from, and its aggregate; None for any other base."""
        measure = self.lineage.measures.get(name)
        grouped, windows = self.lineage.grouped, self.lineage.window_rows
        below = grouped[name][1] if name in grouped else windows.get(name)
        if measure is None or below is None:
            return None
        return replace(self._over(self.lineage.with_bases(below)), partners=()), measure

    def _keeps_first(self, numbers: str) -> bool:
        """Whether rows with the number 1 are in the region."""
        boxes = (dict(box.parts) for box in self.region.boxes)
        found = (one.get(numbers) for one in boxes)
        return any(
            isinstance(cells, StepCells) and any(low <= 1 <= high for low, high in cells.ranges)
            for cells in found
        )

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
        """The part of the aggregate's input that a condition chose; None if there is none."""
        return self.lineage.choice_of(measure, self.relation.columns)

    def narrowed(self, conditions: Iterable[Scalar]) -> Region:
        """The rows of the region for which these are true as well."""
        added = (part for one in conditions for part in conjuncts(self.resolved(one)))
        return region_of((*self.relation.conditions, *added), self.bases)

    def where(self, conditions: Iterable[Scalar]) -> Region:
        """The rows for which these are true. The conditions are over bases already."""
        return region_of(
            (part for one in conditions for part in conjuncts(normal(one))), self.bases
        )


def resolve_plan(
    plan: Node, constants: Mapping[str, str], known: Mapping[str, StagedRows] | None = None
) -> ResolvedPlan:
    """The rows of the plan, or those that a release reads, with their lineage and region.

    They are remembered, because scopes of several kinds are made of one plan.
    """
    there = dict(known or {})
    ids = frozenset((name, id(rows)) for name, rows in there.items())
    key = (id(plan), frozenset(constants.items()), ids)

    def resolve() -> _Resolved:
        lineage = Lineage.over(plan, constants, there)
        with allow_work():
            relation = lineage.of(plan.child if isinstance(plan, Aggregate) else plan)
            region = lineage.region(relation)
        protected = (one.table for one in walk_nodes(plan) if isinstance(one, Scan))
        tables = frozenset(one.name for one in protected if not one.public)
        met = tuple(lineage.partners.met)
        return plan, there, ResolvedPlan(lineage, relation, region, tables, met)

    return _KEPT.get(key, resolve)[2]


_Resolved: TypeAlias = tuple[Node, Mapping[str, StagedRows], ResolvedPlan]
"""The plan and the rows are kept beside what was made of them, so that their ids stay their own."""
_Key: TypeAlias = tuple[int, frozenset[tuple[str, str]], frozenset[tuple[str, int]]]
_KEPT: Final[LruCache[_Key, _Resolved]] = LruCache(_MOST_KEPT)


def clear_resolved() -> None:
    """Forget all plans."""
    _KEPT.clear()
