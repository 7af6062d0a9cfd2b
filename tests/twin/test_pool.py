"""Connections to the twin: lines of wire clients, and sessions that are reused quickly and cleanly."""

import os
import signal
import threading
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from fix_twin import CLINIC, OTHER, PATIENTS, state

from gateway.twin import Twin, TwinRefused, TwinSession, VisibleTables, open_twin
from gateway.twin.pool import MOST, MOST_OF_ONE, HeldConnections, SessionKey
from gateway.twin.settings import (
    BORROWED,
    IDLE,
    LINES,
    LINES_OF_ROLE,
    SESSION,
    SESSIONS,
    SESSIONS_OF_ROLE,
)

ALICE = SessionKey("alice", CLINIC)


def _held(held: HeldConnections, whose: SessionKey, many: int) -> list[Callable[[], None]]:
    return [held.hold(whose) for _ in range(many)]


def test_lines_of_one_subject_are_limited() -> None:
    """Who holds as many as one may is refused another one, by the words tools know, until one is closed."""
    held = HeldConnections()
    first, *_ = _held(held, ALICE, LINES_OF_ROLE)
    with pytest.raises(TwinRefused, match='too many connections for role "alice"') as refused:
        held.hold(ALICE)
    assert refused.value.sqlstate == "53300"
    held.hold(SessionKey("bob", CLINIC))
    first()
    held.hold(ALICE)


def test_lines_of_all_are_limited() -> None:
    """All together hold as many as there is room for, however many subjects there are."""
    held = HeldConnections()
    for place in range(LINES):
        held.hold(SessionKey(f"subject {place}", CLINIC))
    with pytest.raises(TwinRefused, match="sorry, too many clients already", check=state("53300")):
        held.hold(ALICE)


def test_line_is_counted_off_once_when_it_is_closed_twice() -> None:
    """A line that is closed again makes no room that is not there."""
    held = HeldConnections()
    first, *_ = _held(held, ALICE, LINES_OF_ROLE)
    first()
    first()
    held.hold(ALICE)
    with pytest.raises(TwinRefused):
        held.hold(ALICE)


def test_sessions_have_room_for_questions_when_all_lines_are_held() -> None:
    """What clients hold and what lies idle leaves the server, and each role, sessions to borrow."""
    reserved = 8
    assert SESSIONS - reserved - LINES - IDLE == BORROWED
    assert SESSIONS_OF_ROLE - LINES_OF_ROLE == BORROWED


def test_borrowed_finds_room_when_its_subject_holds_all_lines(twin: Twin) -> None:
    """The server's own limit for a role is above what its subject can hold: a question of hers still runs."""
    lines = []
    try:
        with pytest.raises(TwinRefused, check=state("53300")):  # noqa: PT012  # the last one is refused
            for _ in range(LINES_OF_ROLE + 1):
                lines.append(twin.line("holder", OTHER, {}))  # noqa: PERF401  # each must be closed
        assert len(lines) == LINES_OF_ROLE
        with twin.borrowed("holder", OTHER) as session:
            assert session.run("SELECT 1") == (("1",),)
    finally:
        for line in lines:
            line.close()
    twin.line("holder", OTHER, {}).close()


# all that can be seen of what somebody did before; `random` after a seed that is known is known
_SEEN = (
    "SELECT (SELECT count(*) FROM pg_prepared_statements WHERE name <> ''), "
    "(SELECT count(*) FROM pg_cursors WHERE name <> ''), "
    "current_setting('own.name', true), current_setting('quoted.x', true), "
    "current_setting('work_mem'), current_setting('application_name'), "
    "current_setting('transaction_isolation'), current_setting('transaction_read_only')"
)
_LEFT_BEHIND: dict[str, tuple[str, ...]] = {
    "setting": ("SET work_mem = '1MB'",),
    "setting that changes results": ("SET DateStyle = 'German'", "SET TimeZone = 'Asia/Tokyo'"),
    "search path": ("SET search_path = pg_temp, pg_catalog",),
    "read-only": ("SET default_transaction_read_only = off",),
    "encoding": ("SET client_encoding = 'LATIN1'",),
    "application name": ("SET application_name = 'mine'",),
    "own setting": ("SET own.name = 'mine'",),
    "own setting, blank": ("SET own.name = ''", "RESET own.name"),
    "own setting, reset": ("RESET own.name",),
    "own setting, spaced": ("SET own . name = 'mine'",),
    "own setting, quoted": ('SET "own"."name" = 1',),
    "own setting, escaped": ("SET U&\"quoted!002ex\" UESCAPE '!' = 'mine'",),
    "own setting, undone": ("BEGIN", "SET own.name = 'mine'", "ROLLBACK"),
    "own setting, of the role": ("ALTER ROLE CURRENT_USER SET own.name = 'mine'",),
    "prepared": ("PREPARE mine AS SELECT 1",),
    "transaction": ("BEGIN ISOLATION LEVEL SERIALIZABLE READ WRITE",),
    "failed transaction": ("BEGIN", "SELECT 1/0"),
    "cursor": ("BEGIN", "DECLARE mine CURSOR FOR SELECT 1"),
    "cursor with hold": ("DECLARE mine CURSOR WITH HOLD FOR SELECT 1",),
    "all settings": ("SET SESSION CHARACTERISTICS AS TRANSACTION ISOLATION LEVEL SERIALIZABLE",),
}


