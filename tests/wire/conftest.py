"""One gateway and one plain PostgreSQL for all tests of a process; clients that are not there are not collected.

`make e2e` says by `E2E_PYTHON` where the clients are that `make test` does without. Then all of them have to be there.
"""

from collections.abc import Iterator
from pathlib import Path

import psycopg
import pytest
from endtoend.clinic_gateway import clinic_in_duckdb, clinic_in_postgresql, shown
from endtoend.plain_postgresql import plain_connection
from sqlalchemy import URL
from wire.clients import E2E_PYTHON
from wire.gateways import WireGateway, a_wire_gateway

from gateway.postgres_server import Lease

# psycopg stands for all drivers in `make test`; the others, and all statements of BI tools, are for `make e2e`
_MORE = ("asyncpg", "bi_statements", "data_frames", "psycopg2", "sqlalchemy")
collect_ignore = [] if E2E_PYTHON else [f"test_{name}.py" for name in _MORE]


@pytest.fixture(scope="session")
def clinic(sample_server: Lease) -> Iterator[URL]:
    """The clinic in PostgreSQL: the source of `clinic`, and what answers are compared with."""
    with clinic_in_postgresql(sample_server) as url:
        yield url


@pytest.fixture(scope="session")
def gateway(clinic: URL, tmp_path_factory: pytest.TempPathFactory) -> Iterator[WireGateway]:
    """`clinic` is over PostgreSQL, `ward` is the same over DuckDB."""
    folder: Path = tmp_path_factory.mktemp("ward")
    sources = {"clinic": shown(clinic), "ward": shown(clinic_in_duckdb(folder / "ward.duckdb"))}
    with a_wire_gateway(sources) as opened:
        yield opened


@pytest.fixture(scope="session")
def plain(clinic: URL) -> Iterator[psycopg.Connection]:
    with plain_connection(clinic) as connection:
        yield connection


@pytest.fixture
def alice(gateway: WireGateway) -> Iterator[psycopg.Connection]:
    """Alice's connection, in autocommit."""
    with gateway.connect() as connection:
        yield connection
