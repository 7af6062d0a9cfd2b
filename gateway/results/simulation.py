"""Intervals by simulation, for cells computed in ways that no interval formula covers.

The finishing runs many times over simulated releases, and the middle 95 % of a cell's values are its interval.
Cells of different runs are matched by the columns of a row that have no noise in them, and by the release rows
behind it, as far as their provenance is known.

A simulated release is the released table minus fresh noise. Without prior knowledge, the value without noise
lies around the released one as the noise does, which is symmetric: released = value + noise, so value =
released - noise. Fresh noise is drawn for each part as it was released, not for sums of parts: totals stay the
sums of their rows, and values that depend on several rows move as they did at the release. The found groups
stay the same, and choices stay as chosen, because a choice does not reveal the scores of the others.

The number of runs: a sum of noises, or a monotone function of one, is as far from the value without noise as
the simulated value is from the released one. So among 199 simulated values and the true one each has the same
chance to be the k-th; the interval from the 5th to the 195th contains it with 190/200 = 95 %, no matter how
heavy the tails are. If the cell exists in fewer runs, the ends are taken farther outside.

A maximum is different: noise makes it larger, and simulated noise makes it larger once more. So the interval is
widened to contain its mirror image around the value that the same text gives for the release as it is: by as
much as the simulation is above that, the release may have been above the truth. For sums both are the same.

Where weights are seen to take rows away, one more run has all counts and sums larger by what they are seen to lose. A
cell that moves by that has an interval that is extended by as much, to the side that it moves to. Shares, means and
ratios do not move. The formulas of `gateway/intervals/visible_loss.py` extend by the share of an end, this by the share of
the value, which is less by the share of a margin.

Clamping is off here, as in the formulas: a count below 0 is summed as it is. Blank cells of small groups stay
blank. Values that a subquery gave to a later release are constants by then, and stay fixed.

INVARIANT: simulation sees no exact value. Its input is released tables, the public parameters of their noise,
public tables, the text, and random bits; its output is post-processing of these, however often it runs. It is
no mechanism, and no value of a source may ever be passed to this module. Chosen values, and values reported in
ranges, are not simulated: a value that moves within a range would reveal its place in the range. INVARIANT:
whether a cell is simulated depends on the text, the policy and the number of released rows; the clock only ends
a simulation that takes longer than a statement may.
"""

import threading
import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from math import isfinite, prod
from operator import sub
from typing import Final, TypeAlias

from gateway.binding.bound import Cut, RerunSql, ResultColumn
from gateway.columnar.intervals import Interval, IntervalEnds, IntervalRows
from gateway.columnar.texts import Row
from gateway.errors import Code, Refusal, SourceStopped
from gateway.intervals.digits import round_outward
from gateway.noise.add_noise import NoisyTable
from gateway.noise.allocation import ReleaseNoise
from gateway.noise.combined_noise import AnyNoise
from gateway.noise.entropy import Entropy
from gateway.plan.formulas import Reading
from gateway.results.constants import ConstantTable, blank_rows, release_constant
from gateway.results.rollup import NoisyRelease, roll_up
from gateway.sensitivity.choices import Chosen
from gateway.sensitivity.measurement import Different, Units


def simulate_release(release: NoisyRelease, times: int, entropy: Entropy) -> Iterator[NoisyRelease]:
    """That many simulated releases, each with other noise."""
    parts = release.tables
    drawn = [
        _drawn(table, part.noises, times, entropy)
        for table, part in zip(parts, release.priced.parts, strict=True)
    ]
    for index in range(times):
        tables = [_moved(table, each, index) for table, each in zip(parts, drawn, strict=True)]
        yield roll_up(release.priced, tables)


def unweighted_release(release: NoisyRelease) -> NoisyRelease | None:
    """The release with its counts and sums of rows larger by what weights are seen to take; None where none is seen."""
    lost = release.priced.lost
    if not any(lost):
        return None
    several = zip(release.tables, release.priced.parts, lost, strict=True)
    return roll_up(release.priced, [_larger(*one) for one in several])


def _larger(table: NoisyTable, part: ReleaseNoise, lost: float) -> NoisyTable:
    measured = (
        column
        if isinstance(one.quantity, Units | Different)
        else tuple(round(number / (1 - lost)) for number in column)
        for one, column in zip(part.analysis.measurements, table.measured, strict=True)
    )
    return replace(table, measured=tuple(measured))


def _drawn(
    table: NoisyTable, noises: Sequence[AnyNoise], times: int, entropy: Entropy
) -> list[list[int]]:
    """The noise of each column for all runs, drawn at once, because sampling tables pay for many draws."""
    return [noise.draw(len(table.keys) * times, entropy) for noise in noises]


