"""Servers that the gateways of a process of tests share: each gateway has a state of its own on them, and the twin."""

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path

import pytest
from fix_state import AUDIT_SECRET, StateServer
from pydantic import SecretStr

from gateway.admin.instance import Foundation, open_foundation
from gateway.app import open_twin_of
from gateway.config import SettingsConflict, prepare_home
from gateway.events import Emit, ignore_event
from gateway.twin import Twin


@dataclass(frozen=True)
class SharedServers:
    """A server for states, and a twin that runs."""

    states: StateServer
    twin: Twin


@pytest.fixture(scope="session")
def servers(state_server: StateServer, twin: Twin) -> SharedServers:
    return SharedServers(state_server, twin)


@contextmanager
def foundation_and_twin(
    servers: SharedServers | None, home: Path, policies: Path, emit: Emit = ignore_event
) -> Iterator[tuple[Foundation, Twin]]:
    """What a gateway stands on; without `servers`, a state and a twin of its own in its home, which start meanwhile."""
    settings = SettingsConflict(home=home, policies=policies)
    with ExitStack() as stack:
        if servers is not None:
            urls = stack.enter_context(servers.states.database())
            assert urls.owner is not None
            settings = settings.model_copy(
                update={
                    "state_url": SecretStr(urls.application.render_as_string(hide_password=False)),
                    "state_owner_url": SecretStr(urls.owner.render_as_string(hide_password=False)),
                    "audit_key": SecretStr(AUDIT_SECRET.decode()),
                }
            )
            prepare_home(settings)
        foundation = stack.enter_context(open_foundation(settings, emit))
        twin = stack.enter_context(open_twin_of(settings)) if servers is None else servers.twin
        yield foundation, twin
