"""asyncpg, which prepares everything, reads binary alone and resets its connections."""

import asyncio
import io
from collections.abc import Awaitable, Callable
from datetime import date, datetime
from decimal import Decimal
from typing import Any

import asyncpg
import pytest
from wire.gateways import WireGateway

_REGIONS = "SELECT region, COUNT(*) AS n FROM patients GROUP BY region ORDER BY region"
_ROWS = [("east", 24), ("north", 36), ("south", 20), ("west", 12), (None, 4)]
_ENDLESS = "SELECT count(*) FROM pg_attribute a, pg_attribute b, pg_attribute c WHERE a.attname || b.attname || c.attname = 'x'"
_PATIENCE_S = 20

Asking = Callable[[Any], Awaitable[None]]


@pytest.fixture
def ask(gateway: WireGateway) -> Callable[[Asking], None]:
    """Runs something with a connection of alice's."""

    def run(work: Asking) -> None:
        async def with_connection() -> None:
            connection = await asyncpg.connect(gateway.url(), timeout=_PATIENCE_S)
            try:
                await work(connection)
            finally:
                await connection.close(timeout=_PATIENCE_S)

        asyncio.run(with_connection())

    return run


def test_asyncpg_reads_typed_rows(gateway: WireGateway, ask: Callable[[Asking], None]) -> None:
    """Whole numbers, decimals, dates, moments, lists and NULL; `fetch` is one question."""

    async def work(connection: Any) -> None:  # noqa: ANN401 - asyncpg has no types
        before = gateway.charged()
        assert [tuple(row) for row in await connection.fetch(_REGIONS)] == _ROWS
        assert gateway.charged() == before + 1
        row = await connection.fetchrow(
            """SELECT COUNT(*) AS n, SUM(birth_year)::numeric AS total, DATE '2024-02-29' AS day,
                TIMESTAMP '2024-02-29 12:30' AS moment, ARRAY[COUNT(*)] AS list, NULL::text AS nothing
                FROM patients"""
        )
        assert (row["n"], row["list"], row["nothing"]) == (96, [96], None)
        assert (row["day"], row["moment"]) == (date(2024, 2, 29), datetime(2024, 2, 29, 12, 30))  # noqa: DTZ001 - it has none
        assert isinstance(row["total"], Decimal)

    ask(work)


def test_asyncpg_binds_typed_values(ask: Callable[[Asking], None]) -> None:
    """Parameters go in binary, with the types that PostgreSQL infers."""

    async def work(connection: Any) -> None:  # noqa: ANN401 - asyncpg has no types
        text = """SELECT COUNT(*) FROM visits WHERE diagnosis = ANY($1) AND cost >= $2
            AND visit_date > $3 AND weight < $4"""
        values = (["flu", "crohn's", None], Decimal("10.5"), date(2020, 3, 1), 250.5)
        many = await connection.fetchval(text, *values)
        none = await connection.fetchval(text, [], *values[1:])
        assert many > 0 == none

    ask(work)


def test_asyncpg_charges_each_run_of_a_prepared_statement(
    gateway: WireGateway, ask: Callable[[Asking], None]
) -> None:
    """Preparing and looking at attributes is free, each `fetch` is a question."""

    async def work(connection: Any) -> None:  # noqa: ANN401 - asyncpg has no types
        before = gateway.charged()
        prepared = await connection.prepare("SELECT COUNT(*) FROM patients WHERE region = $1")
        assert [one.name for one in prepared.get_parameters()] == ["text"]
        assert [one.name for one in prepared.get_attributes()] == ["count"]
        assert gateway.charged() == before
        assert [await prepared.fetchval(one) for one in ("north", "west")] == [36, 12]
        assert gateway.charged() == before + 2

    ask(work)


def test_asyncpg_cursor_is_one_question(
    gateway: WireGateway, ask: Callable[[Asking], None]
) -> None:
    """A portal that is read in parts, with steps over rows."""

    async def work(connection: Any) -> None:  # noqa: ANN401 - asyncpg has no types
        before = gateway.charged()
        async with connection.transaction():
            assert [tuple(row) async for row in connection.cursor(_REGIONS, prefetch=2)] == _ROWS
        assert gateway.charged() == before + 1
        async with connection.transaction():
            cursor = await connection.cursor(_REGIONS)
            assert [tuple(row) for row in await cursor.fetch(1)] == _ROWS[:1]
            await cursor.forward(2)
            assert tuple(await cursor.fetchrow()) == _ROWS[3]
        assert gateway.charged() == before + 2

    ask(work)


