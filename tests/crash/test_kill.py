"""kill -9, between any two steps: what was answered is charged, what is charged is charged once."""

import itertools
import json
import os
import random
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from fractions import Fraction
from pathlib import Path

import pytest
from fix_cells import A, B, C, audit_cells
from fix_ledger import ALICE, CLINIC, Bank, Books, audit, limits, own_environment
from fix_state import AUDIT_SECRET
from sqlalchemy import Engine, text
from warm_python import forks

from gateway.config import Settings
from gateway.state.anchor import Anchor
from gateway.state.connections import engine_for
from gateway.state.open import open_state
from gateway.trail.record import Trail

_WORKER = Path(__file__).with_name("worker.py")
_PATIENCE_S = 60.0
_STEPS = [
    "before the rows are written",
    "after the rows are written",
    "before the anchor",
    "after the anchor",
    "before the anchor's line",
    "within the anchor's line",
    "within the anchor's line, end first",
    "between the anchor's write and its sync",
    "after the anchor's sync",
    "before the new anchor is synced",
    "before the new anchor takes its place",
    "after the new anchor took its place",
    "after the commit, before it is told",
]


@dataclass
class Life:
    """One life of a gateway, from its first line to its last."""

    pid: int = 0
    answered: list[str] = field(default_factory=list)
    refusals: list[str] = field(default_factory=list)
    status: int | None = None


class Gateways:
    """Lives one after another on one state."""

    def __init__(self, process: subprocess.Popen[str], settings: Settings) -> None:
        assert settings.state_url is not None
        self._process = process
        self._order = {
            "home": str(settings.home),
            "state_url": settings.state_url.get_secret_value(),
            "secret": AUDIT_SECRET.decode(),
            "threads": 3,
            "charges": 1000,
        }
        self._numbers = itertools.count()

    def begin(self, **order: object) -> Life:
        assert self._process.stdin is not None
        order = {**self._order, "life": f"life-{next(self._numbers)}", **order}
        self._process.stdin.write(json.dumps(order) + "\n")
        life = Life()
        while not life.pid:
            self.listen(life)
        return life

    def listen(self, life: Life) -> str:
        """Take note of one line."""
        assert self._process.stdout is not None
        word, _, rest = self._process.stdout.readline().strip().partition(" ")
        match word:
            case "started":
                life.pid = int(rest)
            case "answered":
                life.answered.append(rest)
            case "no":
                life.refusals.append(rest)
            case "ended":
                life.status = int(rest)
            case _:
                assert word == "ready", "the worker died"
        return word

    def until_the_end(self, life: Life) -> Life:
        while life.status is None:
            self.listen(life)
        return life

    def live(self, **order: object) -> Life:
        return self.until_the_end(self.begin(**order))


def _wait_for_commits(engine: Engine) -> None:
    """A server ends what it was sent, also for a client that was killed: what is read before that is not all."""
    query = text(
        "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database()"
        " AND pid <> pg_backend_pid() AND state IS DISTINCT FROM 'idle' AND backend_type = 'client backend'"
    )
    end = time.monotonic() + _PATIENCE_S
    with engine.connect() as connection:
        while connection.execute(query).scalar_one():
            connection.rollback()
            assert time.monotonic() < end, "a statement of a killed gateway does not end"
            time.sleep(0.01)


