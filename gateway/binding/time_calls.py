"""Calls of functions of dates and times whose arguments have a reading of their own: a field, a zone, a format.

Takes the arguments of a call as they are written. Gives the expression, or nothing where no reading fits their number:
then the call is one of no function that is known.
"""

import re
from collections.abc import Callable, Mapping
from dataclasses import replace
from datetime import UTC, date, datetime, timedelta
from functools import partial
from types import MappingProxyType
from typing import Final, TypeAlias

from sqlglot import exp

from gateway.binding import clocks, constants
from gateway.binding.operands import Binding
from gateway.binding.text.dialect import name_of_function
from gateway.binding.time_arithmetic import bind_part_of_difference
from gateway.catalog.zones import UTC_NAME
from gateway.errors import Code, SyntaxRefused, UnsupportedSql
from gateway.functions.calendar import DAY, microseconds_of
from gateway.functions.exact_values import timestamp
from gateway.functions.table import function_of
from gateway.functions.time_bins import DATE_BIN, LONGEST, call_date_bin
from gateway.functions.times import (
    AGED,
    DATE_TRUNC,
    EXTRACTED,
    OF_DATES,
    TRUNCATED,
    call_age,
    call_date_trunc,
    call_extract,
)
from gateway.plan.fields import BIGINT, DATE, DOUBLE, TIMES, TIMESTAMP, TIMESTAMPTZ
from gateway.plan.scalars import Call, Cast, Literal, Moment, Scalar

_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
_LATEST: Final = 4_102_444_800  # 2100 begins
_DAY: Final = "[0-9]{4}-[0-9]{2}-[0-9]{2}"
_SPELLINGS: Final = MappingProxyType(
    {
        ("to_date", "YYYY-MM-DD"): re.compile(_DAY),
        ("to_timestamp", "YYYY-MM-DD"): re.compile(_DAY),
        ("to_timestamp", "YYYY-MM-DD HH24:MI:SS"): re.compile(f"{_DAY} [0-9:]{{8}}"),
        ("to_timestamp", "YYYY-MM-DD HH24:MI:SS.US"): re.compile(
            rf"{_DAY} [0-9:]{{8}}\.[0-9]{{6}}"
        ),
    }
)


def bind_extract(part: str, of: exp.Expression, binding: Binding) -> Scalar:
    """A part of a date or timestamp, or of the age between two."""
    inner = of
    while isinstance(inner, exp.Paren):
        inner = inner.this
    if isinstance(inner, exp.Anonymous) and name_of_function(inner) == "age":
        return _age(part, inner.expressions, binding)
    difference = bind_part_of_difference(part, inner, binding)
    if difference is not None:
        return difference
    what = binding.bind(of)
    if what.type == TIMESTAMPTZ:
        # how many seconds have passed since a moment is no question to a clock
        what = clocks.local_time(
            what, UTC_NAME if part == "epoch" and not isinstance(what, Moment) else binding.zone
        )
    if part not in EXTRACTED:
        raise UnsupportedSql(
            Code.FUNCTION_UNSUPPORTED, f"`extract` does not support the field `{part[:20]}`"
        )
    if what.type not in {DATE, TIMESTAMP}:
        raise SyntaxRefused(Code.TYPE_MISMATCH, f"`extract` does not accept {what.type}")
    if what.type == DATE and part not in OF_DATES:
        raise SyntaxRefused(Code.TYPE_MISMATCH, f"`extract` cannot take `{part}` from a date")
    return call_extract(part, what)


def _age(part: str, arguments: list[exp.Expression], binding: Binding) -> Scalar:
    if len(arguments) == 1:
        arguments = [exp.CurrentDate(), *arguments]
    if part not in AGED or len(arguments) != 2:  # noqa: PLR2004 - from and to
        raise UnsupportedSql(
            Code.FUNCTION_UNSUPPORTED,
            "this form of `age` is not supported",
            "write extract(year from age(later, earlier))",
        )
    later, earlier = (clocks.local_time(one, binding.zone) for one in binding.together(arguments))
    for one in (later, earlier):
        if one.type not in {DATE, TIMESTAMP}:
            raise SyntaxRefused(Code.TYPE_MISMATCH, f"`age` does not accept {one.type}")
    return call_age(part, later, earlier)


