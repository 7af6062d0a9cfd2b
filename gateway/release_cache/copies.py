"""Copies: a draw that another trust group bought, given to an analyst as if it were drawn anew.

A query is planned as if only the analyst's trust group had ever asked. A measurement that it would buy may exist already:
the same measures of the same rows and groups, with the same noise, in the same epoch. Then that draw is given instead of
a new one. The analyst gets a cache entry of their own, at their own time and price, with the same integers in it.

INVARIANT: a copy is made only of a draw that cannot be distinguished from a new one: every noise, threshold and charge is equal.
INVARIANT: no trust group gets one draw twice under any names, because a fresh answer would differ from the first.
See docs/proofs/reuse.md.
"""

from collections.abc import Collection, Iterable
from dataclasses import dataclass

from gateway.noise.add_noise import MismatchedDraws, NoisyTable
from gateway.noise.allocation import ReleaseNoise
from gateway.release_cache.entry import CachedChoice, CachedSlot, CacheEntry, Content
from gateway.release_cache.matching import has_same_groups


@dataclass(frozen=True, eq=False, slots=True)
class Copy:
    """An entry of another trust group, and the places of the wanted slots and choices in it."""

    entry: CacheEntry
    slots: tuple[int, ...]
    choices: tuple[int, ...]

    def drawn(self, content: Content, purchase: ReleaseNoise) -> NoisyTable:
        """The draw of the entry, as the purchase would have made it."""
        bought = self.entry.first_column(len(self.entry.slots))
        if len(content.columns) != bought or len(content.chosen) != len(self.entry.choices):
            raise MismatchedDraws("a content that does not go with its entry")
        columns = [
            column
            for place in self.slots
            for column in content.columns[
                self.entry.first_column(place) : self.entry.first_column(place + 1)
            ]
        ]
        if len(columns) != len(purchase.noises):
            raise MismatchedDraws("a copy of other measurements than were bought")
        return NoisyTable(
            content.keys,
            tuple(columns),
            purchase.noises,
            tuple(content.chosen[place] for place in self.choices),
            tuple(content.spans[place] for place in self.choices),
        )


def find_copy(wanted: CacheEntry, entries: Iterable[CacheEntry]) -> Copy | None:
    """The first entry that differs from the wanted one only by name, time and buyer."""
    for entry in entries:
        if not _is_alike(wanted, entry) or not has_same_groups(entry.scope, wanted.scope):
            continue
        slots, choices = _places(wanted.slots, entry.slots), _places(wanted.choices, entry.choices)
        if slots is not None and choices is not None:
            return Copy(entry, slots, choices)
    return None


def _is_alike(wanted: CacheEntry, entry: CacheEntry) -> bool:
    """`asked_at` is no part of it: the shares of two statements may be equal where their prices are not."""
    return (
        entry.epoch == wanted.epoch
        and entry.scope.shape == wanted.scope.shape
        and entry.bounding == wanted.bounding
        and entry.listed is wanted.listed
        and entry.delta == wanted.delta
        and entry.touched == wanted.touched
    )


def _places(
    wanted: Collection[CachedSlot] | Collection[CachedChoice],
    there: Collection[CachedSlot] | Collection[CachedChoice],
) -> tuple[int, ...] | None:
    """Where each that is wanted stands, all equal in noise and cost; None where one is not there, or one more is."""
    places = {one: place for place, one in enumerate(there)}
    if len(wanted) != len(there) or len(places) != len(there) or len(set(wanted)) != len(wanted):
        return None
    found = [places.get(one) for one in wanted]
    return tuple(place for place in found if place is not None) if None not in found else None
