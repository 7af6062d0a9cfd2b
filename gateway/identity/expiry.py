"""How long a key lasts, as people type it: `30m`, `12h`, `90d`, `4w`."""

import re
from datetime import timedelta
from types import MappingProxyType
from typing import Final

from gateway.errors import Code, OperatorError

LONGEST: Final = timedelta(days=3653)  # ten years with their leap days

_DURATION = re.compile("([1-9][0-9]{0,8})([mhdw])")
_UNITS = MappingProxyType(
    {
        "m": timedelta(minutes=1),
        "h": timedelta(hours=1),
        "d": timedelta(days=1),
        "w": timedelta(weeks=1),
    }
)


def parse_duration(text: str) -> timedelta:
    """The time span `text` names."""
    match = _DURATION.fullmatch(text)
    if match is None:
        raise OperatorError(
            Code.ARGUMENT_INVALID,
            f"`{text[:40]}` is not a duration",
            "a whole number and a unit: `30m`, `12h`, `90d` or `4w`",
        )
    number, unit = match.groups()
    duration = int(number) * _UNITS[unit]
    if duration > LONGEST:
        raise OperatorError(
            Code.ARGUMENT_INVALID, f"`{text}` is longer than ten years", "leave it out: no expiry"
        )
    return duration
