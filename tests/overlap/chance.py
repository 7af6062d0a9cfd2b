"""Questions, histories and policies by chance, the odd ones on purpose: what the auditor may be handed.

Regions are empty, of NULL alone, at the ends of domains and beyond, of many boxes or opaque; counts are huge, negative,
of another number of groups, or missing; the noise has no variance or far too much; domains were declared otherwise when
an earlier question was read, and columns had another type.
"""

import random
from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction

from gateway.catalog.tables import ColumnRef
from gateway.overlap.auditor import NewQuery, PriorRelease
from gateway.policy.policy import Auditing, UnreadableConditions
from gateway.regions.axis import FIRST, LAST, AxisKind, RegionAxis
from gateway.regions.cells import Cells, NameCells, StepCells, all_cells, clip_cells, merge_ranges
from gateway.regions.region import EVERYTHING, NOTHING, Region, TooLarge, region_along
from gateway.regions.scope import GroupKey, ReleaseScope

_NAMES = ("north", "east", "south", "west", "")
_COUNTS = (0, 1, -1, 9, 10, 11, 400, -(10**15), 10**15, 2**62, 2**63, 2**64, -(2**70), 10**400)
_SPREADS = (
    Fraction(0),
    Fraction(1, 10**60),
    Fraction(1),
    Fraction(800),
    Fraction(10**30),
    Fraction(10**400),
    Fraction(2**62),
)


@dataclass(frozen=True)
class Situation:
    """Everything that a verdict depends on."""

    concerned: tuple[NewQuery, ...]
    told: tuple[PriorRelease, ...]
    rules: Auditing


def situation(seed: int) -> Situation:
    """The situation of this number."""
    return _Chance(random.Random(seed)).situation()  # noqa: S311 - nothing depends on it