def _truncated(arguments: list[exp.Expression], binding: Binding) -> Scalar:
    if len(arguments) not in {2, 3}:
        raise UnsupportedSql(
            Code.FUNCTION_UNSUPPORTED, "this form of `date_trunc` is not supported"
        )
    part = constants.string(arguments[0])
    if part is None or part.lower() not in TRUNCATED:
        raise UnsupportedSql(Code.FUNCTION_UNSUPPORTED, "`date_trunc` does not support this field")
    _, time, *named = arguments
    what = _typed_moment(time, binding) if named else binding.bind(time)
    zone = clocks.named_zone(named[0]) if named else binding.zone
    if named and what.type in {DATE, TIMESTAMP}:
        what = clocks.moment(what, binding.zone)
    if what.type == TIMESTAMPTZ:
        return clocks.truncate(part.lower(), what, zone, binding.zone)
    if what.type.family not in TIMES or what.type not in {DATE, TIMESTAMP}:
        raise SyntaxRefused(Code.TYPE_MISMATCH, f"`date_trunc` does not accept {what.type}")
    # of a date PostgreSQL gives a timestamptz by the session's time zone; the twin casts it there
    return call_date_trunc(part.lower(), what)


def _binned(arguments: list[exp.Expression], binding: Binding) -> Scalar:
    if len(arguments) != 3:  # noqa: PLR2004 - length, time, origin
        raise SyntaxRefused(
            Code.TYPE_MISMATCH, f"`date_bin` does not accept {len(arguments)} arguments"
        )
    stride, time, origin = arguments
    length = _length(stride)
    given = _typed_moment(time, binding)
    if given.type not in {DATE, TIMESTAMP, TIMESTAMPTZ}:
        raise SyntaxRefused(Code.TYPE_MISMATCH, f"`date_bin` does not accept {given.type}")
    text = constants.untyped_text(origin)
    if text is None:
        place = binding.bind(origin)
    else:
        kind = TIMESTAMP if given.type == TIMESTAMP else TIMESTAMPTZ
        place = constants.literal(text, kind, binding.zone)
    # PostgreSQL prefers times with a zone, if no argument is a timestamp
    kinds = {given.type, place.type}
    if TIMESTAMPTZ in kinds or TIMESTAMP not in kinds:
        given, place = (clocks.moment(one, binding.zone) for one in (given, place))
    elif given.type == DATE:
        given = Cast(given, TIMESTAMP)
    if not isinstance(place, Literal) or not isinstance(place.value, date):
        raise UnsupportedSql(
            Code.FUNCTION_UNSUPPORTED,
            "the origin of `date_bin` must be a constant",
            "write a constant, as in date_bin('15 minutes', at, TIMESTAMP '2000-01-01')",
        )
    return call_date_bin(length, given, microseconds_of(timestamp(place.value)))


def _length(node: exp.Expression) -> int:
    """The length of the bins in microseconds."""
    text = constants.untyped_text(node)
    by = constants.span(node) if text is None else constants.parse_interval(text)
    if by is None:
        raise UnsupportedSql(
            Code.FUNCTION_UNSUPPORTED,
            "the interval of `date_bin` must be a constant",
            "write a constant, as in date_bin('15 minutes', at, TIMESTAMP '2000-01-01')",
        )
    if by.months:
        raise UnsupportedSql(
            Code.FUNCTION_UNSUPPORTED,
            "`date_bin` does not accept months or years",
            "write days or hours, or date_trunc('month', at)",
        )
    length = by.days * DAY + by.microseconds
    if not 0 < length <= LONGEST:
        raise UnsupportedSql(
            Code.FUNCTION_UNSUPPORTED,
            f"`date_bin` needs an interval above 0 and of at most {LONGEST // DAY} days",
            "write a positive interval, as in date_bin('15 minutes', at, TIMESTAMP '2000-01-01')",
        )
    return length


def as_local(what: Scalar) -> Scalar:
    """The value cast to its own type: where PostgreSQL casts what it truncates of a date, the result has no zone."""
    looked = function_of(what).time_part if isinstance(what, Call) else None
    if not isinstance(what, Call) or looked is None or not looked.is_zoned:
        return what
    part, time = what.parts
    return replace(what, parts=(part, Cast(time, TIMESTAMP))) if time.type == DATE else what


