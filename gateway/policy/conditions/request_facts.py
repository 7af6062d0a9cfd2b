"""The facts of a request that conditions may read: their types, and the texts of networks and moments.

Hours, weekdays and times are UTC. The address is that of the peer of the connection: what a peer says of others, as a
proxy does in a header, is never believed.

INVARIANT: `contains_address` is false or raises an exception where either text is no address or no network; it never holds
by accident.
"""

import re
from collections.abc import Mapping
from datetime import datetime
from ipaddress import IPv6Address, ip_address, ip_network
from types import MappingProxyType
from typing import Final

REQUEST: Final[Mapping[str, type]] = MappingProxyType(
    {
        "purpose": str,
        "dataset": str,
        "front_end": str,
        "hour": int,
        "weekday": int,
        "address": str,
        "tls": bool,
        "time": datetime,
    }
)
FIELDS_OF_TIME: Final = (
    "getFullYear",
    "getMonth",
    "getDate",
    "getDayOfMonth",
    "getDayOfWeek",
    "getDayOfYear",
    "getHours",
    "getMinutes",
    "getSeconds",
)
"""The first month is 0, Sunday is 0, `getDate` begins at 1: as in CEL."""
CONTAINS_IP: Final = "containsIP"
ADDRESS: Final = "address"
OPEN_FACTS: Final = frozenset({"address", "time"})
"""Facts with too many values to go through all of them."""


def normal_address(text: str) -> str | None:
    """An address as conditions read it: IPv4 also where a socket shows it as IPv6; None if it is no address."""
    try:
        found = ip_address(text.partition("%")[0])
    except ValueError:
        return None
    mapped = found.ipv4_mapped if isinstance(found, IPv6Address) else None
    return str(mapped or found)


_MOMENT: Final = re.compile(
    r"[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}(?:Z|[+-][0-9]{2}:[0-9]{2})"
)


def is_valid_text(function: str, text: object) -> bool:
    """Whether it is the text of a network, or of a moment with its time zone."""
    if not isinstance(text, str):
        return False
    try:
        if function == "cidr":
            ip_network(text)
            return "/" in text
        return bool(_MOMENT.fullmatch(text)) and datetime.fromisoformat(text) is not None
    except ValueError:
        return False


def contains_address(network: object, address: object) -> bool:
    """Whether an address is in a network; of IPv4 and IPv6 none contains the other."""
    if not isinstance(network, str) or not isinstance(address, str):
        raise TypeError("a network and an address are texts")
    return ip_address(address) in ip_network(network)
