"""Every function of the allow-list over extreme values, on both databases and beside PostgreSQL's own answers."""

import math
import re
from collections.abc import Iterator
from datetime import date, datetime
from decimal import Decimal
from typing import Any, Final

import pytest
from engines.extremes import (
    ROWS,
    Databases,
    Raised,
    answers,
    bound,
    plainly,
    rows,
    scalars,
)
from engines.mixed_cases import LONG, WIDER
from engines.scalar_cases import ALL
from engines.scalar_trees import Trees
from samples import draws
from sqlalchemy import func, select, text
from sqlalchemy.exc import DBAPIError

from gateway.catalog.types import Family
from gateway.engines.sql import numbers
from gateway.engines.sql.expressions import ScalarSql
from gateway.engines.sql.partial_select import Dialect, Sql
from gateway.engines.sql.zoned_times import utc_timestamp
from gateway.errors import LimitExceeded, Refusal, UnsupportedSql
from gateway.functions.table import SIGNATURES
from gateway.functions.times import AGED, EXTRACTED, TRUNCATED
from gateway.plan.fields import BOOLEAN, TIMESTAMPTZ
from gateway.plan.node import BrokenPlan
from gateway.plan.scalars import Call, Literal, Scalar, walk_scalar
from gateway.plan.sql_text import scalar_sql as text_of

SEED: Final = 20_260_101
TREES: Final = draws(300, fewest=100)

NEAR: Final = 1e-9
"""Functions of the C library differ in the last digits; DuckDB's decimals without a scale are doubles."""
FLUSHED: Final = 1e-299
"""What is nearer to zero than this may be zero."""
SINGLE: Final = 1e-6
"""A REAL is shown by its shortest digits in one database and widened in the other."""
LARGEST: Final = 1e299
"""A power beyond this is NULL."""
DIFFERENT: Final = {
    # folding letters beyond A to Z depends on a collation
    *("lower(t)", "upper(t)", "upper(left(t, 1)) || lower(substr(t, 2))"),
    # the last bucket has no room above it
    "width_bucket(i, 0, 10, 2147483647)",
    # one strict grammar for numbers and dates in texts
    *(
        f"cast(t as {kind})"
        for kind in ("integer", "smallint", "bigint", "numeric", "numeric(5,1)")
    ),
    *("cast(t as double precision)", "cast(t as real)", "cast(t as date)", "cast(v as date)"),
}
APART: Final = {
    # the remainder of decimals of any scale is that of doubles in DuckDB
    "n % m",
}
_PADDED: Final = re.compile(r"\bc\b")
"""The blanks at the end of a `char(n)` are not read."""


def _shown(value: object) -> object:
    """Dates and times as one: PostgreSQL makes a time with a zone of some dates."""
    if isinstance(value, datetime):
        return value.replace(tzinfo=None)
    if isinstance(value, date):
        return datetime(value.year, value.month, value.day)  # noqa: DTZ001 - without a zone
    return value


def _alike(one: object, other: object, *, near: float = NEAR) -> bool:
    if isinstance(one, datetime) and isinstance(other, datetime) and one.tzinfo and other.tzinfo:
        return one == other
    left, right = _shown(one), _shown(other)
    numbers = (int, float, Decimal)
    if isinstance(left, numbers) and isinstance(right, numbers) and not isinstance(left, bool):
        if left == right:
            return True
        first, second = float(left), float(right)
        return math.isclose(first, second, rel_tol=near, abs_tol=FLUSHED)
    return bool(left == right)


def _fits(plain: object, ours: object, sql: str) -> bool:
    """Whether our value may stand where PostgreSQL has its own."""
    if isinstance(plain, Raised):
        # where it says a float vanishes we say zero
        return ours is None or (plain.sqlstate == "22003" and ours == 0)
    if sql in DIFFERENT:
        return ours is None or isinstance(ours, str) or _alike(plain, ours)
    if isinstance(plain, str) and _PADDED.search(sql):
        return isinstance(ours, str) and plain.rstrip(" ") == ours.rstrip(" ")
    if sql in WIDER:
        return (plain is None) is (ours is None)
    beyond = isinstance(plain, float | Decimal) and abs(float(plain)) > LARGEST
    return (beyond and ours is None) or _alike(plain, ours)


