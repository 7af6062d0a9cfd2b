"""The journal: shared commits, each step once or not at all, and nobody told before it is durable."""

import os
import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from functools import partial
from pathlib import Path

import psycopg
import pytest
from fix_ledger import ALICE, CLINIC, NOON, Bank, Books, audit, commit_together, limits
from fix_state import AUDIT_SECRET, StateServer
from severed_wire import COMMIT, WRITE, Cut, Wire, severed_wire
from sqlalchemy import Table

from gateway.budget.charge import Idempotency, Receipt
from gateway.config import Settings
from gateway.errors import BackendUnavailable, Code, OperatorError, Refusal
from gateway.events import AnchorLost, Committed, Event, StateLost
from gateway.store.anchor import Anchor
from gateway.store.connect import engine_for
from gateway.store.draft import Cell, Draft
from gateway.store.journal import Journal
from gateway.store.logins import StateUrls
from gateway.store.state import open_anchor, open_state
from gateway.store.tables import accounts, charges, ledger_entries, ledgers
from gateway.store.tickets import Tickets
from gateway.trail.append import Trail
from gateway.trail.chain import ChainKey
from gateway.trail.record import ActRecord, Kind

Heard = list[Event]


@contextmanager
def bank_on(
    urls: StateUrls, home: Path, heard: Heard, *, patience_s: float = 30.0
) -> Iterator[Bank]:
    """A gateway's own journal on a database; what it says is heard."""
    with ExitStack() as stack:
        engine = engine_for(urls.application, pooled=False)
        stack.callback(engine.dispose)
        anchor = Anchor(home / "anchor", AUDIT_SECRET)
        journal = Journal(engine, anchor, heard.append, patience_s=patience_s)
        stack.callback(journal.close)
        journal.open()
        yield Bank(journal, Trail(ChainKey(AUDIT_SECRET)), engine)


@pytest.fixture
def heard() -> Heard:
    return []


@pytest.fixture
def own(state_urls: StateUrls, tmp_path: Path, heard: Heard) -> Iterator[Bank]:
    """A bank with an open account, whose journal is heard."""
    with bank_on(state_urls, tmp_path, heard) as bank:
        open_clinic(bank)
        heard.clear()
        yield bank


def open_clinic(bank: Bank) -> None:
    bank.open_ledger(limits(1000))
    bank.open_account(ALICE, limits(1000))


def committed(heard: Heard) -> list[tuple[int, int]]:
    return [(event.steps, event.attempts) for event in heard if isinstance(event, Committed)]


def note(bank: Bank, text: str) -> Callable[[], None]:
    """A step that writes one record and nothing else that could be recognised when it is doubled."""
    record = ActRecord(Kind.POLICY_LOADED, text)
    return lambda: bank.journal.commit(lambda draft: bank.trail.append(draft, record))


def notes(books: Books) -> list[object]:
    return [record["actor"] for record in books.kinds("policy_loaded")]


# ---- commits are shared ----


def test_journal_commits_all_who_wait_at_once(own: Bank, heard: Heard) -> None:
    """Sixty callers who come during a commit are made durable by the one after it."""
    outcomes = commit_together(own.journal, [partial(own.ask, "0.1")] * 60)
    assert all(isinstance(one, Receipt) for one in outcomes)
    assert committed(heard) == [(1, 1), (60, 1)]
    assert len(audit(own.engine).charges) == 60


def test_journal_commits_in_batches_of_bounded_size(own: Bank, heard: Heard) -> None:
    """A crowd is served in batches of 256, in the order in which it came."""
    commit_together(own.journal, [note(own, str(place)) for place in range(300)])
    assert committed(heard) == [(1, 1), (256, 1), (44, 1)]
    assert notes(audit(own.engine)) == [str(place) for place in range(300)]


def test_journal_tells_nobody_before_the_anchor_knows(own: Bank, tmp_path: Path) -> None:
    """When a caller goes on, the anchor is at or behind none of the records it was told of."""
    own.ask("0.1", query_id="told")
    anchor = Anchor(tmp_path / "anchor", AUDIT_SECRET)
    anchored = anchor.read()
    anchor.close()
    assert anchored is not None
    assert anchored.position.seq == audit(own.engine).charged_at["told"]


