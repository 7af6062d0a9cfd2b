"""How a question reaches its source: one connection, asked again on a new one where it was dead."""

from collections.abc import Iterator
from contextlib import suppress
from typing import Any

import psycopg
import pytest
from engines.test_release_exact import NOON, Database, analysis, reference, release
from fix_sample import plain
from sqlalchemy import URL, event, text

from gateway.budget.account import Currency
from gateway.engines.proving import Proven
from gateway.engines.source import Source
from gateway.errors import BackendUnavailable, Refusal
from gateway.serving import Proofs, Seen, Serving

ROWS = [(1, 1, 5), (2, 1, 7), (2, 2, 9)]


@pytest.fixture(params=["duckdb", "postgresql"])
def database(request: pytest.FixtureRequest, tmp_path: Any) -> Database:  # noqa: ANN401
    url = URL.create("duckdb", database=str(tmp_path / "clinic.duckdb"))
    if request.param == "postgresql":
        url = request.getfixturevalue("sample_database")
    return filled(url)


def filled(url: URL) -> Database:
    made = Database(url)
    made._write(["CREATE TABLE visits (p bigint, k bigint, x bigint)"], ROWS)
    return made


@pytest.fixture
def clinic(sample_database: URL) -> Iterator[tuple[Source, URL]]:
    source = filled(sample_database).open()
    yield source, sample_database
    source.close()


class Wire:
    """What happens at the pool and on the wire."""

    def __init__(self, source: Source) -> None:
        self.connects = self.checkouts = 0
        self.statements: list[str] = []
        event.listen(source.engine, "connect", self._connect)
        event.listen(source.engine, "checkout", self._checkout)
        event.listen(source.engine, "before_cursor_execute", self._statement)

    def _connect(self, *_: object) -> None:
        self.connects += 1

    def _checkout(self, *_: object) -> None:
        self.checkouts += 1

    def _statement(self, _here: object, _cursor: object, statement: str, *_: object) -> None:
        self.statements.append(statement)


def ask(source: Source) -> dict[Any, Any]:
    found = source.run(release(), {}, limit_s=20)
    columns = zip(*found.measured, strict=True)
    return {key: list(one) for (key,), one in zip(found.keys, columns, strict=True)}


def kill_all(url: URL) -> None:
    """As when the server was started anew."""
    with psycopg.connect(plain(url), autocommit=True) as connection:
        connection.execute(
            "SELECT pg_terminate_backend(pid, 10000) FROM pg_stat_activity"
            " WHERE datname = current_database() AND pid <> pg_backend_pid()"
        )


def serving(source: Source, reads: list[Seen]) -> Serving:
    """It takes what is proven from `reads`, one after the other; the last one stays."""

    def read() -> Seen:
        return reads.pop(0) if len(reads) > 1 else reads[0]

    proofs = Proofs(read)
    source.connections.on_connect(proofs.connected)
    nobody: Any = None
    return Serving(nobody, nobody, source, proofs, Currency.PURE)


def seen(*columns: str) -> Seen:
    return Seen({"visits": Proven(not_null=frozenset(columns))}, {})


def answer(one: Serving) -> object:
    return one.run(analysis(least=None), {}, now=NOON, limit_s=20, cancelled=None)  # type: ignore[arg-type]


def test_question_takes_one_connection_and_one_statement_when_the_pool_is_warm(
    database: Database,
) -> None:
    """Nothing but the statement goes to the source: no ping, no settings, no transaction."""
    source = database.open()
    try:
        assert ask(source) == reference(ROWS, None)
        here = Wire(source)
        for _ in range(3):
            ask(source)
        assert (here.connects, here.checkouts, len(here.statements)) == (0, 3, 3)
    finally:
        source.close()


