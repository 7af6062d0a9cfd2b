"""Expressions of a few kinds over columns that are whole numbers, texts and floats; enough to run releases."""

from collections.abc import Callable, Mapping
from fractions import Fraction
from operator import add, and_, eq, ge, gt, le, lt, mul, ne, or_, sub
from typing import Any

from sqlalchemy import BigInteger, Double, Numeric, case, cast, func, literal, null, type_coerce

from gateway.catalog.domains import Interval
from gateway.catalog.tables import Column, Table
from gateway.catalog.types import Family
from gateway.engines.sql.partial_select import Dialect, Expressions, Sql
from gateway.functions.range_arithmetic import Range
from gateway.plan.relations import StagedRows
from gateway.plan.scalars import Call, Literal, Ref, Scalar
from gateway.sensitivity.measurement import Total

_OPERATORS: dict[str, Callable[[Any, Any], Any]] = {
    "=": eq,
    "<>": ne,
    "<": lt,
    "<=": le,
    ">": gt,
    ">=": ge,
    "+": add,
    "-": sub,
    "*": mul,
    "and": and_,
    "or": or_,
}


class _Over:
    def __init__(self, columns: Mapping[str, Sql]) -> None:
        self._columns = columns

    def sql(self, scalar: Scalar) -> Sql:
        match scalar:
            case Ref(field):
                return self._columns[field.id]
            case Literal(None):
                return null()
            case Literal(value):
                return (
                    type_coerce(literal(value), BigInteger())
                    if type(value) is int
                    else literal(value)
                )
            case Call(function, (one, other)):
                made: Sql = _OPERATORS[function](self.sql(one), self.sql(other))
                return made
            case _:
                raise AssertionError("a kind of expression that these tests do not need")

    def lattice(self, total: Total) -> Sql:
        of = total.lattice
        step = of.step.numerator / of.step.denominator
        number: Any = Double() if total.value.type.family is Family.FLOAT else Numeric(38, 6)
        here: Sql = cast(self.sql(total.value), number)
        whole = cast(func.round(here / cast(literal(step), number)), BigInteger())
        cut = func.least(func.greatest(whole, of.low), of.high)
        return _null_of(here, cut)

    def key(self, scalar: Scalar) -> Sql:
        made = self.sql(scalar)
        return made.collate("C") if scalar.type.family is Family.TEXT else made


def _null_of(here: Sql, made: Sql) -> Sql:
    return case((here.is_(None), null()), else_=made)


class PlainExpressing:
    """What relations need, for the plans of these tests."""

    def over(
        self,
        dialect: Dialect,
        columns: Mapping[str, Sql],
        ranges: Mapping[str, Range],
        staged: Mapping[str, StagedRows],
    ) -> Expressions:
        del dialect, ranges, staged
        return _Over(columns)

    def enforced(self, dialect: Dialect, table: Table, column: Column, sql: Sql) -> Sql:
        del dialect, table
        if not isinstance(column.domain, Interval):
            return sql
        ends = (column.domain.low, column.domain.high)
        low, high = (float(one) if isinstance(one, Fraction) else one for one in ends)
        return _null_of(sql, func.least(func.greatest(sql, low), high))