# ---- steps that fail ----


def test_step_that_raises_writes_nothing_and_hurts_nobody(own: Bank) -> None:
    """What a step raises is its caller's; its neighbours in the batch are committed."""

    def fail(draft: Draft) -> None:
        own.trail.append(draft, ActRecord(Kind.POLICY_LOADED, "never"))
        draft.remember(("balance", ALICE), "nonsense")
        draft.state_fact(f"account:{ALICE}", {"spent": "0/1"})
        raise LookupError("mine")

    before, failed, after = commit_together(
        own.journal,
        [partial(own.ask, "0.1"), partial(own.journal.commit, fail), partial(own.ask, "0.1")],
    )
    assert isinstance(failed, LookupError)
    assert isinstance(before, Receipt)
    assert isinstance(after, Receipt)
    books = audit(own.engine)
    assert notes(books) == []
    assert len(books.charges) == 2
    own.ask("0.1")


Row = tuple[Table, dict[str, Cell]]
_AT = NOON.isoformat()
_LEDGER: dict[str, Cell] = {"source": "s", "unit": "u", "currency": "pure", "opened_at": _AT}
_CHARGE: dict[str, Cell] = {
    "query_id": "poison",
    "at": _AT,
    "subject": "eve",
    "ledger": CLINIC,
    "price": "1/1",
    "amount": "1/1",
    "delta": "0/1",
    "measurements": "[]",
}
_ENTRY: dict[str, Cell] = {
    "account": ALICE,
    "cell": "*",
    "query_id": "first",
    "at": _AT,
    "amount": "1/10",
    "spent_after": "1/5",
    "delta": "0/1",
    "delta_after": "0/1",
}
_POISON: dict[str, Row] = {
    "a NUL": (charges, {**_CHARGE, "subject": "eve\0"}),
    "a lone surrogate": (charges, {**_CHARGE, "subject": "eve\ud800"}),
    "an unknown currency": (ledgers, {**_LEDGER, "name": "n", "currency": "gold"}),
    "a negative amount": (charges, {**_CHARGE, "amount": "-1/1"}),
    "an amount without a value": (charges, {**_CHARGE, "amount": None}),
    "no such ledger": (charges, {**_CHARGE, "ledger": "dataset:nowhere"}),
    "no such parent": (
        accounts,
        {"name": "n", "ledger": CLINIC, "parent": "nobody", "opened_at": _AT},
    ),
    "a query id that was used": (charges, {**_CHARGE, "query_id": "first"}),
    "an account that is open": (
        accounts,
        {"name": ALICE, "ledger": CLINIC, "parent": None, "opened_at": _AT},
    ),
    "an entry that skips one": (ledger_entries, {**_ENTRY, "ordinal": 9}),
    "an entry that is there": (ledger_entries, {**_ENTRY, "ordinal": 1}),
    "a date that is none": (charges, {**_CHARGE, "at": "yesterday-ish"}),
}


@pytest.mark.parametrize("poison", _POISON)
def test_row_that_the_database_refuses_fails_alone(own: Bank, heard: Heard, poison: str) -> None:
    """A step whose rows PostgreSQL will not take fails with that, not with an outage; everybody else
    in its batch is served, and the journal goes on.
    """
    own.ask("0.1", query_id="first")
    heard.clear()

    def write(draft: Draft) -> None:
        own.trail.append(draft, ActRecord(Kind.POLICY_LOADED, "poisoned"))
        draft.insert(*_POISON[poison])

    calls: list[Callable[[], object]] = [
        partial(own.ask, "0.1", query_id=f"before {place}") for place in range(3)
    ]
    calls.append(partial(own.journal.commit, write))
    calls += [partial(own.ask, "0.1", query_id=f"after {place}") for place in range(3)]
    *first, failed, fourth, fifth, sixth = commit_together(own.journal, calls)
    assert isinstance(failed, psycopg.Error)
    assert not isinstance(failed, psycopg.OperationalError)
    assert all(isinstance(one, Receipt) for one in (*first, fourth, fifth, sixth))
    assert not any(isinstance(event, StateLost) for event in heard)
    own.ask("0.1")
    books = audit(own.engine)
    assert notes(books) == []
    assert len(books.charges) == 8


