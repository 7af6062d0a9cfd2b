"""The parts of a release: what is measured of each, what the cache gives, and both put together.

What the cache gives is picked from the noisy integers of an entry or added up, as the match says. Groups that are put
together are added exactly, as whole numbers.

INVARIANT: the inputs were released: noisy integers, chosen values and keys. Putting them together is post-processing.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from math import inf
from typing import Final

import numpy as np

from gateway.catalog.values import Value
from gateway.noise.add_noise import Key, MismatchedDraws, NoisyTable
from gateway.noise.allocation import CostShares, ReleaseNoise
from gateway.noise.combined_noise import combine_draws
from gateway.noise.drawn_choices import Span
from gateway.release_cache.copies import Copy
from gateway.release_cache.entry import CacheEntry, Content
from gateway.release_cache.group_mapping import GroupMapping
from gateway.release_cache.matching import Match
from gateway.results.rollup import PricedRelease
from gateway.sensitivity.analysis import EnumeratedGroups

_WORD: Final = 2**62


class Mismatch(Exception):
    """A content that does not fit its entry: a bug, or a state that was changed."""


@dataclass(frozen=True, slots=True)
class CachedPicks:
    """The chosen value in each group of the query, and its span, if the choice shows it."""

    values: tuple[Value, ...]
    spans: tuple[Span, ...]


def gather_slot(content: Content, match: Match, groups: int) -> tuple[tuple[int, ...], ...]:
    """A column for each measurement of the slot, with one number for each of the query's `groups`."""
    first = match.sheet.first_column(match.place)
    last = first + len(match.sheet.slots[match.place].noises)
    columns = content.columns[first:last]
    bought = match.sheet.first_column(len(match.sheet.slots))
    if len(content.columns) != bought or any(len(one) != len(content.keys) for one in columns):
        raise Mismatch("another number of columns than was bought")
    _check(content, match, groups)
    if match.places is None:
        return columns
    return tuple(_added_up(one, match.places) for one in columns)


def gather_choice(content: Content, match: Match, groups: int) -> CachedPicks:
    """The values of a choice: every group of the query is one group of the entry."""
    _check(content, match, groups)
    if len(content.chosen) != len(match.sheet.choices) or len(content.spans) != len(content.chosen):
        raise Mismatch("another number of choices than was bought")
    values, spans = content.chosen[match.place], content.spans[match.place]
    if len(values) != len(content.keys) or len(spans) not in {0, len(values)}:
        raise Mismatch("another number of chosen values than groups")
    places = match.places
    if places is None:
        return CachedPicks(values, spans)
    if not places.one_by_one:
        raise Mismatch("choices do not add up")
    rows = [0] * places.groups
    for taken, into in zip(places.taken.tolist(), places.into.tolist(), strict=True):
        rows[into] = taken
    return CachedPicks(
        tuple(values[at] for at in rows), tuple(spans[at] for at in rows) if spans else ()
    )


def _check(content: Content, match: Match, groups: int) -> None:
    places = match.places
    if places is None:
        if match.sheet.listed and len(content.keys) != groups:
            raise Mismatch("another number of groups than is asked for")
    elif places.groups != groups or int(places.taken.max()) >= len(content.keys):
        raise Mismatch("places that are not those of the content")


def _added_up(column: Sequence[int], places: GroupMapping) -> tuple[int, ...]:
    largest = max(map(abs, column), default=inf)
    if largest * max(places.together, 1) < _WORD:
        found = np.zeros(places.groups, dtype=np.int64)
        np.add.at(found, places.into, np.array(column, dtype=np.int64)[places.taken])
        return tuple(found.tolist())
    sums = [0] * places.groups
    for taken, into in zip(places.taken.tolist(), places.into.tolist(), strict=True):
        sums[into] += column[taken]
    return tuple(sums)


