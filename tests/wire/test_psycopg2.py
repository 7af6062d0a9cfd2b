"""psycopg2, which puts values into the text, and begins a transaction with the first statement."""

import io
from collections.abc import Iterator
from contextlib import closing
from datetime import date
from decimal import Decimal
from typing import Any, TypeAlias

import psycopg2
import psycopg2.extras
import pytest
from wire.gateways import WireGateway

Connection: TypeAlias = Any  # psycopg2 has no types
_REGIONS = "SELECT region, COUNT(*) AS n FROM patients GROUP BY region ORDER BY region"
_ROWS = [("east", 24), ("north", 36), ("south", 20), ("west", 12), (None, 4)]


@pytest.fixture
def connection(gateway: WireGateway) -> Iterator[Connection]:
    with closing(psycopg2.connect(gateway.url(), connect_timeout=20)) as connection:
        yield connection


def test_psycopg2_reads_rows_for_one_question(gateway: WireGateway, connection: Connection) -> None:
    """In the transaction that it begins by itself."""
    before = gateway.charged()
    with connection, connection.cursor() as cursor:
        cursor.execute(_REGIONS)
        assert cursor.fetchall() == _ROWS
        assert [(one.name, one.type_code) for one in cursor.description] == [
            ("region", 25),
            ("n", 20),
        ]
        assert cursor.rowcount == 5
    assert gateway.charged() == before + 1


def test_psycopg2_writes_values_into_the_text(connection: Connection) -> None:
    """Quotes, backslashes, lists, dates and NULL are literals by then, and mean what they say."""
    text = """SELECT COUNT(*) FROM visits WHERE diagnosis IN %s AND cost > %s AND visit_date >= %s
        AND (diagnosis <> %s OR %s IS NULL)"""
    values = (("crohn's", "flu", "a\\b"), Decimal("1.5"), date(2020, 2, 1), 'ÄÖ "q", {x}', None)
    with connection, connection.cursor() as cursor:
        cursor.execute(text, values)
        ((many,),) = cursor.fetchall()
        assert many > 0
        cursor.execute(
            "SELECT COUNT(*) FROM patients WHERE name = ANY(%s)", (["O'Hara\n\tJr", "back\\slash"],)
        )
        assert cursor.fetchone()[0] > 0


@pytest.mark.parametrize("hold", [False, True])
def test_psycopg2_named_cursor_is_one_question(
    gateway: WireGateway,
    connection: Connection,
    hold: bool,  # noqa: FBT001 - a parameter
) -> None:
    """It is DECLAREd and FETCHed, held after COMMIT where that is asked for."""
    before = gateway.charged()
    with connection.cursor("mine", withhold=hold, scrollable=True) as cursor:
        cursor.itersize = 2
        cursor.execute(_REGIONS)
        assert cursor.fetchone() == _ROWS[0]
        if hold:
            connection.commit()
        assert list(cursor) == _ROWS[1:]
        cursor.scroll(1, mode="absolute")
        assert cursor.fetchone() == _ROWS[1]
    assert gateway.charged() == before + 1


def test_psycopg2_copies_to_a_file(gateway: WireGateway, connection: Connection) -> None:
    """`copy_expert` is one question."""
    before = gateway.charged()
    file = io.StringIO()
    with connection, connection.cursor() as cursor:
        cursor.copy_expert(f"COPY ({_REGIONS}) TO STDOUT WITH CSV HEADER", file)
    assert file.getvalue().startswith("region,n\neast,24\n")
    assert gateway.charged() == before + 1


def test_psycopg2_goes_on_after_a_rollback(gateway: WireGateway, connection: Connection) -> None:
    """A refusal has PostgreSQL's class and our code; the transaction is failed until it is rolled back."""
    before = gateway.charged()
    cursor = connection.cursor()
    with pytest.raises(psycopg2.errors.InsufficientPrivilege) as refused:
        cursor.execute("SELECT * FROM visits LIMIT 10")
    assert refused.value.diag.message_detail.startswith("GW110: ")
    with pytest.raises(psycopg2.errors.InFailedSqlTransaction):
        cursor.execute(_REGIONS)
    connection.rollback()
    assert gateway.charged() == before
    cursor.execute(_REGIONS)
    assert cursor.fetchall() == _ROWS


def test_psycopg2_asks_several_statements_at_once(
    gateway: WireGateway, connection: Connection
) -> None:
    """The rows are those of the last; every question is charged."""
    before = gateway.charged()
    connection.autocommit = True
    with connection.cursor(cursor_factory=psycopg2.extras.RealDictCursor) as cursor:
        cursor.execute(f"{_REGIONS}; SELECT 1; SELECT COUNT(*) AS many FROM patients")
        assert [dict(row) for row in cursor.fetchall()] == [{"many": 96}]
    assert gateway.charged() == before + 2


def test_psycopg2_comes_in_by_tls(gateway: WireGateway) -> None:
    """And knows what it speaks to."""
    with closing(psycopg2.connect(gateway.url(tls=True), connect_timeout=20)) as connection:
        assert connection.info.ssl_in_use
        assert connection.server_version >= 160_000
        connection.set_session(isolation_level="REPEATABLE READ", readonly=True)
        with connection, connection.cursor() as cursor:
            cursor.execute(_REGIONS)
            assert cursor.fetchall() == _ROWS
