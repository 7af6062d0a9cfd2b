"""Randomness: fair bits from the operating system, and from nowhere else.

`Entropy` is a protocol, so that tests can bring reproducible streams of their own.

INVARIANT: no generator in the gateway can be seeded, and no bit is used twice: not by two threads (each has a
reserve of its own) and not by a process and its fork (the child discards the inherited reserve).
"""

import os
import threading
from typing import Protocol

Octets = bytes  # `bytes` is also the name of a method below

_RESERVE_BYTES = 1024


class Entropy(Protocol):
    """Independent fair bits."""

    def bits(self, count: int) -> int:
        """A uniform integer from 0 to 2^count - 1."""

    def bytes(self, count: int) -> Octets:
        """That many uniform bytes."""


class SystemEntropy:
    """The operating system's generator, with a small reserve so that single bits stay cheap."""

    def __init__(self) -> None:
        self._reserve = _Reserve()

    def bits(self, count: int) -> int:
        reserve = self._reserve
        # both are needed: a fork below Python calls no hook, and a new pid namespace may repeat a number
        if reserve.owner != (os.getpid(), _forks.seen):
            reserve.drop()
        if count > reserve.left:
            # the remainder is dropped: a number never has bits of two sources
            fetched = max(_RESERVE_BYTES, (count + 7) // 8)
            reserve.value = int.from_bytes(os.urandom(fetched))
            reserve.left = 8 * fetched
        drawn = reserve.value & ((1 << count) - 1)
        reserve.value >>= count
        reserve.left -= count
        return drawn

    def bytes(self, count: int) -> Octets:
        """Read from the operating system directly: no reserve that could be shared."""
        return os.urandom(count)


class _Reserve(threading.local):
    """Bits that one thread of one process has fetched and not yet used."""

    def __init__(self) -> None:
        super().__init__()
        self.drop()

    def drop(self) -> None:
        self.value = 0
        self.left = 0
        self.owner = (os.getpid(), _forks.seen)


class _Forks:
    """The number of forks between the first process and this one."""

    def __init__(self) -> None:
        self.seen = 0

    def one_more(self) -> None:
        self.seen += 1


_forks = _Forks()
os.register_at_fork(after_in_child=_forks.one_more)
SYSTEM_ENTROPY = SystemEntropy()
