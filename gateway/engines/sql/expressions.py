"""Expressions of a plan as SQL that never raises: a value or NULL for every row, and always the same one.

A rendering takes a call and the rendering of its operands, and gives SQL for the dialect.

INVARIANT: where PostgreSQL gives a value this gives it too, but for the differences that `docs/proofs/total.md`
lists; where PostgreSQL raises this gives NULL. Nothing depends on settings, collations, time zones or the order of
rows. An arithmetic operand without a range is a bug of ours: the calculus refuses it before.
INVARIANT: every function of `gateway.functions.table` has one rendering, which serves both dialects, gives NULL
where PostgreSQL would raise, and names no operand more often than the function says
(`tests/functions/test_table.py`, `tests/functions/test_copy_counts.py`).
"""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

from sqlalchemy import ARRAY, Boolean, Text, bindparam, cast, false, func, select
from sqlalchemy.sql import visitors
from sqlalchemy.sql.elements import Grouping, UnaryExpression

from gateway.catalog.tables import Column, Table
from gateway.catalog.types import Family
from gateway.engines.sql import casts as scalars_casts
from gateway.engines.sql import conditions, numbers, text, times, zoned_times
from gateway.engines.sql import times as scalars_times
from gateway.engines.sql.clamp import clamp_column, finite_value, lattice_integer
from gateway.engines.sql.group_limits import key_expression
from gateway.engines.sql.partial_select import Dialect, Sql
from gateway.engines.sql.pieces import TEXT, Render, Rendering, constant, sql_type, value_text
from gateway.errors import Code, LimitExceeded
from gateway.functions.range_arithmetic import Range
from gateway.plan.fields import BOOLEAN, Field, Tie, is_number
from gateway.plan.node import BrokenPlan
from gateway.plan.relations import StagedRows, null_if_too_long
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
from gateway.ranges.expressions import STAGED_REACH
from gateway.ranges.relations import range_of
from gateway.sensitivity.measurement import Total


def _added(name: str) -> Render:
    """Of numbers, or of dates and days."""
    of_numbers, of_dates = numbers.arithmetic(name), times.render_shift(name)

    def render(rendering: Rendering, call: Call) -> Sql:
        of = of_numbers if all(is_number(one.type) for one in call.parts) else of_dates
        return of(rendering, call)

    return render


RENDERINGS: Final[Mapping[str, Render]] = MappingProxyType(
    {
        **{name: _added(name) for name in ("+", "-")},
        **numbers.RENDERINGS,
        **text.RENDERINGS,
        **times.RENDERINGS,
        **zoned_times.RENDERINGS,
        **conditions.RENDERINGS,
    }
)


def render_call(rendering: Rendering, call: Call) -> Sql:
    """The SQL of a call."""
    render = RENDERINGS.get(call.function)
    if render is None:
        raise BrokenPlan(f"no rendering of {call.function}")
    return render(rendering, call)


_MOST_PARTS: Final = 20_000
_LONGEST_LIST: Final = 50


