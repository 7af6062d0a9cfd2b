"""Function calls over rows: names and arguments checked against the allow-list."""

import re
from collections.abc import Sequence
from types import MappingProxyType
from typing import Final, Protocol

from sqlglot import exp

from gateway.binding import constants
from gateway.binding.aggregates import AGGREGATES
from gateway.binding.functions import (
    AGED,
    EXTRACTED,
    FUNCTIONS,
    INSTEAD,
    OF_DATES,
    SAME_TYPE,
    TRUNCATED,
    Function,
)
from gateway.binding.text.identifiers import name_of_function
from gateway.catalog.types import ColumnType, Family
from gateway.errors import Code, SyntaxRefused, UnsupportedSql
from gateway.plan.scalars import Call, Cast, Literal, Moment, Scalar
from gateway.plan.types import (
    DATE,
    DOUBLE,
    NUMERIC,
    TEXT,
    TIMES,
    TIMESTAMP,
    common,
    is_number,
    plain,
)

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
_LONGEST_TEXT: Final = 1_000
_LARGEST_PLACE: Final = 10_000
_LARGEST_POWER: Final = 16


class Binding(Protocol):
    """Binds the arguments of a call."""

    def bind(self, node: exp.Expression) -> Scalar: ...

    def together(self, nodes: Sequence[exp.Expression]) -> list[Scalar]: ...


def invoke(  # noqa: PLR0911 - one answer for each function with a reading of its own
    name: str, arguments: list[exp.Expression], binding: Binding
) -> Scalar:
    """A call by name."""
    if name in {"now", "transaction_timestamp"} and not arguments:
        # compared with times without a zone: PostgreSQL converts those by the session's zone, which
        # comes to the same as taking the moment's local time
        return Moment("localtimestamp", TIMESTAMP)
    if name == "date_trunc":
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
        return Cast(extract(part.lower(), arguments[1], binding), DOUBLE)
    if name in AGGREGATES:
        raise SyntaxRefused(Code.NOT_GROUPED, f"the aggregate `{name}` is not allowed here")
    if name not in FUNCTIONS:
        raise UnsupportedSql(
            Code.FUNCTION_UNSUPPORTED,
            f"`{name[:40]}` is not supported over protected rows",
            INSTEAD.get(name, "apply it to the result of the aggregate"),
        )
    if name in SAME_TYPE:
        return call(name, binding.together(arguments))
    return call(name, [binding.bind(one) for one in arguments])


def call(name: str, arguments: list[Scalar]) -> Scalar:
    """A call of the allow-list with arguments that are bound."""
    function = FUNCTIONS[name]
    if not function.least <= len(arguments) <= function.most:
        raise SyntaxRefused(
            Code.TYPE_MISMATCH, f"`{name}` does not accept {len(arguments)} arguments"
        )
    for place, argument in enumerate(arguments):
        _check_argument(name, function, place, argument)
    types = tuple(argument.type for argument in arguments)
    if name in SAME_TYPE:
        _check_same(name, types)
    if name in {"round", "trunc"} and len(types) > 1 and types[0].family is Family.FLOAT:
        raise SyntaxRefused(
            Code.TYPE_MISMATCH,
            f"`{name}` does not accept {types[0]} together with a number of digits",
            "cast the value to numeric",
        )
    if name == "replace" and _grows(arguments):
        raise UnsupportedSql(Code.FUNCTION_UNSUPPORTED, "`replace` must not make a text longer")
    nullable = True
    if name in {"coalesce", "greatest", "least"}:
        nullable = all(argument.nullable for argument in arguments)
    elif name in {"abs", "lower", "upper", "length", "left", "right"}:
        nullable = arguments[0].nullable
    return Call(name, tuple(arguments), function.result(types), nullable)


def extract(part: str, of: exp.Expression, binding: Binding) -> Scalar:
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
    return Call("extract", (Literal(part, TEXT), what), NUMERIC, what.nullable)


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
    return Call("age_in", (Literal(part, TEXT), later, earlier), NUMERIC)


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
    return Call("date_trunc", (Literal(part.lower(), TEXT), what), TIMESTAMP, what.nullable)


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
    return constants.typed(texts[0], DATE if name == "to_date" else TIMESTAMP)


def _date(argument: exp.Expression, binding: Binding) -> Scalar:
    """`date(x)` is a cast that is written as a call."""
    text = constants.bare_string(argument)
    what = binding.bind(argument) if text is None else constants.typed(text, DATE)
    if what.type not in {DATE, TIMESTAMP}:
        raise SyntaxRefused(Code.TYPE_MISMATCH, f"`date` does not accept {what.type}")
    return what if what.type == DATE else Cast(what, DATE)


def _check_argument(name: str, function: Function, place: int, argument: Scalar) -> None:
    allowed = function.arguments[min(place, len(function.arguments) - 1)]
    if argument.type.family not in allowed:
        raise SyntaxRefused(Code.TYPE_MISMATCH, f"`{name}` does not accept {argument.type}")
    if place not in function.literal:
        return
    if not isinstance(argument, Literal) or argument.value is None:
        raise UnsupportedSql(
            Code.FUNCTION_UNSUPPORTED, f"argument {place + 1} of `{name}` must be a constant"
        )
    value = argument.value
    if isinstance(value, str) and len(value) > _LONGEST_TEXT:
        raise UnsupportedSql(Code.FUNCTION_UNSUPPORTED, f"a text argument of `{name}` is too long")
    whole = argument.type.family is Family.WHOLE
    small = isinstance(value, int) and 0 <= value <= _LARGEST_PLACE
    if whole and not small and name not in {"round", "power", "width_bucket"}:
        raise UnsupportedSql(
            Code.FUNCTION_UNSUPPORTED, f"`{name}` does not accept the number {value}"
        )
    if name == "power" and not -_LARGEST_POWER <= value <= _LARGEST_POWER:  # type: ignore[operator]
        raise UnsupportedSql(
            Code.FUNCTION_UNSUPPORTED, f"the exponent of `power` is larger than {_LARGEST_POWER}"
        )


def _check_same(name: str, types: tuple[ColumnType, ...]) -> None:
    for other in types[1:]:
        if common(plain(types[0]), plain(other)) is None:
            raise SyntaxRefused(
                Code.TYPE_MISMATCH, f"`{name}` does not accept {types[0]} together with {other}"
            )


def _grows(arguments: list[Scalar]) -> bool:
    """A text that grows at every step could be made to fill the source's memory."""
    old, new = arguments[1], arguments[2]
    if not isinstance(old, Literal) or not isinstance(new, Literal):
        return True
    return len(str(new.value)) > len(str(old.value))


def numbers_only(scalar: Scalar) -> Scalar:
    if not is_number(scalar.type):
        raise SyntaxRefused(Code.TYPE_MISMATCH, f"arithmetic does not accept {scalar.type}")
    return scalar


def text_only(scalar: Scalar) -> Scalar:
    if scalar.type.family is not Family.TEXT:
        raise SyntaxRefused(
            Code.TYPE_MISMATCH, f"a text is expected, not {scalar.type}", "cast the value to text"
        )
    return scalar
