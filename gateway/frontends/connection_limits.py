"""Limits of open connections, in all and per address, before log-in.

INVARIANT: no more connections are open than the limits allow, whatever their clients send or leave out; every
place is released once.
"""

from collections import Counter
from ipaddress import IPv6Address, ip_address
from typing import Final

_HOST_BITS: Final = 64  # of an IPv6 address: one client may have a whole network of this size


class Admission:
    """Places for connections; only one event loop's thread may use it."""

    def __init__(self, most: int, most_of_one: int) -> None:
        self._most = most
        self._most_of_one = most_of_one
        self._held: Counter[str] = Counter()

    def enter(self, address: str) -> bool:
        """True if there is a place for one more; `leave` releases it."""
        peer = _peer(address)
        if self._held.total() >= self._most or self._held[peer] >= self._most_of_one:
            return False
        self._held[peer] += 1
        return True

    def leave(self, address: str) -> None:
        peer = _peer(address)
        self._held[peer] -= 1
        if not self._held[peer]:
            del self._held[peer]


def _peer(address: str) -> str:
    """The party that the limit per address counts: an address, or an IPv6 network that one client has to
    itself.
    """
    try:
        read = ip_address(address.partition("%")[0])
    except ValueError:
        return address
    if not isinstance(read, IPv6Address):
        return str(read)
    if read.ipv4_mapped is not None:
        return str(read.ipv4_mapped)
    return str(IPv6Address(int(read) >> _HOST_BITS << _HOST_BITS))
