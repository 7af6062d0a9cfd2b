"""One gateway and one plain PostgreSQL for all of these tests."""

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path

import psycopg
import pytest
from endtoend.clinic_gateway import (
    AskedGateway,
    a_gateway,
    clinic_in_duckdb,
    clinic_in_postgresql,
    shown,
)
from endtoend.clinic_policy import policy
from endtoend.plain_postgresql import plain_connection
from fix_servers import SharedServers
from sqlalchemy import URL

from gateway.postgres_server import Lease


@dataclass(frozen=True)
class Sources:
    """The same persons in three databases; `plain` is the one that `laplace` is over."""

    plain: URL
    duckdb: URL
    listed: URL


@pytest.fixture(scope="session")
def sources(sample_server: Lease, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Sources]:
    folder: Path = tmp_path_factory.mktemp("people")
    with clinic_in_postgresql(sample_server) as plain:
        yield Sources(
            plain,
            clinic_in_duckdb(folder / "gaussian.duckdb"),
            clinic_in_duckdb(folder / "listed.duckdb"),
        )


@pytest.fixture(scope="session")
def gateway(sources: Sources, servers: SharedServers) -> Iterator[AskedGateway]:
    """`laplace` over PostgreSQL and `gaussian` over DuckDB find their groups, `listed` knows them."""
    policies = {
        "laplace": policy("laplace", "PLAIN", "laplace", groups=1),
        "gaussian": policy("gaussian", "DUCKDB", "gaussian", groups=1),
        "listed": policy("listed", "LISTED", "laplace", groups=10_000),
    }
    environment = {
        "PLAIN": shown(sources.plain),
        "DUCKDB": shown(sources.duckdb),
        "LISTED": shown(sources.listed),
    }
    with a_gateway(policies, environment, servers) as opened:
        yield opened


@pytest.fixture(scope="session")
def plain(sources: Sources) -> Iterator[psycopg.Connection]:
    with plain_connection(sources.plain) as connection:
        yield connection


@dataclass(frozen=True)
class Poor:
    """A gateway over a source that can be taken away, with money for two questions."""

    gateway: AskedGateway
    take_source_away: Callable[[], None]


@pytest.fixture
def poor(sample_server: Lease, servers: SharedServers) -> Iterator[Poor]:
    with ExitStack() as stack:
        source = ExitStack()
        url = stack.enter_context(source).enter_context(clinic_in_postgresql(sample_server))
        one = policy("poor", "SOURCE", "laplace", groups=1, price="1", budget="2")
        opened = stack.enter_context(a_gateway({"poor": one}, {"SOURCE": shown(url)}, servers))
        yield Poor(opened, source.close)