class _Chance:
    def __init__(self, chance: random.Random) -> None:
        self._chance = chance
        self._axes = self._some_axes()

    def situation(self) -> Situation:
        chance = self._chance
        told = [self._past(number) for number in range(chance.choice((0, 1, 1, 2, 3, 5, 9, 20)))]
        asked = [self._asked(told) for _ in range(chance.choice((1, 1, 1, 2, 4)))]
        concerned = tuple(NewQuery(one, chance.choice(_SPREADS)) for one in asked)
        rules = Auditing(
            chance.choice((1, 2, 10, 10, 1000)),
            chance.choice((0, 1, 1, 5)),
            (),
            chance.choice((*UnreadableConditions,)),
        )
        return Situation(concerned, tuple(told), rules)

    def _some_axes(self) -> list[RegionAxis]:
        chance = self._chance
        made = []
        for place in range(chance.choice((1, 2, 3, 4))):
            name = f"t.c{place}"
            made.append(self._axis(name, chance.choice("ssssnnou")))
        return made

    def _axis(self, name: str, kind: str) -> RegionAxis:
        chance, column = self._chance, ColumnRef("t", name)
        nullable, quasi = chance.random() < 0.6, chance.random() < 0.5
        if kind == "s":
            low, high = chance.choice(
                ((0, 0), (0, 9), (1900, 1999), (0, 29_999), (-5, 5), (FIRST + 2, LAST - 2))
            )
            if chance.random() < 0.15:
                return RegionAxis(
                    name, AxisKind.STEPS, None, None, None, nullable, True, quasi, column
                )
            stride = chance.choice((1, 1, 2, 5, 100))
            size = (high - low) // stride + 1
            return RegionAxis(
                name, AxisKind.STEPS, low, high, size, nullable, True, quasi, column, stride=stride
            )
        if kind == "n":
            names = frozenset(chance.sample(_NAMES, chance.randint(1, len(_NAMES))))
            return RegionAxis(
                name, AxisKind.NAMES, None, None, len(names), nullable, True, quasi, column, names
            )
        if kind == "o":
            return RegionAxis(name, AxisKind.NAMES, None, None, None, nullable, True, quasi, column)
        both = frozenset({"true", "false"})
        return RegionAxis(name, AxisKind.NAMES, None, None, 2, True, False, quasi, None, both)

    def _declared_otherwise(self, axis: RegionAxis) -> RegionAxis:
        """The same column under an earlier policy."""
        chance = self._chance
        if chance.random() < 0.7:
            return axis
        if axis.kind is AxisKind.NAMES and axis.readable and chance.random() < 0.5:
            return self._axis(axis.name, "s")
        if axis.kind is AxisKind.STEPS and axis.low is not None and axis.high is not None:
            if chance.random() < 0.3:
                return self._axis(axis.name, chance.choice("sn"))
            low, high = axis.low + chance.choice((0, 3)), axis.high + chance.choice((0, 7))
            if low <= high:
                return replace(axis, low=low, high=high, size=(high - low) // axis.stride + 1)
        return replace(axis, nullable=not axis.nullable or not axis.readable)

    def _cells(self, axis: RegionAxis) -> Cells:
        chance, null = self._chance, self._chance.random() < 0.3
        if axis.kind is AxisKind.NAMES:
            names = frozenset(axis.names or _NAMES)
            some = frozenset(one for one in sorted(names) if chance.random() < 0.4)
            return NameCells(some, rest=chance.random() < 0.3, null=null)
        low = -20 if axis.low is None else axis.low
        high = 20 if axis.high is None else axis.high
        ends = [low, high, low - 1, high + 1, low + 1, high - 1, FIRST, LAST]
        ends += [chance.randint(low, high) for _ in range(6)]
        ranges = []
        for _ in range(chance.choice((0, 1, 1, 1, 2, 5))):
            first = chance.choice(ends)
            last = chance.choice((first, first + 1, chance.choice(ends)))
            ranges.append((max(first, FIRST), min(last, LAST)))
        return StepCells(merge_ranges(ranges), null)

    def _region(self, axes: Sequence[RegionAxis]) -> Region:
        chance = self._chance
        if chance.random() < 0.1:
            return chance.choice((NOTHING, EVERYTHING))
        made = NOTHING
        try:
            for _ in range(chance.choice((1, 1, 1, 2, 6))):
                box = EVERYTHING
                for axis in axes:
                    if chance.random() < 0.6:
                        box = box.meet(region_along(axis, self._cells(axis)))
                made = made.join(box)
            return EVERYTHING.without(made) if chance.random() < 0.2 else made
        except TooLarge:
            return made

    def _key(self, axis: RegionAxis) -> GroupKey:
        chance = self._chance
        which = chance.random()
        if which < 0.2:
            return GroupKey(f"f({axis.name})", None, None, None)
        if which < 0.4:
            return GroupKey(axis.name, axis, None, None)
        if which < 0.5:
            return GroupKey(f"g({axis.name})", None, (None, 1, 2), None)
        cells: list[Cells]
        if axis.kind is AxisKind.STEPS and axis.low is not None and axis.high is not None:
            wide = chance.choice((1, 7, max(1, (axis.high - axis.low) // 4)))
            starts = range(axis.low, axis.high + 1, max(wide, (axis.high - axis.low) // 40 + 1))
            cells = [
                clip_cells(StepCells(((start, start + starts.step - 1),)), axis) for start in starts
            ]
            if axis.nullable:
                cells.append(StepCells((), null=True))
        else:
            cells = [self._cells(axis) for _ in range(chance.randint(0, 4))]
        if chance.random() < 0.2:
            cells.append(all_cells(axis))
        return GroupKey(f"h({axis.name})", axis, tuple(range(len(cells))), tuple(cells))

    def _scope(self, region: Region, axes: Sequence[RegionAxis]) -> ReleaseScope:
        chance = self._chance
        keys = tuple(self._key(one) for one in axes if chance.random() < 0.25)
        unreadable = tuple(one.name for one in region.axes if not one.readable)
        return ReleaseScope("t", frozenset({"t"}), region, keys, unreadable)

    def _past(self, number: int) -> PriorRelease:
        chance = self._chance
        axes = [self._declared_otherwise(one) for one in self._axes]
        scope = self._scope(self._region(axes), axes)
        size = 1
        for key in scope.keys:
            size *= len(key.values or ())
        if chance.random() < 0.1:
            size += 1
        counts = None
        if size <= 5_000 and chance.random() < 0.8:
            counts = tuple(
                chance.choice(_COUNTS) if chance.random() < 0.4 else chance.randint(-50, 5_000)
                for _ in range(size)
            )
        return PriorRelease(
            f"q{number}.r1.1",
            f"q{number}",
            scope,
            counts,
            chance.choice(_SPREADS),
            chance.choice((None, *_SPREADS)),
            whole=chance.random() < 0.7,
        )

    def _asked(self, told: Sequence[PriorRelease]) -> ReleaseScope:
        """A new region, or one that differs from an earlier one by little."""
        chance = self._chance
        region = self._region(self._axes)
        kinds = {one.name: one.kind for one in self._axes}
        earlier_ones = [
            one.scope.region
            for one in told
            if all(kinds[axis.name] is axis.kind for axis in one.scope.region.axes)
        ]
        if earlier_ones and chance.random() < 0.6:
            earlier = chance.choice(earlier_ones)
            try:
                if chance.random() < 0.3:
                    region = earlier
                elif chance.random() < 0.5:
                    region = earlier.without(region)
                else:
                    region = earlier.join(region)
            except TooLarge:
                region = self._region(self._axes)
        return self._scope(region, self._axes)
