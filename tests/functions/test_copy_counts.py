"""How often rendering names a column, held against what the work bound counts with."""

import pytest
from engines.extremes import RANGES, TABLE, bound
from engines.scalar_cases import ALL
from sqlalchemy import ColumnClause, column
from sqlalchemy.sql import visitors

from gateway.bounding.work_bound import Work, work_of
from gateway.engines.sql.expressions import ScalarSql
from gateway.engines.sql.partial_select import Dialect, Sql
from gateway.errors import Refusal
from gateway.plan.scalars import Ref, walk_scalar

_FIELDS = {
    one.field.id: Work(0)
    for name in (each.name for each in TABLE.columns)
    for one in walk_scalar(bound(name))
    if isinstance(one, Ref)
}


@pytest.mark.parametrize("dialect", ["postgresql", "duckdb"])
def test_rendering_names_no_column_more_often_than_the_work_bound_counts(dialect: Dialect) -> None:
    """Whatever guards an expression, its columns are read at most as often as they were paid for."""
    columns: dict[str, Sql] = {name: column(name.rpartition(".")[2]) for name in _FIELDS}
    made = ScalarSql(dialect, columns, RANGES, {})
    beyond = []
    for sql in (one for some in ALL.values() for one in some):
        try:
            scalar = bound(sql)
            work = work_of(scalar, _FIELDS, RANGES)
            rendered = made.sql(scalar)
        except Refusal:
            continue  # before it runs
        named = sum(
            isinstance(one, ColumnClause) and not one.is_literal
            for one in visitors.iterate(rendered)
        )
        if named > work.reads:
            beyond.append((sql, named, work.reads))
    assert beyond == []