def _moved(table: NoisyTable, drawn: list[list[int]], index: int) -> NoisyTable:
    rows = len(table.keys)
    moved = (
        tuple(map(sub, column, noise[index * rows : (index + 1) * rows]))
        for column, noise in zip(table.measured, drawn, strict=True)
    )
    return replace(table, measured=tuple(moved))


Rerun: TypeAlias = Callable[[Mapping[str, ConstantTable]], Sequence[Row]]

TIMES: Final = 199
_OUTSIDE: Final = 40  # of so many values and one more, one lies below the interval
_MOST_CELLS: Final = 300_000  # about half a second
# smallint, integer, bigint, real, double precision, numeric
_NUMBERS: Final = frozenset({21, 23, 20, 700, 701, 1700})
# this run has no result: for example, the logarithm of a count below 0
_OF_THIS_RUN: Final = frozenset({Code.TWIN_SYNTAX})


@dataclass(frozen=True)
class Simulation:
    """What a simulation starts from: the constants of a statement, its releases and their blank rows.

    `run` runs the finishing over other constants, until `cancelled` is set or `limit_s` is over.
    """

    constants: Mapping[str, ConstantTable]
    noisy: Mapping[str, NoisyRelease]
    small: Mapping[str, frozenset[int]]
    run: Rerun
    entropy: Entropy
    cancelled: threading.Event
    limit_s: float


@dataclass(frozen=True)
class SimulatedIntervals:
    """All intervals, including the simulated ones, and notices about cells that have none."""

    intervals: IntervalRows
    notices: tuple[str, ...] = ()


def add_simulated_intervals(
    cut: Cut, rows: Sequence[Row], intervals: IntervalRows, simulation: Simulation
) -> SimulatedIntervals:
    """Add simulated intervals. `rows` have the numbers of release rows behind their columns; cells with a
    formula keep their intervals.
    """
    places = columns_to_simulate(cut, simulation.noisy)
    if cut.again is None or not places or not rows:
        return SimulatedIntervals(intervals)
    result = cut.result or ()
    if cut.again.effort is None:
        return SimulatedIntervals(intervals)
    if _work(cut.again.effort, simulation.constants) > _MOST_CELLS:
        return SimulatedIntervals(intervals, (_notice(result, places, "it takes too many rows"),))
    found = _Cells(tuple(rows), _keys(cut.again, len(result), len(rows[0])), places)
    if not found.rows:
        return SimulatedIntervals(intervals)
    if not _run_again(cut, cut.again.effort, simulation, found):
        return SimulatedIntervals(intervals, (_notice(result, places, "it takes too long"),))
    columns = list(intervals.columns)
    for place in places:
        ends = IntervalEnds.of([found.interval(row, place) for row in range(len(rows))])
        columns[place] = round_outward(ends)
    return SimulatedIntervals(IntervalRows(columns, len(rows)))


def columns_to_simulate(cut: Cut, noisy: Mapping[str, NoisyRelease]) -> list[int]:
    """The numeric columns that are noisy, have no formula, and contain nothing that cannot be simulated."""
    if cut.again is None or cut.result is None:
        return []
    readings = () if cut.traced is None else cut.traced.readings
    found = [
        place
        for place, (column, reads) in enumerate(zip(cut.result, cut.again.reads, strict=True))
        if reads
        and column.type_oid in _NUMBERS
        and all(one.forms[place] is None for one in readings)
        and all(one.place is not None and _can_move(one, noisy) for one in reads)
    ]
    return found if found and all(_can_move(one, noisy) for one in cut.again.steering) else []


def _can_move(one: Reading, noisy: Mapping[str, NoisyRelease]) -> bool:
    release = noisy.get(one.release)
    if release is None:
        return False
    rolled = release.priced.rolled
    places = range(len(rolled.plan.measures)) if one.place is None else [one.place]
    return not any(
        (rolled.ranges and rolled.ranges[place] is not None)
        or any(isinstance(level.formulas[place], Chosen) for level in rolled.levels)
        for place in places
    )


def _work(effort: Iterable[Sequence[str]], constants: Mapping[str, ConstantTable]) -> int:
    """The number of written cells and read rows, over all runs."""
    effort = list(effort)
    each = {name: _rows(constants[name]) for one in effort for name in one}
    written = sum(many * len(constants[name].columns) for name, many in each.items())
    return TIMES * (written + sum(prod(each[name] for name in one) for one in effort))


def _rows(constant: ConstantTable) -> int:
    return len(constant.texts[-1]) if constant.texts else 0


def _keys(again: RerunSql, columns: int, width: int) -> list[int]:
    return [*(at for at in range(columns) if not again.reads[at]), *range(columns, width)]


