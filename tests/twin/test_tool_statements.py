"""Statements of tools besides queries, answered by the twin in an analyst's role.

`tests/cases/chatter/*.sql` has the statements of one client each: `-- title:`, `-- values:` of the parameters as JSON, the
statement. Those of drivers were recorded on the wire; those of programs that draw pictures are written after theirs.
"""

import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import pytest
from binding.clinic import CLINIC
from fix_twin import as_gateway, life_of, state
from laws import for_each

from gateway.binding.bind import bind
from gateway.binding.bound import PassThrough, ResultColumn
from gateway.binding.catalog_queries import is_catalog_query, strip_database_name
from gateway.binding.text.classify import StatementKind, classify
from gateway.columnar.texts import TextRows
from gateway.twin import Twin, TwinRefused, TwinSession, visible_tables
from gateway.twin.pool import log_in
from gateway.twin.shadow_functions import DATASET_UNNAMED, SessionNames

ROOM: Final = Path(__file__).parents[1] / "cases" / "chatter"
ENOUGH: Final = 150
# asked of a fresh connection, where nothing is begun
_IN_TRANSACTION: Final = ("declare", "savepoint", "release", "rollback")
_OF_SOMETHING: Final = ("fetch ", 'close "', 'deallocate "')  # that is not there


@dataclass(frozen=True)
class Case:
    name: str
    sql: str
    values: tuple[str | None, ...]


def _cases() -> list[Case]:
    cases = []
    for path in sorted(ROOM.glob("*.sql")):
        for block in path.read_text().split("-- title: ")[1:]:
            title, _, rest = block.partition("\n")
            values: list[str | None] = []
            if rest.startswith("-- values: "):
                line, _, rest = rest.partition("\n")
                values = json.loads(line.removeprefix("-- values: "))
            sql = rest.strip().removesuffix(";")
            cases.append(Case(f"{path.stem}: {title}", sql, tuple(values)))
    return cases


CASES: Final = _cases()


@pytest.fixture(scope="module")
def session(twin: Twin) -> Iterator[TwinSession]:
    """Alice in the clinic, as a client that came over the wire."""
    with twin.session("alice", visible_tables(CLINIC)):  # so that there is a login
        life = life_of(twin)
        login = life.roles.login("alice", visible_tables(CLINIC))
        entered = log_in(life, login, SessionNames("alice", "clinic", 4711).settings())
    with TwinSession(entered, 20, {}) as session:
        yield session


def _passing(sql: str, session: TwinSession) -> PassThrough:
    bound = bind(
        sql,
        CLINIC,
        describe=lambda text: [
            ResultColumn(one.name, one.type_oid, one.type_modifier, one.type_name)
            for one in session.describe(text).columns
        ],
    )
    assert isinstance(bound, PassThrough)
    return bound


def _ask(sql: str, session: TwinSession) -> TextRows:
    return session.run(_passing(sql, session).statement.text)


def test_cases_are_many_and_have_names_of_their_own() -> None:
    """There are enough of them, and each is told apart."""
    assert len(CASES) >= ENOUGH
    assert len({case.name for case in CASES}) == len(CASES)


@for_each("case", CASES, ids=lambda case: case.name)
def test_statement_of_a_client_passes_and_runs(case: Case, session: TwinSession) -> None:
    """It is the twin's affair, is answered there, and has the columns of the original."""
    statement = classify(strip_database_name(case.sql, CLINIC))
    assert statement.kind is StatementKind.PASS or is_catalog_query(statement.query, CLINIC)
    passing = _passing(case.sql, session)
    try:
        if case.sql.lower().startswith(_IN_TRANSACTION):
            session.run("BEGIN")
            if case.sql.lower().startswith(("release", "rollback to")):
                session.run(f"SAVEPOINT {case.sql.split()[-1]}")
        if case.sql.lower().startswith(_OF_SOMETHING):
            with pytest.raises(TwinRefused, check=state("26000", "34000")):
                session.run(passing.statement.text)
            return
        rows = session.run(passing.statement.text, case.values)
        if statement.kind is not StatementKind.QUERY:
            return
        assert passing.result is not None
        assert all(len(row) == len(passing.result) for row in rows)
        now = session.describe(passing.statement.text).columns
        assert [(one.name, one.type_oid) for one in now] == [
            (one.name, one.type_oid) for one in passing.result
        ]
    finally:
        session.run("ROLLBACK")
        session.run("DISCARD ALL")


def test_names_are_those_of_subject_and_dataset(session: TwinSession) -> None:
    """Keywords, functions and catalogs say `alice` and `clinic`, in columns called as ever."""
    passing = _passing(
        "SELECT current_user, session_user, user, current_role, current_catalog, current_database()",
        session,
    )
    assert [one.name for one in passing.result or ()] == [
        *("current_user", "session_user", "user", "current_role", "current_catalog"),
        "current_database",
    ]
    assert session.run(passing.statement.text) == (
        ("alice", "alice", "alice", "alice", "clinic", "clinic"),
    )
    for sql, rows in (
        ("SELECT datname FROM pg_database WHERE datname = current_database()", (("clinic",),)),
        ("SELECT usename FROM pg_user WHERE usename = current_user", (("alice",),)),
        ("SELECT rolname FROM pg_roles WHERE rolname = user", (("alice",),)),
        (
            "SELECT catalog_name FROM information_schema.information_schema_catalog_name",
            (("clinic",),),
        ),
        ("SELECT pg_get_userbyid(oid) FROM pg_roles WHERE rolname = current_user", (("alice",),)),
        ("SELECT DISTINCT pg_get_userbyid(relowner) FROM pg_class", (("postgres",),)),
        ("SELECT system_user", (("alice",),)),
    ):
        assert _ask(sql, session) == rows


