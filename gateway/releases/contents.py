"""Noisy integers of sheets in memory: those that were asked for last, up to a size."""

from collections import OrderedDict
from threading import Lock
from typing import Final

from gateway.releases.sheets import Content

MOST_CELLS: Final = 4_000_000
_EMPTY: Final = 16  # what an entry takes besides its cells, in cells


class Contents:
    """Safe among threads; what it lets go of is in the state."""

    def __init__(self, most_cells: int = MOST_CELLS) -> None:
        self._most_cells = most_cells
        self._lock = Lock()
        self._kept: OrderedDict[str, Content] = OrderedDict()
        self._cells = 0

    def find(self, release: str) -> Content | None:
        with self._lock:
            found = self._kept.get(release)
            if found is not None:
                self._kept.move_to_end(release)
            return found

    def keep(self, release: str, content: Content) -> None:
        """Hold on to it, and let go of what nobody asked for the longest. One that is too large is not kept."""
        cells = _cells(content)
        if cells > self._most_cells:
            return
        with self._lock:
            if release in self._kept:
                return
            self._kept[release] = content
            self._cells += cells
            while self._cells > self._most_cells:
                _, gone = self._kept.popitem(last=False)
                self._cells -= _cells(gone)


def _cells(content: Content) -> int:
    keys = len(content.keys) * max(1, len(content.keys[0])) if content.keys else 0
    return _EMPTY + keys + sum(map(len, content.columns)) + sum(map(len, content.chosen))
