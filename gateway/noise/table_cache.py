"""Which distributions are drawn from again and again: for these a table pays, however few the draws are.

A table takes milliseconds to make and its draws microseconds; a draw without one takes tens of microseconds. Prices and
questions come back, so scales do. It decides how long drawing takes and nothing in what is drawn: both ways give
the same distribution. Which scales were asked for follows from questions and policies, never from data.
"""

import threading
from collections import OrderedDict
from typing import Final

from gateway.noise.decay_weights import Decay

_MOST: Final = 1_024


class AskedAgain:
    """Remembers the distributions that were drawn from last."""

    def __init__(self, most: int = _MOST) -> None:
        self._most = most
        self._lock = threading.Lock()
        self._seen: OrderedDict[Decay, None] = OrderedDict()

    def __call__(self, decay: Decay) -> bool:
        """Whether it was asked for before."""
        with self._lock:
            before = decay in self._seen
            self._seen[decay] = None
            self._seen.move_to_end(decay)
            if len(self._seen) > self._most:
                self._seen.popitem(last=False)
            return before
