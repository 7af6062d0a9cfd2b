"""Conditions over casts that do not fit: what a cast makes of a value is what a comparison sees of it."""

import operator
from collections.abc import Callable
from typing import Any, Final

import pytest
from engines.extremes import Databases, answers, bound, scalars
from sqlalchemy import text

from gateway.engines.sql.partial_select import Dialect

_DIALECTS: Final[tuple[Dialect, ...]] = ("postgresql", "duckdb")
_CASTS: Final = {
    "n * 2000000": ("smallint", "integer", "bigint", "numeric(5,1)", "numeric(12,0)"),
    "n": ("smallint", "integer", "bigint", "numeric(2,1)", "numeric(4,2)", "numeric(3,0)"),
    "m * 3": ("smallint", "integer", "bigint", "numeric(5,1)", "numeric(10,2)", "numeric(38,30)"),
    "i": ("smallint", "numeric(3,0)", "numeric(5,2)"),
    "b": ("smallint", "integer", "numeric(10,0)"),
    "cast(b as numeric)": ("smallint", "integer", "numeric(10,0)"),
    "f": ("smallint", "integer", "bigint", "numeric(3,1)", "numeric(30,20)"),
    "f * f": ("smallint", "integer", "bigint", "numeric(5,1)"),
    "t": ("smallint", "integer", "bigint", "numeric(4,1)", "numeric(30,20)"),
}
_COMPARED: Final[dict[str, Callable[[Any, Any], bool]]] = {
    "=": operator.eq,
    "<>": operator.ne,
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
}


@pytest.mark.parametrize("what", _CASTS)
def test_comparisons_see_null_when_a_cast_does_not_fit(databases: Databases, what: str) -> None:
    """On both databases a condition over a cast is what it is of the value that the cast gives."""
    wrong: list[object] = []
    for kind in _CASTS[what]:
        made = f"cast({what} as {kind})"
        conditions = [
            *(f"{made} {sign} {constant}" for sign in _COMPARED for constant in (0, 1, 9)),
            *(f"{made} is null", f"{made} is not null", f"{made} in (0, 1, 3)"),
        ]
        for dialect in _DIALECTS:
            rendering = scalars(dialect)
            items = [rendering.sql(bound(one)) for one in (made, *conditions)]
            # alone, so that nothing but the cast is in the statement that says what it gives
            values = [row[0] for row in answers(databases.of(dialect), items[:1])]
            found = list(zip(*answers(databases.of(dialect), items[1:]), strict=True))
            for sql, column in zip(conditions, found, strict=True):
                expected = tuple(_expected(sql.removeprefix(made).split(), one) for one in values)
                if column != expected:
                    wrong.append((dialect, sql))
            assert None in values or kind in {"numeric(30,20)", "numeric(38,30)"}
    assert wrong == []


def _expected(said: list[str], value: Any) -> bool | None:  # noqa: ANN401 - a value of either database
    match said:
        case ["is", "null"]:
            return value is None
        case ["is", "not", "null"]:
            return value is not None
        case _ if value is None:
            return None
        case ["in", *_]:
            return value in {0, 1, 3}
    return _COMPARED[said[0]](value, int(said[1]))


def test_duckdb_compares_a_bare_cast_as_if_it_fitted(databases: Databases) -> None:
    """The control: without a call around it, DuckDB takes a cast that gives NULL for its operand."""
    made = "TRY_CAST(CAST(i AS DECIMAL(18,0)) * 2000000 AS INTEGER)"
    bare, held = (
        databases.duckdb.execute(
            text(f"SELECT count(*) FROM stored WHERE {one} > 2000000000")
        ).scalar_one()
        for one in (made, f"GREATEST({made})")
    )
    assert (bare > 0, held) == (True, 0)