@pytest.fixture
def lending(twin_home: Path) -> Iterator[Twin]:
    """A twin of its own, with nothing idle yet."""
    with open_twin(twin_home, limit_s=20) as twin:
        yield twin


def _pid(session: TwinSession) -> int:
    return session._pgconn.backend_pid


def _seen(session: TwinSession) -> object:
    settings = [session.run("SELECT current_setting($1)", [name]) for name in SESSION]
    return session.run(_SEEN), settings, session.run("SHOW search_path")


def _do(session: TwinSession, statements: tuple[str, ...]) -> None:
    for statement in statements:
        try:
            session.run(statement)
        except TwinRefused as refused:
            assert refused.sqlstate in {"22012", "25006", "42704", "42501", "42602"}, refused  # noqa: PT017  # some attempts fail, and may leave something all the same


@pytest.fixture(scope="module")
def untouched(twin: Twin) -> object:
    """What a new session sees."""
    with twin.session("alice", CLINIC) as session:
        return _seen(session)


@pytest.mark.parametrize("what", _LEFT_BEHIND)
def test_next_borrower_sees_nothing_of_the_last(twin: Twin, untouched: object, what: str) -> None:
    """Whatever one borrower sets, opens or leaves undone, the next finds a session as new."""
    with twin.borrowed("alice", CLINIC) as session:
        _do(session, _LEFT_BEHIND[what])
    try:
        with twin.borrowed("alice", CLINIC) as session:
            assert _seen(session) == untouched
    finally:
        twin.forget(CLINIC)  # a role keeps what it set for itself


def test_next_borrower_draws_other_random_numbers(twin: Twin) -> None:
    """A seed that one borrower knows does not foretell what the next one draws."""
    with twin.borrowed("alice", CLINIC) as session:
        session.run("SELECT setseed(0.5)")
        foretold = session.run("SELECT random()")
    with twin.borrowed("alice", CLINIC) as session:
        session.run("SELECT setseed(0.5)")
        assert session.run("SELECT random()") == foretold  # the control
        session.run("SELECT setseed(0.5)")
        pid = _pid(session)
    with twin.borrowed("alice", CLINIC) as session:
        assert _pid(session) == pid
        assert session.run("SELECT random()") != foretold


