"""Boundaries that the query chose, such as `year >= 1923`, and those that the calendar, round numbers or values set.

INVARIANT: an expression whose boundaries are not known to be set by these has boundaries that the query chose.
"""

import re
from collections.abc import Sequence
from typing import Final

from gateway.catalog.types import Family
from gateway.plan.scalars import Call, Cast, Literal, Scalar
from gateway.plan.sql_text import scalar_sql
from gateway.regions.moved_values import keeps_values_apart

_JOINED: Final = frozenset({"||", "concat", "concat_ws"})
_NAME: Final = r'(?:[\w$]+|"(?:[^"]|"")*")(?:\.(?:[\w$]+|"(?:[^"]|"")*"))*'
_TIME: Final = rf"{_NAME}(?: at [\w/+-]+)?(?:::date)?"
_COLUMN: Final = re.compile(rf"{_NAME}|{_TIME} - {_TIME}")
_ROUND: Final = r"(?:[125]|25)0*"
_MOST_FACTORS: Final = 2
"""So often a key may be multiplied or divided: products of more round numbers come near to any number."""
_WHOLE_PARTS: Final = (1, 2, 3, 4, 5, 6, 10, 12, 15, 20, 30)
_PARTS_OF_A_DAY: Final = (
    *(seconds * 1_000_000 for seconds in _WHOLE_PARTS),
    *(minutes * 60_000_000 for minutes in _WHOLE_PARTS),
    *(hours * 3_600_000_000 for hours in (1, 2, 3, 4, 6, 8, 12)),
)
_SHORT_BIN: Final = "|".join(("1 days 0", *(f"0 days {one}" for one in _PARTS_OF_A_DAY)))
_MIDNIGHT: Final = r"00:00:00(?:\+00:00)?' as timestamp with(?:out)? time zone\)"
_NUMBER: Final = r"(?:\d[\d.]*|cast\(\d[\d.]* as [a-z ]+\))"
_WHOLE: Final = r"\d{1,9}"
_DAYS: Final = r"interval '0 months -?\d+ days 0 microseconds'"
_TYPES: Final = (
    r"date|text|smallint|integer|bigint|real|numeric|double precision"
    r"|timestamp without time zone|timestamp with time zone"
)
_MOVED: Final = tuple(
    re.compile(one, re.DOTALL)
    for one in (
        rf"\((.+) [+*-] {_NUMBER}\)",
        rf"\({_NUMBER} [+*-] (.+)\)",
        r"\((.+) [+-] interval '[^']*'\)",
        r"cast\((.+) as (?:text|timestamp with(?:out)? time zone)\)",
        r"timezone\('UTC', (.+)\)",
        r"\(- (.+)\)",
    )
)
"""What gives every group another name and moves no boundary, where it stands outside of everything else.

INVARIANT: a cast is one of them only if it keeps every value of any type that it can be applied to: of a date, a time or
what was written as a text. A cast to a number or a date rounds or cuts, so what is moved below it moves its boundaries.
"""
_MOVED_DAYS: Final = re.compile(rf"cast\(\((.+) [+-] (?:{_DAYS}|{_WHOLE})\) as date\)", re.DOTALL)
"""The day of a time that was moved by whole days has the boundaries of the day."""
_AS_NUMBER: Final = re.compile(
    r"cast\((.+) as (?:integer|bigint|numeric|double precision)\)", re.DOTALL
)
_MOVED_WHOLE: Final = tuple(
    re.compile(one, re.DOTALL)
    for one in (
        rf"\((.+) [+*-] {_WHOLE}\)",
        rf"\({_WHOLE} [+*-] (.+)\)",
        r"\(- (.+)\)",
    )
)
_PARTS: Final = "year|quarter|month|week|doy|day|dow|isodow|isoyear|decade|century|hour|minute"
_WHOLES: Final = re.compile(
    rf"(?:floor|ceil)\(.+\)|(?:trunc|round)\((?!.*, \d+\)$).+\)|date_part\('(?:{_PARTS})', .+\)"
    rf"|extract\((?:{_PARTS}) from .+\)",
    re.DOTALL,
)
"""Whole numbers, where it stands outside: a cast to another kind of number does not round them."""
_CUTS: Final = tuple(
    re.compile(one, re.DOTALL)
    for one in (
        r"date_trunc\('week', \((.+) [+-] interval '0 months -?[0-6] days 0 microseconds'\)\)",
        r"date_trunc\('\w+', (.+)\)",
        rf"date_bin\('(?:{_SHORT_BIN}) microseconds', (.+), cast\('1970-01-01 {_MIDNIGHT}\)",
        rf"date_bin\('7 days 0 microseconds', (.+), cast\('1970-01-0[1-7] {_MIDNIGHT}\)",
        r"timezone\('UTC', (.+)\)",
        r"date_part\('\w+', (.+)\)",
        r"extract\(\w+ from (.+)\)",
        r"make_date\((.+), 1, 1\)",
        rf"cast\((.+) as (?:{_TYPES})\)",
        r"left\((.+), \d+\)",
        r"(?:substring|substr)\((.+), 1, \d+\)",
        r"coalesce\((.+), (?:[\w.-]+|'[^']*'|\w+ '[^']*')\)",
        r"\((.+) [+-] interval '-?\d+ months 0 days 0 microseconds'\)",
        r"(?:floor|ceil|trunc|round)\((.+?)(?:, -?\d+)?\)",
        r"\((.+) % (?:[2-9]|1[0-2])\)",
        r"\(- (.+)\)",
    )
)
_FACTOR: Final = re.compile(rf"\((.+) [/*] (?:{_ROUND}|cast\({_ROUND} as [a-z ]+\))\)", re.DOTALL)
"""Keys with boundaries that the calendar or round numbers set: in these the text inside is a key of this kind again."""


