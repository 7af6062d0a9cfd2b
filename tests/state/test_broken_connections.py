"""A connection that breaks or freezes while it commits: each step once, or refused, never for ever."""

import os
import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path

import pytest
from fix_journal import Heard, bank_on, note, notes, open_clinic
from fix_ledger import Bank, audit, commit_together
from fix_state import AUDIT_SECRET, StateServer
from severed_wire import COMMIT, WRITE, Cut, Wire, severed_wire

from gateway.budget.charge import Idempotency, Receipt
from gateway.config import Settings
from gateway.errors import BackendUnavailable, Code, Refusal
from gateway.events import StateLost
from gateway.state.connections import engine_for
from gateway.state.open import StateUrls, open_state
from gateway.trail.record import Trail


@pytest.fixture
def wire(state_urls: StateUrls) -> Iterator[Wire]:
    with severed_wire(state_urls.application) as wire:
        yield wire


@pytest.fixture
def far(wire: Wire, state_urls: StateUrls, tmp_path: Path, heard: Heard) -> Iterator[Bank]:
    """A bank whose journal reaches its database through the wire."""
    urls = StateUrls(wire.url, state_urls.owner)
    with bank_on(urls, tmp_path, heard) as bank:
        open_clinic(bank)
        heard.clear()
        yield bank


ONCE = Idempotency("key", "digest")


def everything_once(far: Bank, state_urls: StateUrls) -> None:
    """Commit a note, a charge, a charge with a key and a refusal in one batch; each must take effect
    once, and its caller must be told so.
    """
    calls: list[Callable[[], object]] = [
        note(far, "noted"),
        partial(far.ask, "0.1", query_id="charged"),
        partial(far.ask, "0.1", query_id="keyed", once=ONCE),
        partial(far.ask, "5000", query_id="refused"),
    ]
    noted, charged, keyed, refused = commit_together(far.journal, calls)
    assert noted is None
    assert isinstance(charged, Receipt)
    assert isinstance(keyed, Receipt)
    assert not keyed.repeated
    assert isinstance(refused, Refusal)
    assert refused.code is Code.BUDGET_EXHAUSTED
    engine = engine_for(state_urls.application)
    books = audit(engine)
    engine.dispose()
    assert notes(books) == ["noted"]
    assert sorted(books.charges) == ["charged", "keyed"]
    assert len(books.kinds("refused")) == 1
    far.ask("0.1", query_id="afterwards")


@pytest.mark.parametrize("under_the_lock", [False, True])
@pytest.mark.parametrize("cut", [Cut(WRITE), Cut(WRITE, arrives=True)], ids=["lost", "landed"])
def test_step_takes_effect_once_when_the_connection_breaks_while_it_is_written(
    far: Bank, wire: Wire, state_urls: StateUrls, cut: Cut, *, under_the_lock: bool
) -> None:
    """Whether the statement or only its answer was lost: everything happens once, nobody notices."""
    far.journal._polite = 100 * under_the_lock
    wire.cuts = [Cut(cut.at, cut.arrives)]
    everything_once(far, state_urls)
    assert wire.made == 1


@pytest.mark.parametrize("cut", [Cut(COMMIT), Cut(COMMIT, arrives=True)], ids=["lost", "landed"])
def test_step_takes_effect_once_when_the_connection_breaks_at_commit(
    far: Bank, wire: Wire, state_urls: StateUrls, cut: Cut
) -> None:
    """Under the lock the commit is a message of its own; it is lost or only its answer is."""
    far.journal._polite = 100
    wire.cuts = [Cut(cut.at, cut.arrives)]
    everything_once(far, state_urls)
    assert wire.made == 1


@pytest.mark.parametrize("again", [0, 1, 2, 3])
def test_step_takes_effect_once_when_connections_break_again_and_again(
    far: Bank, wire: Wire, state_urls: StateUrls, again: int
) -> None:
    """Several attempts are lost, the last one lands without an answer."""
    wire.cuts = [Cut(WRITE)] * again + [Cut(WRITE, arrives=True)]
    everything_once(far, state_urls)
    assert wire.made == again + 1


