"""What operands of operators and functions must be: comparable, numbers, texts, or of a type that can be cast."""

from gateway.binding import constants
from gateway.catalog.types import ColumnType, Family
from gateway.errors import Code, SyntaxRefused, UnsupportedSql
from gateway.plan.fields import BOOLEAN, DATE, TEXT, TIMESTAMP, common_type, is_number, plain
from gateway.plan.scalars import Call, Cast, Literal, Scalar


def compare(operator: str, left: Scalar, right: Scalar) -> Scalar:
    """A comparison of two values that can be compared."""
    if common_type(plain(left.type), plain(right.type)) is None:
        raise SyntaxRefused(
            Code.TYPE_MISMATCH,
            f"the operator `{operator}` does not accept {left.type} and {right.type}",
        )
    never = operator.endswith("distinct from")
    nullable = not never and (left.nullable or right.nullable)
    return Call(operator, (left, right), BOOLEAN, nullable)


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


def check_cast(of: ColumnType, to: ColumnType) -> None:
    """Refuse a cast that engines do not agree on, or that may raise for a row."""
    number, text = is_number(of), of.family is Family.TEXT
    fine = (
        (number and (is_number(to) or to.family is Family.TEXT))
        or (text and (to.family is Family.TEXT or is_number(to) or to == DATE))
        or (of.family is Family.BOOLEAN and to.kind.value in {"integer", "text"})
        or ({of, to} <= {DATE, TIMESTAMP})
        or (of == DATE and to.family is Family.TEXT)
    )
    if not fine:
        raise UnsupportedSql(Code.CLAUSE_UNSUPPORTED, f"a cast from {of} to {to} is not supported")
