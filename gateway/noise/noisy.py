"""Exact groups to noisy ones: the only place where something of the exact answer is handed on.

INVARIANT: every integer that leaves has had its own noise added, drawn here. Enumerated groups leave all,
in the order of the enumeration, whatever was found; thresholded ones leave when their noisy count of units
reaches the threshold, sorted by their keys, so no order of the source is seen.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TypeAlias

from gateway.catalog.values import Value
from gateway.exact import ExactTable
from gateway.noise.entropy import Entropy
from gateway.noise.mechanism import Mechanism
from gateway.noise.pricing import Priced
from gateway.sensitivity.analysis import Enumerated, Thresholded

Key: TypeAlias = tuple[Value | None, ...]


@dataclass(frozen=True, slots=True)
class NoisyTable:
    """Released: one row of `keys` for each group, one column of `measured` for each measurement."""

    keys: tuple[Key, ...]
    measured: tuple[tuple[int, ...], ...] = field(repr=False)
    noises: tuple[Mechanism, ...]


class Misplaced(Exception):
    """A bug of ours: the source answered something else than it was asked."""


def add_noise(exact: ExactTable, release: Priced, entropy: Entropy) -> NoisyTable:
    """The table that may leave."""
    if len(exact.measured) != len(release.noises):
        raise Misplaced("another number of measurements came back")
    if len(set(exact.keys)) != len(exact.keys):
        raise Misplaced("one group came back twice")
    groups = release.analysis.groups
    if isinstance(groups, Enumerated):
        return _enumerated(exact, release, groups, entropy)
    return _thresholded(exact, release, groups, entropy)


def _enumerated(
    exact: ExactTable, release: Priced, groups: Enumerated, entropy: Entropy
) -> NoisyTable:
    found = {key: place for place, key in enumerate(exact.keys)}
    places = [found.get(key) for key in groups.keys]
    columns = [
        _noisy([0 if place is None else column[place] for place in places], noise, entropy)
        for column, noise in zip(exact.measured, release.noises, strict=True)
    ]
    return NoisyTable(groups.keys, tuple(columns), release.noises)


def _thresholded(
    exact: ExactTable, release: Priced, groups: Thresholded, entropy: Entropy
) -> NoisyTable:
    if release.shown_from is None:
        raise Misplaced("a release without the threshold it needs")
    columns = [
        _noisy(column, noise, entropy)
        for column, noise in zip(exact.measured, release.noises, strict=True)
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
    return tuple(value + each for value, each in zip(column, drawn, strict=True))


def in_order(key: Key) -> tuple[tuple[bool, Value], ...]:
    """By which groups are sorted: value by value, texts by their code points, NULL last."""
    return tuple((value is None, 0 if value is None else value) for value in key)
