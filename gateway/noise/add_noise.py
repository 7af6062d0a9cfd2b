"""Exact groups to noisy ones: the only place where something of the exact answer is handed on.

    add_noise      counts, and by them which groups leave; their keys are released then
    with_choices   of the groups that leave, what is chosen in histograms that were asked for them alone

INVARIANT: every integer that leaves has had its own noise added, drawn here; of a histogram nothing leaves but the
places that were chosen. Enumerated groups leave all, in the order of the enumeration, whatever was found; thresholded
ones leave when their noisy count of units reaches the threshold, sorted by their keys, so no order of the source is
seen. A choice is drawn in the groups that leave, and looks at nothing to tell which these are.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from operator import add
from typing import Final, TypeAlias

from gateway.catalog.values import Value
from gateway.exact import ExactHistogram, ExactTable
from gateway.noise.allocation import Priced
from gateway.noise.combined_noise import AnyNoise
from gateway.noise.drawn_choices import Span
from gateway.noise.drawn_choices import drawn as drawn_choices
from gateway.noise.entropy import Entropy
from gateway.noise.mechanism import Mechanism
from gateway.sensitivity.analysis import Enumerated, Thresholded
from gateway.sensitivity.choices import Histogram

Key: TypeAlias = tuple[Value | None, ...]
NOT_ASKED: Final = ExactTable((), ())
"""What a source says that was not asked, where nothing is measured."""


@dataclass(frozen=True, slots=True)
class NoisyTable:
    """Released: one row of `keys` for each group, one column of `measured` for each measurement.

    `chosen` has one column for each choice, and so have `spans`: from where to where what was sought lies, as far as
    the draw tells.
    """

    keys: tuple[Key, ...]
    measured: tuple[tuple[int, ...], ...] = field(repr=False)
    noises: tuple[AnyNoise, ...]
    chosen: tuple[tuple[Value, ...], ...] = field(default=(), repr=False)
    spans: tuple[tuple[Span, ...], ...] = field(default=(), repr=False)


class Misplaced(Exception):
    """A bug of ours: the source answered something else than it was asked."""


def add_noise(exact: ExactTable, release: Priced, entropy: Entropy) -> NoisyTable:
    """The table that may leave, nothing chosen in it yet."""
    if len(exact.measured) != len(release.noises):
        raise Misplaced("another number of measurements came back")
    found = {key: place for place, key in enumerate(exact.keys)}
    if len(found) != len(exact.keys):
        raise Misplaced("one group came back twice")
    _require_choices(release)
    groups = release.analysis.groups
    if isinstance(groups, Enumerated):
        return _enumerated(exact, found, release, groups, entropy)
    return _thresholded(exact, release, groups, entropy)


def with_choices(
    counted: NoisyTable,
    release: Priced,
    histograms: Mapping[Histogram, ExactHistogram],
    entropy: Entropy,
) -> NoisyTable:
    """The same groups with what is chosen in them; `histograms` are those that the choices of the release read."""
    _require_choices(release)
    if set(histograms) != set(release.analysis.histograms):
        raise Misplaced("other histograms came back than are read")
    if counted.chosen or counted.noises != release.noises:
        raise Misplaced("choices were drawn already, or are those of another release")
    drawn = drawn_choices(counted.keys, histograms, release.choices, entropy)
    return replace(counted, chosen=drawn.values, spans=drawn.spans)


def _require_choices(release: Priced) -> None:
    if len(release.choices) != len(release.analysis.choices):
        raise Misplaced("another number of choices was paid for")


def _enumerated(
    exact: ExactTable,
    found: Mapping[Key, int],
    release: Priced,
    groups: Enumerated,
    entropy: Entropy,
) -> NoisyTable:
    nowhere = len(exact.keys)
    places = [found.get(key, nowhere) for key in groups.keys]
    columns = []
    for column, noise in zip(exact.measured, release.drawn, strict=True):
        there = (*column, 0)  # the last one is what groups have that were not found
        columns.append(_noisy([there[place] for place in places], noise, entropy))
    return NoisyTable(groups.keys, tuple(columns), release.noises)


def _thresholded(
    exact: ExactTable, release: Priced, groups: Thresholded, entropy: Entropy
) -> NoisyTable:
    if release.shown_from is None:
        raise Misplaced("a release without the threshold it needs")
    columns = [
        _noisy(column, noise, entropy)
        for column, noise in zip(exact.measured, release.drawn, strict=True)
    ]
    units = columns[groups.units]
    shown = [place for place, count in enumerate(units) if count >= release.shown_from]
    shown.sort(key=lambda place: in_order(exact.keys[place]))
    return NoisyTable(
        tuple(exact.keys[place] for place in shown),
        tuple(tuple(column[place] for place in shown) for column in columns),
        release.noises,
    )


def _noisy(column: Sequence[int], noise: Mechanism, entropy: Entropy) -> tuple[int, ...]:
    drawn = noise.draw(len(column), entropy)
    if len(drawn) != len(column):
        raise Misplaced("another number of draws than of integers")
    return tuple(map(add, column, drawn))


def in_order(key: Key) -> tuple[tuple[bool, Value], ...]:
    """By which groups are sorted: value by value, texts by their code points, NULL last."""
    return tuple((value is None, 0 if value is None else value) for value in key)
