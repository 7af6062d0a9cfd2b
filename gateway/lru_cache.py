"""What was computed before, for as long as it is small enough beside what came after it.

INVARIANT: a key holds everything that the result depends on, and a result is never changed. Nothing of the
data is ever in either: how long an answer takes tells which questions were asked, and nothing else.
"""

from collections import OrderedDict
from collections.abc import Callable, Hashable
from threading import Lock
from typing import Generic, TypeVar

Key = TypeVar("Key", bound=Hashable)
Found = TypeVar("Found")


class Remembered(Generic[Key, Found]):
    """The results that were used last. Keys and results together weigh `most` at most, and one a quarter of it."""

    def __init__(self, most: int, weight: Callable[[Key, Found], int]) -> None:
        self._most = most
        self._weight = weight
        self._lock = Lock()
        self._there: OrderedDict[Key, tuple[Found, int]] = OrderedDict()
        self._weighs = 0

    def get(self, key: Key, compute: Callable[[], Found]) -> Found:
        """The result for the key; computed where it is not known, perhaps by several threads at once."""
        with self._lock:
            if (known := self._there.get(key)) is not None:
                self._there.move_to_end(key)
                return known[0]
        found = compute()
        weight = self._weight(key, found)
        if weight > self._most // 4:
            return found
        with self._lock:
            if key not in self._there:
                self._there[key] = (found, weight)
                self._weighs += weight
            while self._weighs > self._most:
                _, (_, gone) = self._there.popitem(last=False)
                self._weighs -= gone
        return found