@pytest.mark.parametrize("at", [WRITE, COMMIT], ids=["write", "commit"])
def test_step_takes_effect_once_when_it_lands_late(
    far: Bank, wire: Wire, state_urls: StateUrls, at: bytes
) -> None:
    """The statement of a broken connection reaches the server while the next attempt is under way,
    between any two messages of it; at commit only before that attempt waits for the lock.
    """
    engine = engine_for(state_urls.application)
    for late in range(16 if at == WRITE else 8):
        far.journal._polite = 100 if at == COMMIT else 0
        wire.cuts = [Cut(at, late=late)]
        calls: list[Callable[[], object]] = [
            note(far, f"noted {late}"),
            partial(far.ask, "0.1", query_id=f"charged {late}"),
            partial(far.ask, "0.1", query_id=f"keyed {late}", once=Idempotency(str(late), "d")),
            partial(far.ask, "5000", query_id=f"refused {late}"),
        ]
        noted, charged, keyed, refused = commit_together(far.journal, calls)
        assert noted is None
        assert isinstance(charged, Receipt)
        assert isinstance(keyed, Receipt)
        assert (late, keyed.repeated) == (late, False)
        assert isinstance(refused, Refusal)
        assert refused.code is Code.BUDGET_EXHAUSTED
        far.journal._polite = 100 if at == COMMIT else 0
        wire.cuts = [Cut(at, late=late)]
        note(far, f"alone {late}")()  # nothing but the journal itself keeps it from being doubled
        for _ in range(20):  # whatever still waits is let go
            note(far, "-")()
        books = audit(engine)
        assert notes(books).count(f"noted {late}") == 1
        assert notes(books).count(f"alone {late}") == 1
        assert len(books.charges) == 2 * (late + 1)
        assert [one["query_id"] for one in books.kinds("refused")].count(f"refused {late}") == 1
    engine.dispose()


def test_gateway_that_vanishes_before_it_commits_does_not_keep_the_others_out(
    far: Bank, wire: Wire, state_urls: StateUrls, tmp_path: Path
) -> None:
    """A commit that never arrives, on a connection that is never closed: the server ends it, and the
    next gateway is served.
    """
    far.journal._polite = 100
    wire.cuts = [Cut(COMMIT, late=10_000)]
    far.ask("0.1", query_id="mine")
    with bank_on(state_urls, tmp_path, []) as other:
        other.ask("0.1", query_id="theirs")
        assert sorted(audit(other.engine).charges) == ["mine", "theirs"]


def test_state_that_stays_away_is_refused_with_gw601(far: Bank, wire: Wire, heard: Heard) -> None:
    """After its attempts the journal gives up, says so, and works again when the state does."""
    wire.cuts = [Cut(WRITE)] * 6
    with pytest.raises(BackendUnavailable) as caught:
        far.ask("0.1", query_id="lost")
    assert caught.value.code is Code.STATE_UNAVAILABLE
    assert any(isinstance(event, StateLost) for event in heard)
    far.ask("0.1", query_id="afterwards")
    assert list(audit(far.engine).charges) == ["afterwards"]


@contextmanager
def frozen(server: StateServer, database: str) -> Iterator[None]:
    """Every backend of this database is stopped, as on a host that hangs."""
    with server.superuser() as connection:
        query = "SELECT pid FROM pg_stat_activity WHERE datname = %s"
        pids = [row[0] for row in connection.execute(query, (database,))]
    assert pids
    for pid in pids:
        os.kill(pid, signal.SIGSTOP)
    try:
        yield
    finally:
        for pid in pids:
            os.kill(pid, signal.SIGCONT)


def test_frozen_server_is_refused_with_gw601_within_the_patience(
    state_server: StateServer, state_urls: StateUrls, tmp_path: Path, heard: Heard
) -> None:
    """A server that neither answers nor hangs up does not hold a question for ever; what it does
    with the statement when it wakes up is done once or not at all.
    """
    with bank_on(state_urls, tmp_path, heard, patience_s=0.4) as bank:
        open_clinic(bank)
        bank.ask("0.1", query_id="before")
        with (
            frozen(state_server, str(state_urls.application.database)),
            pytest.raises(BackendUnavailable) as caught,
        ):
            bank.ask("0.1", query_id="frozen")
        assert caught.value.code is Code.STATE_UNAVAILABLE
        bank.ask("0.1", query_id="after")
        assert (
            {"before", "after"} <= set(audit(bank.engine).charges) <= {"before", "frozen", "after"}
        )


def test_frozen_connection_in_the_pool_does_not_hold_the_journal(
    state_server: StateServer, state_settings: Settings, state_urls: StateUrls, trail: Trail
) -> None:
    """The journal of an open state waits for no connection that somebody else left in the pool."""
    with open_state(state_settings, AUDIT_SECRET) as state:
        state.journal._watchdog._limit_s = state.journal._patience_s = 0.4
        bank = Bank(state.journal, trail, state.engine)
        open_clinic(bank)
        with state.engine.connect() as one, state.engine.connect() as two:
            assert one is not two  # both lie in the pool afterwards
        outcomes: list[object] = []

        def ask() -> None:
            for _ in range(2):  # on its own connection, and on the next one
                try:
                    outcomes.append(type(bank.ask("0.1")))
                except Refusal as refusal:
                    outcomes.append(refusal.code)

        thread = threading.Thread(target=ask, daemon=True)
        with frozen(state_server, str(state_urls.application.database)):
            thread.start()
            thread.join(timeout=20)
            assert not thread.is_alive()
        assert outcomes == [Code.STATE_UNAVAILABLE, Receipt]
        bank.ask("0.1")
