"""Reproducible entropy for tests: bits of SHAKE-256, or bits that a test writes down."""

import hashlib

Octets = bytes  # `bytes` itself is the name of a method below

_FIRST_BLOCK, _LAST_BLOCK = 1 << 12, 1 << 20


class Stream:
    """The bits of SHAKE-256 of a name, one after the other."""

    def __init__(self, name: str) -> None:
        self._name = name
        self._block = 0
        self._octets = b""
        self._at = 0
        self._reserve = 0
        self._left = 0

    def bits(self, count: int) -> int:
        while self._left < count:
            self._reserve = self._reserve << 2048 | int.from_bytes(self.bytes(256))
            self._left += 2048
        self._left -= count
        drawn = self._reserve >> self._left
        self._reserve &= (1 << self._left) - 1
        return drawn

    def bytes(self, count: int) -> Octets:
        while len(self._octets) - self._at < count:
            name = f"{self._name}/{self._block}".encode()
            rest = self._octets[self._at :]
            size = min(_FIRST_BLOCK << self._block, _LAST_BLOCK)
            self._octets, self._at = rest + hashlib.shake_256(name).digest(size), 0
            self._block += 1
        self._at += count
        return self._octets[self._at - count : self._at]


class Written:
    """First the bits that were written down, the first of them on the left; then a stream's."""

    def __init__(self, first: str, name: str = "written") -> None:
        self._first = first
        self._then = Stream(name)

    def bits(self, count: int) -> int:
        if not self._first:
            return self._then.bits(count)
        taken, self._first = self._first[:count], self._first[count:]
        missing = count - len(taken)
        return int(taken or "0", 2) << missing | self._then.bits(missing)

    def bytes(self, count: int) -> Octets:
        return self.bits(8 * count).to_bytes(count)
