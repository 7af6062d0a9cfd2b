"""Expressions as text: PostgreSQL's own words, fully bracketed, so that what is printed binds again.

INVARIANT: binding the text of an expression among the same columns gives the same text again.
"""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from datetime import date, datetime
from fractions import Fraction
from types import MappingProxyType
from typing import Final
from uuid import UUID

from gateway.catalog.types import ColumnType
from gateway.catalog.values import Value
from gateway.plan.fields import BIGINT, INTEGER, NUMERIC
from gateway.plan.scalars import (
    Call,
    Case,
    Cast,
    Literal,
    Moment,
    Ref,
    Scalar,
    Shift,
    StagedMember,
    StagedValue,
)

_INFIX = frozenset(
    {"+", "-", "*", "/", "%", "=", "<>", "<", "<=", ">", ">=", "and", "or", "||", "^"}
    | {"like", "ilike", "not like", "not ilike", "is distinct from", "is not distinct from"}
)
_AFTER = frozenset(
    {"is null", "is not null", "is true", "is false", "is not true", "is not false", "is unknown"}
    | {"is not unknown"}
)


_KEPT: Final[ContextVar[dict[int, tuple[Scalar, str]] | None]] = ContextVar("texts", default=None)
"""The texts of expressions by their ids; an expression is kept beside its text, so that its id stays its own."""


@contextmanager
def keep_texts() -> Iterator[None]:
    """Within the block the text of each expression is written once: nested expressions have common parts."""
    if _KEPT.get() is not None:
        yield
        return
    token = _KEPT.set({})
    try:
        yield
    finally:
        _KEPT.reset(token)


def scalar_sql(scalar: Scalar) -> str:
    """The expression as SQL; column ids stand where columns stood."""
    if isinstance(scalar, Ref):
        return scalar.field.id
    kept = _KEPT.get()
    if kept is None:
        return _written(scalar)
    known = kept.get(id(scalar))
    if known is None:
        known = kept[id(scalar)] = scalar, _written(scalar)
    return known[1]


def _written(scalar: Scalar) -> str:  # noqa: PLR0911 - one answer for each kind of expression
    match scalar:
        case Ref(field):
            return field.id
        case Literal(value, kind):
            return literal_sql(value, kind)
        case Moment(function):
            return function
        case Call(function, parts):
            return _call(function, parts)
        case Shift():
            return _shift(scalar)
        case Cast(what, kind):
            return f"cast({scalar_sql(what)} as {kind})"
        case Case(branches, otherwise):
            whens = " ".join(
                f"when {scalar_sql(when)} then {scalar_sql(then)}" for when, then in branches
            )
            return f"case {whens} else {scalar_sql(otherwise)} end"
        case StagedValue(constant):
            return f"value_of({constant})"
        case StagedMember(what, constant):
            return f"({scalar_sql(what)} in {constant})"


def _call(function: str, parts: tuple[Scalar, ...]) -> str:
    inner = [scalar_sql(part) for part in parts]
    if function == "^":
        # a sign binds tighter than a power in PostgreSQL and weaker elsewhere
        inner = [f"({one})" if one.startswith("-") else one for one in inner]
    if function in _INFIX:
        return "(" + f" {function} ".join(inner) + ")"
    if function in _AFTER:
        return f"({inner[0]} {function})"
    if function in _SHAPED:
        return _SHAPED[function](inner)
    return f"{function}({', '.join(inner)})"


_SHAPED: MappingProxyType[str, Callable[[list[str]], str]] = MappingProxyType(
    {
        "not": lambda inner: f"(not {inner[0]})",
        "negate": lambda inner: f"(- {inner[0]})",
        "in": lambda inner: f"({inner[0]} in ({', '.join(inner[1:])}))",
        "extract": lambda inner: f"extract({inner[0][1:-1]} from {inner[1]})",
        "age_in": lambda inner: f"extract({inner[0][1:-1]} from age({inner[1]}, {inner[2]}))",
        "position": lambda inner: f"position({inner[0]} in {inner[1]})",
    }
)


def _shift(shift: Shift) -> str:
    return (
        f"({scalar_sql(shift.moved)} + interval '{shift.months} months {shift.days} days"
        f" {shift.microseconds} microseconds')"
    )


def text_literal(text: str) -> str:
    """A text as a literal that stands for exactly it, where `standard_conforming_strings` is on."""
    return "'" + text.replace("'", "''") + "'"


def literal_sql(value: Value | None, kind: ColumnType) -> str:  # noqa: PLR0911 - one for each type
    """A constant as SQL, exactly."""
    if value is None:
        return f"cast(null as {kind})"
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int | Fraction):
        digits = decimal_sql(Fraction(value))
        return digits if kind == _type_of(digits) else f"cast({digits} as {kind})"
    if isinstance(value, datetime):
        return f"cast('{value.isoformat(sep=' ')}' as {kind})"
    if isinstance(value, date):
        return f"cast('{value.isoformat()}' as date)"
    if isinstance(value, UUID):
        return f"cast('{value}' as uuid)"
    return text_literal(value)


def _type_of(digits: str) -> ColumnType:
    """The type that PostgreSQL gives to a number by itself; the sign is an operator."""
    size = digits.removeprefix("-")
    if "." in size or int(size) >= 2**63:
        return NUMERIC
    return INTEGER if int(size) < 2**31 else BIGINT


def is_decimal(value: Fraction) -> bool:
    """Whether its decimal digits have an end."""
    rest = value.denominator
    for prime in (2, 5):
        while rest % prime == 0:
            rest //= prime
    return rest == 1


def decimal_sql(value: Fraction) -> str:
    """A decimal number, exactly; every literal of SQL is one."""
    sign, value = ("-", -value) if value < 0 else ("", value)
    places, rest = 0, value.denominator
    while rest % 10 == 0:
        places, rest = places + 1, rest // 10
    twos = fives = 0
    while rest % 2 == 0:
        twos, rest = twos + 1, rest // 2
    while rest % 5 == 0:
        fives, rest = fives + 1, rest // 5
    if rest != 1:
        raise ValueError("not a decimal number")
    places += max(twos, fives)
    digits = str(value.numerator * 10**places // value.denominator).rjust(places + 1, "0")
    return sign + (digits if not places else f"{digits[:-places]}.{digits[-places:]}")
