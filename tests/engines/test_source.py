"""Connections to a source: a query uses one connection, and a new one if that is dead."""

from collections.abc import Iterator
from contextlib import closing, suppress
from typing import Any

import psycopg
import pytest
from engines.sources import connections_of, in_postgresql, run_text
from engines.sql.test_release import Database, reference, release
from fix_sample import plain
from sqlalchemy import URL, column, event, select, text

from gateway.engines.source import SourceDatabase
from gateway.errors import BackendUnavailable, Code, Refusal

ROWS = [(1, 1, 5), (2, 1, 7), (2, 2, 9)]


def filled(url: URL) -> Database:
    made = Database(url)
    made._write(["CREATE TABLE visits (p bigint, k bigint, x bigint)"], ROWS)
    return made


@pytest.fixture
def clinic(sample_database: URL) -> Iterator[tuple[SourceDatabase, URL]]:
    source = filled(sample_database).open()
    yield source, sample_database
    source.close()


class Wire:
    """What happens at the pool and on the wire."""

    def __init__(self, source: SourceDatabase) -> None:
        self.connects = self.checkouts = 0
        self.statements: list[str] = []
        event.listen(connections_of(source).engine, "connect", self._connect)
        event.listen(connections_of(source).engine, "checkout", self._checkout)
        event.listen(connections_of(source).engine, "before_cursor_execute", self._statement)

    def _connect(self, *_: object) -> None:
        self.connects += 1

    def _checkout(self, *_: object) -> None:
        self.checkouts += 1

    def _statement(self, _here: object, _cursor: object, statement: str, *_: object) -> None:
        self.statements.append(statement)


def ask(source: SourceDatabase) -> dict[Any, Any]:
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


def test_question_takes_one_connection_when_the_pool_is_warm(
    clinic: tuple[SourceDatabase, URL],
) -> None:
    """Nothing goes to the source but one look at its catalog and the statement: no ping, no settings, no transaction."""
    source, _ = clinic
    assert ask(source) == reference(ROWS, None)
    here = Wire(source)
    for _ in range(3):
        ask(source)
    assert (here.connects, here.checkouts, len(here.statements)) == (0, 3, 6)


def test_limit_is_set_anew_when_it_differs(clinic: tuple[SourceDatabase, URL]) -> None:
    """The server's own clock has the limit of the question that is asked, not that of one before it."""
    source, _ = clinic
    for limit_s in (20.0, 7.0, 7.0):
        shown = "SELECT current_setting('statement_timeout') AS v"
        assert run_text(source, shown, limit_s) == f"{limit_s:.0f}s"


def test_question_is_asked_again_when_its_kept_connection_is_dead(
    clinic: tuple[SourceDatabase, URL],
) -> None:
    """Whoever comes first after a restart of the source gets an answer, over a new connection."""
    source, url = clinic
    ask(source)
    here = Wire(source)
    kill_all(url)
    assert ask(source) == reference(ROWS, None)
    assert here.connects == 1
    assert here.checkouts == 2


def test_question_is_asked_twice_at_most_when_connections_die(
    clinic: tuple[SourceDatabase, URL],
) -> None:
    """A source that ends every connection is away, after the second."""
    source, url = clinic
    ask(source)
    here = Wire(source)

    def kill(*_: object) -> None:
        kill_all(url)

    event.listen(connections_of(source).engine, "before_cursor_execute", kill)
    with pytest.raises(BackendUnavailable):
        ask(source)
    assert here.checkouts == 2


def test_question_is_not_asked_again_when_its_own_new_connection_dies(
    clinic: tuple[SourceDatabase, URL],
) -> None:
    """What ended a connection that was just made was not that it had been left alone."""
    source, url = clinic
    here = Wire(source)

    def kill(_here: object, _cursor: object, statement: str, *_: object) -> None:
        if "visits" in statement:
            kill_all(url)

    event.listen(connections_of(source).engine, "before_cursor_execute", kill)
    with pytest.raises(BackendUnavailable):
        ask(source)
    assert here.checkouts == 1


def test_statement_that_is_wrong_is_not_asked_again(clinic: tuple[SourceDatabase, URL]) -> None:
    """A failure that says nothing of the connection is told as it is."""
    source, url = clinic
    ask(source)
    with psycopg.connect(plain(url), autocommit=True) as connection:
        connection.execute("DROP TABLE visits")
    here = Wire(source)
    with suppress(Refusal):
        ask(source)
    assert here.checkouts == 1


def reads(here: Wire) -> int:
    """How often the whole catalog was read."""
    return sum("pg_get_expr" in one for one in here.statements)


