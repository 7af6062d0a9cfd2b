"""Reuse on the wire: notices of what was answered before, refusals for what was, and the setting that wants neither."""

from collections.abc import Iterator

import psycopg
import pytest
from fix_auth import Door
from frontends.pgwire.wire_server import QUESTION, Wired, wired
from psycopg import errors, sql

from gateway.errors import Code, OverlapRefused
from gateway.requests.request import CacheUse, Estimate, ExpectedColumn, Notice
from gateway.twin import Twin
from gateway.units import Delta, Epsilon

BEFORE = "answered from an earlier release, nothing charged"
OVERLAP = (Code.DIFFERENCING, Code.UNREADABLE_CONDITION, Code.SMALL_GROUP)


@pytest.fixture
def wire(twin: Twin, door: Door) -> Iterator[Wired]:
    with wired(twin, door) as wire:
        wire.pipeline.let.set()
        yield wire


@pytest.fixture
def heard(wire: Wired) -> Iterator[tuple[psycopg.Connection, list[str]]]:
    """A connection, and the notices that come on it."""
    told: list[str] = []
    with wire.connect() as connection:
        connection.add_notice_handler(
            lambda one: told.append(f"{one.severity}: {one.message_primary}")
        )
        yield connection, told


def _simple(connection: psycopg.Connection) -> object:
    return psycopg.ClientCursor(connection).execute(QUESTION).fetchall()


def _extended(connection: psycopg.Connection) -> object:
    return connection.execute(f"{QUESTION} WHERE region = %s", ("north",)).fetchall()


def _binary(connection: psycopg.Connection) -> object:
    return connection.execute(QUESTION, binary=True, prepare=True).fetchall()


def _copied(connection: psycopg.Connection) -> object:
    with connection.cursor().copy(f"COPY ({QUESTION}) TO STDOUT") as copy:
        return list(copy)


def _declared(connection: psycopg.Connection) -> object:
    with connection.transaction():
        connection.execute(f"DECLARE c CURSOR FOR {QUESTION}")
        return connection.execute("FETCH ALL FROM c").fetchall()


def _executed(connection: psycopg.Connection) -> object:
    connection.execute(f"PREPARE it AS {QUESTION}")
    return connection.execute("EXECUTE it").fetchall()


def _kept(connection: psycopg.Connection) -> object:
    connection.execute(f"CREATE TEMP TABLE it AS {QUESTION}")
    return connection.execute("SELECT * FROM it").fetchall()


WAYS = (_simple, _extended, _binary, _copied, _declared, _executed, _kept)


@pytest.mark.parametrize("way", WAYS)
def test_notice_comes_with_the_answer_whichever_way_it_is_asked(
    way: type, wire: Wired, heard: tuple[psycopg.Connection, list[str]]
) -> None:
    """Once for each question that was asked, and none for reading on."""
    connection, told = heard
    wire.pipeline.notices = (Notice(BEFORE),)
    assert way(connection)
    assert told == [f"NOTICE: {BEFORE}"]
    assert len(wire.pipeline.asked) == 1


@pytest.mark.parametrize("way", WAYS)
def test_no_notice_comes_when_there_is_nothing_to_tell(
    way: type, heard: tuple[psycopg.Connection, list[str]]
) -> None:
    """The negative control."""
    connection, told = heard
    assert way(connection)
    assert told == []


@pytest.mark.parametrize(
    ("level", "count"), [("notice", 1), ("debug1", 1), ("warning", 0), ("error", 0)]
)
def test_notice_is_not_told_to_whoever_wants_to_hear_of_none(
    level: str, count: int, wire: Wired, heard: tuple[psycopg.Connection, list[str]]
) -> None:
    """As in PostgreSQL: `client_min_messages` is the client's own."""
    connection, told = heard
    wire.pipeline.notices = (Notice(BEFORE),)
    connection.execute(sql.SQL("SET client_min_messages = {}").format(level))
    _simple(connection)
    _extended(connection)
    assert told.count(f"NOTICE: {BEFORE}") == 2 * count


