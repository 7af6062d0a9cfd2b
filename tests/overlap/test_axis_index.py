"""What a part of an axis shares with new cells, counted at once and range by range."""

from random import Random

import numpy as np
from samples import draws

from gateway.overlap.axis_index import AxisIndex
from gateway.overlap.group_cuts import grouping_in_order
from gateway.regions.axis import FIRST, LAST, AxisKind, RegionAxis
from gateway.regions.cells import StepCells, intersection, merge_ranges, range_gaps


def _axis(stride: int, low: int | None, high: int | None) -> RegionAxis:
    size = None if low is None or high is None else (high - low) // stride + 1
    return RegionAxis("a", AxisKind.STEPS, low, high, size, False, True, False, None, stride=stride)


def _by_range(line: AxisIndex, one: StepCells, other: StepCells) -> float:
    """The sum over all pairs of ranges."""
    low = FIRST if line.axis.low is None else line.axis.low
    high = LAST if line.axis.high is None else line.axis.high
    return sum(
        float(line.wide(np.array([max(first, begin, low)]), np.array([min(last, end, high)])).sum())
        for first, last in one.ranges
        for begin, end in other.ranges
    )


def _cells(chance: Random) -> StepCells:
    ends = sorted(chance.sample(range(-20, 120), 2 * chance.randrange(1, 7)))
    ranges = list(zip(ends[::2], ends[1::2], strict=True))
    if chance.random() < 0.3:
        ranges.append((110, LAST))
    if chance.random() < 0.3:
        ranges.append((FIRST, -10))
    return StepCells(merge_ranges(ranges))


def test_counts_are_those_of_all_pairs_of_ranges() -> None:
    """With and without ends, by chance, for one range and for several, where declared values are apart."""
    chance = Random(5)  # noqa: S311 - ranges to compare
    for _ in range(draws(300)):
        low, high = chance.choice([(0, 100), (None, None), (None, 100)])
        line = AxisIndex(_axis(chance.choice([1, 7]) if low == 0 else 1, low, high))
        parts = [_cells(chance) for _ in range(5)] + [StepCells(((3, 50),))]
        places = [line.cut(one, None) for one in parts]
        new = _cells(chance)
        found = line.beside(new)
        for place, one in zip(places, parts, strict=True):
            others, mine = StepCells(range_gaps(new.ranges)), StepCells(range_gaps(one.ranges))
            assert found.shared[place] == _by_range(line, one, new)
            assert found.outside[place] == _by_range(line, one, others)
            assert found.alone[place] == _by_range(line, mine, new)


def test_group_of_one_cell_is_that_of_many_cells() -> None:
    """Asked for one cell or for all, with gaps between groups, without groups, and beyond both ends."""
    chance = Random(6)  # noqa: S311 - groups to compare
    for number in range(draws(60)):
        ranges = [one for one in _cells(chance).ranges if one[0] > FIRST] if number else []
        ordered = grouping_in_order(tuple(StepCells((one,)) for one in ranges))
        assert ordered is not None
        cells = np.array([*range(-25, 130), LAST], dtype=np.int64)
        firsts, lasts = ordered.around(cells)
        found = [ordered.around_one(one) for one in cells.tolist()]
        assert found == list(zip(firsts.tolist(), lasts.tolist(), strict=True))
        assert all(first <= one <= last for one, (first, last) in zip(cells, found, strict=True))


def test_positions_are_computed_anew_when_a_part_was_added() -> None:
    """What was kept for the same cells is of the parts that were there."""
    line = AxisIndex(_axis(1, 0, 999))
    asked = StepCells(((10, 19),))
    assert len(line.beside(asked).shared) == 1
    line.cut(StepCells(((15, 24),)), None)
    found = line.beside(asked)
    assert found.shared.tolist() == [10, 5]
    assert line.beside(asked) is found


def test_few_ranges_are_cut_out_of_many_as_all_are() -> None:
    """The ends that are looked up give the cells that a walk through both gives."""
    chance = Random(8)  # noqa: S311 - a seed, no secret
    for _ in range(draws(500)):
        many = StepCells(merge_ranges((at, at + chance.randrange(4)) for at in range(0, 400, 5)))
        few = StepCells(
            merge_ranges(
                (at, at + chance.randrange(90)) for at in chance.sample(range(-20, 420), 3)
            )
        )
        held = {at for first, last in few.ranges for at in range(first, last + 1)}
        wanted = {at for first, last in many.ranges for at in range(first, last + 1)} & held
        assert intersection(many, few) == StepCells(merge_ranges((at, at) for at in wanted))
        assert intersection(few, many) == intersection(many, few)
