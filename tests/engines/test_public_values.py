"""Values of public tables as they are fetched: what the catalog has no value for is NULL."""

from datetime import date
from pathlib import Path

import pytest
from engines.plain_expressing import PlainExpressing
from engines.sources import in_duckdb, in_postgresql
from sqlalchemy import URL

from gateway.catalog.tables import Column, Table
from gateway.catalog.types import parse_type
from gateway.engines.source import SourceDatabase

_DAYS = ["0001-01-03", "9999-12-29"]
_NO_DAYS = ["infinity", "-infinity", "0001-12-31 @BC", "4000-01-01 @BC", "10000-01-01"]
_NO_NUMBERS = ["infinity", "-infinity", "nan"]
# by type: values of the catalog, and values that it has not
_ENDS = {
    "date": (_DAYS, _NO_DAYS),
    "timestamp": (_DAYS, _NO_DAYS),
    "timestamptz": (_DAYS, _NO_DAYS),
    "double precision": (["-1.5", "7"], _NO_NUMBERS),
    "real": (["-1.5", "7"], _NO_NUMBERS),
}


@pytest.mark.parametrize("kind", _ENDS)
@pytest.mark.parametrize("dialect", ["duckdb", "postgresql"])
def test_fetched_value_is_null_when_the_catalog_has_none(
    request: pytest.FixtureRequest, tmp_path: Path, dialect: str, kind: str
) -> None:
    """Infinite days and those outside of years 1 to 9999, infinity and NaN are NULL; all else is as it is stored."""
    inside, outside = _ENDS[kind]
    era = "(BC)" if dialect == "duckdb" else "BC"
    written = [one.replace("@BC", era) for one in (*inside, *outside)]
    values = ", ".join(f"(CAST('{one}' AS {kind}))" for one in written)
    made = f"CREATE TABLE ends (x {kind}); INSERT INTO ends VALUES {values}, (NULL)"
    if dialect == "duckdb":
        url = in_duckdb(tmp_path, made)
    else:
        server = request.getfixturevalue("sample_database")
        assert isinstance(server, URL)
        url = in_postgresql(server, made)
    source = SourceDatabase.open(url, PlainExpressing(), salt="")
    try:
        table = Table("ends", (Column("x", parse_type(kind)),))
        found = [one for (one,) in source.fetch(table, 99).rows]
    finally:
        source.close()
    assert found[2:] == [None] * (len(outside) + 1)
    shown = [str(one)[:10] if isinstance(one, date) else str(one) for one in found[:2]]
    assert shown == (inside if inside is _DAYS else ["-3/2", "7"])
