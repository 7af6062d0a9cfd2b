"""One part of a release: the rows of some persons, so that parts can be asked for at the same time.

INVARIANT: a person is in exactly one part, whatever table its rows are in. The hash sees the unit alone, in one
form for all types that the units of one dataset have, and units that are equal have equal hashes.
"""

from typing import Final, TypeAlias

from sqlalchemy import BigInteger, Text, cast, func, literal_column

from gateway.catalog.types import ColumnType, Family
from gateway.engines.sql.partial_select import Dialect, Sql
from gateway.engines.sql.pieces import binary, infix
from gateway.plan.node import BrokenPlan

Part: TypeAlias = tuple[int, int]
"""Which one, from 0, and of how many."""

_WHOLE: Final = BigInteger()
# PostgreSQL's own, which hash what is equal alike
_HASHES: Final = {Family.WHOLE: "hashint8", Family.TEXT: "hashtext", Family.UUID: "uuid_hash"}


def is_in_shard(dialect: Dialect, unit: Sql, of: ColumnType, part: Part) -> Sql:
    """Whether a row belongs to a person of this part."""
    number, many = part
    if not 0 <= number < many:
        raise BrokenPlan("a part that is none of its parts")
    found: Sql = infix(_hashed(dialect, unit, of), "%", _number(many), _WHOLE) == _number(number)
    return found


def _hashed(dialect: Dialect, unit: Sql, of: ColumnType) -> Sql:
    """A whole number that is not negative."""
    alike = unit
    if of.family is Family.WHOLE:
        alike = cast(unit, _WHOLE)
    elif of.family is Family.TEXT:
        alike = binary(cast(unit, Text()))
    if dialect == "duckdb":
        return func.hash(alike)
    if of.family not in _HASHES:
        raise BrokenPlan("a unit of a type that no unit has")
    made: Sql = getattr(func, _HASHES[of.family])(alike)
    return infix(made, "&", _number(2**31 - 1), _WHOLE)


def _number(value: int) -> Sql:
    return literal_column(str(value), _WHOLE)
