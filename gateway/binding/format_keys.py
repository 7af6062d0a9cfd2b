"""Keys that are formatted: the source groups by the plain bucket, the finishing formats it.

`GROUP BY to_char(visit_date, 'YYYY-MM')` has a group for each month, so the rows are grouped by
`date_trunc('month', visit_date)` and the twin writes the month as text. That is right only where the
format tells all buckets apart, so formats are read by what they show.

`date_trunc` of a date: a local time in the source, a time with a zone in PostgreSQL.

PostgreSQL makes a timestamptz of the date by the zone of whoever asks, and truncates in that zone. The
local time it stands for is the same in every zone, so the source groups by that, and the finishing puts
the zone back on the twin, where it is known.
"""

import re
from collections.abc import Callable
from typing import Final, NamedTuple

from sqlglot import exp

from gateway.binding import constants
from gateway.binding.expressions import ScalarBinder
from gateway.binding.text.identifiers import name_of_function
from gateway.catalog.types import ColumnType
from gateway.errors import Code, SyntaxRefused, UnsupportedSql
from gateway.functions.table import function_of
from gateway.functions.times import call_date_trunc
from gateway.plan.grouping import PerUnit
from gateway.plan.joins import UnionAll
from gateway.plan.node import Node, walk_nodes
from gateway.plan.relations import Project
from gateway.plan.scalars import Call, Ref, Scalar, Shift
from gateway.plan.types import DATE, TIMESTAMP


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
    if unit is None or what.type not in {DATE, TIMESTAMP}:
        raise UnsupportedSql(
            Code.FUNCTION_UNSUPPORTED,
            "the format of `to_char` gives several groups the same text",
            "begin the format with the year, as in 'YYYY-MM', or group by extract(month from …)",
        )
    shown = node.expressions[1]

    def show(column: exp.Expression) -> exp.Expression:
        return exp.Anonymous(this="to_char", expressions=[column, shown.copy()])

    return Bucket(call_date_trunc(unit, what), show)


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


_TO: Final = exp.DataType.Type.TIMESTAMPTZ
_LOCAL: Final = exp.DataType.Type.TIMESTAMP


def is_zoned(scalar: Scalar, below: Node) -> bool:
    """Whether PostgreSQL gives a time with a zone where the plan has a local one."""
    if scalar.type != TIMESTAMP:
        return False
    if isinstance(scalar, Ref):
        found = _maker(scalar.field.id, below)
        return found is not None and is_zoned(*found)
    if isinstance(scalar, Shift):
        # by days and months PostgreSQL moves the local time; by hours it moves what the zone makes of it
        return scalar.microseconds == 0 and is_zoned(scalar.moved, below)
    looked = function_of(scalar).time_part if isinstance(scalar, Call) else None
    return looked is not None and looked.is_zoned and scalar.parts[1].type == DATE


def _maker(column: str, below: Node) -> tuple[Scalar, Node] | None:
    """The expression that a column came from, and the relation that reads."""
    for node in walk_nodes(below):
        made: list[tuple[Scalar, Node]] = []
        if isinstance(node, Project):
            made = [(scalar, node.child) for _, scalar in node.items]
        elif isinstance(node, PerUnit):
            made = [(scalar, node.child) for _, scalar in node.keys]
        elif isinstance(node, UnionAll):
            made = [(Ref(one), node.left) for one in node.left.fields]
        for one, field in zip(made, node.fields, strict=False):
            if field.id == column:
                return one
    return None


def add_zone(column: exp.Expression) -> exp.Expression:
    """The local time as PostgreSQL shows it."""
    return exp.Cast(this=column, to=exp.DataType(this=_TO))


def strip_zone(value: exp.Expression, kind: ColumnType) -> exp.Expression:
    """The value as a plan reads it: times without a zone, whatever PostgreSQL has made of them."""
    return exp.Cast(this=value, to=exp.DataType(this=_LOCAL)) if kind == TIMESTAMP else value


def unwrap_zone(node: exp.Expression) -> exp.Expression:
    """The local time in what `add_zone` made; anything else as it is."""
    made = isinstance(node, exp.Cast) and node.args["to"].this == _TO
    return node.this if made else node
