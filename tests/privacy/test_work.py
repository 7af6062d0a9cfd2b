"""The work oracle, small: the break that it was made for, in the form that is asked and in the form that broke.

Seconds are for `long_work`. Here one form takes thousands of times as long as the other, so nothing hangs on the machine.
"""

from typing import Any, Final

from privacy.conditions import EVERY, PATTERNS
from privacy.source_work import DUCKDB, InDuckDB, asked, in_duckdb, rendered
from sqlalchemy import ColumnElement, Select, column, func, literal, select, table

from gateway.engines.sql.text import is_like

PATTERN: Final = "%a%a%a%_b"
LETTERS: Final = 160


def _seconds(engine: InDuckDB, condition: ColumnElement[bool], length: int) -> float:
    engine.connection.execute("CREATE OR REPLACE TABLE few (t varchar)")
    engine.connection.executemany(
        "INSERT INTO few VALUES (?)", [["a" * (length - 1) + str(place)] for place in range(4)]
    )
    chosen: Select[Any] = select(func.count()).select_from(table("few")).where(condition)
    return engine.seconds(chosen, best=3)


def test_breaking_pattern_takes_no_longer_for_a_row_that_matches_on_duckdb() -> None:
    """Six times as many letters and the form that is asked still takes a hundredth of what DuckDB's own LIKE takes."""
    stored: ColumnElement[Any] = column("t")
    with in_duckdb() as engine:
        ours = _seconds(engine, is_like("duckdb", stored, PATTERN), 6 * LETTERS)
        planted = _seconds(
            engine, func.like_escape(stored, literal(PATTERN), literal("\\")), LETTERS
        )
    assert planted > 100 * ours


def test_no_like_of_duckdb_is_asked_for_any_pattern() -> None:
    """Whatever the pattern, DuckDB never sees a LIKE."""
    for one in PATTERNS:
        made = rendered(asked(one), 1_000, "duckdb")
        shown = "" if made is None else str(made.compile(dialect=DUCKDB.dialect)).lower()
        assert "like" not in shown, one


def test_every_condition_of_the_oracle_is_asked_or_refused_for_its_plan() -> None:
    """Most are accepted over the longest texts, and all of them where texts are short."""
    long = [one for one in EVERY if rendered(asked(one), 1_000, "postgresql") is None]
    short = [one for one in EVERY if rendered(asked(one), 100, "postgresql") is None]
    assert (len(long) <= 12, short) == (True, [])
