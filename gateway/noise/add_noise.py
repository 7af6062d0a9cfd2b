"""Noisy tables from exact ones: the only place where a value derived from the exact answer is released.

    add_noise      adds noise to counts and decides by them which groups are released; their keys are public then
    with_choices   makes the choices of the released groups, from histograms of these groups alone

INVARIANT: every released integer has its own noise, drawn here. A total that is measured with its groups is the sum of
the same exact integers, of all listed groups; it has noise of its own, and the groups are fitted to it. Of a histogram nothing is released but the
chosen places. All enumerated groups are released, in the order of the enumeration, whatever the data hold. A
thresholded group is released when its noisy count of units reaches the threshold; such groups are sorted by
key, so the order of the source's rows is never visible. Choices are drawn for the released groups and do not
influence which groups these are.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from operator import add
from typing import Final, TypeAlias

from gateway.catalog.values import Value
from gateway.exact import ExactHistogram, ExactTable
from gateway.noise.allocation import Drawn, ReleaseNoise
from gateway.noise.combined_noise import AnyNoise
from gateway.noise.drawn_choices import Span
from gateway.noise.drawn_choices import draw_choices as drawn_choices
from gateway.noise.entropy import Entropy
from gateway.noise.least_squares import FittedNoise
from gateway.sensitivity.analysis import EnumeratedGroups, ThresholdGroups
from gateway.sensitivity.choices import Histogram

Key: TypeAlias = tuple[Value | None, ...]
NOT_ASKED: Final = ExactTable((), ())
"""What a source says that was not asked, where nothing is measured."""


@dataclass(frozen=True, slots=True)
class NoisyTable:
    """A released table: one row of `keys` for each group, one column of `measured` for each measurement.

    `chosen` and `spans` have one column for each choice. A span is an interval that contains the exact value,
    as far as the draw tells.
    """

    keys: tuple[Key, ...]
    measured: tuple[tuple[int, ...], ...] = field(repr=False)
    noises: tuple[AnyNoise, ...]
    chosen: tuple[tuple[Value, ...], ...] = field(default=(), repr=False)
    spans: tuple[tuple[Span, ...], ...] = field(default=(), repr=False)


class MismatchedDraws(Exception):
    """Internal error: the source answered something else than the gateway asked."""


def add_noise(exact: ExactTable, release: ReleaseNoise, entropy: Entropy) -> NoisyTable:
    """The noisy table of the groups that are released. It has no choices yet."""
    if len(exact.measured) != len(release.noises):
        raise MismatchedDraws("another number of measurements came back")
    found = {key: place for place, key in enumerate(exact.keys)}
    if len(found) != len(exact.keys):
        raise MismatchedDraws("one group came back twice")
    _require_choices(release)
    groups = release.analysis.groups
    if isinstance(groups, EnumeratedGroups):
        return _enumerated(exact, found, release, groups, entropy)
    return _thresholded(exact, release, groups, entropy)


def add_choices(
    counted: NoisyTable,
    release: ReleaseNoise,
    histograms: Mapping[Histogram, ExactHistogram],
    entropy: Entropy,
) -> NoisyTable:
    """The same groups with their choices. `histograms` are the ones that the choices of the release read."""
    _require_choices(release)
    if set(histograms) != set(release.analysis.histograms):
        raise MismatchedDraws("other histograms came back than are read")
    if counted.chosen or counted.noises != release.noises:
        raise MismatchedDraws("choices were drawn already, or are those of another release")
    drawn = drawn_choices(counted.keys, histograms, release.choices, entropy)
    return replace(counted, chosen=drawn.values, spans=drawn.spans)


def _require_choices(release: ReleaseNoise) -> None:
    if len(release.choices) != len(release.analysis.choices):
        raise MismatchedDraws("another number of choices was paid for")


def _enumerated(
    exact: ExactTable,
    found: Mapping[Key, int],
    release: ReleaseNoise,
    groups: EnumeratedGroups,
    entropy: Entropy,
) -> NoisyTable:
    nowhere = len(exact.keys)
    places = [found.get(key, nowhere) for key in groups.keys]
    columns = []
    for column, noise in zip(exact.measured, release.drawn, strict=True):
        there = (*column, 0)  # the last entry stands for groups that the source did not find
        columns.append(_noisy([there[place] for place in places], noise, entropy))
    return NoisyTable(groups.keys, tuple(columns), release.noises)


def _thresholded(
    exact: ExactTable, release: ReleaseNoise, groups: ThresholdGroups, entropy: Entropy
) -> NoisyTable:
    if release.shown_from is None:
        raise MismatchedDraws("a release without the threshold it needs")
    columns = [
        _noisy(column, noise, entropy)
        for column, noise in zip(exact.measured, release.drawn, strict=True)
    ]
    units = columns[groups.units]
    shown = [place for place, count in enumerate(units) if count >= release.shown_from]
    shown.sort(key=lambda place: sort_key(exact.keys[place]))
    return NoisyTable(
        tuple(exact.keys[place] for place in shown),
        tuple(tuple(column[place] for place in shown) for column in columns),
        release.noises,
    )


def _noisy(column: Sequence[int], noise: Drawn, entropy: Entropy) -> tuple[int, ...]:
    if isinstance(noise, FittedNoise):
        if len(column) != noise.groups:
            raise MismatchedDraws("another number of groups than have a total")
        return tuple(noise.released(column, entropy))
    drawn = noise.draw(len(column), entropy)
    if len(drawn) != len(column):
        raise MismatchedDraws("another number of draws than of integers")
    return tuple(map(add, column, drawn))


def sort_key(key: Key) -> tuple[tuple[bool, Value], ...]:
    """Sort key of a group: value by value, texts by code points, NULL last."""
    return tuple((value is None, 0 if value is None else value) for value in key)
