"""A running gateway reloads changed policy files and records it in the log and the trail."""

import os
import signal
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from fix_policy import BASE, ENVIRONMENT
from sqlalchemy import select

from gateway.admin.check_policies import current_policies, reload_on_change
from gateway.events import Event, PoliciesLoaded, PoliciesRejected, PolicyWarning
from gateway.policy.in_force import Cause
from gateway.state.open import State
from gateway.state.tables import trail_records
from gateway.trail.record import Trail


@pytest.fixture
def place(tmp_path: Path) -> Path:
    place = tmp_path / "policies"
    place.mkdir()
    (place / "clinic.yaml").write_text(BASE)
    (place / "subjects.yaml").write_text("alice: {role: researcher, region: north}\n")
    return place


def put(place: Path, text: str) -> None:
    """Put a file in the place of the old one at once, as careful editors do."""
    (place / "new").write_text(text)
    (place / "new").rename(place / "clinic.yaml")


def wait_until(done: Callable[[], bool]) -> None:
    until = time.monotonic() + 10
    while not done() and time.monotonic() < until:
        time.sleep(0.02)
    assert done()


def kinds(state: State) -> list[str]:
    query = select(trail_records.c.kind).order_by(trail_records.c.seq)
    with state.engine.connect() as connection:
        return [kind for (kind,) in connection.execute(query) if kind.startswith("policy")]


def test_gateway_follows_its_files(state: State, trail: Trail, place: Path) -> None:
    """A good file is in force soon, a bad one is told and is not, a signal reads again."""
    events: list[Event] = []
    policies = current_policies(state.journal, trail, place, events.append, ENVIRONMENT)
    first = policies.open(Cause("os:op", "the gateway starts"))
    # an unfamiliar name, and a source that cannot be asked for the columns of a public table
    assert [type(event) for event in events] == [PoliciesLoaded, PolicyWarning, PolicyWarning]
    handler = signal.getsignal(signal.SIGHUP)
    with reload_on_change(policies, place):
        put(place, BASE.replace("{epsilon: 10,", "{epsilon: 9,"))
        wait_until(lambda: policies.value is not first)
        second = policies.value
        put(place, "gateway: 2")
        wait_until(lambda: isinstance(events[-1], PoliciesRejected))
        assert policies.value is second
        seen = len(events)
        os.kill(os.getpid(), signal.SIGHUP)
        wait_until(lambda: len(events) > seen)
    assert signal.getsignal(signal.SIGHUP) == handler
    assert kinds(state) == [
        "policy_loaded",
        "policy_loaded",
        "policy_rejected",
        "policy_rejected",
    ]


def test_signal_keeps_its_handler_when_the_gateway_does_not_listen(
    state: State, trail: Trail, place: Path
) -> None:
    """The files are followed, and SIGHUP does what it did before: it ends a demo whose terminal closes."""
    policies = current_policies(state.journal, trail, place, lambda _: None, ENVIRONMENT)
    first = policies.open(Cause("os:op", "the gateway starts"))
    handler = signal.getsignal(signal.SIGHUP)
    with reload_on_change(policies, place, on_signal=False):
        assert signal.getsignal(signal.SIGHUP) == handler
        put(place, BASE.replace("{epsilon: 10,", "{epsilon: 9,"))
        wait_until(lambda: policies.value is not first)
