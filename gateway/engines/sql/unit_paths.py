"""The unit of a scanned row: a column of its table, or the column at the end of its unit path.

A path is inner joins from the table to its parents, each on a key that is read as it is stored, text in binary collation.
A row whose path leads to no row, or to no unit, has no unit and is dropped. So is one with a key that is longer than what
is read of it.

INVARIANT: a row gets at most one unit. The key of every parent is unique by a constraint that the source holds while the
statement runs (`gateway.bounding.licences.require_unit_paths`).
INVARIANT: whether a row is dropped, and which unit it has, depends on rows of that unit alone.
"""

from collections.abc import Callable
from dataclasses import dataclass

from sqlalchemy import ColumnClause, FromClause, column, or_, quoted_name, table
from sqlalchemy import Join as SqlJoin

from gateway.catalog.tables import Column, Table, UnitPath
from gateway.engines.sql.clamp import has_short_unit
from gateway.engines.sql.partial_select import Dialect, Sql
from gateway.engines.sql.per_unit import binary_key


@dataclass(frozen=True)
class UnitSource:
    """A relation with the unit of its rows, and what a row must satisfy to have it."""

    source: FromClause
    unit: Sql
    type: Column
    conditions: tuple[Sql, ...]


def stored_table(name: str, columns: tuple[Column, ...], alias: str) -> FromClause:
    """A table of the source under a name of the statement."""
    schema, _, bare = name.rpartition(".")
    names: list[ColumnClause[object]] = [
        column(quoted_name(one, quote=True))
        for one in dict.fromkeys(each.stored_name for each in columns)
    ]
    there = table(
        quoted_name(bare, quote=True),
        *names,
        schema=quoted_name(schema, quote=True) if schema else None,
    )
    return there.alias(alias)


def own_unit(dialect: Dialect, there: FromClause, key: Column) -> UnitSource:
    """The unit in a column of the table itself."""
    return _with_unit(dialect, there, there, key)


def follow_unit_path(
    dialect: Dialect, there: FromClause, path: UnitPath, name: Callable[[], str]
) -> UnitSource:
    """The unit at the end of the path; `name` gives names that nothing else has."""
    source, child = there, there
    ends = [one.column for one in path.steps[1:]] + [path.unit]
    conditions: list[Sql] = []
    for step, onward in zip(path.steps, ends, strict=True):
        columns = (step.key,) if onward.name == step.key.name else (step.key, onward)
        parent = stored_table(step.parent, columns, name())
        key = binary_key(child.c[step.column.name], step.column.type)
        source = SqlJoin(source, parent, key == binary_key(parent.c[step.key.name], step.key.type))
        for one in (step.column, step.key):
            short = has_short_unit(dialect, one, key)
            conditions += [] if short is None else [short]
        child = parent
    found = _with_unit(dialect, source, child, path.unit)
    return UnitSource(source, found.unit, path.unit, (*conditions, *found.conditions))


def path_key_conditions(dialect: Dialect, scanned: Table, there: FromClause) -> list[Sql]:
    """That no key of a unit path is longer than what is read of it."""
    found = []
    for one in scanned.columns:
        if not one.is_path_key:
            continue
        key = binary_key(there.c[one.name], one.type)
        short = has_short_unit(dialect, one, key)
        if short is not None:
            found.append(or_(key.is_(None), short))
    return found


def _with_unit(dialect: Dialect, source: FromClause, there: FromClause, key: Column) -> UnitSource:
    unit = binary_key(there.c[key.name], key.type)
    short = has_short_unit(dialect, key, unit)
    present: Sql = unit.is_not(None)
    return UnitSource(source, unit, key, (present,) if short is None else (present, short))
