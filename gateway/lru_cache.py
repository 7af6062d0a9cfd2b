"""A bounded cache that lets go of what was not used for the longest time.

INVARIANT: a key holds everything that a value depends on, and a value that is computed is never changed. Nothing of the
data is ever in either: how long an answer takes tells which questions were asked, and nothing else.
"""

from collections import OrderedDict
from collections.abc import Callable, Hashable, Iterator
from threading import Lock
from typing import Generic, TypeVar

Key = TypeVar("Key", bound=Hashable)
Value = TypeVar("Value")


class LruCache(Generic[Key, Value]):
    """The values that were used last. Safe among threads.

    All entries together weigh `most` at most, and one of them `largest`, by default a quarter of it: what weighs more
    is not kept. Without `weigh` every entry weighs 1, so `most` is how many there are.
    """

    def __init__(
        self,
        most: int,
        weigh: Callable[[Key, Value], int] = lambda _key, _value: 1,
        *,
        largest: int | None = None,
    ) -> None:
        self._most = most
        self._weigh = weigh
        self._largest = max(1, most // 4) if largest is None else largest
        self._lock = Lock()
        self._there: OrderedDict[Key, tuple[Value, int]] = OrderedDict()
        self._weighs = 0

    def get(self, key: Key, compute: Callable[[], Value]) -> Value:
        """The value of the key; computed where it is not known, perhaps by several threads at once.

        The first one that was computed is given to all of them. What `compute` raises is not kept.
        """
        with self._lock:
            if (known := self._there.get(key)) is not None:
                self._there.move_to_end(key)
                return known[0]
        value = compute()
        weight = self._weigh(key, value)
        with self._lock:
            if (known := self._there.get(key)) is not None:
                return known[0]
            self._keep(key, value, weight)
        return value

    def find(self, key: Key) -> Value | None:
        """The value of the key, which counts as used; None where it is not known."""
        with self._lock:
            known = self._there.get(key)
            if known is None:
                return None
            self._there.move_to_end(key)
            return known[0]

    def peek(self, key: Key) -> Value | None:
        """The value of the key, which does not count as used; None where it is not known."""
        with self._lock:
            known = self._there.get(key)
            return None if known is None else known[0]

    def put(self, key: Key, value: Value) -> None:
        """Keep this value, in the place of the one before."""
        weight = self._weigh(key, value)
        with self._lock:
            before = self._there.pop(key, None)
            self._weighs -= 0 if before is None else before[1]
            self._keep(key, value, weight)

    def clear(self) -> None:
        """Let go of everything."""
        with self._lock:
            self._there.clear()
            self._weighs = 0

    def values(self) -> tuple[Value, ...]:
        """All that is kept now, the least used first."""
        with self._lock:
            return tuple(value for value, _ in self._there.values())

    def __iter__(self) -> Iterator[Key]:
        with self._lock:
            return iter(tuple(self._there))

    def __contains__(self, key: Key) -> bool:
        return key in self._there

    def __len__(self) -> int:
        return len(self._there)

    def _keep(self, key: Key, value: Value, weight: int) -> None:
        if weight > self._largest:
            return
        self._there[key] = (value, weight)
        self._weighs += weight
        while self._weighs > self._most:
            _, (_, gone) = self._there.popitem(last=False)
            self._weighs -= gone
