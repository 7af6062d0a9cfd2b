"""Values that drivers give, as the catalog's values: exact, and alike for equal values."""

from datetime import UTC, date, datetime
from decimal import Decimal
from fractions import Fraction
from uuid import UUID

from gateway.catalog.types import ColumnType, Family, Kind
from gateway.catalog.values import Value


def value_of(given: object, of: ColumnType) -> Value | None:
    """The value of a column of this type. What is no number, such as NaN, is NULL as it is everywhere."""
    match given:
        case None:
            return None
        case bool():
            return given
        case int() | Decimal() | float():
            return _number(given, of)
        case datetime():
            aware = given if given.tzinfo is None else given.astimezone(UTC)
            return aware.replace(tzinfo=UTC) if of.kind is Kind.TIMESTAMPTZ else given
        case date() | UUID():
            return given
        case str():
            return UUID(given) if of.family is Family.UUID else given
        case _:
            raise TypeError(f"a driver gave a {type(given).__name__}")


def _number(given: float | Decimal, of: ColumnType) -> Value | None:
    if isinstance(given, Decimal) and not given.is_finite():
        return None
    if isinstance(given, float) and given - given != 0:
        return None
    exact = Fraction(given)
    return exact.numerator if of.family is Family.WHOLE and exact.denominator == 1 else exact