@pytest.fixture(scope="module")
def worker() -> Iterator[subprocess.Popen[str]]:
    """A process that imports the gateway once and forks for each life."""
    with forks():
        process = subprocess.Popen(
            [sys.executable, str(_WORKER)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            bufsize=1,
            env=own_environment(),
        )
    yield process
    process.communicate(timeout=60)
    assert process.returncode == 0


@pytest.fixture
def gateways(worker: subprocess.Popen[str], state_settings: Settings, trail: Trail) -> Gateways:
    """Gateways on a state in which alice may ask 100,000 times."""
    with open_state(state_settings, AUDIT_SECRET) as state:
        bank = Bank(state.journal, trail, state.engine)
        bank.open_ledger(limits(1000))
        bank.open_account(ALICE, limits(100))
    return Gateways(worker, state_settings)


def inspect(settings: Settings, answered: list[str]) -> Books:
    """The books agree, and every answer is in them and in the anchor."""
    assert settings.state_url is not None
    engine = engine_for(settings.state_url.get_secret_value())
    anchor = Anchor(settings.home / "anchor", AUDIT_SECRET)
    try:
        anchored = anchor.read()
        _wait_for_commits(engine)
        books = audit(engine)
    finally:
        anchor.close()
        engine.dispose()
    assert anchored is not None
    assert anchored.position.seq <= books.seq
    assert all(books.charged_at[query_id] <= anchored.position.seq for query_id in answered)
    for account in (ALICE, CLINIC):
        known = Fraction(anchored.facts[f"account:{account}"].value["spent"] or 0)
        assert len(answered) * Fraction(1, 1000) <= known <= books.spent.get(account, 0)
    return books


def recover(settings: Settings, gateways: Gateways, answered: list[str]) -> None:
    """The next gateway opens the state and goes on."""
    inspect(settings, answered)
    life = gateways.live(threads=1, charges=2)
    assert (life.status, len(life.answered)) == (0, 2)
    inspect(settings, answered + life.answered)


@pytest.mark.parametrize("step", _STEPS)
def test_gateway_killed_at_a_step_answers_nothing_that_is_not_charged(
    gateways: Gateways, state_settings: Settings, step: str
) -> None:
    """Killed at this step, with small and with large anchors, alone and under the writers' lock: the
    state opens again, every answer has one durable, anchored charge, trail and ledger agree.
    """
    answered: list[str] = []
    for under_the_lock in (False, True):
        for times in (0, 3):
            life = gateways.live(
                step=step, times=times, capacity=1500, under_the_lock=under_the_lock
            )
            assert life.status == -signal.SIGKILL
            answered += life.answered
            inspect(state_settings, answered)
    recover(state_settings, gateways, answered)


@pytest.mark.parametrize(
    "step",
    [
        "before the rows are written",
        "after the rows are written",
        "between the anchor's write and its sync",
        "after the commit, before it is told",
    ],
)
def test_gateway_killed_at_a_step_leaves_no_cell_behind(
    gateways: Gateways, state_settings: Settings, step: str
) -> None:
    """Charges that are confined to cells, killed at this step: every answer has its charge, and each cell,
    its partition and the account stand as all charges together say.
    """
    assert state_settings.state_url is not None
    engine = engine_for(state_settings.state_url.get_secret_value())
    answered: list[str] = []
    orders: list[dict[str, object]] = [{"step": step, "times": times} for times in (3, 9)]
    orders.append({"charges": 5})
    for order in orders:
        life = gateways.live(cells=[A, B, C], **order)
        assert life.status == (-signal.SIGKILL if "step" in order else 0)
        answered += life.answered
        _wait_for_commits(engine)
        found = audit_cells(engine)
        with engine.connect() as connection:
            query = text("SELECT DISTINCT query_id FROM ledger_entries")
            charged = set(connection.execute(query).scalars())
        assert charged >= set(answered)
        # every charge is on two of the three cells
        held = sum(found[CLINIC].chains[cell][0] for cell in (A, B, C)) if charged else 0
        assert held == 2 * Fraction(len(charged), 1000)
    assert len(answered) >= 15
    engine.dispose()


def test_gateway_killed_at_any_time_answers_nothing_that_is_not_charged(
    gateways: Gateways, state_settings: Settings
) -> None:
    """Forty kills at moments nobody chose: what was answered is charged, once."""
    chance = random.Random(20260318)  # noqa: S311  # when to kill is no secret
    answered: list[str] = []
    for _ in range(40):
        life = gateways.begin(capacity=4096)
        answers = chance.choice([-1, 0, 1, 5, 20])
        while answers >= 0 and len(life.answered) < answers:
            gateways.listen(life)
        if answers == 0:
            while gateways.listen(life) != "ready":
                pass
        time.sleep(chance.uniform(0, 0.02))
        os.kill(life.pid, signal.SIGKILL)
        assert gateways.until_the_end(life).status == -signal.SIGKILL
        answered += life.answered
        inspect(state_settings, answered)
    assert len(answered) > 100
    recover(state_settings, gateways, answered)


def test_inspection_can_fail(gateways: Gateways, state_settings: Settings) -> None:
    """A negative control: a gateway that answers without telling its anchor is found out."""
    life = gateways.live(careless=True, threads=1, charges=3)
    assert len(life.answered) == 3
    with pytest.raises(AssertionError):
        inspect(state_settings, life.answered)
    with pytest.raises(KeyError):
        inspect(state_settings, ["never charged"])


def test_gateway_refuses_when_the_anchor_finds_the_disk_full_and_goes_on_when_it_is_not(
    gateways: Gateways, state_settings: Settings
) -> None:
    """With no room for the anchor every question is refused with GW602, although its charge stays;
    with room again the next gateway goes on.
    """
    (state_settings.home / "anchor").unlink()
    life = gateways.live(largest_file=50_000, threads=2, charges=3)
    assert life.status == 0
    assert life.refusals == ["GW602"] * 6
    life = gateways.live(threads=2, charges=3)
    assert len(life.answered) == 6
    assert len(inspect(state_settings, life.answered).charges) == 12
