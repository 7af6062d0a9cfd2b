import struct
from datetime import UTC, date, datetime
from decimal import Decimal

import numpy as np
import psycopg
import pytest
from fix_sample import plain
from psycopg import sql
from sqlalchemy.engine import URL

from gateway.sample import binary_copy as binary


def test_rows_are_laid_out_as_postgresql_documents_them() -> None:
    """A count of fields, then each field's length and value, big end first; NULL is length -1."""
    stream = binary.rows(
        binary.bigint(np.array([1, 2])), binary.text(np.array([1, -1]), ["a", "long"])
    )
    first = struct.pack("!hiqi4s", 2, 8, 1, 4, b"long")
    second = struct.pack("!hiqi", 2, 8, 2, -1)
    assert stream == first + second


def test_rows_may_be_none() -> None:
    """No rows are no bytes."""
    nothing = np.array([], dtype=np.int64)
    assert binary.rows(binary.bigint(nothing), binary.numeric(nothing, scale=2)) == b""


@pytest.mark.parametrize("scale", [0, 2])
def test_numeric_arrives_exactly(sample_database: URL, scale: int) -> None:
    """PostgreSQL reads the number that was meant, at every place where a digit carries over."""
    whole = [0, 1, 99, 100, 101, 9_999, 10_000, 10_001, 200_000, 500_000, 999_999, -1]
    arrived = _through(
        sample_database, "numeric", binary.numeric(np.array(whole, dtype=np.int32), scale)
    )
    assert arrived == [*(Decimal(each).scaleb(-scale) for each in whole[:-1]), None]
    assert str(arrived[3]) == ("100" if scale == 0 else "1.00")


def test_text_arrives_with_letters_beyond_ascii(sample_database: URL) -> None:
    """Names of several bytes a letter keep their length, and the unknown is NULL, not empty."""
    names = ["", "é", "腹痛", "plain"]
    codes = np.array([3, 2, 1, 0, -1], dtype=np.int8)
    assert _through(sample_database, "text", binary.text(codes, names)) == [*names[::-1], None]


def test_day_arrives_before_and_after_the_epoch(sample_database: URL) -> None:
    """Days are counted from the date given, also where PostgreSQL's own count is negative."""
    field = binary.day(np.array([0, 1, 400]), first=date(1999, 12, 31))
    assert _through(sample_database, "date", field) == [
        date(1999, 12, 31),
        date(2000, 1, 1),
        date(2001, 2, 3),
    ]


def test_moment_arrives_before_and_after_the_epoch(sample_database: URL) -> None:
    """Seconds are counted from 1970, also where PostgreSQL's own count is negative."""
    field = binary.moment(np.array([-1, 0, 946_684_800, 1_750_000_000]))
    assert _through(sample_database, "timestamptz", field) == [
        datetime(1969, 12, 31, 23, 59, 59, tzinfo=UTC),
        datetime(1970, 1, 1, tzinfo=UTC),
        datetime(2000, 1, 1, tzinfo=UTC),
        datetime(2025, 6, 15, 15, 6, 40, tzinfo=UTC),
    ]


def test_integers_arrive_at_both_ends(sample_database: URL) -> None:
    """The widest numbers of either type are not cut."""
    small, large = np.array([-(2**31), 2**31 - 1]), np.array([-(2**63), 2**63 - 1])
    assert _through(sample_database, "integer", binary.integer(small)) == small.tolist()
    assert _through(sample_database, "bigint", binary.bigint(large)) == large.tolist()


def _through(url: URL, kind: str, field: binary.CopyColumn) -> list[object]:
    """Send a column through a real server."""
    with psycopg.connect(plain(url)) as connection, connection.cursor() as cursor:
        cursor.execute(
            sql.SQL("CREATE TEMP TABLE t (n bigserial, x {}) ON COMMIT DROP").format(sql.SQL(kind))
        )
        with cursor.copy("COPY t (x) FROM STDIN (FORMAT binary)") as copy:
            copy.write(binary.HEADER + binary.rows(field) + binary.TRAILER)
        return [value for (value,) in cursor.execute("SELECT x FROM t ORDER BY n").fetchall()]