def test_query_id_used_twice_in_one_batch_is_charged_once(own: Bank) -> None:
    """Two charges under one query id: one is made, the other fails, their neighbour is served."""
    outcomes = commit_together(
        own.journal,
        [
            partial(own.ask, "0.1", query_id="twice"),
            partial(own.ask, "0.1", query_id="once"),
            partial(own.ask, "0.1", query_id="twice"),
        ],
    )
    kinds = [isinstance(one, Receipt) for one in outcomes]
    assert kinds == [True, True, False]
    assert sorted(audit(own.engine).charges) == ["once", "twice"]


@pytest.mark.parametrize("alone", [True, False])
def test_step_that_writes_without_a_trail_record_is_refused(own: Bank, *, alone: bool) -> None:
    """Nothing changes the state unrecorded, also not in the company of steps that are recorded."""

    def silently(draft: Draft) -> None:
        draft.insert(ledgers, {**_LEDGER, "name": "secret"})

    calls: list[Callable[[], object]] = [partial(own.journal.commit, silently)]
    if not alone:
        calls = [note(own, "a"), *calls, note(own, "b")]
    outcomes = commit_together(own.journal, calls)
    assert [isinstance(one, AssertionError) for one in outcomes] == (
        [True] if alone else [False, True, False]
    )
    with own.engine.connect() as connection:
        query = "SELECT count(*) FROM ledgers WHERE name = 'secret'"
        assert connection.exec_driver_sql(query).scalar_one() == 0
    assert notes(audit(own.engine)) == ([] if alone else ["a", "b"])


# ---- others write, too ----


def test_journal_notices_that_another_wrote_and_builds_on_that(
    own: Bank, state_urls: StateUrls, tmp_path: Path, heard: Heard
) -> None:
    """Two journals that take turns lose no charge, and see each other by trying again."""
    with bank_on(state_urls, tmp_path, []) as other:
        for place in range(10):
            own.ask("0.1", query_id=f"own-{place}")
            other.ask("0.1", query_id=f"other-{place}")
    books = audit(own.engine)
    assert len(books.charges) == 20
    assert (1, 2) in committed(heard)


def test_journal_that_writes_under_the_lock_is_not_outrun(
    own: Bank, state_urls: StateUrls, tmp_path: Path
) -> None:
    """A journal that met another is served although three others never stop writing."""
    stop = threading.Event()
    with ExitStack() as stack:
        others = [stack.enter_context(bank_on(state_urls, tmp_path, [])) for _ in range(2)]

        def write_on(bank: Bank, name: int) -> None:
            place = 0
            while not stop.is_set():
                bank.journal._polite = 0
                bank.ask("1/1000", query_id=f"{name}-{place}")
                place += 1

        threads = [
            threading.Thread(target=write_on, args=each)
            for each in ((others[0], 0), (others[1], 1))
        ]
        for thread in threads:
            thread.start()
        try:
            for place in range(60):
                own.ask("1/1000", query_id=f"own-{place}")
        finally:
            stop.set()
            for thread in threads:
                thread.join()
    assert len([one for one in audit(own.engine).charges if one.startswith("own")]) == 60


# ---- broken connections ----


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


@pytest.mark.slow
@pytest.mark.parametrize("at", [WRITE, COMMIT], ids=["write", "commit"])
def test_step_takes_effect_once_when_it_lands_late(
    far: Bank, wire: Wire, state_urls: StateUrls, at: bytes
) -> None:
    """The statement of a broken connection reaches the server while the next attempt is under way,
    between any two messages of it.
    """
    engine = engine_for(state_urls.application)
    for late in range(16):
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
        for _ in range(20):  # whatever still waits is let go
            note(far, "-")()
        books = audit(engine)
        assert notes(books).count(f"noted {late}") == 1
        assert len(books.charges) == 2 * (late + 1)
        assert [one["query_id"] for one in books.kinds("refused")].count(f"refused {late}") == 1
    engine.dispose()


