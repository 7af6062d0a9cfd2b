"""Lengths of texts: measures are cut, keys are not, and rows with a longer unit are dropped."""

from typing import Any, Final

import pytest
from engines.extremes import Databases
from sqlalchemy import ColumnElement, column, literal_column, select, table, text

from gateway.catalog.tables import LONGEST_TEXT, Column, Protection, Table
from gateway.catalog.types import parse_type
from gateway.engines.sql.clamp import MOST_BEHIND, clamp_column, has_short_unit
from gateway.engines.sql.partial_select import Dialect
from gateway.plan.relations import null_if_too_long

TEXT: Final = parse_type("text")
COLUMN: Final = Column("t", TEXT, max_length=4)
UNIT: Final = Column("u", TEXT, max_length=4)
PROTECTED: Final = Table("notes", (UNIT, COLUMN), Protection("u", 1, 1))
PUBLIC: Final = Table("words", (COLUMN,))
WORDS: Final = ("", "ab", "abcd", "日本語字", "abcde", "日本語字x", "😀😀😀😀😀", None)
DIALECTS: Final[tuple[Dialect, ...]] = ("duckdb", "postgresql")


def read(databases: Databases, dialect: Dialect, of: Table) -> list[str | None]:
    """What is read of the words, in their order."""
    rows = ", ".join(f"({place}, :w{place})" for place in range(len(WORDS)))
    given = text(f"SELECT * FROM (VALUES {rows}) AS v(n, t)").columns(column("n"), column("t"))
    named = given.subquery("w")
    seen = clamp_column(dialect, of, COLUMN, named.c.t)
    chosen = select(seen).order_by(named.c.n)
    values = {f"w{place}": one for place, one in enumerate(WORDS)}
    return [row[0] for row in databases.of(dialect).execute(chosen, values)]


@pytest.mark.parametrize("dialect", DIALECTS)
def test_text_of_a_person_is_cut_to_its_characters(databases: Databases, dialect: Dialect) -> None:
    """Characters count, not bytes."""
    cut = [None if one is None else one[:4] for one in WORDS]
    assert read(databases, dialect, PROTECTED) == cut


@pytest.mark.parametrize("dialect", DIALECTS)
def test_text_of_a_public_table_is_read_as_stored_or_not_at_all(
    databases: Databases, dialect: Dialect
) -> None:
    """Two stored keys never become one: a licence may rest on them."""
    kept = [one if one is None or len(one) <= COLUMN.max_length else None for one in WORDS]  # type: ignore[operator]
    assert read(databases, dialect, PUBLIC) == kept


@pytest.mark.parametrize("dialect", DIALECTS)
def test_unit_is_never_cut_and_its_row_dropped_when_it_is_longer(
    databases: Databases, dialect: Dialect
) -> None:
    """Cut keys would make one person of two."""
    stored = table("w", column("u"))
    assert clamp_column(dialect, PROTECTED, UNIT, stored.c.u) is stored.c.u
    for one, fits in (("abcd", True), ("日本語字", True), ("abcde", False), ("日本語字x", False)):
        short = has_short_unit(dialect, UNIT, literal_column(f"'{one}'"))
        assert short is not None
        assert databases.of(dialect).execute(select(short)).scalar_one() is fits
    assert has_short_unit(dialect, Column("u", parse_type("bigint")), stored.c.u) is None


def test_decimal_without_a_scale_has_few_digits_behind_the_point(databases: Databases) -> None:
    """What a product of long decimals takes grows with the square of their digits."""
    column_ = Column("n", parse_type("numeric"))
    persons, words = Table("a", (UNIT, column_), Protection("u", 1, 1)), Table("b", (column_,))
    long: ColumnElement[Any] = literal_column(f"CAST('0.{'3' * 300}' AS numeric)")
    seen = select(
        clamp_column("postgresql", persons, column_, long),
        clamp_column("postgresql", words, column_, long),
    )
    rounded, nothing = databases.postgresql.execute(seen).one()
    assert str(rounded) == f"0.{'3' * MOST_BEHIND}"
    assert nothing is None


def test_staged_text_is_read_as_it_is_or_not_at_all() -> None:
    """Released values stand beside rows of persons too."""
    assert null_if_too_long("a" * LONGEST_TEXT) == "a" * LONGEST_TEXT
    assert null_if_too_long("a" * (LONGEST_TEXT + 1)) is None
    assert null_if_too_long(10**2_000) == 10**2_000