@pytest.mark.parametrize("code", OVERLAP)
@pytest.mark.parametrize("way", [*WAYS, lambda one: one.execute(f"EXPLAIN {QUESTION}")])
def test_overlap_is_refused_with_its_code_and_what_to_do(
    way: type, code: Code, wire: Wired, heard: tuple[psycopg.Connection, list[str]]
) -> None:
    """42501, a DETAIL that begins with the code, a HINT; and EXPLAIN says it before anything is asked."""
    connection, _ = heard
    wire.pipeline.refusal = OverlapRefused(code, "it clashes with `q-7`", "ask for wider groups")
    with pytest.raises(errors.InsufficientPrivilege) as caught:
        way(connection)
    assert caught.value.diag.message_detail == f"{code.value}: it clashes with `q-7`"
    assert caught.value.diag.message_hint == "ask for wider groups"
    wire.pipeline.refusal = None
    assert _simple(connection) == [(7,)]


def test_explain_says_that_an_answer_would_be_reused(
    wire: Wired, heard: tuple[psycopg.Connection, list[str]]
) -> None:
    """At which price, and from what."""
    connection, _ = heard
    wire.pipeline.estimated = Estimate(
        Epsilon.zero(), Delta.zero(), (ExpectedColumn("n", 60.0),), reused=CacheUse.ROLLUP
    )
    lines = [line for (line,) in connection.execute(f"EXPLAIN {QUESTION}")]
    assert lines == [
        "Private Aggregate  (price: epsilon 0; nothing was run or charged)",
        "Reused: groups that were answered before, added up",
        "  ->  n: 95 % within ±60",
    ]


def test_fresh_holds_as_long_as_a_setting_of_postgresql_does(
    wire: Wired, heard: tuple[psycopg.Connection, list[str]]
) -> None:
    """For each statement: set, reset, local to a transaction, gone with one that is rolled back or a savepoint."""
    connection, _ = heard
    told: list[bool] = []

    def ask(*before: str) -> bool:
        for one in before:
            connection.execute(one)
        _simple(connection)
        told.append(wire.pipeline.asked[-1].fresh)
        return told[-1]

    assert not ask()
    assert ask("SET gateway.fresh = on")
    assert ask()
    assert not ask("SET gateway.fresh TO false")
    assert not ask("RESET gateway.fresh")
    assert ask("BEGIN", "SET LOCAL gateway.fresh = 'on'")
    assert not ask("COMMIT")
    assert ask("BEGIN", "SET gateway.fresh = 'on'")
    assert not ask("ROLLBACK")
    assert ask("BEGIN", "SAVEPOINT s", "SET gateway.fresh = 'on'")
    assert not ask("ROLLBACK TO s")
    assert not ask("ROLLBACK")
    assert ask("SET gateway.fresh = 'on'")
    assert not ask("RESET ALL")
    assert ask("SET gateway.fresh = 'on'")
    assert not ask("DISCARD ALL")


def test_fresh_is_known_before_each_statement_of_one_message(
    wire: Wired, heard: tuple[psycopg.Connection, list[str]]
) -> None:
    """What stands before a question in the same text holds for it, and for an EXPLAIN too."""
    connection, _ = heard
    psycopg.ClientCursor(connection).execute(f"{QUESTION}; SET gateway.fresh = on; {QUESTION}")
    assert [one.fresh for one in wire.pipeline.asked] == [False, True]
    wire.pipeline.estimated = Estimate(Epsilon.zero(), Delta.zero(), ())
    connection.execute(f"EXPLAIN {QUESTION}")
    assert wire.pipeline.asked[-1].fresh


def test_question_is_refused_when_fresh_is_no_boolean(
    wire: Wired, heard: tuple[psycopg.Connection, list[str]]
) -> None:
    """Before it is asked: nobody is given an old answer by a slip of the pen."""
    connection, _ = heard
    with pytest.raises(psycopg.DataError) as caught:
        connection.execute(f"SET gateway.fresh = 'maybe'; {QUESTION}")
    assert caught.value.sqlstate == "22023"
    assert wire.pipeline.asked == []