def test_limit_is_set_anew_when_it_differs(clinic: tuple[Source, URL]) -> None:
    """The server's own clock has the limit of the question that is asked, not that of one before it."""
    source, _ = clinic
    for limit_s in (20.0, 7.0, 7.0):
        shown = source._attempted(
            lambda here, _: here.execute(text("SHOW statement_timeout")).scalar_one(), limit_s, None
        )
        assert shown == f"{limit_s:.0f}s"


def test_question_is_asked_again_when_its_kept_connection_is_dead(
    clinic: tuple[Source, URL],
) -> None:
    """Whoever comes first after a restart of the source gets an answer, over a new connection."""
    source, url = clinic
    ask(source)
    here = Wire(source)
    kill_all(url)
    assert ask(source) == reference(ROWS, None)
    assert here.connects == 1
    assert here.checkouts == 2


def test_question_is_asked_twice_at_most_when_connections_die(clinic: tuple[Source, URL]) -> None:
    """A source that ends every connection is away, after the second."""
    source, url = clinic
    ask(source)
    here = Wire(source)

    def kill(*_: object) -> None:
        kill_all(url)

    event.listen(source.engine, "before_cursor_execute", kill)
    with pytest.raises(BackendUnavailable):
        ask(source)
    assert here.checkouts == 2


def test_question_is_not_asked_again_when_its_own_new_connection_dies(
    clinic: tuple[Source, URL],
) -> None:
    """What ended a connection that was just made was not that it had been left alone."""
    source, url = clinic
    here = Wire(source)

    def kill(_here: object, _cursor: object, statement: str, *_: object) -> None:
        if "visits" in statement:
            kill_all(url)

    event.listen(source.engine, "before_cursor_execute", kill)
    with pytest.raises(BackendUnavailable):
        ask(source)
    assert here.checkouts == 1


def test_statement_that_is_wrong_is_not_asked_again(clinic: tuple[Source, URL]) -> None:
    """A failure that says nothing of the connection is told as it is."""
    source, url = clinic
    ask(source)
    with psycopg.connect(plain(url), autocommit=True) as connection:
        connection.execute("DROP TABLE visits")
    here = Wire(source)
    with suppress(Refusal):
        ask(source)
    assert here.checkouts == 1


def test_proofs_are_read_again_when_the_source_was_connected_to_anew(
    clinic: tuple[Source, URL],
) -> None:
    """They are read after the new connection was made, and before anything that rests on them is asked on it."""
    source, url = clinic
    order: list[str] = []

    def read() -> Seen:
        order.append("read")
        return seen("a")

    def statement(_here: object, _cursor: object, sql: str, *_: object) -> None:
        if "visits" in sql:
            order.append("asked")

    one = serving(source, [seen("a")])
    one.proofs.read = read
    event.listen(source.engine, "connect", lambda *_: order.append("connected"))
    event.listen(source.engine, "before_cursor_execute", statement)
    answer(one)
    assert order == ["connected", "read", "asked"]
    order.clear()
    kill_all(url)
    answer(one)
    assert order == ["asked", "connected", "read", "asked"]


def test_proofs_are_not_read_again_when_the_connection_was_kept(
    clinic: tuple[Source, URL],
) -> None:
    """Warm questions ask nothing of the source's catalog."""
    source, _ = clinic
    reads = [seen("first"), seen("never"), seen("never")]
    one = serving(source, reads)
    for _ in range(3):
        answer(one)
    assert len(reads) == 2


@pytest.mark.parametrize("still", [True, False])
def test_answer_is_thrown_away_when_less_is_proven_after_a_connect_meanwhile(
    clinic: tuple[Source, URL], *, still: bool
) -> None:
    """It stays where the same is proven still."""
    source, _ = clinic
    one = serving(source, [seen("a"), seen("a") if still else seen("b")])
    answer(one)

    def meanwhile(_here: object, _cursor: object, statement: str, *_: object) -> None:
        if "visits" in statement:
            one.proofs.connected()

    event.listen(source.engine, "before_cursor_execute", meanwhile)
    if still:
        answer(one)
    else:
        with pytest.raises(BackendUnavailable):
            answer(one)
