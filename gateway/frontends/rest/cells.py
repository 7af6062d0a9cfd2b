"""A cell of an answer as JSON: from the text that PostgreSQL writes, by its name of the type.

INVARIANT: every JSON number is one that a client which keeps numbers in doubles reads as it was sent.
"""

import math
import re
from collections.abc import Callable
from typing import Final, TypeAlias

Cell: TypeAlias = "bool | int | float | str | None"

_LARGEST_INTEGER: Final = 2**53
_DIGITS: Final = 15
_MODIFIER = re.compile(r"\([^)]*\)")
_MOMENT = re.compile(r"([0-9]{4,}-[0-9]{2}-[0-9]{2}) ([0-9:.]+)([+-][0-9:]+)?( BC)?")
_HOURS = re.compile(r"[+-][0-9]{2}")


def cell_json(text: str | None, type_name: str) -> Cell:
    """What a cell says; of a type without a JSON form, PostgreSQL's own text."""
    if text is None:
        return None
    write = _WRITERS.get(_MODIFIER.sub("", type_name).strip())
    return text if write is None else write(text)


def double_json(value: float) -> float | str:
    """At most 15 significant digits; what is no finite number is a string, as PostgreSQL writes it."""
    if math.isnan(value):
        return "NaN"
    if math.isinf(value):
        return "Infinity" if value > 0 else "-Infinity"
    rounded = float(f"{value:.{_DIGITS}g}") + 0.0  # no negative zero
    return repr(value) if math.isinf(rounded) else rounded


def _integer(text: str) -> int | str:
    value = int(text)
    return value if abs(value) <= _LARGEST_INTEGER else text


def _decimal(text: str) -> float | str:
    """A number, unless no double is near it."""
    value = float(text)
    lost = math.isinf(value) or (value == 0 and text.strip("-0.") != "")
    return text if lost else double_json(value)


def _truth(text: str) -> bool:
    return text in {"t", "true"}


def _moment(text: str) -> str:
    """ISO 8601; years before Christ and infinity as PostgreSQL writes them in JSON too."""
    match = _MOMENT.fullmatch(text)
    if match is None:
        return text
    day, clock, offset, era = match.groups(default="")
    return f"{day}T{clock}{_whole(offset)}{era}"


def _whole(offset: str) -> str:
    return f"{offset}:00" if _HOURS.fullmatch(offset) else offset


_WRITERS: Final[dict[str, Callable[[str], Cell]]] = {
    **dict.fromkeys(("smallint", "integer", "bigint", "int2", "int4", "int8", "oid"), _integer),
    **dict.fromkeys(("numeric", "real", "double precision", "float4", "float8"), _decimal),
    **dict.fromkeys(("boolean", "bool"), _truth),
    **dict.fromkeys(
        (
            *("timestamp", "timestamp without time zone"),
            *("timestamptz", "timestamp with time zone"),
        ),
        _moment,
    ),
}