@pytest.mark.parametrize("subject", ALL)
def test_scalars_give_a_value_or_null_when_values_are_extreme(
    databases: Databases, subject: str
) -> None:
    """No expression raises on either database, both agree, and PostgreSQL's own answer is the same."""
    given = ALL[subject]
    made = {one: bound(one) for one in given}
    found: dict[Dialect, list[tuple[Any, ...]]] = {}
    dialects: tuple[Dialect, ...] = ("postgresql", "duckdb")
    for dialect in dialects:
        rendering = scalars(dialect)
        items = [rendering.sql(one) for one in made.values()]
        found[dialect] = answers(databases.of(dialect), items)
        # an expression has its brackets wherever it stands
        there = answers(databases.of(dialect), [one.is_not(None) for one in items])
        expected = [tuple(one is not None for one in row) for row in found[dialect]]
        for sql, *both in zip(
            given, zip(*there, strict=True), zip(*expected, strict=True), strict=True
        ):
            assert both[0] == both[1], (dialect, sql)
    wrong = []
    for place, sql in enumerate(given):
        ours = [row[place] for row in found["postgresql"]]
        theirs = [row[place] for row in found["duckdb"]]
        plain = plainly(databases.postgresql, sql)
        for number, (one, value) in enumerate(zip(plain, ours, strict=True)):
            if not _fits(one, value, sql):
                wrong.append(("postgresql", sql, number, one, value))
        near = SINGLE if "real" in sql else NEAR
        if sql in APART:
            continue
        for number, (one, value) in enumerate(zip(ours[:ROWS], theirs, strict=True)):
            if not _alike(one, value, near=near):
                wrong.append(("duckdb", sql, number, one, value))
    assert wrong[:5] == []


def test_cases_cover_every_function_of_the_allow_list() -> None:
    """A function that is added to the binder has to be tried here."""
    calls = [
        one
        for given in ALL.values()
        for sql in given
        for one in walk_scalar(bound(sql))
        if isinstance(one, Call)
    ]
    named = {one.function for one in calls}
    assert set(SIGNATURES) <= named
    assert {"+", "-", "*", "/", "%", "^", "negate", "in", "and", "or", "not"} <= named
    fields = {
        (one.function, str(getattr(one.parts[0], "value", "")))
        for one in calls
        if one.function in {"extract", "age_in", "date_trunc"}
    }
    assert {one for name, one in fields if name == "extract"} == EXTRACTED
    assert {one for name, one in fields if name == "age_in"} == AGED
    assert {one for name, one in fields if name == "date_trunc"} == TRUNCATED


def _trees() -> Iterator[tuple[str, Scalar]]:
    trees = Trees(SEED)
    for number in range(TREES):
        sql = trees.any(1 + number % 4)
        try:
            yield sql, bound(sql)
        except Refusal:
            continue


def _rendered(rendering: ScalarSql, scalar: Scalar) -> Sql | None:
    try:
        return rendering.sql(scalar)
    except (BrokenPlan, Refusal):
        return None  # the calculus refuses it: an operand that nothing bounds


def test_random_expressions_never_raise_when_values_are_extreme(databases: Databases) -> None:
    """Whatever an analyst puts together, no row of a person can make the statement fail."""
    renderings: dict[Dialect, ScalarSql] = {
        "postgresql": scalars("postgresql"),
        "duckdb": scalars("duckdb"),
    }
    tried = 0
    for sql, scalar in _trees():
        made = {dialect: _rendered(one, scalar) for dialect, one in renderings.items()}
        for dialect, item in made.items():
            if item is None:
                break
            count = len(rows("postgresql")) if dialect == "postgresql" else ROWS
            assert len(answers(databases.of(dialect), [item])) == count, sql
        tried += all(one is not None for one in made.values())
    assert tried > TREES // 2


