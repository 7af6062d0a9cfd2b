"""Released values as PostgreSQL writes them: texts that the twin casts to the types of the result.

INVARIANT: every text is one that PostgreSQL reads as a value of the type, whatever the noise was: an integer
beyond the type's end is moved to that end.
"""

from collections.abc import Callable
from datetime import date, datetime
from decimal import Context, Decimal
from fractions import Fraction
from typing import Final

from gateway.catalog.types import ColumnType, Family
from gateway.catalog.values import Value
from gateway.noise.noisy import NoisyTable
from gateway.plan.text import decimal
from gateway.sensitivity.formula import Formula

_DIGITS: Final = 15
_ROUNDED: Final = Context(prec=_DIGITS)
_LARGEST: Final = Fraction(10) ** 300


def key_text(value: Value | None) -> str | None:
    """A key value."""
    if value is None:
        return None
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, datetime):
        return value.isoformat(sep=" ")
    if isinstance(value, date):
        return value.isoformat()
    if isinstance(value, Fraction):
        return decimal(value)
    return str(value)


def cell_text(value: Value | None) -> str | None:
    """A value that is public: exactly, where that is a decimal number."""
    if isinstance(value, Fraction) and not _is_decimal(value):
        return number_text(value)
    return key_text(value)


def _is_decimal(value: Fraction) -> bool:
    rest = value.denominator
    for prime in (2, 5):
        while rest % prime == 0:
            rest //= prime
    return rest == 1


def column_texts(table: NoisyTable, formula: Formula, of: ColumnType) -> list[str]:
    """The aggregate of each group, in its domain."""
    write = _writer(of)
    rows = zip(*table.measured, strict=True)
    return [write(formula.clamped(row)) for row in rows]


def _writer(of: ColumnType) -> Callable[[Fraction], str]:
    if of.family is Family.WHOLE:
        return lambda value: str(_whole(value, of))
    if of.family is Family.EXACT:
        return number_text
    return lambda value: repr(float(max(-_LARGEST, min(_LARGEST, value))))


def _whole(value: Fraction, of: ColumnType) -> int:
    bound = of.bound
    nearest = round(value)
    if bound is None:
        return nearest
    return int(max(-bound, min(bound - 1, Fraction(nearest))))


def number_text(value: Fraction) -> str:
    """A decimal number: exactly where it has few digits, else 15 of them."""
    rounded = _ROUNDED.divide(Decimal(value.numerator), Decimal(value.denominator))
    exact = Fraction(rounded) == value
    return format(rounded.normalize() if exact else rounded, "f")