def test_every_catalog_column_of_the_information_schema_is_the_dataset(
    session: TwinSession,
) -> None:
    """All of its views say the dataset's name, whatever they compute it from."""
    columns = session.run(
        "SELECT DISTINCT c.relname, a.attname FROM pg_class c JOIN pg_attribute a ON attrelid = c.oid "
        "WHERE relnamespace = 'information_schema'::regnamespace AND relkind = 'v' "
        "AND attname LIKE '%catalog' AND has_table_privilege(c.oid, 'SELECT')"
    )
    assert len(columns) > 100
    shown = {
        value
        for view, column in columns
        for (value,) in session.run(f'SELECT DISTINCT "{column}" FROM information_schema."{view}"')
    }
    assert shown == {"clinic", None}


def test_no_other_name_is_seen(twin: Twin, session: TwinSession) -> None:
    """Neither the server's names for oneself nor anything of others is in any catalog that names databases or roles."""
    with as_gateway(twin) as gateway:
        names = gateway.execute(
            "SELECT datname FROM pg_database WHERE datname LIKE 'view%' "
            "UNION SELECT rolname FROM pg_authid WHERE oid >= 16384"
        ).fetchall()
    assert len(names) >= 2
    for view in (
        "pg_database",
        "pg_roles",
        "pg_user",
        "pg_stat_activity",
        "pg_tables",
        "pg_settings",
    ):
        text = repr(session.run(f"SELECT * FROM {view}"))
        assert not [name for (name,) in names if name in text]


def test_probes_say_yes_for_what_can_be_asked(session: TwinSession) -> None:
    """SELECT on visible tables and columns, CONNECT and USAGE; nothing that changes data."""
    yes = (
        "has_table_privilege('visits', 'SELECT')",
        "has_table_privilege(current_user, 'public.visits', 'select')",
        "has_table_privilege(current_user, 'visits'::regclass, 'INSERT, SELECT')",
        "has_any_column_privilege(current_user, '\"public\".\"visits\"', 'SELECT')",
        "has_column_privilege('visits', 'cost', 'SELECT')",
        "has_column_privilege(current_user, 'visits'::regclass, 1::int2, 'SELECT')",
        "has_database_privilege(current_database(), 'CONNECT')",
        "has_database_privilege(current_user, current_catalog, 'CONNECT')",
        "has_schema_privilege(current_user, 'public', 'USAGE')",
        "has_function_privilege(current_user, 'now()', 'EXECUTE')",
        "pg_has_role(current_user, current_user, 'MEMBER')",
        "pg_has_role(current_user, 'USAGE')",
        "has_table_privilege('pg_class', 'SELECT')",
    )
    no = (
        *(
            f"has_table_privilege('visits', '{one}')"
            for one in ("INSERT", "UPDATE", "DELETE", "TRUNCATE")
        ),
        "has_table_privilege('visits', 'SELECT WITH GRANT OPTION')",
        "has_any_column_privilege('visits', 'INSERT, UPDATE')",
        "has_column_privilege('visits', 'cost', 'UPDATE')",
        "has_table_privilege('pg_authid', 'SELECT')",
        "has_database_privilege(current_database(), 'CREATE, TEMP')",
        "has_schema_privilege('public', 'CREATE')",
        "pg_has_role('postgres', 'MEMBER')",
    )
    for probe in yes:
        assert _ask(f"SELECT {probe}", session) == (("t",),), probe
    for probe in no:
        assert _ask(f"SELECT {probe}", session) == (("f",),), probe
    assert _ask("SELECT has_table_privilege(NULL::oid, 'SELECT')", session) == ((None,),)


def test_activity_is_ones_own(twin: Twin, session: TwinSession) -> None:
    """One row, with the number that the gateway handed out, without an address and without a statement."""
    with twin.session("bob", visible_tables(CLINIC)):
        assert _ask(
            "SELECT datname, usename, pid, client_addr, client_port, backend_start, query "
            "FROM pg_stat_activity",
            session,
        ) == (("clinic", "alice", "4711", None, None, None, ""),)
    assert _ask("SELECT pg_backend_pid()", session) == (("4711",),)


def test_session_without_names_has_the_subject_alone(twin: Twin) -> None:
    """The gateway's own short sessions have a name for the dataset that is nobody's."""
    with twin.session("alice", visible_tables(CLINIC)) as session:
        assert session.run('SELECT current_database(), pg_catalog."current_user"()') == (
            (DATASET_UNNAMED, "alice"),
        )
        assert session.run("SELECT datname FROM pg_database") == ((DATASET_UNNAMED,),)