def _notice(result: Sequence[ResultColumn], places: Iterable[int], why: str) -> str:
    names = ", ".join(f"`{result[place].name}`" for place in places)
    return f"intervals are not given for {names}: {why} to simulate them"


def _run_again(
    cut: Cut, effort: Iterable[Sequence[str]], simulation: Simulation, found: "_Cells"
) -> bool:
    """True if the simulation was completed."""
    read = {name for one in effort for name in one}
    steps = {one.name: one for one in cut.releases if one.name in read}
    fixed = {name: simulation.constants[name] for name in read if name not in steps}

    def constant(name: str, release: NoisyRelease) -> ConstantTable:
        shown = release_constant(steps[name], release, clamp=False)
        return blank_rows(shown, steps[name].plan, simulation.small[name])

    until = time.monotonic() + simulation.limit_s
    for take, each in _runs({name: simulation.noisy[name] for name in steps}, simulation, found):
        if simulation.cancelled.is_set():
            raise SourceStopped(Code.SOURCE_CANCELLED)
        if time.monotonic() > until:
            return False
        constants = {name: constant(name, one) for name, one in each.items()}
        try:
            again = simulation.run({**fixed, **constants})
        except Refusal as refusal:
            if refusal.code not in _OF_THIS_RUN:
                return False
            again = ()
        take(again)
        if found.lost:
            break
    return True


def _runs(
    noisy: Mapping[str, NoisyRelease], simulation: Simulation, found: "_Cells"
) -> Iterator[tuple[Callable[[Sequence[Row]], None], Mapping[str, NoisyRelease]]]:
    """The releases of each run, and what takes its rows: as they are, then larger by what was lost, then simulated."""
    yield found.as_it_is, noisy
    larger = {name: unweighted_release(one) for name, one in noisy.items()}
    if any(larger.values()):
        yield found.without_loss, {name: larger[name] or one for name, one in noisy.items()}
    moving = {name: simulate_release(one, TIMES, simulation.entropy) for name, one in noisy.items()}
    for _ in range(TIMES):
        yield found.add, {name: next(moving[name]) for name in noisy}


@dataclass
class _Cells:
    """The cells of an answer, and their values in each run."""

    answer: Sequence[Row]
    keys: Sequence[int]
    places: Sequence[int]
    rows: dict[Row, int] = field(init=False)
    _values: dict[tuple[int, int], list[float]] = field(init=False)
    _as_is: dict[tuple[int, int], float] = field(default_factory=dict)
    _larger: dict[tuple[int, int], float] = field(default_factory=dict)
    _turns: int = 0

    def __post_init__(self) -> None:
        self.rows = dict(self._alone(self.answer))
        self._values = {(row, place): [] for row in self.rows.values() for place in self.places}

    def as_it_is(self, rows: Sequence[Row]) -> None:
        self._as_is = dict(self._found(rows))

    def without_loss(self, rows: Sequence[Row]) -> None:
        self._larger = dict(self._found(rows))

    def add(self, rows: Sequence[Row]) -> None:
        self._turns += 1
        for cell, value in self._found(rows):
            self._values[cell].append(value)

    @property
    def lost(self) -> bool:
        """True if no cell can get an interval any more."""
        most = max(map(len, self._values.values()), default=0)
        return 2 * (self._turns - most) > TIMES

    def interval(self, row: int, place: int) -> Interval:
        """The middle 95 %, its mirror image, and what is lost; None if the cell is missing in half of the runs."""
        values = sorted(self._values.get((row, place), ()))
        if self.answer[row][place] is None or 2 * len(values) < TIMES:
            return None
        outside = (len(values) + 1) // _OUTSIDE
        low, high = values[outside - 1], values[-outside]
        middle = self._as_is.get((row, place))
        if middle is None:
            return low, high
        lost = self._larger.get((row, place), middle) - middle
        low, high = min(low, 2 * middle - high), max(high, 2 * middle - low)
        return low + min(lost, 0), high + max(lost, 0)

    def _found(self, rows: Sequence[Row]) -> Iterable[tuple[tuple[int, int], float]]:
        for key, at in self._alone(rows):
            row = self.rows.get(key)
            if row is None:
                continue
            for place in self.places:
                text = rows[at][place]
                if text is not None and isfinite(value := float(text)):
                    yield (row, place), value

    def _alone(self, rows: Sequence[Row]) -> Iterable[tuple[Row, int]]:
        """The rows that differ from all others in their columns without noise or their release rows."""
        keys = [tuple(row[place] for place in self.keys) for row in rows]
        times = Counter(keys)
        return ((key, at) for at, key in enumerate(keys) if times[key] == 1)
