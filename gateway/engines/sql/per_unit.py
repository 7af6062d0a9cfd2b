"""What is computed from all rows of one unit: exact, canonical, and within its derived range.

INVARIANT: a sum adds whole numbers of a lattice, never floats and never decimals of changing scale, and is cut
to the range that R rows can reach. No result depends on the order of rows.
"""

from collections.abc import Mapping
from fractions import Fraction
from typing import Final

from sqlalchemy import (
    BigInteger,
    Double,
    Numeric,
    Text,
    case,
    cast,
    func,
    literal_column,
    null,
    nulls_first,
    nulls_last,
    try_cast,
    type_coerce,
)

from gateway.catalog.types import ColumnType, Family
from gateway.engines.sql.partial_select import Dialect, Expressions, Sql
from gateway.engines.sql.pieces import sql_type
from gateway.errors import Code, Unbounded
from gateway.functions.range_arithmetic import Range
from gateway.plan.aggregates import ORDERED, Measure, WindowCall
from gateway.plan.fields import TEXT
from gateway.plan.node import BrokenPlan
from gateway.plan.scalars import Literal, Scalar
from gateway.plan.sql_text import decimal_sql
from gateway.ranges.lattice import person_lattice
from gateway.ranges.relations import range_of
from gateway.sensitivity.measurement import DistanceOrigin, Total

_ZERO: Final[Sql] = literal_column("0")
_ONE: Final[Sql] = literal_column("1")


def binary_key(sql: Sql, of: ColumnType) -> Sql:
    """Text whose equality and order are those of its bytes."""
    return sql.collate("C") if of.family is Family.TEXT else sql


def own_integer(value: int) -> Sql:
    """A whole number of the gateway's own: never one of an analyst."""
    return literal_column(str(value), BigInteger())


def hash_order(salt: str, parts: list[Sql]) -> Sql:
    """A fixed public order that nobody can choose: the same in every database. What ties in it, the caller orders."""
    texts = [func.coalesce(cast(one, Text()), "~") for one in parts]
    return binary_key(func.md5(func.concat_ws("|", salt, *texts)), TEXT)


def unit_aggregate(
    dialect: Dialect,
    expressions: Expressions,
    measure: Measure,
    ranges: Mapping[str, Range],
    rows: int | None,
) -> Sql:
    """One aggregate of the rows of a unit."""
    where = None if measure.where is None else expressions.sql(measure.where)

    def only(sql: Sql) -> Sql:
        return sql if where is None else case((where, sql), else_=null())

    match measure.function:
        case "count" if not measure.arguments:
            one = literal_column("1") if where is None else only(literal_column("1"))
            return _few(func.count(one), rows)
        case "count":
            value = only(expressions.key(measure.arguments[0]))
            return _few(func.count(value.distinct() if measure.distinct else value), rows)
        case "min" | "max":
            value = only(expressions.key(measure.arguments[0]))
            return func.min(value) if measure.function == "min" else func.max(value)
        case _:
            total = _total(measure.arguments[0], ranges)
            number = only(expressions.lattice(total))
            added, many = func.sum(number), func.count(number)
            return _scaled(dialect, measure, total, added, many=many, rows=rows)


def unit_window(
    dialect: Dialect,
    expressions: Expressions,
    call: WindowCall,
    ranges: Mapping[str, Range],
    rows: int | None,
    *,
    unit: Sql | None,
) -> Sql:
    """One window function over the rows of a unit, whatever its partition says; public rows have none."""
    if unit is None and call.function != "sample_number":
        raise BrokenPlan("a window over rows of nobody")
    mine = [] if unit is None else [unit]
    partition = [*mine, *(expressions.key(one) for one in call.partition)]
    order = _window_order(dialect, expressions, call, mine)
    frame = None
    if call.frame is not None and call.function not in ORDERED:
        frame = (_place(call.frame[0]), _place(call.frame[1]))

    def over_unit(sql: Sql) -> Sql:
        # a frame is of ROWS: RANGE would see ties
        made: Sql = sql.over(partition_by=partition, order_by=order or None, rows=frame)
        return made

    arguments = call.arguments
    match call.function:
        case "row_number":
            return _few(over_unit(func.row_number()), rows)
        case "sample_number":
            return over_unit(func.row_number())
        case "lag" | "lead":
            away = arguments[1] if len(arguments) > 1 else Literal(1, call.type)
            offset = away.value if isinstance(away, Literal) else None
            named = func.lag if call.function == "lag" else func.lead
            number = own_integer(offset if type(offset) is int else 1)
            return over_unit(named(expressions.key(arguments[0]), number))
        case "count":
            counted = expressions.key(arguments[0]) if arguments else literal_column("1")
            return _few(over_unit(func.count(counted)), rows)
        case "min" | "max":
            value = expressions.key(arguments[0])
            return over_unit(func.min(value) if call.function == "min" else func.max(value))
        case _:
            total = _total(arguments[0], ranges)
            number = expressions.lattice(total)
            added, many = over_unit(func.sum(number)), over_unit(func.count(number))
            return _scaled(dialect, call, total, added, many=many, rows=rows)


