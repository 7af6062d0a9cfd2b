"""Matches between a query and cache entries, slot by slot and choice by choice.

    same       the same rows in the same groups
    filter     every group of the query is one group of an entry that has other groups too
    roll-up    some group of the query is several groups of an entry put together

INVARIANT: a match estimates exactly what a new measurement would: the same integer of the tables in every group of the
query, with other noise. So a filter takes only plain entries and a roll-up only additive ones. Neither takes what is
measured otherwise, or with a unit bounded otherwise. Groups that were found in the data are reused as they were shown, all
together, and never for another query.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from fractions import Fraction
from itertools import islice
from math import prod
from typing import Final

from gateway.budget.account import Currency
from gateway.noise.combined_noise import AnyNoise, sum_noise, variance_of
from gateway.regions.region import TooLarge
from gateway.regions.scope import ReleaseScope
from gateway.release_cache.entry import CacheEntry
from gateway.release_cache.fingerprints import (
    adds_up,
    bounding_of,
    choice_digest,
    is_additive,
    is_plain,
    slot_digest,
)
from gateway.release_cache.group_mapping import GroupMapping, map_groups, may_have
from gateway.requests.request import CacheUse
from gateway.sensitivity.analysis import Analysis, EnumeratedGroups
from gateway.sensitivity.choices import Frequent

MOST_TRIED: Final = 64
"""So many entries that are not about the very same are looked at closely, the newest first: a count, never a clock."""
_ORDER: Final = (CacheUse.SAME, CacheUse.FILTER, CacheUse.ROLLUP)


@dataclass(frozen=True, eq=False, slots=True)
class MeasurementRequest:
    """A part of a question, with its digests: those of slots and choices go with the analysis, one by one."""

    analysis: Analysis
    scope: ReleaseScope
    currency: Currency
    slots: tuple[str, ...]
    choices: tuple[str, ...]
    bounding: str
    plain: bool
    additive: bool
    listed: bool


@dataclass(frozen=True, eq=False, slots=True)
class Match:
    """A slot or a choice of an entry, at `place`, and how it answers. `places` of None: its groups are given as they are.

    `noises` are those of the answer, of the group that has most; a choice has none. `variance` is the noise's where one
    unit moves the answer by 1; of a choice the square of its scale.
    """

    entry: CacheEntry
    place: int
    how: CacheUse
    places: GroupMapping | None
    noises: tuple[AnyNoise, ...]
    variance: Fraction


@dataclass(frozen=True, slots=True)
class Matches:
    """All there are for each slot and each choice, the best first."""

    slots: tuple[tuple[Match, ...], ...]
    choices: tuple[tuple[Match, ...], ...]


def measurement_request(
    analysis: Analysis,
    scope: ReleaseScope,
    *,
    currency: Currency,
    declarations: str,
    constants: Mapping[str, str],
) -> MeasurementRequest:
    """What the analysis needs from the cache; `scope` belongs to its plan, `declarations` is the digest of its tables."""
    return MeasurementRequest(
        analysis,
        scope,
        currency,
        tuple(slot_digest(analysis, one, constants) for one in analysis.slots),
        tuple(choice_digest(analysis, one, constants) for one in analysis.choices),
        bounding_of(analysis, currency, declarations),
        not analysis.total and is_plain(analysis),
        not analysis.total and is_additive(analysis),
        isinstance(analysis.groups, EnumeratedGroups),
    )


def matches(wanted: MeasurementRequest, entries: Iterable[CacheEntry]) -> Matches:
    """What answers: the same before a filter before a roll-up, then what has less noise, then what is newer.

    `entries` have the shape of the wanted scope and are not too old, the newest first.
    """
    finding = _Finding(wanted)
    others = []
    for entry in entries:
        if entry.scope.shape != wanted.scope.shape or entry.bounding != wanted.bounding:
            continue
        if finding.may_help(entry) and not finding.try_same(entry) and finding.may_cut(entry):
            others.append(entry)
    helpful = (one for one in others if may_have(one.scope, wanted.scope))
    for entry in islice(helpful, MOST_TRIED):
        finding.try_others(entry)
    return finding.found()


def frequent_together(analysis: Analysis) -> tuple[tuple[int, ...], ...]:
    """The places of choices that are drawn one after the other, each among what those before it have left."""
    found: dict[object, list[int]] = {}
    for place, one in enumerate(analysis.choices):
        if isinstance(one.sought, Frequent):
            found.setdefault(one.histogram, []).append(place)
    return tuple(map(tuple, found.values()))


class _Finding:
    """Collects matches entry by entry."""

    def __init__(self, wanted: MeasurementRequest) -> None:
        self._wanted = wanted
        self._slots: list[list[Match]] = [[] for _ in wanted.slots]
        self._choices: list[list[Match]] = [[] for _ in wanted.choices]
        self._together = frequent_together(wanted.analysis)
        self._asked = frozenset((*wanted.slots, *wanted.choices))

    def found(self) -> Matches:
        return Matches(tuple(map(_ranked, self._slots)), tuple(map(_ranked, self._choices)))

    def try_same(self, entry: CacheEntry) -> bool:
        """Whether the entry is about the very same groups: what it has of the question is noted then."""
        if entry.listed != self._wanted.listed or not has_same_groups(
            entry.scope, self._wanted.scope
        ):
            return False
        if self._wanted.listed or self._asked <= _digests(entry):
            self._note(entry, CacheUse.SAME, None)
        return True

    def may_help(self, entry: CacheEntry) -> bool:
        """Whether anything of the question is measured there."""
        asked = self._asked
        return any(one.digest in asked for one in entry.slots) or any(
            one.digest in asked for one in entry.choices
        )

    def may_cut(self, entry: CacheEntry) -> bool:
        """Whether groups of the entry mean the same to other questions."""
        return all(one.plain and one.listed for one in (self._wanted, entry))

    def try_others(self, entry: CacheEntry) -> None:
        places = map_groups(entry.scope, self._wanted.scope)
        if places is None or not places.together:
            return
        if places.together > 1:
            if entry.additive:
                self._note(entry, CacheUse.ROLLUP, places)
            return
        whole = len(places.taken) == _groups(entry.scope) and places.one_by_one
        self._note(entry, CacheUse.SAME if whole else CacheUse.FILTER, places)

    def _note(self, entry: CacheEntry, how: CacheUse, places: GroupMapping | None) -> None:
        there = {one.digest: place for place, one in enumerate(entry.slots)}
        together = 1 if places is None else places.together
        slots = zip(self._wanted.slots, self._wanted.analysis.slots, self._slots, strict=True)
        for digest, slot, found in slots:
            place = there.get(digest)
            if place is None or (together > 1 and not adds_up(slot)):
                continue
            noises = tuple(sum_noise(one, together) for one in entry.slots[place].noises)
            variance = max(map(variance_of, noises)) / slot.most**2
            found.append(Match(entry, place, how, places, noises, variance))
        if places is None or places.one_by_one:
            self._note_choices(entry, how, places)

    def _note_choices(self, entry: CacheEntry, how: CacheUse, places: GroupMapping | None) -> None:
        there = {one.digest: place for place, one in enumerate(entry.choices)}
        digests = self._wanted.choices
        # the second of what is most frequent is nothing without the first
        apart = {
            place
            for several in self._together
            if not all(digests[one] in there for one in several)
            for place in several
        }
        for at, (digest, choice) in enumerate(
            zip(digests, self._wanted.analysis.choices, strict=True)
        ):
            place = there.get(digest)
            if place is None or at in apart:
                continue
            variance = (entry.choices[place].selection.scale / choice.spread) ** 2
            self._choices[at].append(Match(entry, place, how, places, (), variance))


def _ranked(found: list[Match]) -> tuple[Match, ...]:
    found.sort(key=lambda one: one.entry.release)
    found.sort(key=lambda one: one.entry.at, reverse=True)
    found.sort(key=lambda one: (_ORDER.index(one.how), one.variance))
    return tuple(found)


def _digests(entry: CacheEntry) -> frozenset[str]:
    return frozenset([*(one.digest for one in entry.slots), *(one.digest for one in entry.choices)])


def has_same_groups(there: ReleaseScope, wanted: ReleaseScope) -> bool:
    """Whether both have the same groups in the same order. Of equal declarations, regions that are equal name equal axes."""
    mine, own = there.keys, wanted.keys
    if len(mine) != len(own) or _axes(there) != _axes(wanted):
        return False
    if any(
        one.text != other.text or one.values != other.values
        for one, other in zip(mine, own, strict=True)
    ):
        return False
    try:
        return there.region.same(wanted.region)
    except TooLarge:
        return False


def _axes(scope: ReleaseScope) -> list[str]:
    return [one.name for one in scope.region.axes]


def _groups(scope: ReleaseScope) -> int:
    return prod(len(key.values or ()) for key in scope.keys)
