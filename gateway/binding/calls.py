"""Function calls over rows: names and arguments checked against the allow-list."""

import re
from collections.abc import Sequence
from types import MappingProxyType
from typing import Final, Protocol

from sqlglot import exp

from gateway.binding import constants
from gateway.binding.aggregates import AGGREGATES
from gateway.binding.text.identifiers import name_of_function
from gateway.catalog.types import Family
from gateway.errors import Code, SyntaxRefused, UnsupportedSql
from gateway.functions.signature import check_arguments
from gateway.functions.table import SIGNATURES
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
from gateway.plan.scalars import Call, Cast, Moment, Scalar
from gateway.plan.types import DATE, DOUBLE, TIMES, TIMESTAMP, is_number

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
# Understood, but only above a release: hints say what to write instead.
INSTEAD: Final = MappingProxyType(
    {
        "to_char": "group by date_trunc or extract and format the result, or group by to_char with year and month",
        "age": "write extract(year from age(…))",
        "date_bin": "use date_trunc",
        "random": "the value of a row must depend only on the row",
        "regexp_replace": "use replace, LIKE or split_part",
    }
)


class Binding(Protocol):
    """Binds the arguments of a call."""

    def bind(self, node: exp.Expression) -> Scalar: ...

    def together(self, nodes: Sequence[exp.Expression]) -> list[Scalar]: ...


def bind_call(  # noqa: PLR0911 - one answer for each function with a reading of its own
    name: str, arguments: list[exp.Expression], binding: Binding
) -> Scalar:
    """A call by name."""
    if name in {"now", "transaction_timestamp"} and not arguments:
        # compared with times without a zone: PostgreSQL converts those by the session's zone, which
        # comes to the same as taking the moment's local time
        return Moment("localtimestamp", TIMESTAMP)
    if name == DATE_TRUNC.name:
        return _truncated(arguments, binding)
    if name in {"to_timestamp", "to_date"}:
        return _read(name, arguments)
    if name == "date" and len(arguments) == 1:
        return _date(arguments[0], binding)
    if name == "date_part" and len(arguments) == 2:  # noqa: PLR2004 - field and source
        part = constants.string(arguments[0])
        if part is None:
            raise UnsupportedSql(
                Code.FUNCTION_UNSUPPORTED, "the field of `date_part` must be a constant"
            )
        return Cast(bind_extract(part.lower(), arguments[1], binding), DOUBLE)
    if name in AGGREGATES:
        raise SyntaxRefused(Code.NOT_GROUPED, f"the aggregate `{name}` is not allowed here")
    signature = SIGNATURES.get(name)
    if signature is None:
        raise UnsupportedSql(
            Code.FUNCTION_UNSUPPORTED,
            f"`{name[:40]}` is not supported over protected rows",
            INSTEAD.get(name, "apply it to the result of the aggregate"),
        )
    if signature.same_type:
        return make_call(name, binding.together(arguments))
    return make_call(name, [binding.bind(one) for one in arguments])


def make_call(name: str, arguments: list[Scalar]) -> Scalar:
    """A call of the allow-list with arguments that are bound."""
    signature = SIGNATURES[name]
    check_arguments(name, signature, arguments)
    kind = signature.result([argument.type for argument in arguments])
    return Call(name, tuple(arguments), kind, signature.is_nullable(arguments))


def bind_extract(part: str, of: exp.Expression, binding: Binding) -> Scalar:
    """A part of a date or timestamp, or of the age between two."""
    inner = of
    while isinstance(inner, exp.Paren):
        inner = inner.this
    if isinstance(inner, exp.Anonymous) and name_of_function(inner) == "age":
        return _age(part, inner.expressions, binding)
    what = binding.bind(of)
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
    if part not in AGED or len(arguments) != 2:  # noqa: PLR2004 - from and to
        raise UnsupportedSql(
            Code.FUNCTION_UNSUPPORTED,
            "this form of `age` is not supported",
            "write extract(year from age(later, earlier))",
        )
    later, earlier = binding.together(arguments)
    for one in (later, earlier):
        if one.type not in {DATE, TIMESTAMP}:
            raise SyntaxRefused(Code.TYPE_MISMATCH, f"`age` does not accept {one.type}")
    return call_age(part, later, earlier)


def _truncated(arguments: list[exp.Expression], binding: Binding) -> Scalar:
    if len(arguments) != 2:  # noqa: PLR2004 - a third would be a time zone
        raise UnsupportedSql(
            Code.FUNCTION_UNSUPPORTED, "this form of `date_trunc` is not supported"
        )
    part = constants.string(arguments[0])
    if part is None or part.lower() not in TRUNCATED:
        raise UnsupportedSql(Code.FUNCTION_UNSUPPORTED, "`date_trunc` does not support this field")
    what = binding.bind(arguments[1])
    if what.type.family not in TIMES or what.type not in {DATE, TIMESTAMP}:
        raise SyntaxRefused(Code.TYPE_MISMATCH, f"`date_trunc` does not accept {what.type}")
    # of a date PostgreSQL gives a timestamptz by the session's time zone; the twin casts it there
    return call_date_trunc(part.lower(), what)


def _read(name: str, arguments: list[exp.Expression]) -> Scalar:
    """A date or a moment that is written out; as tools write the ends of a period."""
    texts = [constants.string(one) or "" for one in arguments]
    spelling = _SPELLINGS.get((name, texts[1])) if len(texts) == 2 else None  # noqa: PLR2004
    if spelling is None or spelling.fullmatch(texts[0]) is None:
        raise UnsupportedSql(
            Code.FUNCTION_UNSUPPORTED,
            f"this form of `{name}` is not supported",
            "write TIMESTAMP '2024-01-31 12:00:00'",
        )
    # the moment's local time, as with `now()`: the zone is the one in which it is compared
    return constants.literal(texts[0], DATE if name == "to_date" else TIMESTAMP)


def _date(argument: exp.Expression, binding: Binding) -> Scalar:
    """`date(x)` is a cast that is written as a call."""
    text = constants.untyped_text(argument)
    what = binding.bind(argument) if text is None else constants.literal(text, DATE)
    if what.type not in {DATE, TIMESTAMP}:
        raise SyntaxRefused(Code.TYPE_MISMATCH, f"`date` does not accept {what.type}")
    return what if what.type == DATE else Cast(what, DATE)


def require_number(scalar: Scalar) -> Scalar:
    if not is_number(scalar.type):
        raise SyntaxRefused(Code.TYPE_MISMATCH, f"arithmetic does not accept {scalar.type}")
    return scalar


def require_text(scalar: Scalar) -> Scalar:
    if scalar.type.family is not Family.TEXT:
        raise SyntaxRefused(
            Code.TYPE_MISMATCH, f"a text is expected, not {scalar.type}", "cast the value to text"
        )
    return scalar
