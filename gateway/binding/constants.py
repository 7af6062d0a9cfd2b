"""Constants in the text: numbers, strings that take the type of what they meet, intervals, casts.

Intervals that are known from the text: `'1 year 2 months'`, read strictly.
"""

import re
from fractions import Fraction
from typing import Final, NamedTuple

from sqlglot import exp

from gateway.catalog.types import ColumnType, Family, Kind, TypeUnknown, parse_type
from gateway.catalog.values import InvalidValue, read_number, read_value
from gateway.catalog.zones import find_zone, read_moment
from gateway.errors import Code, SyntaxRefused, UnsupportedSql
from gateway.plan.fields import (
    BIGINT,
    BOOLEAN,
    DATE,
    INTEGER,
    NUMERIC,
    TEXT,
    TIMESTAMP,
    TIMESTAMPTZ,
)
from gateway.plan.scalars import Literal


class Span(NamedTuple):
    """PostgreSQL's three parts of an interval."""

    months: int
    days: int
    microseconds: int

    def __neg__(self) -> "Span":
        return Span(-self.months, -self.days, -self.microseconds)


_PART = re.compile(r"\s*([+-]?[0-9]{1,15})\s*([a-z]+)")
_LARGEST: Final = 120_000  # months, days: ten thousand years and 300 years are far beyond any date
_UNITS: Final = {
    "year": Span(12, 0, 0),
    "month": Span(1, 0, 0),
    "mon": Span(1, 0, 0),
    "week": Span(0, 7, 0),
    "day": Span(0, 1, 0),
    "hour": Span(0, 0, 3_600_000_000),
    "minute": Span(0, 0, 60_000_000),
    "min": Span(0, 0, 60_000_000),
    "second": Span(0, 0, 1_000_000),
    "sec": Span(0, 0, 1_000_000),
    "microsecond": Span(0, 0, 1),
}


def parse_interval(text: str) -> Span:
    """The interval that the text writes in whole units."""
    rest, total = text.strip().lower(), Span(0, 0, 0)
    if not rest:
        raise _unreadable(text)
    while rest:
        part = _PART.match(rest)
        unit = None if part is None else _UNITS.get(part[2]) or _UNITS.get(part[2].rstrip("s"))
        if part is None or unit is None:
            raise _unreadable(text)
        times = int(part[1])
        total = Span(*(one + times * each for one, each in zip(total, unit, strict=True)))
        rest = rest[part.end() :].strip()
    if max(abs(total.months), abs(total.days)) > _LARGEST or abs(total.microseconds) > 10**17:
        raise _unreadable(text)
    return total


def _unreadable(text: str) -> UnsupportedSql:
    return UnsupportedSql(
        Code.CLAUSE_UNSUPPORTED,
        f"the interval `{text[:40]}` is not supported",
        "write whole units, such as interval '1 year 6 months'",
    )


_LONGEST_NUMBER: Final = 60
# one digit for the month or the day is read as with 0 before it, whatever DateStyle says
_SHORT_DAY: Final = re.compile(r"^([0-9]{4})-([0-9]{1,2})-([0-9]{1,2})(?![0-9])")
_UNIVERSAL: Final = re.compile(
    r"(?P<day>[0-9]{4}-[0-9]{2}-[0-9]{2})T"
    r"(?P<time>(?:[01][0-9]|2[0-3]):[0-5][0-9]:[0-5][0-9](?:\.[0-9]{1,6})?)Z"
)


def number(text: str) -> Literal:
    """A number as PostgreSQL types it: the smallest of integer, bigint and numeric that holds it."""
    try:
        value = read_number(text)
    except InvalidValue as error:
        raise SyntaxRefused(Code.TYPE_MISMATCH, str(error)) from error
    if len(text) > _LONGEST_NUMBER or abs(value.numerator) > 10**_LONGEST_NUMBER:
        raise UnsupportedSql(
            Code.CLAUSE_UNSUPPORTED, f"the number `{text[:20]}…` has too many digits"
        )
    if not text.isdigit():
        return Literal(value, NUMERIC)
    whole = value.numerator
    if whole < 2**31:
        return Literal(whole, INTEGER)
    return Literal(whole, BIGINT) if whole < 2**63 else Literal(value, NUMERIC)


def literal(text: str, kind: ColumnType, zone: str = "") -> Literal:
    """A string that is read as a value of a type; a time without an offset is what the clock of `zone` shows."""
    if kind == TIMESTAMPTZ:
        return _moment(text, zone)
    if kind.family is Family.BOOLEAN:
        text = text.strip().lower()
    if kind.kind is Kind.CHAR:
        text = text.rstrip(" ")
    if kind.family is Family.TEXT:
        kind = TEXT
    if kind in {DATE, TIMESTAMP} and (universal := _UNIVERSAL.fullmatch(text)) is not None:
        # PostgreSQL reads the zone and does not use it: these types have none
        text = universal["day"] if kind == DATE else f"{universal['day']} {universal['time']}"
    if kind in {DATE, TIMESTAMP}:
        text = _SHORT_DAY.sub(lambda day: f"{day[1]}-{day[2]:0>2}-{day[3]:0>2}", text.strip())
    try:
        return Literal(read_value(text, kind), kind)
    except InvalidValue as error:
        raise SyntaxRefused(Code.TYPE_MISMATCH, str(error)) from error


