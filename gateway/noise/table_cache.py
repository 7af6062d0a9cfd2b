"""Memory of recently used distributions, for which a sampling table pays even for few draws.

A table takes milliseconds to make and its draws microseconds; a draw without one takes tens of microseconds.
Prices and queries repeat, so scales do. The decision changes the time of a draw and nothing in its
distribution. The scales follow from queries and policies, never from data.
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
        """True if this distribution was used before."""
        with self._lock:
            before = decay in self._seen
            self._seen[decay] = None
            self._seen.move_to_end(decay)
            if len(self._seen) > self._most:
                self._seen.popitem(last=False)
            return before
