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
    """The entries of each trust group. The caller keeps threads apart. `gives_all`: whether a group received all of an entry."""

    def __init__(self, gives_all: Callable[[frozenset[str], CacheEntry], bool]) -> None:
        self._gives_all = gives_all
        self._sheets: dict[str, CacheEntry] = {}
        self._moves: list[tuple[str, str]] = []
        self._groups: dict[frozenset[str], _Read] = {}

    def bought(self, sheet: CacheEntry, subject: str) -> None:
        self._sheets[sheet.release] = sheet
        self._moves.append((subject, sheet.release))

    def told(self, release: str, subject: str) -> None:
        """The subject received a part of the release; now the group may have all of it."""
        if release in self._sheets:
            self._moves.append((subject, release))

    def lost(self, sheet: CacheEntry) -> None:
        """The release has no content and never will."""
        if self._sheets.pop(sheet.release, None) is not None:
            for group in self._groups.values():
                group.shelf.take(sheet)

    def clear(self) -> None:
        """Another epoch begins."""
        self._sheets, self._moves, self._groups = {}, [], {}

    def of(self, members: frozenset[str]) -> EntryIndex:
        """The entries of the group, up to the last event."""
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
