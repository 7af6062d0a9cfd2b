"""The cache entries of each trust group: those of this epoch that its members bought or received in full.

INVARIANT: the entries of a group follow from what its members did. Entries of others take no place in its index, so a
cache hit does not depend on how much others asked.
"""

from collections.abc import Callable
from dataclasses import dataclass, field

from gateway.release_cache.entry import CacheEntry
from gateway.release_cache.index import EntryIndex


@dataclass(slots=True)
class _Read:
    shelf: EntryIndex = field(default_factory=EntryIndex)
    upto: int = 0
    there: set[str] = field(default_factory=set)


class GroupIndex:
    """Not safe among threads by itself. `gives_all` says whether a group was given all of a sheet."""

    def __init__(self, gives_all: Callable[[frozenset[str], CacheEntry], bool]) -> None:
        self._gives_all = gives_all
        self._sheets: dict[str, CacheEntry] = {}
        self._moves: list[tuple[str, str]] = []
        self._groups: dict[frozenset[str], _Read] = {}

    def bought(self, sheet: CacheEntry, subject: str) -> None:
        self._sheets[sheet.release] = sheet
        self._moves.append((subject, sheet.release))

    def told(self, release: str, subject: str) -> None:
        """Some of it was given to the subject, and perhaps all of it is with the group now."""
        if release in self._sheets:
            self._moves.append((subject, release))

    def lost(self, sheet: CacheEntry) -> None:
        """There is no content of it, and never will be."""
        if self._sheets.pop(sheet.release, None) is not None:
            for group in self._groups.values():
                group.shelf.take(sheet)

    def clear(self) -> None:
        """Another epoch begins."""
        self._sheets, self._moves, self._groups = {}, [], {}

    def of(self, members: frozenset[str]) -> EntryIndex:
        """Up to the last event."""
        group = self._groups.setdefault(members, _Read())
        for subject, release in self._moves[group.upto :]:
            sheet = self._sheets.get(release)
            if subject not in members or sheet is None or release in group.there:
                continue
            if self._gives_all(members, sheet):
                group.there.add(release)
                group.shelf.put(sheet)
        group.upto = len(self._moves)
        return group.shelf
