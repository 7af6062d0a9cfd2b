"""Conditions on the beginning of a unit of time, in every place where a condition stands: NULL is neither true nor false."""

from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any, Final

import pytest
from engines.extremes import RANGES, SCAN, TABLE, Databases, bound, rows
from samples import Samples
from sqlalchemy import Connection, Integer, case, cast, column, func, literal, select, table

from gateway.engines.sql.expressions import ScalarSql
from gateway.engines.sql.partial_select import Dialect, Sql
from gateway.functions.times import TRUNCATED

BEGINS: Final = datetime(2024, 1, 1)  # noqa: DTZ001 - without a zone
"""Of every unit, 2024 began on a Monday."""
WITHIN: Final = datetime(2024, 9, 4, 10, 20, 30, 500_000)  # noqa: DTZ001 - without a zone
"""No unit begins here."""
LAST: Final = datetime.max  # noqa: DTZ901 - without a zone
TESTS: Final[dict[str, Callable[[Any, Any], bool | None]]] = {
    "{what} <> {than}": lambda one, other: None if one is None else one != other,
    "not ({what} = {than})": lambda one, other: None if one is None else one != other,
    "{than} <> {what}": lambda one, other: None if one is None else one != other,
    "{what} = {than}": lambda one, other: None if one is None else one == other,
    "{what} is distinct from {than}": lambda one, other: one != other,
    "{what} is not distinct from {than}": lambda one, other: one == other,
    "{what} < {than}": lambda one, other: None if one is None else one < other,
    "{what} <= {than}": lambda one, other: None if one is None else one <= other,
    "{what} > {than}": lambda one, other: None if one is None else one > other,
    "{what} >= {than}": lambda one, other: None if one is None else one >= other,
    "{what} in ({than})": lambda one, other: None if one is None else one == other,
    "{what} not in ({than})": lambda one, other: None if one is None else one != other,
    "{what} in ({than}, null)": lambda one, other: True if one == other else None,
    "{what} not in ({than}, null)": lambda one, other: False if one == other else None,
}
_SEEN: Final = table("seen", *(column(one.name) for one in TABLE.columns))
_COLUMNS: Final[dict[str, Sql]] = {
    made.id: _SEEN.c[one.name] for one, made in zip(TABLE.columns, SCAN.fields, strict=True)
}


def _given(name: str, moment: datetime) -> tuple[str, datetime]:
    if name == "k":
        return f"timestamptz '{moment}+00'", moment.replace(tzinfo=UTC)
    return f"timestamp '{moment}'", moment


def _rows(connection: Connection, *items: Sql) -> list[tuple[Any, ...]]:
    chosen = select(*(one.label(f"x{at}") for at, one in enumerate(items)))
    found = connection.execute(chosen.select_from(_SEEN).order_by(_SEEN.c.id))
    return [tuple(row) for row in found]


@pytest.mark.parametrize("dialect", ["postgresql", "duckdb"])
@pytest.mark.parametrize("name", ["z", "y", "d", "k"])
@pytest.mark.parametrize("moment", [BEGINS, WITHIN, LAST])
def test_a_condition_on_the_beginning_of_a_unit_is_null_where_the_time_is(
    databases: Databases, dialect: Dialect, name: str, moment: datetime
) -> None:
    """The columns are those of a table, as an outer select reads them: there DuckDB rewrites `date_trunc(…) <> …`."""
    assert _wrong(databases, dialect, name, moment)[:3] == []


def test_conditions_that_duckdb_rewrites_are_noticed(
    databases: Databases, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The negative control: columns that its optimizer sees through."""
    monkeypatch.setattr("gateway.engines.sql.times.utc_timestamp", lambda _, moment: moment)
    assert any(_wrong(databases, "duckdb", name, WITHIN) for name in ("z", "y", "d"))


def _wrong(
    databases: Databases, dialect: Dialect, name: str, moment: datetime
) -> list[tuple[str, object]]:
    """Conditions that are not what their logic says, with what was found."""
    connection = databases.of(dialect)
    rendering = ScalarSql(dialect, _COLUMNS, RANGES, {})
    than, value = _given(name, moment)
    there = len(rows(dialect))
    wrong: list[tuple[str, object]] = []
    for number, unit in enumerate(sorted(TRUNCATED)):
        what = f"date_trunc('{unit}', {name})"
        begun = [one for (one,) in _rows(connection, rendering.sql(bound(what)))]
        assert None in begun
        assert len(set(begun)) > 1
        for place, (shape, logic) in enumerate(TESTS.items()):
            if not Samples.full and (number + place) % 2:
                continue  # every shape at half of the units, and at each unit half of the shapes
            sql = shape.format(what=what, than=than)
            condition = rendering.sql(bound(sql))
            expected = [logic(one, value) for one in begun]
            passed = [at for at in range(there) if expected[at]]
            shown = case((condition, literal(1)), else_=literal(0))
            keys, cases = zip(*_rows(connection, condition, shown), strict=True)
            where = select(_SEEN.c.id).where(condition).order_by(_SEEN.c.id)
            kept = [one for (one,) in connection.execute(where)]
            counted = select(func.count().filter(condition), func.sum(cast(condition, Integer)))
            counts = connection.execute(counted.select_from(_SEEN)).one()
            known = [one for one in expected if one is not None]
            found = [list(keys), [at for at in range(there) if cases[at]], kept, list(counts)]
            total = sum(known) if known else None
            if found != [expected, passed, passed, [len(passed), total]]:
                wrong.append((sql, found))
    return wrong
