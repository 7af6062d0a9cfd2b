"""JSON of an answer's cells, from PostgreSQL's texts and type names.

INVARIANT: a client that reads JSON numbers as doubles gets exactly the numbers that were sent.
"""

import math
import re
from collections.abc import Callable, Sequence
from typing import Final, TypeAlias

import numpy as np

Cell: TypeAlias = "bool | int | float | str | None"

_LARGEST_INTEGER: Final = 2**53
_DIGITS: Final = 15
_MANY: Final = 64  # from so many values on, an array is faster
_POWERS: Final = np.array([float(10**places) for places in range(22)])  # exact, each of them
_LEAST: Final = 1e14  # of 15 digits
_HALF: Final = 0.5
_MODIFIER = re.compile(r"\([^)]*\)")
_MOMENT = re.compile(r"([0-9]{4,}-[0-9]{2}-[0-9]{2}) ([0-9:.]+)([+-][0-9:]+)?( BC)?")
_HOURS = re.compile(r"[+-][0-9]{2}")


def column_json(texts: Sequence[str | None], type_name: str) -> Sequence[Cell]:
    """The JSON cells of a column; a type without a JSON form keeps PostgreSQL's texts."""
    write = _WRITERS.get(_MODIFIER.sub("", type_name).strip())
    if write is None:
        return texts
    there = [text for text in texts if text is not None]
    written = write(there)
    if len(there) == len(texts):
        return written
    found = iter(written)
    return [None if text is None else next(found) for text in texts]


def doubles_json(values: Sequence[float]) -> list[float | str]:
    """`double_json` of each value: computed for many at once, except where double arithmetic leaves it open.

    A value times a power of ten is off by at most half of its last bit. So only a product that lies exactly
    between two whole numbers may be nearer to the other one.
    """
    if len(values) < _MANY:
        return list(map(double_json, values))
    given = np.array(values, dtype=np.float64)
    with np.errstate(all="ignore"):
        places = _DIGITS - 1 - np.floor(np.log10(np.abs(given)))
        known = (places >= 0) & (places < len(_POWERS))
        powers = _POWERS[np.where(known, places, 0).astype(np.int64)]
        moved = given * powers
        whole, size = np.rint(moved), np.abs(moved)
        known &= (size >= _LEAST) & (size < 10 * _LEAST) & (np.abs(moved - whole) != _HALF)
    shown: list[float | str] = (whole / powers).tolist()
    for place in np.flatnonzero(~known).tolist():
        shown[place] = double_json(values[place])
    return shown


def double_json(value: float) -> float | str:
    """At most 15 significant digits; a value that is not finite is a string, as PostgreSQL writes it."""
    if math.isnan(value):
        return "NaN"
    if math.isinf(value):
        return "Infinity" if value > 0 else "-Infinity"
    rounded = float(f"{value:.{_DIGITS}g}") + 0.0  # no negative zero
    return repr(value) if math.isinf(rounded) else rounded


def _integers(texts: Sequence[str]) -> Sequence[Cell]:
    values = list(map(int, texts))
    if not values or (min(values) >= -_LARGEST_INTEGER and max(values) <= _LARGEST_INTEGER):
        return values
    return [
        value if abs(value) <= _LARGEST_INTEGER else text
        for value, text in zip(values, texts, strict=True)
    ]


def _decimals(texts: Sequence[str]) -> Sequence[Cell]:
    """Numbers; those without a near double stay texts."""
    values = list(map(float, texts))
    shown = doubles_json(values)
    if not {0.0, math.inf, -math.inf}.isdisjoint(values):
        return [
            text if _lost(text, value) else one
            for text, value, one in zip(texts, values, shown, strict=True)
        ]
    return shown


def _lost(text: str, value: float) -> bool:
    return math.isinf(value) or (value == 0 and text.strip("-0.") != "")


def _each(write: Callable[[str], Cell]) -> Callable[[Sequence[str]], Sequence[Cell]]:
    return lambda texts: list(map(write, texts))


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


_WRITERS: Final[dict[str, Callable[[Sequence[str]], Sequence[Cell]]]] = {
    **dict.fromkeys(("smallint", "integer", "bigint", "int2", "int4", "int8", "oid"), _integers),
    **dict.fromkeys(("numeric", "real", "double precision", "float4", "float8"), _decimals),
    **dict.fromkeys(("boolean", "bool"), _each(_truth)),
    **dict.fromkeys(
        (
            *("timestamp", "timestamp without time zone"),
            *("timestamptz", "timestamp with time zone"),
        ),
        _each(_moment),
    ),
}
