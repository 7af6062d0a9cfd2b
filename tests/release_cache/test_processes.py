"""Gateways in processes of their own: they buy once, and nothing waits for ever for a killed one."""

import json
import subprocess
import sys
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from datetime import timedelta
from pathlib import Path

import pytest
from fix_ledger import ALICE, BOB, NOON, Bank, audit, limits, own_environment
from fix_state import AUDIT_SECRET
from release_cache.log_entries import Desk, entry
from warm_python import forks

from gateway.config import Settings

_PROGRAM = Path(__file__).with_name("purchase_process.py")


class Buyer:
    """A process that does what it is told, one step at a time."""

    def __init__(self, process: "subprocess.Popen[str]") -> None:
        self._process = process

    def go_on(self, line: str = "") -> None:
        assert self._process.stdin is not None
        self._process.stdin.write(f"{line}\n")
        self._process.stdin.flush()

    def said(self) -> str:
        assert self._process.stdout is not None
        return self._process.stdout.readline().strip()

    def kill(self) -> None:
        self._process.kill()
        self._process.wait()


@contextmanager
def buying(settings: Settings, home: Path, number: int) -> Iterator[Buyer]:
    """A gateway with an anchor of its own that is about to buy."""
    assert settings.state_url is not None
    home.mkdir()
    order = {
        "home": str(home),
        "state_url": settings.state_url.get_secret_value(),
        "secret": AUDIT_SECRET.decode(),
        "number": number,
    }
    with forks():
        process = subprocess.Popen(
            [sys.executable, str(_PROGRAM)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            env=own_environment(),
        )
    with process:
        buyer = Buyer(process)
        try:
            buyer.go_on(json.dumps(order))
            yield buyer
        finally:
            process.kill()


@pytest.fixture
def desk(bank: Bank) -> Desk:
    bank.open_ledger(limits(1000))
    bank.open_account(ALICE, limits(1000))
    bank.open_account(BOB, limits(1000))
    return Desk(bank)


def test_processes_buy_once_when_they_plan_on_the_same_event(
    desk: Desk, state_settings: Settings, tmp_path: Path
) -> None:
    """Of three that start with the same past one is charged; all that is charged is in the log."""
    with ExitStack() as stack:
        buyers = [
            stack.enter_context(buying(state_settings, tmp_path / str(number), number))
            for number in (1, 2, 3)
        ]
        assert [buyer.said() for buyer in buyers] == ["ready"] * 3
        for buyer in buyers:
            buyer.go_on()
        outcomes = [json.loads(buyer.said()) for buyer in buyers]
        assert sorted(outcomes) == [False, False, True]
        winner = outcomes.index(True)
        buyers[winner].go_on()
        assert buyers[winner].said() == "answered"
    cache = desk.cache()
    assert cache.refresh().ordinal == 2
    (there,) = cache.entries("patients", since=NOON)
    assert there.query_id == f"q-{winner + 1}"
    content = cache.content(there.release)
    assert content is not None
    assert content.columns == ((winner + 1,),)
    assert set(audit(desk.bank.engine).charged_at) == {there.query_id}


def test_entry_is_given_up_when_its_gateway_was_killed_before_the_answer(
    desk: Desk, state_settings: Settings, tmp_path: Path
) -> None:
    """It was charged, it is awaited for as long as the caller likes, and then somebody else buys it."""
    with buying(state_settings, tmp_path / "killed", 1) as buyer:
        assert buyer.said() == "ready"
        buyer.go_on()
        assert buyer.said() == "true"
        buyer.kill()
    cache = desk.cache()
    seen = cache.refresh()
    (killed,) = cache.entries("patients", since=NOON)
    assert cache.pending(killed.release)
    assert cache.content(killed.release) is None
    assert list(cache.entries("patients", since=NOON, awaited_since=NOON)) == [killed]
    later = desk.pass_minutes(1)
    awaited_since = later - timedelta(seconds=30)
    assert list(cache.entries("patients", since=NOON, awaited_since=awaited_since)) == []
    again = entry(2, at=later)
    assert desk.buy(seen.ordinal, again)
    desk.answer(again, 5)
    cache.refresh()
    assert list(cache.entries("patients", since=NOON, awaited_since=awaited_since)) == [again]
    assert set(audit(desk.bank.engine).charged_at) == {"q-1", "q-2"}
