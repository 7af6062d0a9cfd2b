"""What operands of operators and functions must be: comparable, numbers, texts, or of a type that can be cast."""

from collections.abc import Sequence
from typing import Final, Protocol

from sqlglot import exp

from gateway.binding import clocks, constants
from gateway.catalog.types import ColumnType, Family, Kind
from gateway.errors import Code, SyntaxRefused, UnsupportedSql
from gateway.functions.conditions import CHOICES
from gateway.plan.fields import (
    BOOLEAN,
    DATE,
    TEXT,
    TIMESTAMP,
    TIMESTAMPTZ,
    common_type,
    is_number,
    plain,
)
from gateway.plan.scalars import Call, Case, Cast, Literal, Ref, Scalar

_WRITTEN_ALIKE: Final = frozenset({Family.TEXT, Family.WHOLE, Family.BOOLEAN, Family.DATE})

_CHOSEN: Final = frozenset(one.name for one in CHOICES)


class Binding(Protocol):
    """Binds the arguments of a call."""

    def bind(self, node: exp.Expression) -> Scalar: ...

    def together(self, nodes: Sequence[exp.Expression]) -> list[Scalar]: ...

    @property
    def zone(self) -> str:
        """The session's time zone."""
        ...


def compare(operator: str, left: Scalar, right: Scalar) -> Scalar:
    """A comparison of two values that can be compared."""
    if common_type(plain(left.type), plain(right.type)) is None:
        raise SyntaxRefused(
            Code.TYPE_MISMATCH,
            f"the operator `{operator}` does not accept {left.type} and {right.type}",
        )
    never = operator.endswith("distinct from")
    parts = clocks.without_clock(operator, (left, right))
    nullable = not never and any(one.nullable for one in parts)
    return Call(operator, parts, BOOLEAN, nullable)


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


def type_beside(typed: Sequence[Scalar]) -> ColumnType:
    """The type that a constant without one takes beside these values.

    `character` where all of them are: the blanks at the end of such a constant do not count.
    """
    if not typed:
        return TEXT
    if all(map(_is_padded, typed)):
        return ColumnType(Kind.CHAR)
    kind = typed[0].type
    for one in typed[1:]:
        kind = common_type(plain(kind), plain(one.type)) or kind
    return plain(kind)


def _is_padded(scalar: Scalar) -> bool:
    """Whether it is a `char(n)` to PostgreSQL, which compares it without the blanks at the end of both sides."""
    match scalar:
        case Case():
            among = scalar.results
        case Call(function, parts) if function in _CHOSEN:
            among = parts
        case _:
            return scalar.type.kind is Kind.CHAR
    # constants beside it became one, too
    chosen = [one for one in among if not isinstance(one, Literal)]
    return bool(chosen) and all(map(_is_padded, chosen))


def join_texts(left: Scalar, right: Scalar) -> tuple[Scalar, Scalar]:
    """The operands of `||`: beside a text other values are written as texts."""
    texts = [one.type.family is Family.TEXT for one in (left, right)]
    if not any(texts):
        return require_text(left), require_text(right)
    return as_text(left), as_text(right)


def as_text(scalar: Scalar) -> Scalar:
    """The value as PostgreSQL writes it beside a text."""
    kind = scalar.type
    if kind.family is Family.TEXT:
        return scalar
    if kind.family not in {Family.WHOLE, Family.EXACT, Family.DATE, Family.BOOLEAN}:
        return require_text(scalar)
    if isinstance(scalar, Literal) and (same := constants.cast_literal(scalar, TEXT)) is not None:
        return same
    check_cast(kind, TEXT)
    return Cast(scalar, TEXT)


def document_text(value: Scalar) -> Scalar:
    """A value of a document, as `->>` gives it."""
    of = value.type
    if of == TEXT:
        return value
    if of.family in _WRITTEN_ALIKE or (of.family is Family.EXACT and of.scale is not None):
        return Cast(value, TEXT)
    raise UnsupportedSql(
        Code.CLAUSE_UNSUPPORTED,
        f"this value of a document is read as {of}, and not as a text",
        f"cast it: (… ->> 'key')::{of}",
    )


def read_as(value: Scalar, to: ColumnType) -> Scalar:
    """A value of a document that is cast to a type: what the policy reads, or the text of it."""
    alike = value.type.family is to.family or (is_number(value.type) and is_number(to))
    return value if alike else document_text(value)


def check_cast(of: ColumnType, to: ColumnType) -> None:
    """Refuse a cast that engines do not agree on, or that may raise for a row."""
    number, text = is_number(of), of.family is Family.TEXT
    fine = (
        (number and (is_number(to) or to.family is Family.TEXT))
        or (text and (to.family is Family.TEXT or is_number(to) or to == DATE))
        or (of.family is Family.BOOLEAN and to.kind.value in {"integer", "text"})
        or ({of, to} <= {DATE, TIMESTAMP, TIMESTAMPTZ})
        or (of == DATE and to.family is Family.TEXT)
    )
    if not fine:
        raise UnsupportedSql(Code.CLAUSE_UNSUPPORTED, f"a cast from {of} to {to} is not supported")


def negate(inner: Scalar) -> Scalar:
    return Call("not", (inner,), BOOLEAN, inner.nullable)


def change_sign(inner: Scalar) -> Scalar:
    if isinstance(inner, Literal) and is_number(inner.type) and inner.value is not None:
        return Literal(-inner.value, inner.type)  # type: ignore[operator]
    return Call("negate", (inner,), plain(inner.type), inner.nullable)


def as_equality(condition: Scalar) -> Scalar:
    """A null-safe comparison of columns as an equality, where one of them is never NULL and NULL is not true anyway."""
    if not isinstance(condition, Call) or condition.function != "is not distinct from":
        return condition
    if not all(isinstance(one, Ref) for one in condition.parts):
        return condition
    never = any(not one.nullable for one in condition.parts)
    return compare("=", *condition.parts) if never else condition