def test_key_that_is_a_constant_is_no_number_of_a_column(databases: Databases) -> None:
    """PostgreSQL reads a bare constant in GROUP BY as one, and raises for `true`."""
    for dialect in ("postgresql", "duckdb"):
        key = scalars(dialect).key(Literal(value=True, type=BOOLEAN))
        made = select(func.count()).select_from(text("(SELECT 1) AS t")).group_by(key)
        assert databases.of(dialect).execute(made).scalar_one() == 1


def _try_long(databases: Databases, dialect: Dialect) -> None:
    rendering = scalars(dialect)
    answers(databases.of(dialect), [rendering.sql(bound(one)) for one in LONG])


def test_long_decimals_never_raise(databases: Databases, monkeypatch: pytest.MonkeyPatch) -> None:
    """Neither do steps on the way to a result; with the digits of the result alone DuckDB raises for the rows that it sees."""
    for dialect in ("postgresql", "duckdb"):
        _try_long(databases, dialect)
    monkeypatch.setattr(numbers, "computed_size", lambda _, form, __: form)
    with pytest.raises(DBAPIError):
        _try_long(databases, "duckdb")


def test_plain_expressions_do_raise_on_the_same_rows(databases: Databases) -> None:
    """The control: without our guards many of the same expressions fail on a person's value."""
    failed = 0
    for sql, _ in _trees():
        try:
            with databases.postgresql.begin_nested():
                databases.postgresql.exec_driver_sql(f"SELECT {sql} FROM stored".replace("%", "%%"))
        except DBAPIError:
            failed += 1
    assert failed > TREES // 10


def test_expressions_are_the_same_under_other_settings(databases: Databases) -> None:
    """Neither time zone nor date style nor the digits of floats have a say."""
    rendering = scalars("postgresql")
    given = [
        bound(one)
        for subject in ("times", "zoned", "casts", "texts", "compared")
        for one in ALL[subject]
    ]
    # the driver reads floats as text, and one setting says how many digits it has
    given = [one for one in given if one.type.family is not Family.FLOAT]
    # nor can it read a time with a zone in every date style
    items = [
        utc_timestamp("postgresql", rendering.sql(one))
        if one.type == TIMESTAMPTZ
        else rendering.sql(one)
        for one in given
    ]
    connection = databases.postgresql
    usual = answers(connection, items)
    with connection.begin_nested() as changed:
        for setting in (
            "TimeZone = 'America/New_York'",
            "DateStyle = 'SQL, DMY'",
            "IntervalStyle = 'sql_standard'",
            "extra_float_digits = -5",
        ):
            connection.exec_driver_sql(f"SET LOCAL {setting}")
        other = answers(connection, items)
        changed.rollback()
    moved = [
        text_of(given[place])
        for place in range(len(items))
        if [row[place] for row in usual] != [row[place] for row in other]
    ]
    assert moved == []


def test_a_guard_that_grows_without_end_is_refused() -> None:
    """Guards repeat what they guard, so nesting them is stopped before the text outgrows memory."""
    sql = " * ".join(["f"] * 12)
    with pytest.raises(LimitExceeded):
        scalars("postgresql").sql(bound(sql))


@pytest.mark.parametrize("sql", ["cast(f as text)", "cast(m as text)", "cast(n * n as text)"])
def test_a_text_of_a_number_is_refused_when_databases_write_it_differently(sql: str) -> None:
    """What would be shown by a setting, or by another number of digits, is not shown in the source."""
    with pytest.raises(UnsupportedSql):
        scalars("postgresql").sql(bound(sql))


def test_an_arithmetic_operand_without_a_range_is_a_bug_of_ours() -> None:
    """Nothing is computed of what nothing bounds, even if the calculus should let it through."""
    with pytest.raises(BrokenPlan):
        scalars("duckdb").sql(bound("g * g"))
