"""Gateways for these tests, and a dataset of its own for each of them."""

from collections.abc import Iterator
from contextlib import closing

import pytest
from endtoend.reuse.datasets import PURE, ZCDP, Houses, Opened, Place, opened
from fix_servers import SharedServers

from gateway.postgres_server import Lease


@pytest.fixture(scope="session")
def houses(sample_server: Lease, servers: SharedServers) -> Iterator[Houses]:
    with closing(Houses(sample_server, servers)) as all_of_them:
        yield all_of_them


@pytest.fixture(autouse=True)
def _processes_of_one_test(request: pytest.FixtureRequest) -> Iterator[None]:
    """A test leaves no DuckDB process: with a hundred datasets there would be a hundred until the gateway closes."""
    yield
    if "houses" in request.fixturenames:
        houses: Opened | Houses = request.getfixturevalue("houses")
        houses.end_processes()


@pytest.fixture(scope="module")
def few(sample_server: Lease) -> Iterator[Opened]:
    """Another one with a state of its own, which commands can open; quick to read its policies again."""
    with opened(sample_server, pure=8, postgresql=4) as one:
        yield one


@pytest.fixture(params=[PURE, ZCDP])
def place(request: pytest.FixtureRequest, houses: Opened | Houses) -> Place:
    """A dataset nobody has asked, in either currency."""
    kind: str = request.param
    return houses.place(kind)


@pytest.fixture
def pure(houses: Opened | Houses) -> Place:
    return houses.place(PURE)
