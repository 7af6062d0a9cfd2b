"""The indexes of cache entries by what they are about, newest first: of all entries, and of each trust group.

The entries of a group are those of this epoch that its members bought or received in full. Views are handed out while other
threads add entries: a view keeps the entries that existed when it was made.

INVARIANT: the entries of a group follow from what its members did. Entries of others take no place in its index, so a
cache hit does not depend on how much others asked.
"""

from bisect import bisect_left, insort
from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from itertools import chain
from typing import Final, TypeAlias, overload

from gateway.regions.region import Region
from gateway.regions.scope import ReleaseScope
from gateway.release_cache.entry import CacheEntry

MOST_CUT: Final = 1_000
"""So many entries with groups are looked at for others that they have or make up: a count, never a clock."""
_About: TypeAlias = tuple[Region, tuple[str, ...]]


class Newest(Sequence[CacheEntry]):
    """A part of a list that only grows at its end, read backwards."""

    def __init__(self, entries: list[CacheEntry], start: int, stop: int) -> None:
        self._entries = entries
        self._start = start
        self._stop = stop

    def __len__(self) -> int:
        return self._stop - self._start

    @overload
    def __getitem__(self, place: int) -> CacheEntry: ...
    @overload
    def __getitem__(self, place: slice) -> Sequence[CacheEntry]: ...
    def __getitem__(self, place: int | slice) -> CacheEntry | Sequence[CacheEntry]:
        if isinstance(place, slice):
            return [self._entries[self._stop - 1 - at] for at in range(len(self))[place]]
        return self._entries[self._stop - 1 - range(len(self))[place]]

    def __iter__(self) -> Iterator[CacheEntry]:
        for place in range(self._stop - 1, self._start - 1, -1):
            yield self._entries[place]


@dataclass(slots=True)
class _Row:
    """The entries of one shape in their order: all; by what they are about; and those that are cut into listed groups."""

    every: list[CacheEntry] = field(default_factory=list)
    about: dict[_About, list[CacheEntry]] = field(default_factory=dict)
    cut: list[CacheEntry] = field(default_factory=list)

    def put(self, entry: CacheEntry) -> None:
        self.every = _with(self.every, entry)
        about = _about(entry.scope)
        self.about[about] = _with(self.about.get(about, []), entry)
        if entry.listed and entry.scope.keys:
            self.cut = _with(self.cut, entry)

    def take(self, entry: CacheEntry) -> None:
        about = _about(entry.scope)
        self.every = _without(self.every, entry)
        self.about[about] = _without(self.about.get(about, []), entry)
        self.cut = _without(self.cut, entry)


class EntryIndex:
    """The index of entries. The caller keeps threads apart; its views are safe."""

    def __init__(self) -> None:
        self._by_shape: dict[str, _Row] = {}

    def put(self, entry: CacheEntry) -> None:
        """Insert an entry by its age. Clocks of gateways differ, so a new entry may belong before an older one."""
        self._by_shape.setdefault(entry.scope.shape, _Row()).put(entry)

    def take(self, entry: CacheEntry) -> None:
        """Remove an entry that has no content and never will."""
        row = self._by_shape.get(entry.scope.shape)
        if row is not None:
            row.take(entry)

    def clear(self) -> None:
        self._by_shape = {}

    def of(
        self, shape: str, since: datetime, without: Collection[str] = ()
    ) -> Sequence[CacheEntry]:
        """The entries of this shape that are not older than `since`, newest first."""
        row = self._by_shape.get(shape)
        if row is None:
            return ()
        view = Newest(row.every, bisect_left(row.every, since, key=_age), len(row.every))
        return [one for one in view if one.release not in without] if without else view

    def equal(self, scope: ReleaseScope, since: datetime) -> Sequence[CacheEntry]:
        """Of these the newest ones that are about the very same."""
        row = self._by_shape.get(scope.shape)
        if row is None:
            return ()
        there = row.about.get(_about(scope), [])
        first = max(bisect_left(there, since, key=_age), len(there) - MOST_CUT)
        return Newest(there, first, len(there))

    def helpful(
        self, scope: ReleaseScope, since: datetime, without: Collection[str] = ()
    ) -> Sequence[CacheEntry]:
        """Of these the ones that may answer a question: those about the very same, and the newest of those with groups.

        What stands for one question alone answers no other, and most entries of a busy dataset do.
        """
        row = self._by_shape.get(scope.shape)
        if row is None:
            return ()
        about = _about(scope)
        there = row.about.get(about, [])
        same = Newest(there, bisect_left(there, since, key=_age), len(there))
        first = max(bisect_left(row.cut, since, key=_age), len(row.cut) - MOST_CUT)
        others = (one for one in Newest(row.cut, first, len(row.cut)) if _about(one.scope) != about)
        return [one for one in chain(same, others) if one.release not in without]


def _about(scope: ReleaseScope) -> _About:
    return scope.region, tuple(one.text for one in scope.keys)


def _with(there: list[CacheEntry], entry: CacheEntry) -> list[CacheEntry]:
    """In its place; views of the list see nothing of it, so only its end may change."""
    if there and entry.at < there[-1].at:
        there = list(there)
        insort(there, entry, key=_age)
    else:
        there.append(entry)
    return there


def _without(there: list[CacheEntry], entry: CacheEntry) -> list[CacheEntry]:
    return [one for one in there if one.release != entry.release]


def _age(entry: CacheEntry) -> datetime:
    return entry.at


@dataclass(slots=True)
class _Read:
    index: EntryIndex = field(default_factory=EntryIndex)
    upto: int = 0
    there: set[str] = field(default_factory=set)


class GroupIndex:
    """The entries of each trust group. The caller keeps threads apart. `gives_all`: whether a group received all of an entry."""

    def __init__(self, gives_all: Callable[[frozenset[str], CacheEntry], bool]) -> None:
        self._gives_all = gives_all
        self._entries: dict[str, CacheEntry] = {}
        self._moves: list[tuple[str, str]] = []
        self._groups: dict[frozenset[str], _Read] = {}

    def bought(self, entry: CacheEntry, subject: str) -> None:
        self._entries[entry.release] = entry
        self._moves.append((subject, entry.release))

    def add_recipient(self, release: str, subject: str) -> None:
        """The subject received a part of the release; now the group may have all of it."""
        if release in self._entries:
            self._moves.append((subject, release))

    def lost(self, entry: CacheEntry) -> None:
        """The release has no content and never will."""
        if self._entries.pop(entry.release, None) is not None:
            for group in self._groups.values():
                group.index.take(entry)

    def clear(self) -> None:
        """Another epoch begins."""
        self._entries, self._moves, self._groups = {}, [], {}

    def of(self, members: frozenset[str]) -> EntryIndex:
        """The entries of the group, up to the last event."""
        group = self._groups.setdefault(members, _Read())
        for subject, release in self._moves[group.upto :]:
            entry = self._entries.get(release)
            if subject not in members or entry is None or release in group.there:
                continue
            if self._gives_all(members, entry):
                group.there.add(release)
                group.index.put(entry)
        group.upto = len(self._moves)
        return group.index
