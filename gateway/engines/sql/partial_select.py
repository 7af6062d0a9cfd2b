"""A SELECT under construction, and what relations ask of the modules that render expressions.

A relation on its way to SQL has its source, its filter and its columns. Filters and projections over one scan only
add to it, so they become one SELECT in the end.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Final, Literal, Protocol, TypeAlias

from sqlalchemy import ColumnElement, FromClause, Select, case, literal_column, select

from gateway.catalog.tables import Column, Table
from gateway.functions.range_arithmetic import Range
from gateway.plan.node import BrokenPlan
from gateway.plan.relations import StagedRows
from gateway.plan.scalars import Scalar
from gateway.sensitivity.measurement import Total

Dialect: TypeAlias = Literal["postgresql", "duckdb"]
Sql: TypeAlias = ColumnElement[Any]


class Expressions(Protocol):
    """Expressions over the columns of one relation. None of them ever raises in the source."""

    def sql(self, scalar: Scalar, /) -> Sql: ...

    def lattice(self, total: Total, /) -> Sql: ...

    def key(self, scalar: Scalar, /) -> Sql: ...


class Expressing(Protocol):
    """Makes the expressions of a relation, and the enforced columns of a scan."""

    def over(
        self,
        dialect: Dialect,
        columns: Mapping[str, Sql],
        ranges: Mapping[str, Range],
        staged: Mapping[str, StagedRows],
        /,
    ) -> Expressions: ...

    def enforced(self, dialect: Dialect, table: Table, column: Column, sql: Sql, /) -> Sql: ...


UNIT: Final = "u"


@dataclass(frozen=True)
class StoredColumns:
    """A whole number as it is stored, and from where to where its domain clamps it; NULL stays NULL."""

    sql: Sql
    low: int
    high: int

    def clamped(self, value: Sql) -> Sql:
        """What the domain makes of a stored value of this column."""
        low: Sql = literal_column(str(self.low))
        high: Sql = literal_column(str(self.high))
        return case((value < low, low), (value > high, high), else_=value)


@dataclass(frozen=True)
class RelationSql:
    """`columns` by field id; `unit` is that of every row, None where the rows belong to nobody.

    `size` is how many parts the largest expression among the columns has. `stored` is what some columns are
    before they are clamped, for what clamps them within their domains itself.
    """

    source: FromClause
    columns: Mapping[str, Sql]
    unit: Sql | None
    where: tuple[Sql, ...] = ()
    size: int = 1
    stored: Mapping[str, StoredColumns] = field(default_factory=dict)

    def filtered(self, *conditions: Sql) -> "RelationSql":
        return replace(self, where=(*self.where, *conditions))

    @property
    def owned(self) -> Sql:
        """The unit, where there has to be one."""
        if self.unit is None:
            raise BrokenPlan("rows of persons without their unit")
        return self.unit

    def select(self, *items: Sql) -> Select[tuple[object, ...]]:
        """These expressions over the rows, as a SELECT."""
        shown = items or (literal_column("1"),)
        return select(*shown).select_from(self.source).where(*self.where)

    def nested(self, name: str, *, fenced: bool = False) -> "RelationSql":
        """The same rows as a subquery. PostgreSQL opens one that is not fenced and repeats what is in it."""
        names = {one: f"c{place + 1}" for place, one in enumerate(self.columns)}
        items = [self.columns[one].label(names[one]) for one in self.columns]
        if self.unit is not None:
            items.append(self.unit.label(UNIT))
        made = self.select(*items)
        made = made.offset(literal_column("0")) if fenced else made
        return subquery_columns(made.subquery(name), names, owned=self.unit is not None)


def subquery_columns(source: FromClause, names: Mapping[str, str], *, owned: bool) -> RelationSql:
    """The columns of a subquery, by the ids of fields."""
    return RelationSql(
        source,
        {one: source.c[name] for one, name in names.items()},
        source.c[UNIT] if owned else None,
    )
