"""Column values in policies, parsed exactly: none ever becomes a float.

INVARIANT: whole numbers are `int`, other numbers `Fraction`, times are without zone or in UTC; so equal texts
of equal types are equal values, and their order is PostgreSQL's.
"""

import re
from collections.abc import Callable, Mapping
from datetime import UTC, date, datetime
from fractions import Fraction
from types import MappingProxyType
from typing import TypeAlias
from uuid import UUID

from gateway.catalog.types import ColumnType, Family, Kind
from gateway.json_form import InvalidJson, Json, read_sequence, read_string

Value: TypeAlias = bool | int | Fraction | str | date | datetime | UUID

_NUMBER = re.compile(
    r"(?P<sign>[+-]?)(?P<whole>[0-9]{1,40})(?:\.(?P<part>[0-9]{1,40}))?(?:[eE](?P<exp>[+-]?[0-9]{1,3}))?"
)
_DATE = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}")
_TIME = re.compile(
    r"[0-9]{4}-[0-9]{2}-[0-9]{2}"
    r"(?:[T ][0-9]{2}:[0-9]{2}(?::[0-9]{2}(?:\.[0-9]{1,6})?)?(?P<zone>Z|[+-][0-9]{2}(?::?[0-9]{2})?)?)?"
)
_UUID = re.compile(r"[0-9a-fA-F]{8}(-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}")
_LARGEST_EXPONENT = 320  # a double reaches 1e308


class InvalidValue(ValueError):
    """A text that is no value of the type; the message shows a valid one."""


def read_value(text: str, of: ColumnType) -> Value:
    """The value written as `text`."""
    return _READERS[of.family](text, of)


def read_number(text: str) -> Fraction:
    """A decimal number, exactly."""
    match = _NUMBER.fullmatch(text)
    if match is None:
        raise InvalidValue(f"`{text}` is not a finite decimal number such as 0.5")
    exponent = int(match["exp"] or 0)
    if abs(exponent) > _LARGEST_EXPONENT:
        raise InvalidValue(f"the exponent of `{text}` is beyond ±{_LARGEST_EXPONENT}")
    part = match["part"] or ""
    size = Fraction(int(match["whole"] + part)) * Fraction(10) ** (exponent - len(part))
    return -size if match["sign"] == "-" else size


def _whole(text: str, of: ColumnType) -> int:
    number = read_number(text)
    if number.denominator != 1:
        raise InvalidValue(f"`{text}` is not a whole number")
    if of.bound is not None and not -of.bound <= number < of.bound:
        raise InvalidValue(f"`{text}` does not fit into {of}")
    return number.numerator


def _decimal(text: str, of: ColumnType) -> Fraction:
    number = read_number(text)
    if of.bound is not None and abs(number) >= of.bound:
        raise InvalidValue(f"`{text}` does not fit into {of}")
    if of.resolution is not None and number % of.resolution:
        raise InvalidValue(f"`{text}` has more digits than {of}")
    return number


def _text(text: str, of: ColumnType) -> str:
    if of.length is not None and len(text) > of.length:
        raise InvalidValue(f"`{text}` is longer than {of}")
    # PostgreSQL ignores the blanks at the end of a char(n), so the gateway must, too
    return text.rstrip(" ") if of.kind is Kind.CHAR else text


def _boolean(text: str, of: ColumnType) -> bool:
    if text not in {"true", "false"}:
        raise InvalidValue(f"`{text}` is not {of}: it is neither true nor false")
    return text == "true"


def _uuid(text: str, of: ColumnType) -> UUID:
    if not _UUID.fullmatch(text):
        raise InvalidValue(f"`{text}` is not a {of}")
    return UUID(text)


def _date(text: str, of: ColumnType) -> date:
    try:
        if _DATE.fullmatch(text):
            return date.fromisoformat(text)
    except ValueError:
        pass
    raise InvalidValue(f"`{text}` is not a {of} such as 2026-01-31")


def _timestamp(text: str, of: ColumnType) -> datetime:
    written = _TIME.fullmatch(text)
    try:
        moment = datetime.fromisoformat(text) if written else None
    except ValueError:
        moment = None
    if written is None or moment is None:
        raise InvalidValue(f"`{text}` is not a time such as 2026-01-31T12:00:00")
    if of.kind is Kind.TIMESTAMP:
        if written["zone"]:
            raise InvalidValue(f"`{text}` has an offset, which {of} has not")
        return moment
    return moment.astimezone(UTC) if written["zone"] else moment.replace(tzinfo=UTC)


_READERS: Mapping[Family, Callable[[str, ColumnType], Value]] = MappingProxyType(
    {
        Family.WHOLE: _whole,
        Family.EXACT: _decimal,
        Family.FLOAT: _decimal,
        Family.TEXT: _text,
        Family.BOOLEAN: _boolean,
        Family.DATE: _date,
        Family.TIMESTAMP: _timestamp,
        Family.UUID: _uuid,
    }
)


def value_json(value: Value | None) -> Json:
    """With its type, so that a number and the text of a number stay apart."""
    match value:
        case None | bool() | str():
            return value
        case int():
            return ["int", str(value)]
        case Fraction():
            return ["fraction", str(value)]
        case datetime():
            return ["time", value.isoformat()]
        case date():
            return ["date", value.isoformat()]
        case UUID():
            return ["uuid", str(value)]


def value_of_json(said: Json) -> Value | None:
    if said is None or isinstance(said, bool | str):
        return said
    kind, written = map(read_string, read_sequence(said))
    match kind:
        case "int":
            return int(written)
        case "fraction":
            return Fraction(written)
        case "time":
            return datetime.fromisoformat(written)
        case "date":
            return date.fromisoformat(written)
        case "uuid":
            return UUID(written)
        case _:
            raise InvalidJson