def _window_order(
    dialect: Dialect, expressions: Expressions, call: WindowCall, unit: list[Sql]
) -> list[Sql]:
    keys = [(expressions.key(one), down) for one, down in call.order]
    order = []
    if call.function == "sample_number":
        # with the unit, so that no value decides for all persons whether its row is in the sample
        order.append(hash_order("", [*unit, *(one for one, _ in keys)]))
    order += [nulls_first(one.desc()) if down else nulls_last(one.asc()) for one, down in keys]
    if dialect == "duckdb":
        # where the key of a decimal is a double, decimals that tie need not be the same
        exact = [one for one, _ in call.order if one.type.family is Family.EXACT]
        order += [nulls_last(expressions.sql(one).asc()) for one in exact]
    return order


def cap_sum(dialect: Dialect, s: Sql, n: Sql, most: Sql) -> Sql:
    """The sum `s` of `n` rows where `most` rows count, spread evenly over all of them; NULL is 0.

    INVARIANT: for every n the result is a multiple of s but for less than 1, so the limit compares no value with a constant.
    It is between `most` times the least and the greatest value of a row, or 0.
    """
    whole = "//" if dialect == "duckdb" else "/"
    size = func.abs(s, type_=BigInteger())

    def divided(one: Sql) -> Sql:
        made: Sql = one.op(whole, precedence=8, return_type=BigInteger())(n)
        return made

    rest = (size % n).self_group() * most
    short = divided(size).self_group() * most + divided(rest.self_group()).self_group()
    sign = case((s < _ZERO, literal_column("-1")), else_=_ONE)
    return case((n > most, sign * short.self_group()), else_=func.coalesce(s, _ZERO))


def _total(value: Scalar, ranges: Mapping[str, Range]) -> Total:
    found = range_of(value, ranges)
    if found is None:
        raise Unbounded(
            Code.FAN_OUT,
            "a sum for each person has values without declared bounds",
            "declare a domain for the column, or clamp it with LEAST and GREATEST",
        )
    return Total(value, person_lattice(found), DistanceOrigin.LOW)


def _few(counted: Sql, rows: int | None) -> Sql:
    return func.least(counted, own_integer(_need(rows)), type_=BigInteger())


def _need(rows: int | None) -> int:
    if rows is None:
        raise Unbounded(
            Code.FAN_OUT,
            "a protected row can match any number of other rows",
            "join on columns that are unique on the other side",
        )
    return rows


def _scaled(
    dialect: Dialect,
    measure: Measure | WindowCall,
    total: Total,
    added: Sql,
    *,
    many: Sql,
    rows: int | None,
) -> Sql:
    """The sum or mean that a sum of lattice integers stands for, in the type it has for the analyst."""
    step = total.lattice.step
    if measure.function == "sum":
        most = own_integer(_need(rows))
        # without rows the sum stays NULL
        few = cap_sum(dialect, cast(added, BigInteger()), many, most)
        added = case((many > most, few), else_=added)
        below = None
    elif measure.function == "avg":
        below = func.nullif(many, literal_column("0"))
    else:
        raise Unbounded(
            Code.FUNCTION_UNSUPPORTED,
            f"`{measure.function}` is not supported in a GROUP BY with the unit key",
        )
    to = sql_type(dialect, measure.type)
    if dialect == "postgresql" and measure.type.family is not Family.FLOAT:
        exact = _times(cast(added, Numeric()), step)
        return cast(exact if below is None else exact / below, to)
    double: Sql = cast(added, Double()) * cast(_number(Fraction(step.numerator)), Double())
    double /= cast(_number(Fraction(step.denominator)), Double())
    value = double if below is None else double / cast(below, Double())
    return try_cast(value, to) if dialect == "duckdb" else cast(value, to)


def _times(number: Sql, step: Fraction) -> Sql:
    """The product. A step such as 1/6 is no decimal number: the number is multiplied by 0.5 and divided by 3."""
    rest = step.denominator
    for prime in (2, 5):
        while rest % prime == 0:
            rest //= prime
    product: Sql = number * _number(step * rest)
    return product if rest == 1 else product / _number(Fraction(rest))


def _number(value: Fraction) -> Sql:
    return type_coerce(literal_column(decimal_sql(value)), Numeric())


def _place(bound: str) -> int | None:
    """A bound of a frame as SQLAlchemy counts it: before is negative, None has no end."""
    if bound == "current row":
        return 0
    away, _, side = bound.partition(" ")
    if away == "unbounded":
        return None
    return -int(away) if side == "preceding" else int(away)
