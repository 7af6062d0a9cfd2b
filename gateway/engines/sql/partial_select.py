"""A relation on its way to SQL: from where, which rows, and what its columns are, not yet a SELECT.

Filters and projections over one scan only add to it, so they become one SELECT in the end.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Final

from sqlalchemy import FromClause, Select, case, literal_column, select

from gateway.engines.sql.interfaces import Sql
from gateway.plan.node import BrokenPlan

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
