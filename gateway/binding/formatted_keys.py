"""Keys that are formatted: the source groups by the plain bucket, the finishing formats it.

`GROUP BY to_char(visit_date, 'YYYY-MM')` has a group for each month, so the rows are grouped by `date_trunc('month',
visit_date)` and the twin writes the month as text. That is right only where the format tells all buckets apart, so
formats are read by what they show. `to_char(visit_date, 'Day')` shows one part of the time: the rows are grouped by it,
and the twin formats a time that has this part.
"""

import re
from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Final, NamedTuple

import sqlglot
from sqlglot import exp

from gateway.binding import clocks, constants
from gateway.binding.expressions import ScalarBinder
from gateway.binding.text.dialect import DIALECT, name_of_function
from gateway.errors import Code, SyntaxRefused, UnsupportedSql
from gateway.functions.times import OF_DATES, call_date_trunc, call_extract
from gateway.plan.fields import DATE, TIMESTAMP
from gateway.plan.scalars import Scalar


class Bucket(NamedTuple):
    """What the source groups by, and how the finishing shows it."""

    scalar: Scalar
    show: Callable[[exp.Expression], exp.Expression]


# Longest first. What a token shows: a step of the chain year > month > day > hour > minute > second,
# a quarter, a week (which needs the year of weeks), or nothing.
_TOKENS: Final = re.compile(
    r'"[^"]*"|FM|YYYY|IYYY|HH24|Month|MONTH|month|Mon|MON|mon|MM|DDD|DD|Day|DAY|day|Dy|DY|dy|MI|SS'
    r"|IW|Q|[-/.,:; T]"
)
_SHOWS: Final = {
    "YYYY": "year",
    "IYYY": "isoyear",
    "Q": "quarter",
    "MM": "month",
    "IW": "week",
    "DD": "day",
    "DDD": "dayofyear",
    "HH24": "hour",
    "MI": "minute",
    "SS": "second",
}
_CHAIN: Final = ("year", "month", "day", "hour", "minute", "second")


# what a format shows that has nothing coarser in it: a part of the time, and a time with this part, for any number
_PARTS: Final[Mapping[str, tuple[str, str]]] = MappingProxyType(
    {
        **dict.fromkeys(
            ("Day", "DAY", "day", "Dy", "DY", "dy", "D", "ID"), ("isodow", "DATE '2023-12-31' + {}")
        ),
        **dict.fromkeys(
            ("Month", "MONTH", "month", "Mon", "MON", "mon", "MM"),
            ("month", "TIMESTAMP '2023-12-01' + {} * INTERVAL '1 month'"),
        ),
        "Q": ("quarter", "TIMESTAMP '2023-12-01' + 3 * {} * INTERVAL '1 month'"),
        "DD": ("day", "DATE '2023-12-31' + {}"),
        "HH24": ("hour", "TIMESTAMP '2024-01-01' + {} * INTERVAL '1 hour'"),
    }
)
_NUMBER: Final = "part"


def format_bucket(node: exp.Expression, scalars: ScalarBinder) -> Bucket | None:
    """The bucket of a formatted key; None where the key is no `to_char`."""
    while isinstance(node, exp.Paren):
        node = node.this
    if not isinstance(node, exp.Anonymous) or name_of_function(node) != "to_char":
        return None
    if len(node.expressions) != 2:  # noqa: PLR2004 - value and format
        raise SyntaxRefused(
            Code.TYPE_MISMATCH, f"`to_char` does not accept {len(node.expressions)} arguments"
        )
    what = scalars.bind(node.expressions[0])
    pattern = constants.string(node.expressions[1])
    unit = None if pattern is None else _unit(pattern)
    what = clocks.local_time(what, scalars.zone)
    part = None if pattern is None else _PARTS.get(pattern.removeprefix("FM"))
    if part is not None and what.type in {DATE, TIMESTAMP}:
        return _part_bucket(part, what, node.expressions[1])
    if unit is None or what.type not in {DATE, TIMESTAMP}:
        raise UnsupportedSql(
            Code.FUNCTION_UNSUPPORTED,
            "the format of `to_char` gives several groups the same text",
            "begin the format with the year, as in 'YYYY-MM', or use one of 'Day', 'Month', 'Q', 'DD' and 'HH24'",
        )
    shown = node.expressions[1]

    def show(column: exp.Expression) -> exp.Expression:
        return exp.Anonymous(this="to_char", expressions=[column, shown.copy()])

    return Bucket(call_date_trunc(unit, what), show)


def _part_bucket(part: tuple[str, str], what: Scalar, shown: exp.Expression) -> Bucket:
    """Groups by a part of the time, such as the day of the week, whose name is that of any time with this part."""
    name, made = part
    if what.type == DATE and name not in OF_DATES:
        raise SyntaxRefused(Code.TYPE_MISMATCH, f"`to_char` of a date has no {name}")
    time = sqlglot.parse_one(made.format(f"CAST({_NUMBER} AS integer)"), dialect=DIALECT)

    def show(column: exp.Expression) -> exp.Expression:
        some = time.transform(
            lambda one: (
                column.copy() if isinstance(one, exp.Column) and one.name == _NUMBER else one
            )
        )
        return exp.Anonymous(this="to_char", expressions=[some, shown.copy()])

    return Bucket(call_extract(name, what), show)


def _unit(pattern: str) -> str | None:
    """The finest bucket that the format shows, when it shows everything coarser too."""
    shows: set[str] = set()
    place = 0
    while place < len(pattern):
        token = _TOKENS.match(pattern, place)
        if token is None:
            return None
        place = token.end()
        word = token.group()
        shown = _SHOWS.get(word) or ("month" if word.lower() in {"month", "mon"} else None)
        if shown is not None:
            shows.add(shown)
    if shows == {"isoyear", "week"}:
        return "week"
    if shows == {"year", "quarter"}:
        return "quarter"
    if shows == {"year", "dayofyear"}:
        return "day"
    shows.discard("quarter")  # the month says it
    depth = len(shows)
    return _CHAIN[depth - 1] if depth and shows == set(_CHAIN[:depth]) else None