@pytest.mark.parametrize(
    "what",
    [
        *("setting", "setting that changes results", "search path", "read-only", "encoding"),
        *("application name", "prepared", "transaction", "cursor", "cursor with hold"),
        *("own setting", "own setting, quoted", "own setting, escaped", "own setting, reset"),
        *("own setting, undone", "all settings"),
    ],
)
def test_last_borrower_is_seen_when_nothing_is_reset(
    twin: Twin, untouched: object, what: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The negative control: what is tried above would be seen by the next."""
    monkeypatch.setattr(TwinSession, "_reset", lambda _: True)
    with twin.borrowed("alice", CLINIC) as session:
        _do(session, _LEFT_BEHIND[what])
        pid = _pid(session)
    try:
        with twin.borrowed("alice", CLINIC) as session:
            assert _pid(session) == pid
            assert _seen(session) != untouched
    finally:
        twin.forget(CLINIC)


@pytest.mark.parametrize(
    ("statements", "kept"),
    [
        (("SELECT 1",), True),
        (("SET work_mem = '1MB'",), True),
        (("SELECT 1.5", 'SELECT "oid" FROM pg_catalog.pg_class'), True),
        (("BEGIN", "SELECT 1/0"), True),
        (("SET own.name = 'mine'",), False),
        (("RESET own.name",), False),
        (('SET "work_mem" = 64',), False),
    ],
)
def test_session_is_handed_on_when_it_can_be_made_as_new(
    twin: Twin, statements: tuple[str, ...], *, kept: bool
) -> None:
    """The connection is the same one, unless it may know a name that PostgreSQL never forgets."""
    with twin.borrowed("alice", CLINIC) as session:
        _do(session, statements)
        pid = _pid(session)
    with twin.borrowed("alice", CLINIC) as session:
        assert (_pid(session) == pid) is kept


def test_session_is_of_its_subject_and_tables_alone(twin: Twin) -> None:
    """Nobody gets what another subject, or the same one for other tables, has used."""
    pids = set()
    for subject, tables in (("alice", CLINIC), ("bob", CLINIC), ("alice", OTHER)):
        with twin.borrowed(subject, tables) as session, twin.session(subject, tables) as fresh:
            pids.add(_pid(session))
            who = "SELECT current_user, current_database()"
            assert session.run(who) == fresh.run(who)
    assert len(pids) == 3


def test_session_is_of_no_use_when_it_was_given_back(twin: Twin) -> None:
    """Who kept it can neither use nor end what the next one has."""
    with twin.borrowed("alice", CLINIC) as old:
        pass
    with twin.borrowed("alice", CLINIC) as session:
        assert _pid(session) == _pid(old)
        for use in (old.run, old.describe):
            with pytest.raises(TwinRefused, check=state("57P01")):
                use("SELECT 1")
        old.close()
        assert session.run("SELECT 1") == (("1",),)


def test_session_goes_back_when_its_user_fails(twin: Twin) -> None:
    """An error of the borrower is raised, and the session is as new for the next one."""
    with pytest.raises(KeyError), twin.borrowed("alice", CLINIC) as session:  # noqa: PT012  # the error is in between
        session.run("BEGIN")
        pid = _pid(session)
        raise KeyError
    with twin.borrowed("alice", CLINIC) as session:
        assert _pid(session) == pid
        assert session.run("SELECT 1") == (("1",),)


def test_session_that_broke_is_not_handed_on(twin: Twin) -> None:
    """A connection that ended, in use or idle, is replaced without a word."""
    with twin.borrowed("alice", CLINIC) as session:
        first = _pid(session)
        session.close()
    with twin.borrowed("alice", CLINIC) as session:
        second = _pid(session)
        with pytest.raises(TwinRefused):
            session.run("SELECT generate_series(1, 100000)", most_rows=10)
    with twin.borrowed("alice", CLINIC) as session:
        third = _pid(session)
        assert len({first, second, third}) == 3
    twin.forget(CLINIC)
    with twin.borrowed("alice", CLINIC) as session:
        assert session.run("SELECT 1") == (("1",),)


def test_session_of_a_twin_that_died_is_not_handed_on(lending: Twin) -> None:
    """After the server was replaced a borrower gets a session of the new one."""
    with lending.borrowed("alice", CLINIC) as session:
        session.run("SELECT 1")
    life = lending._supervisor.life()
    life.server.kill()
    with lending.borrowed("alice", CLINIC) as session:
        assert session.run("SELECT 1") == (("1",),)
    assert lending._supervisor.life() is not life


def test_idle_sessions_are_limited(lending: Twin) -> None:
    """No more than a few stay for each subject and tables, nor for all together."""
    _borrow_at_once(lending, [("alice", CLINIC)] * (MOST_OF_ONE + 3))
    assert len(lending._idle) == MOST_OF_ONE
    many = [(f"subject {n}", OTHER) for n in range(MOST + 3)]
    for subject, tables in many:
        with lending.borrowed(subject, tables):
            pass
    assert len(lending._idle) == MOST
    last = many[-1]
    with lending.borrowed(*last):  # the ones used last are those that stayed
        assert len(lending._idle) == MOST - 1
    with lending.borrowed("alice", CLINIC):
        assert len(lending._idle) == MOST


def test_sessions_borrowed_at_once_are_different_ones(lending: Twin) -> None:
    """No two borrowers ever share a connection."""
    shared: list[int] = []
    holding: set[int] = set()
    lock = threading.Lock()

    def borrow() -> None:
        for _ in range(20):
            with lending.borrowed("alice", CLINIC) as session:
                pid = _pid(session)
                with lock:
                    shared.extend({pid} & holding)
                    holding.add(pid)
                session.run("SELECT 1")
                with lock:
                    holding.discard(pid)

    threads = [threading.Thread(target=borrow) for _ in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not shared
    assert len(lending._idle) <= MOST_OF_ONE


def test_idle_sessions_end_with_their_tables(lending: Twin) -> None:
    """What is forgotten, or no longer kept, leaves nothing idle."""
    other: VisibleTables = frozenset({replace(PATIENTS, comment="another")})
    for tables in (CLINIC, OTHER, other):
        with lending.borrowed("alice", tables):
            pass
    lending.forget(other)
    assert len(lending._idle) == 2
    lending.keep([CLINIC])
    assert len(lending._idle) == 1
    lending.close()
    assert len(lending._idle) == 0


def test_session_borrowed_when_the_twin_closes_is_not_kept(twin_home: Path) -> None:
    """Nothing is put back into a twin that is closed."""
    twin = open_twin(twin_home)
    with twin.borrowed("alice", CLINIC) as session:
        twin._idle.close()
        assert session.run("SELECT 1") == (("1",),)
    assert len(twin._idle) == 0
    twin.close()


def test_session_that_cannot_be_reset_is_ended(twin: Twin) -> None:
    """A server process that does not answer holds up nobody but the one who gave it back."""
    with twin.borrowed("alice", CLINIC) as session:
        pid = _pid(session)
        os.kill(pid, signal.SIGTERM)
    with twin.borrowed("alice", CLINIC) as session:
        assert _pid(session) != pid


def _borrow_at_once(twin: Twin, whose: list[tuple[str, VisibleTables]]) -> None:
    """Borrow one for each, hold all, and give all back."""
    lent = [twin.borrowed(*one) for one in whose]
    undo: list[Callable[..., object]] = []
    for one in lent:
        one.__enter__()
        undo.append(one.__exit__)
    for give_back in undo:
        give_back(None, None, None)