class ScalarSql:
    """Expressions over the columns of one relation, whose ids and ranges are given."""

    def __init__(
        self,
        dialect: Dialect,
        columns: Mapping[str, Sql],
        ranges: Mapping[str, Range],
        staged: Mapping[str, StagedRows],
    ) -> None:
        self.dialect: Dialect = dialect
        self._columns = columns
        self._ranges = ranges
        self._staged = staged
        # by identity: the scalar is kept beside what was made of it, so no id is used twice
        self._made: dict[int, tuple[Scalar, Sql]] = {}
        self._found: dict[int, tuple[Scalar, Range | None]] = {}

    def sql(self, scalar: Scalar, /) -> Sql:
        """The expression: in its type, or NULL."""
        known = self._made.get(id(scalar))
        if known is not None:
            return known[1]
        made = self._render(scalar)
        if isinstance(made, UnaryExpression) and isinstance(made.type, Boolean):
            # NOT binds less tightly than IS NULL, and what stands around is not known here
            made = Grouping(made)
        _need_short(made)
        self._made[id(scalar)] = (scalar, made)
        return made

    def lattice(self, total: Total, /) -> Sql:
        """The whole number of the lattice nearest to the value, cut to the lattice; NULL for NULL."""
        made = lattice_integer(self, total)
        _need_short(made)
        return made

    def key(self, scalar: Scalar, /) -> Sql:
        """Equal values are one key, and it comes back as a value of the catalog."""
        return key_expression(self, scalar)

    def range(self, scalar: Scalar) -> Range | None:
        """Between which numbers the expression is, if it is bounded."""
        known = self._found.get(id(scalar))
        if known is None:
            known = (scalar, range_of(scalar, self._ranges))
            self._found[id(scalar)] = known
        return known[1]

    def _render(self, scalar: Scalar) -> Sql:  # noqa: PLR0911 - one answer for each kind
        match scalar:
            case Ref():
                return self._column(scalar)
            case Literal(value, kind):
                return constant(self.dialect, value, kind)
            case Cast():
                return scalars_casts.render_cast(self, scalar)
            case Case():
                return conditions.render_case(self, scalar)
            case Shift():
                return scalars_times.add_interval(self, scalar)
            case StagedValue():
                return self._value(scalar)
            case StagedMember():
                return self._member(scalar)
            case Call():
                return render_call(self, scalar)
            case Moment():
                raise BrokenPlan("a moment that was not folded")

    def _column(self, ref: Ref) -> Sql:
        column = self._columns[ref.field.id]
        if ref.field.tie is Tie.NONE:
            return column
        # the unit rides along as it is stored; as a value it is enforced like any other
        if ref.type.family is Family.TEXT:
            return cast(column, TEXT)
        return finite_value(self.dialect, column, ref.type)

    def _value(self, scalar: StagedValue) -> Sql:
        rows = self._staged[scalar.constant].rows
        if len(rows) > 1 or any(len(row) != 1 for row in rows):
            raise BrokenPlan("a staged value that is not one value")
        value = null_if_too_long(rows[0][0]) if rows else None
        if isinstance(value, bool | str) or value is None or scalar.type.family is Family.WHOLE:
            return constant(self.dialect, value, scalar.type)
        numbers = {Family.EXACT, Family.FLOAT}
        if scalar.type.family in numbers and abs(value) > STAGED_REACH:  # type: ignore[arg-type, operator]
            value = None  # the ranges of plans count on it
        return constant(self.dialect, value, scalar.type)

    def _member(self, scalar: StagedMember) -> Sql:
        staged = self._staged[scalar.constant]
        values = [null_if_too_long(row[0]) for row in staged.rows]
        kind = staged.columns[0][1]
        if not values:
            return false()
        if len(values) <= _LONGEST_LIST:
            among = tuple(Literal(one, kind) for one in values)
            return self.sql(Call("in", (scalar.what, *among), BOOLEAN))
        texts = bindparam(None, [value_text(one) for one in values], ARRAY(Text()))
        opened = select(func.unnest(cast(texts, ARRAY(Text()))).label("v")).subquery()
        value = cast(opened.c.v, sql_type(self.dialect, kind))
        both = (scalar.what, Ref(Field("v", kind)))
        inner = ScalarSql(self.dialect, {**self._columns, "v": value}, self._ranges, self._staged)
        left, right = conditions.comparable_values(inner, both)
        return left.in_(select(right))


class TotalScalarSql:
    """What relations are rendered with."""

    def over(
        self,
        dialect: Dialect,
        columns: Mapping[str, Sql],
        ranges: Mapping[str, Range],
        staged: Mapping[str, StagedRows],
        /,
    ) -> ScalarSql:
        return ScalarSql(dialect, columns, ranges, staged)

    def enforced(self, dialect: Dialect, table: Table, column: Column, sql: Sql, /) -> Sql:
        return clamp_column(dialect, table, column, sql)


def _need_short(sql: Sql) -> None:
    """Guards repeat what they guard; what would double again and again is refused."""
    for count, _ in enumerate(visitors.iterate(sql)):
        if count > _MOST_PARTS:
            raise LimitExceeded(
                Code.SQL_TOO_LARGE,
                "an expression has too many parts",
                "split it over subqueries, or compute it from the aggregates",
            )