@pytest.mark.parametrize(
    ("options", "begins"),
    [({"format": "csv", "header": True}, b"region,n\n"), ({"format": "binary"}, b"PGCOPY")],
)
def test_asyncpg_copies_from_a_question(
    gateway: WireGateway,
    ask: Callable[[Asking], None],
    options: dict[str, Any],
    begins: bytes,
) -> None:
    """`copy_from_query` is one question."""

    async def work(connection: Any) -> None:  # noqa: ANN401 - asyncpg has no types
        before = gateway.charged()
        output = io.BytesIO()
        assert await connection.copy_from_query(_REGIONS, output=output, **options) == "COPY 5"
        assert output.getvalue().startswith(begins)
        assert gateway.charged() == before + 1

    ask(work)


def test_asyncpg_goes_on_after_refusals(
    gateway: WireGateway, ask: Callable[[Asking], None]
) -> None:
    """They are exceptions of PostgreSQL's classes with detail and hint, are free, and fail a transaction alone."""

    async def work(connection: Any) -> None:  # noqa: ANN401 - asyncpg has no types
        before = gateway.charged()
        with pytest.raises(asyncpg.InsufficientPrivilegeError) as refused:
            await connection.fetch("SELECT * FROM visits LIMIT 10")
        assert refused.value.detail.startswith("GW110: ")
        assert "SELECT COUNT(*) FROM visits" in refused.value.hint
        with pytest.raises(asyncpg.UndefinedTableError):
            await connection.fetch("SELECT COUNT(*) FROM nowhere")
        with pytest.raises(asyncpg.UndefinedColumnError):
            await connection.fetch("SELECT COUNT(nothing) FROM visits")
        transaction = connection.transaction()
        await transaction.start()
        with pytest.raises(asyncpg.InsufficientPrivilegeError):
            await connection.fetch("SELECT * FROM visits")
        with pytest.raises(asyncpg.InFailedSQLTransactionError):
            await connection.fetch(_REGIONS)
        await transaction.rollback()
        assert gateway.charged() == before
        assert [tuple(row) for row in await connection.fetch(_REGIONS)] == _ROWS

    ask(work)


def test_asyncpg_pool_resets_its_connections(gateway: WireGateway) -> None:
    """What is set on a connection is gone when it comes back from the pool; types are looked up as ever."""

    async def work() -> None:
        async with asyncpg.create_pool(gateway.url(), min_size=1, max_size=1) as pool:
            async with pool.acquire() as connection:
                await connection.execute("SET timezone = 'Europe/Berlin'")
                assert await connection.fetchval("SHOW timezone") == "Europe/Berlin"
            async with pool.acquire() as connection:
                assert await connection.fetchval("SHOW timezone") != "Europe/Berlin"
                assert [tuple(row) for row in await connection.fetch(_REGIONS)] == _ROWS
                assert await connection.fetchval("SELECT ARRAY['a', NULL]::name[]") == ["a", None]
                await connection.reload_schema_state()

    asyncio.run(work())


def test_asyncpg_cancels_what_takes_too_long(ask: Callable[[Asking], None]) -> None:
    """A time-out of the client's sends a CancelRequest, and the connection can be used again."""

    async def work(connection: Any) -> None:  # noqa: ANN401 - asyncpg has no types
        with pytest.raises(TimeoutError):
            await connection.fetch(_ENDLESS, timeout=0.5)
        assert [tuple(row) for row in await connection.fetch(_REGIONS)] == _ROWS

    ask(work)


def test_asyncpg_comes_in_by_tls(gateway: WireGateway) -> None:
    """With the mode in its URL."""

    async def work() -> None:
        connection = await asyncpg.connect(gateway.url(tls=True), timeout=_PATIENCE_S)
        assert await connection.fetchval("SELECT COUNT(*) FROM patients") == 96
        await connection.close(timeout=_PATIENCE_S)

    asyncio.run(work())