def test_state_that_stays_away_is_refused_with_gw601(far: Bank, wire: Wire, heard: Heard) -> None:
    """After its attempts the journal gives up, says so, and works again when the state does."""
    wire.cuts = [Cut(WRITE)] * 6
    with pytest.raises(BackendUnavailable) as caught:
        far.ask("0.1", query_id="lost")
    assert caught.value.code is Code.STATE_UNAVAILABLE
    assert any(isinstance(event, StateLost) for event in heard)
    far.ask("0.1", query_id="afterwards")
    assert list(audit(far.engine).charges) == ["afterwards"]


# ---- frozen servers ----


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
            try:
                outcomes.append(bank.ask("0.1"))
            except Refusal as refusal:
                outcomes.append(refusal.code)

        thread = threading.Thread(target=ask, daemon=True)
        with frozen(state_server, str(state_urls.application.database)):
            thread.start()
            thread.join(timeout=20)
            assert not thread.is_alive()
        assert outcomes == [Code.STATE_UNAVAILABLE]
        bank.ask("0.1")


# ---- callers who give up ----


class OutOfTime(BaseException):
    """What a worker's time limit raises."""


def test_caller_that_is_interrupted_while_it_waits_leaves_the_queue(own: Bank) -> None:
    """A signal in a waiting caller takes its step out of the queue; the others are served."""
    reached, go = threading.Event(), threading.Event()

    def hold(draft: Draft) -> None:
        del draft
        reached.set()
        go.wait()

    def interrupt(number: int, frame: object) -> None:
        del number, frame
        raise OutOfTime

    def signal_main() -> None:
        while not own.journal._tickets._queue:
            pass
        signal.pthread_kill(threading.main_thread().ident or 0, signal.SIGUSR1)

    handler = signal.signal(signal.SIGUSR1, interrupt)
    threads = [
        threading.Thread(target=own.journal.commit, args=(hold,)),
        threading.Thread(target=signal_main),
    ]
    try:
        threads[0].start()
        reached.wait()
        threads[1].start()
        with pytest.raises(OutOfTime):
            own.ask("0.1", query_id="interrupted")
    finally:
        go.set()
        for thread in threads:
            thread.join()
        signal.signal(signal.SIGUSR1, handler)
    own.ask("0.1", query_id="afterwards")
    assert list(audit(own.engine).charges) == ["afterwards"]


def test_leader_that_is_interrupted_takes_nobody_along(own: Bank) -> None:
    """A Ctrl-C in the caller that leads is raised there alone; those it worked for are told that the
    state was not reached, and the queue goes on.
    """

    def interrupted(draft: Draft) -> None:
        own.trail.append(draft, ActRecord(Kind.POLICY_LOADED, "never"))
        raise KeyboardInterrupt

    calls: list[Callable[[], object]] = [
        partial(own.journal.commit, interrupted),
        partial(own.ask, "0.1"),
        note(own, "n"),
    ]
    first, led, last = commit_together(own.journal, calls)
    assert isinstance(first, KeyboardInterrupt)
    assert isinstance(led, BackendUnavailable)
    assert isinstance(last, BackendUnavailable)
    own.ask("0.1", query_id="afterwards")
    books = audit(own.engine)
    assert (list(books.charges), notes(books)) == (["afterwards"], [])


