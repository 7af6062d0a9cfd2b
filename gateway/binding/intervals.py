"""Intervals that are known from the text: `'1 year 2 months'`, read strictly."""

import re
from typing import Final, NamedTuple

from gateway.errors import Code, UnsupportedSql


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


def read_span(text: str) -> Span:
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
        f"the interval `{text[:40]}`",
        "write whole units, such as interval '1 year 6 months'",
    )
