"""One running gateway for all tests of a process. Without `E2E_CLIENTS` there are no clients, and nothing is collected."""

from collections.abc import Iterator

import pytest
from wire_more.clients import CLIENTS
from wire_more.running import RunningGateway, a_running_gateway

collect_ignore_glob = [] if CLIENTS else ["test_*.py"]


@pytest.fixture(scope="session")
def served() -> Iterator[RunningGateway]:
    with a_running_gateway() as gateway:
        yield gateway
