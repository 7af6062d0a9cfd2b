"""Keys whose boundaries the query chose, such as `year >= 1923`: they divide rows as a condition does.

If the cells of the groups are known, the auditor compares groups. Otherwise each value of such a key is the region of a
condition. What cannot be read as one is opaque, as it is in WHERE.
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final

from gateway.catalog.types import Family
from gateway.plan.fields import BOOLEAN
from gateway.plan.scalars import Call, Case, Cast, Literal, Scalar, column_ids
from gateway.plan.sql_text import scalar_sql
from gateway.regions.base_columns import Bases
from gateway.regions.cells import is_fine
from gateway.regions.conditional_aggregates import join_regions
from gateway.regions.moved_values import keeps_values_apart
from gateway.regions.predicate import opaque_region, region_of
from gateway.regions.region import Region, region_of_cells
from gateway.regions.tabulate import tabulate_values
from gateway.regions.time_differences import write_difference

_JOINED: Final = frozenset({"||", "concat", "concat_ws"})
_MOST_VALUES: Final = 16
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


@dataclass(frozen=True, slots=True)
class KeyPart:
    """The rows for which a key comes from one place: those of a region, divided by `rest` if it is not one value there."""

    region: Region
    rest: Scalar | None = None


def parts_of_key(
    scalar: Scalar, bases: Bases, computed: frozenset[str] = frozenset()
) -> Iterator[KeyPart]:
    """The regions into which a key divides the rows if the query chose its boundaries, as far as they can be read.

    `scalar` is the key over bases, `computed` are those of them that hold a condition. A key over names and listed
    values alone chooses no boundary.
    """
    names = column_ids(scalar)
    over = write_difference(scalar, bases)
    if over is not None:
        scalar, bases = over[0], {**bases, over[1].field.id: over[1]}
    axes = [bases[one].axis for one in column_ids(scalar)]
    fine = any(one is None or is_fine(one) for one in axes)
    if names & computed or (fine and _chooses(scalar)):
        yield from _parts(scalar, (), bases)


def _parts(scalar: Scalar, given: tuple[Scalar, ...], bases: Bases) -> Iterator[KeyPart]:
    """The parts where these conditions are true."""
    match scalar:
        case Case():
            for when, then in scalar.branches:
                yield from _parts(then, (*given, when), bases)
                given = (*given, _not(when))
            yield from _parts(scalar.otherwise, given, bases)
        case Literal():
            yield KeyPart(region_of(given, bases))
        case _ if scalar.type.family is Family.BOOLEAN:
            yield KeyPart(region_of((*given, scalar), bases))
            yield KeyPart(region_of((*given, _not(scalar)), bases))
        case Cast(what) if what.type.family is Family.BOOLEAN:
            yield from _parts(what, given, bases)
        case Call("coalesce", (one, Literal())):
            yield from _parts(one, given, bases)
        case _ if given and not _chooses(scalar):
            yield KeyPart(region_of(given, bases), scalar)
        case _:
            within = region_of(given, bases)
            for region in _regions_of_values(scalar, bases):
                yield KeyPart(join_regions(within, region))


def _regions_of_values(scalar: Scalar, bases: Bases) -> Iterator[Region]:
    """The region of each value; none if there are many, as in a table over a column; opaque if nobody can list them."""
    names = column_ids(scalar)
    base = bases[next(iter(names))] if len(names) == 1 else None
    if base is None or base.axis is None:
        classes = None
    else:
        classes = tabulate_values(scalar, base.field, base.axis, as_key=True)
    if classes is None or base is None or base.axis is None:
        yield opaque_region(scalar, bases)
    elif len(classes) <= _MOST_VALUES:
        for cells in classes.values():
            yield region_of_cells(base.axis, cells)


def _chooses(scalar: Scalar) -> bool:
    """The same for a key over several columns: a text that is put together from keys divides as these do."""
    if isinstance(scalar, Literal):
        return False
    if isinstance(scalar, Call) and scalar.function in _JOINED:
        return any(map(_chooses, scalar.parts))
    if isinstance(scalar, Cast) and scalar.type.family is Family.TEXT:
        return _chooses(scalar.what)
    return not keeps_values_apart(scalar) or has_chosen_bounds(scalar_sql(scalar))


def _not(condition: Scalar) -> Scalar:
    return Call("not", (condition,), BOOLEAN)
