"""The types of expressions, and how PostgreSQL finds the common type of two."""

from typing import Final

from gateway.catalog.types import ColumnType, Family, Kind

INTEGER: Final = ColumnType(Kind.INTEGER)
BIGINT: Final = ColumnType(Kind.BIGINT)
NUMERIC: Final = ColumnType(Kind.NUMERIC)
DOUBLE: Final = ColumnType(Kind.DOUBLE)
TEXT: Final = ColumnType(Kind.TEXT)
BOOLEAN: Final = ColumnType(Kind.BOOLEAN)
DATE: Final = ColumnType(Kind.DATE)
TIMESTAMP: Final = ColumnType(Kind.TIMESTAMP)
TIMESTAMPTZ: Final = ColumnType(Kind.TIMESTAMPTZ)

NUMBERS: Final = frozenset({Family.WHOLE, Family.EXACT, Family.FLOAT})
TIMES: Final = frozenset({Family.DATE, Family.TIMESTAMP})

_RANK: Final = (Kind.SMALLINT, Kind.INTEGER, Kind.BIGINT, Kind.NUMERIC, Kind.REAL, Kind.DOUBLE)


def is_number(of: ColumnType) -> bool:
    return of.family in NUMBERS


def plain(of: ColumnType) -> ColumnType:
    """The type without precision and length, as the result of an operator has it."""
    return TEXT if of.family is Family.TEXT else ColumnType(of.kind)


def common_type(left: ColumnType, right: ColumnType) -> ColumnType | None:
    """The type in which both can be compared or stand in one column; None when there is none."""
    if left == right:
        return left
    if is_number(left) and is_number(right):
        return _wider(left, right)
    if left.family is right.family:
        if left.family is Family.TIMESTAMP:
            # the meaning of comparing the two kinds depends on the session's time zone
            return None
        return plain(left)
    if {left.family, right.family} == TIMES:
        stamp = left if left.family is Family.TIMESTAMP else right
        # a date becomes a timestamptz by the session's time zone
        return stamp if stamp.kind is Kind.TIMESTAMP else None
    return None


def _wider(left: ColumnType, right: ColumnType) -> ColumnType:
    if Family.FLOAT in {left.family, right.family} and left.kind is not right.kind:
        return DOUBLE
    return ColumnType(max(left.kind, right.kind, key=_RANK.index))