@dataclass(frozen=True)
class PlannedMeasurement:
    """A part of a release: `whole` is what the answer shows, `purchase` is what is measured for it.

    `slots` and `choices` say where each of them is taken from, `costs` what is paid for each: a slot with both is
    topped up. `sheet` is what is written down of the purchase; `copied` is a draw that is handed on instead of a new one.
    """

    name: str
    whole: ReleaseNoise
    purchase: ReleaseNoise | None
    costs: CostShares
    slots: tuple[Match | None, ...]
    choices: tuple[Match | None, ...]
    sheet: CacheEntry | None
    copied: Copy | None = None

    @property
    def taken(self) -> Iterator[Match]:
        return (one for one in (*self.slots, *self.choices) if one is not None)


@dataclass(frozen=True)
class PlannedRelease:
    """A release and its planned parts."""

    priced: PricedRelease
    errands: tuple[PlannedMeasurement, ...]


def unmeasured(releases: Iterable[PricedRelease]) -> tuple[PlannedRelease, ...]:
    """Releases that measure nothing and take nothing from the cache: they only list their groups."""
    return tuple(
        PlannedRelease(
            one,
            tuple(
                PlannedMeasurement("", part, None, CostShares((), ()), (), (), None)
                for part in one.parts
            ),
        )
        for one in releases
    )


def assemble_table(
    errand: PlannedMeasurement, drawn: NoisyTable | None, contents: Mapping[str, Content]
) -> tuple[NoisyTable, Content | None]:
    """The complete noisy table, and the measured part of it, as the cache stores it."""
    analysis = errand.whole.analysis
    keys = _keys(errand, drawn, contents)
    groups = len(keys)
    fresh = iter(() if drawn is None else drawn.measured)
    bought_noises = iter(() if errand.purchase is None else errand.purchase.noises)
    columns: list[tuple[int, ...]] = []
    kept: list[tuple[int, ...]] = []
    for slot, match, cost in zip(analysis.slots, errand.slots, errand.costs.slots, strict=True):
        there = None if match is None else gather_slot(contents[match.sheet.release], match, groups)
        if cost is None:
            if there is None:
                raise MismatchedDraws("a slot that is neither bought nor there")
            columns += there
            continue
        new = [next(fresh) for _ in slot.measurements]
        noises = [next(bought_noises) for _ in slot.measurements]
        if match is not None and there is not None:
            new = [
                tuple(combine_draws(old, was, one, noise)[0])
                for old, was, one, noise in zip(there, match.noises, new, noises, strict=True)
            ]
        columns += new
        kept += new
    drawn_choices = iter(() if drawn is None else zip(drawn.chosen, drawn.spans, strict=True))
    chosen, kept_chosen = [], []
    for match, cost in zip(errand.choices, errand.costs.choices, strict=True):
        if cost is not None:
            chosen.append(next(drawn_choices))
            kept_chosen.append(chosen[-1])
        elif match is not None:
            found = gather_choice(contents[match.sheet.release], match, groups)
            chosen.append((found.values, found.spans))
        else:
            raise MismatchedDraws("a choice that is neither bought nor there")
    table = NoisyTable(
        keys,
        tuple(columns),
        errand.whole.noises,
        tuple(values for values, _ in chosen),
        tuple(spans for _, spans in chosen),
    )
    if errand.sheet is None:
        return table, None
    return table, Content(
        keys,
        tuple(kept),
        tuple(values for values, _ in kept_chosen),
        tuple(spans for _, spans in kept_chosen),
    )


def _keys(
    errand: PlannedMeasurement, drawn: NoisyTable | None, contents: Mapping[str, Content]
) -> tuple[Key, ...]:
    groups = errand.whole.analysis.groups
    if isinstance(groups, EnumeratedGroups):
        return groups.keys
    if drawn is not None:
        return drawn.keys
    for match in errand.taken:
        return contents[match.sheet.release].keys
    raise MismatchedDraws("groups that nobody looked for")