def _moment(text: str, zone: str) -> Literal:
    try:
        found = read_moment(text.strip(), find_zone(zone))
    except (InvalidValue, OverflowError) as error:
        raise SyntaxRefused(
            Code.TYPE_MISMATCH,
            f"`{text[:40]}` is not a {TIMESTAMPTZ} such as 2026-01-31 12:00:00+00",
        ) from error
    if found is None:
        raise UnsupportedSql(
            Code.CLAUSE_UNSUPPORTED,
            f"the session's time zone `{zone[:63]}` has no known rules",
            "write the time with its offset, as in '2026-01-31 12:00:00+00'",
        )
    return Literal(found, TIMESTAMPTZ)


def cast_literal(number: Literal, kind: ColumnType) -> Literal | None:
    """The constant that a cast of a constant gives, where it is the same number."""
    value = number.value
    if (
        isinstance(value, bool)
        or not isinstance(value, int | Fraction)
        or kind.precision is not None
    ):
        return None
    if number.type.family is Family.FLOAT:
        return None  # it has digits that a cast would show
    if kind.kind in {Kind.NUMERIC, Kind.DOUBLE}:
        return Literal(Fraction(value), kind)
    bound = kind.bound if kind.family is Family.WHOLE else None
    if bound is None or value.denominator != 1 or not -bound <= value < bound:
        return None
    return Literal(int(value), kind)


def null(kind: ColumnType = TEXT) -> Literal:
    return Literal(None, kind)


def boolean(node: exp.Boolean) -> Literal:
    return Literal(bool(node.this), BOOLEAN)


def untyped_text(node: exp.Expression) -> str | None:
    """The text of a string literal that has no type yet."""
    while isinstance(node, exp.Paren):
        node = node.this
    return node.this if isinstance(node, exp.Literal) and node.is_string else None


def string(node: exp.Expression) -> str | None:
    """The text of a string literal, also of one that is said to be a text, as a parameter is."""
    while isinstance(node, exp.Paren) or _to_text(node):
        node = node.this
    return untyped_text(node)


def _to_text(node: exp.Expression) -> bool:
    if type(node) is not exp.Cast:
        return False
    to = node.args["to"]
    return to.this in {exp.DataType.Type.TEXT, exp.DataType.Type.VARCHAR} and not to.expressions


def is_untyped(node: exp.Expression) -> bool:
    while isinstance(node, exp.Paren):
        node = node.this
    return isinstance(node, exp.Null) or untyped_text(node) is not None


TYPE_NAMES: Final = {
    "INT": "integer",
    "BIGINT": "bigint",
    "SMALLINT": "smallint",
    "DECIMAL": "numeric",
    "DOUBLE": "double precision",
    "FLOAT": "real",
    "TEXT": "text",
    "VARCHAR": "character varying",
    "CHAR": "character",
    "BOOLEAN": "boolean",
    "DATE": "date",
    "TIMESTAMP": "timestamp without time zone",
    "TIMESTAMPTZ": "timestamp with time zone",
    "UUID": "uuid",
}


def is_interval(to: exp.Expression) -> bool:
    return isinstance(to.this, exp.DataType.Type) and to.this.name == "INTERVAL"


def column_type(to: exp.Expression) -> ColumnType:
    """The type that a cast names."""
    kind = to.this
    name = TYPE_NAMES.get(kind.name) if isinstance(kind, exp.DataType.Type) else None
    if name is None or to.args.get("nested") or to.args.get("kind"):
        raise UnsupportedSql(
            Code.CLAUSE_UNSUPPORTED,
            "a cast to this type is not supported over protected rows",
            "cast the result of the aggregate instead",
        )
    inner = ", ".join(one.this.name for one in to.expressions)
    try:
        made = parse_type(f"{name}({inner})" if inner else name)
    except TypeUnknown as error:
        raise SyntaxRefused(Code.TYPE_MISMATCH, str(error)) from error
    if made.kind is Kind.CHAR:
        raise UnsupportedSql(
            Code.CLAUSE_UNSUPPORTED, "a cast to char is not supported", "cast to text instead"
        )
    return made


def span(node: exp.Expression) -> Span | None:
    """The interval that an expression writes out, when it is one."""
    while isinstance(node, exp.Paren):
        node = node.this
    if isinstance(node, exp.Neg):
        inner = span(node.this)
        return None if inner is None else -inner
    if isinstance(node, exp.Cast) and is_interval(node.args["to"]):
        text = untyped_text(node.this)
        if text is not None and not node.args["to"].expressions:
            return parse_interval(text)
    return None