def has_chosen_bounds(text: str) -> bool:
    """Whether the analyst chose the boundaries of the key's groups, as in `year >= 1923` or `(day - 3) / 7`.

    Nobody chooses where a month, a decade or a value of a column begins.
    """
    text = _inside(text, _MOVED)
    while (moved := _without_move(text)) is not None:
        text = _inside(moved, _MOVED)
    return _COLUMN.fullmatch(_inside(text, _CUTS)) is None


def _without_move(text: str) -> str | None:
    """A cast of what was moved, as it is without the move where that moves no boundary; None if nothing was moved."""
    if (days := _MOVED_DAYS.fullmatch(text)) is not None:
        return f"cast({days[1]} as date)"
    if (number := _AS_NUMBER.fullmatch(text)) is None:
        return None
    whole = _inside(number[1], _MOVED_WHOLE)
    return whole if _WHOLES.fullmatch(whole) and whole != number[1] else None


def _inside(text: str, around: Sequence[re.Pattern[str]]) -> str:
    """What is inside of expressions of these forms."""
    factors = 0
    while not _COLUMN.fullmatch(text):
        found = next((each for one in around if (each := one.fullmatch(text))), None)
        if found is None and around is _CUTS and factors < _MOST_FACTORS:
            found, factors = _FACTOR.fullmatch(text), factors + 1
        if found is None:
            break
        text = found[1]
    return text


def chooses_bounds(scalar: Scalar) -> bool:
    """The same for a key over several columns: a text that is put together from keys divides as these do."""
    if isinstance(scalar, Literal):
        return False
    if isinstance(scalar, Call) and scalar.function in _JOINED:
        return any(map(chooses_bounds, scalar.parts))
    if isinstance(scalar, Cast) and scalar.type.family is Family.TEXT:
        return chooses_bounds(scalar.what)
    return not keeps_values_apart(scalar) or has_chosen_bounds(scalar_sql(scalar))
