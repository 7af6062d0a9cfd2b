"""Releases as they might have been: what was released, moved by noise that is drawn anew.

For intervals of what no formula follows. With nothing known beforehand, the value without noise lies around what was
released as the noise does, which is symmetric: released = value + noise, so value = released - noise. What is computed
from released - fresh noise, again and again, says where what is computed from the values without noise lies.

Fresh noise is drawn for each part as it was released, not for what is added up from it: totals stay the sums of their
rows, and what depends on several rows moves as it did when it was released. The groups that were found stay those
that were found, and choices stay as they were chosen: a choice does not tell how the others stood.

INVARIANT: this sees no exact value. All that goes in is a release that left, and the public parameters of its noise;
what comes out is post-processing of it and of random bits, however often it is asked for. It is no mechanism, and
nothing here may ever be given what a source said.
"""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from operator import sub

from gateway.noise.entropy import Entropy
from gateway.noise.mixed import AnyNoise
from gateway.noise.noisy import Misplaced, NoisyTable
from gateway.noise.rolling import NoisyRelease, rolled_up


def simulated(release: NoisyRelease, times: int, entropy: Entropy) -> Iterator[NoisyRelease]:
    """The release, so many times over, each time with other noise."""
    parts = parts_of(release)
    drawn = [
        _drawn(table, part.noises, times, entropy)
        for table, part in zip(parts, release.priced.parts, strict=True)
    ]
    for time in range(times):
        tables = [_moved(table, each, time) for table, each in zip(parts, drawn, strict=True)]
        yield rolled_up(release.priced, tables)


def parts_of(release: NoisyRelease) -> tuple[NoisyTable, ...]:
    """The noisy tables from which the release was put together: each is in one of its grouping sets as it is."""
    found: dict[int, NoisyTable] = {}
    for one in release.levels:
        before = 0
        for drawn in one.level.drawn:
            part = release.priced.parts[drawn.part]
            after = before + len(part.noises)
            if len(drawn.keys) == len(part.analysis.plan.keys):
                own = drawn is one.level.drawn[-1]
                found[drawn.part] = NoisyTable(
                    one.table.keys,
                    one.table.measured[before:after],
                    part.noises,
                    one.table.chosen if own else (),
                )
            before = after
    if len(found) != len(release.priced.parts):
        raise Misplaced("a part of a release that none of its grouping sets has as it is")
    return tuple(found[place] for place in range(len(found)))


def _drawn(
    table: NoisyTable, noises: Sequence[AnyNoise], times: int, entropy: Entropy
) -> list[list[int]]:
    """For each column the noise of all times, one after the other: tables for drawing pay for many draws."""
    return [noise.draw(len(table.keys) * times, entropy) for noise in noises]


def _moved(table: NoisyTable, drawn: list[list[int]], time: int) -> NoisyTable:
    rows = len(table.keys)
    moved = (
        tuple(map(sub, column, noise[time * rows : (time + 1) * rows]))
        for column, noise in zip(table.measured, drawn, strict=True)
    )
    return replace(table, measured=tuple(moved))