def bind_zone(named: exp.Expression, of: exp.Expression, binding: Binding) -> Scalar:
    """AT TIME ZONE."""
    return clocks.at_time_zone(_typed_moment(of, binding), clocks.named_zone(named), binding.zone)


def _typed_moment(node: exp.Expression, binding: Binding) -> Scalar:
    """The expression; a text without a type is a time with a zone, as PostgreSQL prefers."""
    text = constants.untyped_text(node)
    return (
        binding.bind(node) if text is None else constants.literal(text, TIMESTAMPTZ, binding.zone)
    )


def _read(name: str, arguments: list[exp.Expression], binding: Binding) -> Scalar:
    """A date or a moment that is written out; as tools write the ends of a period."""
    if name == "to_timestamp" and len(arguments) == 1 and (at := _epoch(arguments[0])) is not None:
        return constants.literal(at, TIMESTAMPTZ, binding.zone)
    texts = [constants.string(one) or "" for one in arguments]
    spelling = _SPELLINGS.get((name, texts[1])) if len(texts) == 2 else None  # noqa: PLR2004
    if spelling is None or spelling.fullmatch(texts[0]) is None:
        raise UnsupportedSql(
            Code.FUNCTION_UNSUPPORTED,
            f"this form of `{name}` is not supported",
            "write TIMESTAMP '2024-01-31 12:00:00'",
        )
    return constants.literal(texts[0], DATE if name == "to_date" else TIMESTAMPTZ, binding.zone)


def _epoch(node: exp.Expression) -> str | None:
    """The moment so many whole seconds after 1970 began, if a number of this century or the last is written."""
    if not isinstance(node, exp.Literal) or node.is_string or not node.this.isdecimal():
        return None
    seconds = int(node.this)
    return None if seconds > _LATEST else str(_EPOCH + timedelta(seconds=seconds))


def _now(arguments: list[exp.Expression], _: Binding) -> Scalar | None:
    return None if arguments else Moment("current_timestamp", TIMESTAMPTZ)


def _zone(arguments: list[exp.Expression], binding: Binding) -> Scalar | None:
    if len(arguments) != 2:  # noqa: PLR2004 - zone and time
        return None
    return bind_zone(arguments[0], arguments[1], binding)


def _date_part(arguments: list[exp.Expression], binding: Binding) -> Scalar | None:
    if len(arguments) != 2:  # noqa: PLR2004 - field and source
        return None
    part = constants.string(arguments[0])
    if part is None:
        raise UnsupportedSql(
            Code.FUNCTION_UNSUPPORTED, "the field of `date_part` must be a constant"
        )
    found = bind_extract(part.lower(), arguments[1], binding)
    is_whole = isinstance(found, Cast) and found.what.type == BIGINT
    return Cast(found.what if is_whole and isinstance(found, Cast) else found, DOUBLE)


def _date(arguments: list[exp.Expression], binding: Binding) -> Scalar | None:
    """`date(x)` is a cast that is written as a call."""
    if len(arguments) != 1:
        return None
    argument = arguments[0]
    text = constants.untyped_text(argument)
    what = binding.bind(argument) if text is None else constants.literal(text, DATE)
    what = clocks.local_time(what, binding.zone)
    if what.type not in {DATE, TIMESTAMP}:
        raise SyntaxRefused(Code.TYPE_MISMATCH, f"`date` does not accept {what.type}")
    return what if what.type == DATE else Cast(what, DATE)


TimeCall: TypeAlias = Callable[[list[exp.Expression], Binding], Scalar | None]

TIME_CALLS: Final[Mapping[str, TimeCall]] = MappingProxyType(
    {
        "now": _now,
        "transaction_timestamp": _now,
        DATE_BIN.name: _binned,
        DATE_TRUNC.name: _truncated,
        "to_timestamp": partial(_read, "to_timestamp"),
        "to_date": partial(_read, "to_date"),
        "timezone": _zone,
        "date": _date,
        "date_part": _date_part,
    }
)
