"""Derivation of a plan's columns: the base columns, computations and conditional choices behind each.

INVARIANT: names are made of tables, columns and constants; they contain no alias and no id of a plan.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Final

from gateway.catalog.domains import Anything
from gateway.catalog.types import Family
from gateway.digest import digest
from gateway.functions.range_arithmetic import Bounds
from gateway.plan.affine import Affinity
from gateway.plan.aggregates import Measure, WindowCall
from gateway.plan.fields import Field
from gateway.plan.node import BrokenPlan, Node
from gateway.plan.relations import Constant, StagedRows
from gateway.plan.scalars import (
    Literal,
    Moment,
    Ref,
    Scalar,
    StagedMember,
    StagedValue,
    column_ids,
    map_parts,
    walk_scalar,
)
from gateway.plan.sql_text import scalar_sql
from gateway.ranges.rounding import Summing
from gateway.regions.axis import RegionAxis
from gateway.regions.base_columns import Base
from gateway.regions.grid import axis_of
from gateway.regions.names import region_text, shorten
from gateway.regions.normal_form import normal
from gateway.regions.predicate import region_of, truth_of
from gateway.regions.region import Region
from gateway.regions.region_work import WorkSpent, forget_computed
from gateway.regions.relation import Atom, Relation, is_met
from gateway.regions.scan_numbers import ScanNumbers
from gateway.regions.staged_constants import member_of, value_of

_MOST_PARTS: Final = 400


@dataclass
class Derivation:
    """Collects `bases` on the way through a plan. `constants` has the digest of each staged constant's content.

    `known` has the staged constants whose values are known: conditions on them are conditions on constants.
    """

    constants: Mapping[str, str]
    known: Mapping[str, StagedRows] = field(default_factory=dict)
    bases: dict[str, Base] = field(default_factory=dict)
    measures: dict[str, Measure] = field(default_factory=dict)
    affinity: Affinity = field(default_factory=lambda: Affinity({}))
    rounded: frozenset[Summing] = frozenset()
    made_from: dict[str, frozenset[str]] = field(default_factory=dict)
    grouped: dict[str, tuple[str, Relation]] = field(default_factory=dict)
    """For each value of a grouping by person, the text of the grouping and the rows that were grouped."""
    scans: ScanNumbers = field(default_factory=ScanNumbers)
    _chosen: set[str] = field(default_factory=set)

    def region(self, relation: Relation) -> Region:
        """The rows of the relation among those of its atoms."""
        return region_of(relation.conditions, self.bases)

    def text(self, relation: Relation) -> str:
        region = self.region(relation)
        where = "" if region.is_everything else f" where {region_text(region)}"
        return f"{relation.shape}{where}"

    def resolved(self, scalar: Scalar, columns: Mapping[str, Scalar]) -> Scalar:
        """The normal expression over bases."""
        return normal(self._resolved(scalar, columns))

    def met(self, scalar: Scalar, columns: Mapping[str, Scalar]) -> Scalar:
        """The normal form of a condition that rows have to meet."""
        return is_met(self.resolved(scalar, columns))

    def _resolved(self, scalar: Scalar, columns: Mapping[str, Scalar]) -> Scalar:
        def again(one: Scalar) -> Scalar:
            return self._resolved(one, columns)

        match scalar:
            case Ref(there):
                return columns[there.id]
            case StagedMember(what):
                return member_of(scalar, again(what), self.known, self.constants)
            case StagedValue():
                return value_of(scalar, self.known, self.constants)
            case Moment():
                raise BrokenPlan("a moment that is not folded: tomorrow it is another")
            case _:
                return map_parts(scalar, again)

    def whole(self, scalar: Scalar) -> Scalar:
        """The expression, or an opaque name for it if it is long: expressions that contain each other twice would double at
        each step.
        """
        parts = list(walk_scalar(scalar))
        if len(parts) <= _MOST_PARTS:
            return scalar
        name = f"expression #{digest(scalar_sql(scalar))[:32]}"
        made = self.made(name, scalar, column_ids(scalar), chosen=bool(Affinity({}).parts(scalar)))
        return self.base(replace(self.bases[made.field.id], axis=None))

    def base(self, base: Base) -> Ref:
        """The column of a base. What was read with another base of this name is not used again."""
        if self.bases.get(base.field.id, base) != base:
            forget_computed()
        self.bases[base.field.id] = base
        return Ref(base.field)

    def constant(self, node: Constant) -> Relation:
        """Rows that are public or released: conditions over them are opaque."""
        told = self.scans.numbered(self.constants[node.name])
        columns = {}
        for place, one in enumerate(node.fields, 1):
            kept = Field(f"{told}.{place}", one.type, nullable=True)
            columns[one.id] = self.base(Base(kept, None, frozenset(), quasi=False))
        return Relation(columns, (Atom(f"constant {told}"),))

    def made(  # noqa: PLR0913 - what a value is made of
        self,
        name: str,
        like: Scalar,
        uses: Iterable[str],
        bounds: Bounds | None = None,
        *,
        nullable: bool = True,
        chosen: bool = False,
        of_person: bool = False,
    ) -> Ref:
        """A base for a computed value, with an axis of its own; without an axis if a condition has `chosen` it.

        `of_person`: it is computed from the rows of a person, as it also is if it uses such a value.
        """
        there = [self.bases[one] for one in uses]
        of_person |= any(one.axis is not None and one.axis.of_person for one in there)
        kept = Field(shorten(name), like.type, nullable=nullable)
        axis: RegionAxis | None = None
        if chosen:
            self._chosen.add(kept.id)
        else:
            axis = axis_of(kept.id, like.type, Anything(), nullable=nullable, bounds=bounds)
            axis = replace(axis, of_person=of_person)
        self.made_from[kept.id] = frozenset(uses)
        told = frozenset(each for one in there for each in one.uses)
        return self.base(Base(kept, axis, told, any(one.quasi for one in there)))

    def is_choice(self, measure: Measure, *, of_person: bool) -> bool:
        """Whether the aggregate compares mixed values, or the lattice rounds what it sums."""
        chooses = self.affinity.is_choice(measure, of_person=of_person)
        return chooses or measure in self.rounded

    def is_window_choice(self, call: WindowCall, rows: Node) -> bool:
        """Whether the window function orders these rows by mixed values, returns one, or is rounded."""
        chooses = bool(self.affinity.order_conditions(call, rows).conditions)
        return chooses or call in self.rounded

    def choice_of(self, measure: Measure, columns: Mapping[str, Scalar]) -> Scalar | None:
        """The part of the aggregate's input that a condition chose; None if there is none."""
        given = [self.resolved(one, columns) for one in measure.scalars]
        if self.is_choice(measure, of_person=False):
            return given[0]
        reached = self.made_of(each for one in given for each in column_ids(one))
        chosen = sorted(reached & self._chosen)
        return Ref(self.bases[chosen[0]].field) if chosen else None

    @property
    def conditional(self) -> frozenset[str]:
        """The computed bases that are truth values, or that a condition chose."""
        flags = (
            one for one in self.made_from if self.bases[one].field.type.family is Family.BOOLEAN
        )
        return frozenset((*flags, *self._chosen))

    def tested(self, names: Iterable[str]) -> tuple[Region, ...] | None:
        """Where conditions in aggregates behind these bases are true, and where they are false; None if that is too much work."""
        found: list[Region] = []
        try:
            for name in sorted(self.made_of(names) & self.measures.keys()):
                for given in self.measures[name].scalars:
                    for one in walk_scalar(given):
                        if one.type.family is Family.BOOLEAN and not isinstance(one, Literal):
                            truth = truth_of(normal(one), self.bases)
                            found += (truth.true, truth.false)
        except WorkSpent:
            return None
        return tuple(found)

    def made_of(self, names: Iterable[str]) -> frozenset[str]:
        """These bases and all bases behind them."""
        left, seen = [*names], set[str]()
        while left:
            name = left.pop()
            if name not in seen:
                seen.add(name)
                left += self.made_from.get(name, ())
        return frozenset(seen)

    def measure(self, measure: Measure, columns: Mapping[str, Scalar]) -> Measure:
        """An aggregate over bases."""
        return measure.map_scalars(lambda one: self.resolved(one, columns))

    def with_bases(self, relation: Relation) -> Relation:
        """The relation with every base as a column, for expressions that are over bases already."""
        return replace(relation, columns={name: Ref(one.field) for name, one in self.bases.items()})
