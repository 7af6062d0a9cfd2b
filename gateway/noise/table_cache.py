"""Memory of recently used distributions, for which a sampling table pays even for few draws.

A table takes milliseconds to make and its draws microseconds; a draw without one takes tens of microseconds.
Prices and queries repeat, so scales do. The decision changes the time of a draw and nothing in its
distribution. The scales follow from queries and policies, never from data.
"""

from typing import Final

from gateway.lru_cache import LruCache
from gateway.noise.decay_weights import Decay

_MOST: Final = 1_024


class TableCache:
    """Remembers the distributions that were drawn from last."""

    def __init__(self, most: int = _MOST) -> None:
        self._seen: LruCache[Decay, bool] = LruCache(most)

    def __call__(self, decay: Decay) -> bool:
        """True if this distribution was used before."""
        before = self._seen.find(decay) is not None
        if not before:
            self._seen.put(decay, True)
        return before
