"""The noisy integers of a query from those of a cache entry: picked or added up, as the match says.

INVARIANT: this is post-processing of released values. Groups that are put together are added exactly, as whole numbers.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from math import inf
from typing import Final

import numpy as np

from gateway.catalog.values import Value
from gateway.noise.drawn_choices import Span
from gateway.release_cache.entry import Content
from gateway.release_cache.group_mapping import GroupMapping
from gateway.release_cache.matching import Match

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
