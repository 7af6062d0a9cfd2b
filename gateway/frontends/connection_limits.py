"""How many connections are held, in all and from one address, before anybody is known.

INVARIANT: no more are held than the limits, whatever their clients send or leave out; every place is given back once.
"""

from collections import Counter
from ipaddress import IPv6Address, ip_address
from typing import Final

_HOST_BITS: Final = 64  # of an IPv6 address: one client has as many addresses as these tell apart


class Admission:
    """Places for connections; it is touched by one event loop's thread alone."""

    def __init__(self, most: int, most_of_one: int) -> None:
        self._most = most
        self._most_of_one = most_of_one
        self._held: Counter[str] = Counter()

    def enter(self, address: str) -> bool:
        """Whether there is a place for one more; `leave` gives it back."""
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
    """Who may have as many connections as one: an address, or a network of IPv6 that one client has whole."""
    try:
        read = ip_address(address.partition("%")[0])
    except ValueError:
        return address
    if not isinstance(read, IPv6Address):
        return str(read)
    if read.ipv4_mapped is not None:
        return str(read.ipv4_mapped)
    return str(IPv6Address(int(read) >> _HOST_BITS << _HOST_BITS))
