"""Groups of a release: enumerated or thresholded keys, and the grouping sets that are measured or rolled up.

A key's groups are all that there can be, where that is known; else those with enough units. Where a grouping set
has listed groups, every set of fewer of its keys is the same groups put together, and what adds up over groups is
not measured again: the integers of the fewer groups are sums of the noisy integers of the many, so totals are
those of the rows above them, and cost nothing. Of many groups the total is measured with them, as one vector, and the
groups are fitted to it before they are released (`least_squares.py`). What does not add up, such as a count of different values, is
measured in every set. So is everything where groups are found in the data: those that are not shown would be
missing.

The keys of a part have an order of their own, which is not that of the statement: by it groups are listed, and the groups
and values that a unit keeps are chosen. So one set of keys is one measurement, in whatever order they are written.

INVARIANT: adding up is post-processing. What is measured is in `parts`, and all of it is priced; a wrong belief
about what adds up costs accuracy alone.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import chain, product
from math import prod
from typing import Final, Protocol

from gateway.catalog.values import Value
from gateway.functions.range_arithmetic import NOTHING, Bounds
from gateway.lru_cache import LruCache
from gateway.plan.aggregates import Aggregate, Measure
from gateway.plan.fields import Protected, Tie
from gateway.plan.joins import Join, Mark
from gateway.plan.node import BrokenPlan, walk_nodes
from gateway.plan.relations import Constant, Filter, Project, Scan
from gateway.plan.scalars import Literal, Ref, Scalar, column_ids, walk_scalar
from gateway.ranges.enumerate import list_values
from gateway.ranges.kept_values import conditions_of, keep_values
from gateway.sensitivity.analysis import Analysis, EnumeratedGroups
from gateway.sensitivity.formulas import SPREADS, Formula, shift_formula

_MOST_REMEMBERED: Final = 32_000_000
_NODE: Final = 500  # about so many bytes for a part of an expression, and for a group
_Conditions = tuple[Scalar, ...]
_Known = frozenset[tuple[str, Bounds, bool]]
_Listing = tuple[tuple[Scalar, ...], _Known, int, _Conditions]
_Values = tuple[Value | None, ...]
_Column = tuple[Scalar, _Known, _Conditions]


def _bytes(listing: _Listing, found: EnumeratedGroups | None) -> int:
    """About how much memory an enumeration takes; a text may be as long as an analyst likes."""
    parts = [one for key in (*listing[0], *listing[3]) for one in walk_scalar(key)]
    literals = [one.value for one in parts if isinstance(one, Literal)]
    groups = () if found is None else found.keys
    texts = sum(
        len(one) for one in (*literals, *chain.from_iterable(groups)) if isinstance(one, str)
    )
    return _NODE * (1 + len(parts) + len(groups)) + 4 * texts


def _bytes_of_values(column: _Column, found: _Values | None) -> int:
    """The same for the values of one key."""
    listing = ((column[0],), column[1], 0, column[2])
    return _bytes(
        listing, None if found is None else EnumeratedGroups(tuple((one,) for one in found))
    )


# enumerations follow from policies and questions alone, and the same questions come again and again
_REMEMBERED: Final[LruCache[_Listing, EnumeratedGroups | None]] = LruCache(_MOST_REMEMBERED, _bytes)
_VALUES: Final[LruCache[_Column, _Values | None]] = LruCache(_MOST_REMEMBERED, _bytes_of_values)


def enumerate_groups(
    plan: Aggregate, columns: Mapping[str, Bounds], most: int
) -> EnumeratedGroups | None:
    """All groups there can be, sorted, NULL last; None when they are not known or more than `most`."""
    keys = tuple(key for _, key in plan.keys)
    conditions = conditions_of(plan)
    read = column_ids(*keys)
    listing = (keys, _known_of(read, columns), most, conditions)
    return _REMEMBERED.get(listing, lambda: _enumerated(keys, columns, most, conditions))


def _known_of(read: Iterable[str], columns: Mapping[str, Bounds]) -> _Known:
    return frozenset(
        # an expression that is always NULL is told by identity, not by its bounds
        (name, found, found is NOTHING)
        for name in read
        if (found := columns.get(name)) is not None
    )


def _enumerated(
    keys: tuple[Scalar, ...],
    columns: Mapping[str, Bounds],
    most: int,
    conditions: Sequence[Scalar] = (),
) -> EnumeratedGroups | None:
    values: list[tuple[Value | None, ...]] = []
    for key in keys:
        found = _values_of(key, columns, conditions)
        if found is None or prod((len(found), *map(len, values))) > most:
            return None
        values.append(found)
    return EnumeratedGroups(tuple(product(*values)))


def _values_of(
    key: Scalar, columns: Mapping[str, Bounds], conditions: Sequence[Scalar]
) -> _Values | None:
    """The values of one key, in order, which many grouping sets of a statement have in common."""
    read = column_ids(key)
    mine = tuple(one for one in conditions if column_ids(one) <= read)

    def listed() -> _Values | None:
        found = list_values(key, columns)
        return None if found is None else _in_order(keep_values(key, found, mine, columns))

    return _VALUES.get((key, _known_of(read, columns), mine), listed)


def _in_order(found: frozenset[Value | None]) -> _Values:
    there = [one for one in found if one is not None]
    return (*sorted(there), *([None] if None in found else []))


def groups_per_unit(plan: Aggregate, groups: EnumeratedGroups | None) -> int:
    """G: in how many groups a unit counts. Bounding enforces it: a wrong number costs accuracy alone."""
    label = plan.child.label
    if not plan.keys or not isinstance(label, Protected):
        return 1
    if constant_per_unit(plan):
        return 1
    possible = label.groups if groups is None else min(label.groups, len(groups.keys))
    return max(1, possible)


def constant_per_unit(plan: Aggregate) -> bool:
    """Whether all rows of a unit are in one group: its keys are columns of its only row in a table.

    An outer join puts NULL beside them, and what is computed over several rows of a unit differs between
    them: with either of these nothing is said.
    """
    child = plan.child
    for node in walk_nodes(child):
        if not isinstance(node, Scan | Constant | Filter | Project | Join | Mark):
            return False
        if isinstance(node, Join) and node.outer:
            return False
    single = {
        node.table.name
        for node in walk_nodes(child)
        if isinstance(node, Scan) and node.table.has_one_row
    }
    refs = [one for _, key in plan.keys for one in walk_scalar(key) if isinstance(one, Ref)]
    return all(
        one.field.tie is not Tie.NONE
        or (one.field.origins and {each.table for each in one.field.origins} <= single)
        for one in refs
    )


# computed from counts, sums and sums of squares and products
_ADDED: Final = frozenset({"count", "sum", "avg", *SPREADS})


@dataclass(frozen=True, slots=True)
class PartMeasurements:
    """Measurements of a part, for a set of keys: `keys` are their places among the keys of the part.

    `together` is how many groups of the part are one group of the set: 1 where its keys are all those of the part.
    """

    part: int
    keys: tuple[int, ...]
    together: int = 1


@dataclass(frozen=True, slots=True)
class GroupingSet:
    """One grouping set. `keys` are places among the keys of the release, in the order of its parts.

    `formulas` go with the measures of the release; their places are those among the measurements of all `drawn`, one
    after the other. Where the aggregates of small groups are blanked, `units` is the place of the count of units, and
    groups in which it is below `least` are small.
    """

    keys: tuple[int, ...]
    drawn: tuple[PartMeasurements, ...]
    formulas: tuple[Formula, ...]
    units: int | None = None
    least: int = 0


@dataclass(frozen=True, slots=True)
class AnalyzedRelease:
    """One release: `parts` are measured, each with grouping keys of its own; its rows are those of all `levels`.

    `ranges` go with the measures: how wide the ranges are in which the policy has them reported; None, or nothing at
    all, where they are not. `hidden` are the places of keys whose NULL groups are left out of the answer.
    """

    plan: Aggregate
    parts: tuple[Analysis, ...]
    levels: tuple[GroupingSet, ...]
    ranges: tuple[Fraction | None, ...] = ()
    hidden: frozenset[int] = frozenset()


class Analyse(Protocol):
    """Analyses one grouping set; `total`: the total of its groups is asked, too."""

    def __call__(self, plan: Aggregate, /, *, total: bool = False) -> Analysis: ...


def analyze_grouping_sets(
    plan: Aggregate, analyse: Analyse, order: Sequence[int] | None = None
) -> AnalyzedRelease:
    """The release in parts of one grouping set each; `analyse` is asked about such.

    `order` has the places of all keys, as the keys of parts are ordered; None: as they are written.
    """
    ranks = {place: rank for rank, place in enumerate(order or range(len(plan.keys)))}
    found = _Rolling(plan, analyse, ranks).release()
    added = [one.drawn[0] for one in found.levels if not one.keys and one.drawn[0].together > 1]
    if not added:
        return found
    # the set that the grand total is added up from is measured with it
    base = found.parts[added[0].part].plan.keys
    return _Rolling(plan, analyse, ranks, base).release()


class _Rolling:
    """Goes through the grouping sets from many keys to few, so that what can be added up is there."""

    def __init__(
        self,
        plan: Aggregate,
        analyse: Analyse,
        ranks: Mapping[int, int],
        base: tuple[tuple[str, Scalar], ...] | None = None,
    ) -> None:
        self._plan = plan
        self._analyse = analyse
        self._ranks = ranks
        self._base = base
        self._parts: list[Analysis] = []
        self._bases: list[_Base] = []

    def release(self) -> AnalyzedRelease:
        sets = [tuple(sorted(set(one), key=self._ranks.__getitem__)) for one in self._plan.sets]
        many_first = sorted(set(sets), key=lambda one: (-len(one), one))
        levels = {one: self._level(one) for one in many_first}
        return AnalyzedRelease(self._plan, tuple(self._parts), tuple(levels[one] for one in sets))

    def _level(self, keys: tuple[int, ...]) -> GroupingSet:
        bases = [one for one in self._bases if set(keys) <= set(one.keys)]
        if not bases:
            return self._measured(keys)
        base = min(bases, key=lambda one: one.groups)  # the fewer groups, the less noise
        measures = [one for _, one in self._plan.measures]
        rest = [place for place, one in enumerate(measures) if not base.adds_up(one)]
        blanking = base.units is not None and not base.alone
        if blanking or (rest and len(rest) == len(measures)):
            return self._measured(keys)
        return self._added(keys, base, rest)

    def _measured(self, keys: tuple[int, ...]) -> GroupingSet:
        part = self._part(keys, range(len(self._plan.measures)))
        analysis = self._parts[part]
        several = len(self._plan.sets) > 1
        if several and isinstance(analysis.groups, EnumeratedGroups) and analysis.groups.keys:
            self._bases.append(_base(part, keys, analysis, analysis.groups))
        drawn = PartMeasurements(part, tuple(range(len(keys))))
        return GroupingSet(keys, (drawn,), analysis.formulas, *_small(analysis))

    def _added(self, keys: tuple[int, ...], base: "_Base", rest: Sequence[int]) -> GroupingSet:
        """From the base; and what does not add up, `rest`, from a part of its own."""
        analysis = self._parts[base.part]
        drawn = base.drawn(keys)
        if not rest:
            return GroupingSet(keys, (drawn,), analysis.formulas, *_small(analysis))
        part = self._part(keys, rest)
        own, before = self._parts[part], len(analysis.measurements)
        formulas = list(analysis.formulas)
        for place, formula in zip(rest, own.formulas, strict=True):
            formulas[place] = shift_formula(formula, before)
        units, least = _small(own)
        return GroupingSet(
            keys,
            (drawn, PartMeasurements(part, tuple(range(len(keys))))),
            tuple(formulas),
            None if units is None else before + units,
            least,
        )

    def _part(self, keys: tuple[int, ...], measures: Sequence[int]) -> int:
        plan = self._plan
        one = Aggregate(
            plan.child,
            tuple(plan.keys[place] for place in keys),
            tuple(plan.measures[place] for place in measures),
            (tuple(range(len(keys))),),
        )
        with_total = one.keys == self._base and len(measures) == len(plan.measures)
        self._parts.append(self._analyse(one, total=True) if with_total else self._analyse(one))
        return len(self._parts) - 1


@dataclass(frozen=True, slots=True)
class _Base:
    """A part with listed groups that has all measures. `sizes` says how many values each of its keys has.

    `alone`: a unit is in one group, and a count of units in several is the sum of theirs.
    """

    part: int
    keys: tuple[int, ...]
    sizes: tuple[int, ...]
    units: int | None
    alone: bool

    @property
    def groups(self) -> int:
        return prod(self.sizes)

    def adds_up(self, measure: Measure) -> bool:
        """Whether the measure of groups put together follows from sums of what was measured in each."""
        if measure.distinct:
            return measure.counts_units and self.alone
        return measure.function in _ADDED

    def drawn(self, keys: tuple[int, ...]) -> PartMeasurements:
        there = tuple(self.keys.index(one) for one in keys)
        left = [size for place, size in enumerate(self.sizes) if place not in there]
        return PartMeasurements(self.part, there, prod(left))


def _base(part: int, keys: tuple[int, ...], analysis: Analysis, groups: EnumeratedGroups) -> _Base:
    # INVARIANT: listed groups are all combinations of the values of each key
    sizes = tuple(len(set(column)) for column in zip(*groups.keys, strict=True))
    if prod(sizes) != len(groups.keys):
        raise BrokenPlan("listed groups that are not all combinations")
    return _Base(part, keys, sizes, groups.units, constant_per_unit(analysis.plan))


def _small(analysis: Analysis) -> tuple[int | None, int]:
    groups = analysis.groups
    if not isinstance(groups, EnumeratedGroups) or groups.units is None:
        return None, 0
    return groups.units, analysis.least_count