def test_catalog_is_read_again_when_the_source_was_connected_to_anew(
    clinic: tuple[SourceDatabase, URL],
) -> None:
    """Another server may be there, which compares texts otherwise."""
    source, url = clinic
    here = Wire(source)
    ask(source)
    assert reads(here) == 1
    kill_all(url)
    ask(source)
    assert reads(here) == 2
    order = [
        "pg_get_expr" in one for one in here.statements if "pg_get_expr" in one or '"visits"' in one
    ]
    assert order == [True, False, True, False]


def test_catalog_is_not_read_again_when_nothing_changed(clinic: tuple[SourceDatabase, URL]) -> None:
    """Warm questions ask for digests alone; what does not concern the table concerns nobody."""
    source, url = clinic
    ask(source)
    here = Wire(source)
    in_postgresql(url, "CREATE TABLE beside (a int PRIMARY KEY); ANALYZE visits")
    in_postgresql(url, "VACUUM visits")
    for _ in range(3):
        ask(source)
    assert reads(here) == 0


CHANGES = {
    "a swap": "ALTER TABLE visits RENAME TO away; CREATE TABLE visits AS SELECT * FROM away",
    "a swap of columns": "ALTER TABLE visits RENAME p TO q; ALTER TABLE visits RENAME k TO p;"
    "ALTER TABLE visits RENAME q TO k",
    "no key": "ALTER TABLE visits DROP CONSTRAINT one_row",
    "a key that is not valid": "UPDATE pg_index SET indisvalid = false"
    " WHERE indexrelid = 'one_row'::regclass",
    "no check": "ALTER TABLE visits DROP CONSTRAINT few",
    "a check that is not valid": "ALTER TABLE visits DROP CONSTRAINT few;"
    "ALTER TABLE visits ADD CONSTRAINT few CHECK (x < 9) NOT VALID",
    "NULLs": "ALTER TABLE visits ALTER k DROP NOT NULL",
    "another type": "ALTER TABLE visits ALTER x TYPE integer",
    "another collation": 'ALTER TABLE visits ALTER t TYPE text COLLATE "POSIX"',
    "heirs": "CREATE TABLE heir () INHERITS (visits)",
    "row security": "ALTER TABLE visits ENABLE ROW LEVEL SECURITY",
    "a schema in front": 'ALTER SCHEMA front RENAME TO "postgres"',
    "a schema in its place": "ALTER SCHEMA public RENAME TO gone; ALTER SCHEMA front RENAME TO public",
}


@pytest.mark.parametrize("change", list(CHANGES))
@pytest.mark.parametrize("filled", [True, False])
def test_answer_is_refused_when_its_table_was_changed_since_it_was_prepared(
    sample_database: URL, change: str, *, filled: bool
) -> None:
    """Whatever a constraint may rest on; where the table has no rows as well."""
    in_postgresql(
        sample_database,
        "CREATE TABLE visits (p bigint CONSTRAINT one_row PRIMARY KEY, k bigint NOT NULL,"
        " x bigint CONSTRAINT few CHECK (x < 8), t text);"
        "CREATE SCHEMA front; CREATE TABLE front.visits (LIKE visits);"
        + (
            "INSERT INTO visits VALUES (1, 1, 5); INSERT INTO front.visits VALUES (1, 1, 5)"
            * filled
        ),
    )
    source, wanted = Database(sample_database).open(), release()
    try:
        with source.prepared(wanted, limit_s=20) as prepared:
            source.parse(prepared, [wanted], {})
            in_postgresql(sample_database, "ANALYZE")
            assert len(source.run(wanted, {}, limit_s=20, on=prepared).keys) == filled
            in_postgresql(sample_database, CHANGES[change])
            with pytest.raises(BackendUnavailable) as refused:
                source.run(wanted, {}, limit_s=20, on=prepared)
            assert refused.value.code is Code.SOURCE_CHANGED
        assert len(source.run(wanted, {}, limit_s=20).keys) == filled
    finally:
        source.close()


def test_statement_is_not_computed_when_it_is_parsed(clinic: tuple[SourceDatabase, URL]) -> None:
    """What would fail wherever it is planned or run is parsed without a word."""
    source, _ = clinic
    made = source.database.prepare(["visits"], subject="", limit_s=20, cancelled=None)
    with closing(made):
        fails = select(text("SELECT 1 / 0 AS v").columns(column("v")).subquery("s"))
        made.parse([fails], {})
        with pytest.raises(Refusal):
            made.run(lambda _: [fails], 1, {}, list, limit_s=20, cancelled=None)
        missing = select(text("SELECT nothing FROM visits").columns(column("v")).subquery("s"))
        with pytest.raises(BackendUnavailable) as refused:
            made.parse([missing], {})
        assert refused.value.code is Code.SOURCE_SCHEMA
