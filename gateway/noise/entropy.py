"""Where randomness comes from: the operating system, and nowhere else.

INVARIANT: no generator in the gateway can be seeded, and no bit is handed out twice: not to two
threads (each has a reserve of its own) and not to a process and its fork (the child throws away what
it inherited). `Entropy` is a seam for tests, which bring reproducible streams of their own.
"""

import os
import threading
from typing import Protocol

Octets = bytes  # `bytes` itself is the name of a method below

_RESERVE_BYTES = 1024


class Entropy(Protocol):
    """Independent fair bits."""

    def bits(self, count: int) -> int:
        """A uniform integer from 0 to 2^count - 1."""

    def bytes(self, count: int) -> Octets:
        """As many uniform bytes."""


class SystemEntropy:
    """The operating system's generator, with a small reserve so that single bits stay cheap."""

    def __init__(self) -> None:
        self._reserve = _Reserve()

    def bits(self, count: int) -> int:
        reserve = self._reserve
        # both: a fork below Python calls no hook, and in a new pid namespace the number may recur
        if reserve.owner != (os.getpid(), _forks.seen):
            reserve.drop()
        if count > reserve.left:
            # what is left over is dropped: never two sources in one number
            fetched = max(_RESERVE_BYTES, (count + 7) // 8)
            reserve.value = int.from_bytes(os.urandom(fetched))
            reserve.left = 8 * fetched
        drawn = reserve.value & ((1 << count) - 1)
        reserve.value >>= count
        reserve.left -= count
        return drawn

    def bytes(self, count: int) -> Octets:
        """Straight from the operating system: nothing is kept that could be shared."""
        return os.urandom(count)


class _Reserve(threading.local):
    """What one thread of one process has fetched and not yet handed out."""

    def __init__(self) -> None:
        super().__init__()
        self.drop()

    def drop(self) -> None:
        self.value = 0
        self.left = 0
        self.owner = (os.getpid(), _forks.seen)


class _Forks:
    """How often a fork led to this process."""

    def __init__(self) -> None:
        self.seen = 0

    def one_more(self) -> None:
        self.seen += 1


_forks = _Forks()
os.register_at_fork(after_in_child=_forks.one_more)
SYSTEM_ENTROPY = SystemEntropy()