@pytest.mark.parametrize("patience_s", [0.0, 0.0005, 0.002])
def test_queue_never_stands_still_however_many_give_up(patience_s: float) -> None:
    """Callers that run out of patience at every moment leave a queue that serves the next one."""
    worked: list[object] = []

    def work(batch: object) -> None:
        worked.append(batch)
        threading.Event().wait(0.001)

    tickets = Tickets(work, patience_s)
    gave_up: list[Code] = []

    def call() -> None:
        for _ in range(25):
            try:
                tickets.serve(id)
            except BackendUnavailable as refusal:
                gave_up.append(refusal.code)

    threads = [threading.Thread(target=call) for _ in range(12)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not tickets._queue
    assert not tickets._led
    assert gave_up
    before = len(worked)
    tickets.serve(id)
    assert len(worked) == before + 1


# ---- anchors that cannot be written ----


def test_question_is_refused_when_the_anchor_cannot_be_written_and_its_charge_stays(
    own: Bank, tmp_path: Path, heard: Heard
) -> None:
    """Without an anchor nobody is answered; what was charged stays charged; with the anchor back
    everything goes on, and a question that is repeated with its key is anchored before its receipt.
    """
    away = tmp_path.with_name(f"{tmp_path.name}-away")
    tmp_path.rename(away)
    with pytest.raises(BackendUnavailable) as caught:
        own.ask("0.1", query_id="charged", once=ONCE)
    assert caught.value.code is Code.ANCHOR_UNAVAILABLE
    assert any(isinstance(event, AnchorLost) for event in heard)
    with pytest.raises(BackendUnavailable):
        own.ask("0.1", query_id="again", once=ONCE)
    away.rename(tmp_path)
    receipt = own.ask("0.1", query_id="once more", once=ONCE)
    assert receipt.repeated
    books = audit(own.engine)
    anchor = Anchor(tmp_path / "anchor", AUDIT_SECRET)
    anchored = anchor.read()
    anchor.close()
    assert anchored is not None
    assert anchored.position.seq >= books.charged_at["charged"]
    assert anchored.facts[f"account:{ALICE}"].value["spent"] == "1/10"
    assert len(books.charges) == 1


def test_question_is_refused_when_another_file_took_the_anchors_place(
    own: Bank, tmp_path: Path
) -> None:
    """An anchor that is not ours is an outage, not an answer and not a crash."""
    (tmp_path / "anchor").rename(tmp_path / "kept")
    (tmp_path / "anchor").write_bytes(b"not an anchor\n")
    with pytest.raises(BackendUnavailable) as caught:
        own.ask("0.1")
    assert caught.value.code is Code.ANCHOR_UNAVAILABLE
    (tmp_path / "kept").replace(tmp_path / "anchor")
    own.ask("0.1")


def test_state_whose_anchor_cannot_be_read_is_refused_with_one_clear_error(
    state_settings: Settings,
) -> None:
    """An anchor path that leads nowhere is said at the start, in one line for the operator."""
    settings = state_settings.model_copy(update={"audit_anchor": Path("/nowhere/at/all/anchor")})
    with pytest.raises(OperatorError, match="/nowhere/at/all"), open_state(settings, AUDIT_SECRET):
        raise AssertionError("it opened")


# ---- a state that is exchanged underneath ----


def test_journal_writes_nothing_to_a_state_that_fell_behind_while_it_ran(
    own: Bank, state_server: StateServer, state_urls: StateUrls
) -> None:
    """When the connection is lost and the state behind it is older, every question is refused, the
    second as well as the first.
    """
    own.ask("0.1")
    database = str(state_urls.application.database)
    with state_server.superuser(database) as connection:
        connection.execute("SET session_replication_role = replica")
        connection.execute(
            "DELETE FROM trail_records WHERE seq = (SELECT max(seq) FROM trail_records)"
        )
        connection.execute(
            "SELECT pg_terminate_backend(pid, 10000) FROM pg_stat_activity"
            " WHERE datname = %s AND pid <> pg_backend_pid()",
            (database,),
        )
    for _ in range(3):
        with pytest.raises(BackendUnavailable) as caught:
            own.ask("0.1")
        assert caught.value.code is Code.STATE_UNAVAILABLE
    assert len(audit_of_trail(state_server, database)) == 2


def audit_of_trail(server: StateServer, database: str) -> list[object]:
    with server.superuser(database) as connection:
        return list(connection.execute("SELECT seq FROM trail_records"))


def test_open_anchor_is_where_the_settings_say(state_settings: Settings, tmp_path: Path) -> None:
    """The anchor may lie outside the home, where whoever loses the home does not lose it too."""
    assert open_anchor(state_settings, AUDIT_SECRET).path == tmp_path / "anchor"
    elsewhere = state_settings.model_copy(update={"audit_anchor": tmp_path / "far" / "a"})
    assert open_anchor(elsewhere, AUDIT_SECRET).path == tmp_path / "far" / "a"
