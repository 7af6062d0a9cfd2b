"""Which distributions are drawn from again and again: for these a table pays, however few the draws are.

A table takes milliseconds to make and its draws microseconds; a draw without one takes tens of microseconds. Prices and
questions come back, so scales do. It decides how long drawing takes and nothing in what is drawn: both ways give
the same distribution. Which scales were asked for follows from questions and policies, never from data.
"""

from typing import Final

from gateway.lru_cache import LruCache
from gateway.noise.decay_weights import Decay

_MOST: Final = 1_024


class AskedAgain:
    """Remembers the distributions that were drawn from last."""

    def __init__(self, most: int = _MOST) -> None:
        self._seen: LruCache[Decay, bool] = LruCache(most)

    def __call__(self, decay: Decay) -> bool:
        """Whether it was asked for before."""
        before = self._seen.find(decay) is not None
        if not before:
            self._seen.put(decay, True)
        return before
