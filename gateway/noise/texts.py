"""Released values as PostgreSQL writes them: texts that the twin casts to the types of the result.

INVARIANT: every text is one that PostgreSQL reads as a value of the type, whatever the noise was: what is
beyond the type's end is moved to that end, and what is too small for a `real` is 0. A text that did not read
would be an error that depends on the noise.
"""

from collections.abc import Callable
from datetime import date, datetime
from decimal import Context, Decimal
from fractions import Fraction
from typing import Final

from gateway.catalog.types import ColumnType, Family, Kind
from gateway.catalog.values import Value
from gateway.noise.noisy import NoisyTable
from gateway.plan.text import decimal
from gateway.sensitivity.formula import Formula

_DIGITS: Final = 15
_ROUNDED: Final = Context(prec=_DIGITS)
_LARGEST: Final = Fraction(10) ** 300
_LARGEST_REAL: Final = Fraction(10) ** 38
_SMALLEST_REAL: Final = Fraction(1, 10**37)


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
        return lambda value: number_text(_exact(value, of))
    if of.kind is Kind.REAL:
        return lambda value: repr(float(_real(value)))
    return lambda value: repr(float(_within(value, _LARGEST)) + 0.0)  # so that there is no -0


def _exact(value: Fraction, of: ColumnType) -> Fraction:
    """As many digits as the type has, where it says how many."""
    bound, step = of.bound, of.resolution
    if bound is None or step is None:
        return value
    return _within(round(value / step) * step, bound - step)


def _real(value: Fraction) -> Fraction:
    """PostgreSQL refuses a `real` that is too small, where a `double precision` becomes 0."""
    return Fraction(0) if abs(value) < _SMALLEST_REAL else _within(value, _LARGEST_REAL)


def _within(value: Fraction, most: Fraction) -> Fraction:
    return max(-most, min(most, value))


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
