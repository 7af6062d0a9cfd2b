"""Migrations: they make what the MetaData says, go back, and meet nothing they do not know."""

import ast
import re
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest
from alembic.autogenerate import compare_metadata
from alembic.migration import MigrationContext
from fix_state import APPLICATION, StateServer
from sqlalchemy import Connection, Engine, text
from sqlalchemy.exc import ProgrammingError

from gateway.errors import Code, OperatorError
from gateway.state.connections import engine_for
from gateway.state.open import StateUrls
from gateway.state.schema import HEAD, current_revision, downgrade_on, require_head, upgrade
from gateway.state.tables import METADATA

_CONSTRAINTS = """
    SELECT conrelid::regclass::text, conname, pg_get_constraintdef(oid) FROM pg_constraint
    WHERE connamespace = 'public'::regnamespace AND conrelid::regclass::text <> 'alembic_version'
"""
_INDEXES = """
    SELECT tablename, indexname, indexdef FROM pg_indexes
    WHERE schemaname = 'public' AND tablename <> 'alembic_version'
"""
_COLUMNS = """
    SELECT table_name, column_name, data_type, is_nullable, column_default
    FROM information_schema.columns
    WHERE table_schema = 'public' AND table_name <> 'alembic_version'
"""
_REST = """
    SELECT relname::text FROM pg_class
        WHERE relnamespace = 'public'::regnamespace AND relname NOT LIKE 'alembic_version%'
    UNION ALL SELECT proname::text FROM pg_proc WHERE pronamespace = 'public'::regnamespace
    UNION ALL SELECT tgname::text FROM pg_trigger WHERE NOT tgisinternal
    UNION ALL SELECT typname::text FROM pg_type
        WHERE typnamespace = 'public'::regnamespace AND typname NOT LIKE '%alembic_version'
"""


@pytest.fixture
def empty(state_server: StateServer) -> Iterator[StateUrls]:
    """A database in which nothing was ever made."""
    with state_server.database(migrated=False) as urls:
        yield urls


@pytest.fixture
def owner(empty: StateUrls) -> Iterator[Engine]:
    assert empty.owner is not None
    engine = engine_for(empty.owner, statement_timeout=False)
    yield engine
    engine.dispose()


def everything(connection: Connection) -> dict[str, set[tuple[object, ...]]]:
    queries = {"constraints": _CONSTRAINTS, "indexes": _INDEXES, "columns": _COLUMNS}
    return {
        name: {tuple(row) for row in connection.execute(text(query))}
        for name, query in queries.items()
    }


def test_migrations_make_what_the_metadata_says(
    state_server: StateServer, state_urls: StateUrls
) -> None:
    """Tables, columns, constraints and indexes are the same, to their names, as if SQLAlchemy had
    made them; alembic finds nothing to do.
    """
    assert state_urls.owner is not None
    migrated = engine_for(state_urls.owner)
    with state_server.database(migrated=False) as other:
        assert other.owner is not None
        made = engine_for(other.owner)
        METADATA.create_all(made)
        with migrated.connect() as here, made.connect() as there:
            assert everything(here) == everything(there)
            assert everything(here)["constraints"]
            context = MigrationContext.configure(
                here, opts={"compare_type": True, "compare_server_default": True}
            )
            assert compare_metadata(context, METADATA) == []
        made.dispose()
    migrated.dispose()


def test_comparison_can_fail(owner: Engine) -> None:
    """A negative control: a column more, a constraint less, and both comparisons see it."""
    upgrade(owner, application_login=APPLICATION)
    with owner.begin() as connection:
        before = everything(connection)
        connection.execute(text("ALTER TABLE charges ADD COLUMN more text"))
        connection.execute(text("ALTER TABLE charges DROP CONSTRAINT ck_charges_price"))
        after = everything(connection)
        assert before["columns"] != after["columns"]
        assert before["constraints"] != after["constraints"]
        assert compare_metadata(MigrationContext.configure(connection), METADATA) != []


def test_migrations_go_back_to_nothing_and_come_again(owner: Engine) -> None:
    """Down to the base nothing is left, no table, function, trigger or type; up again all is there."""
    upgrade(owner, application_login=APPLICATION)
    with owner.begin() as connection:
        first = everything(connection)
        downgrade_on(connection, "base")
        assert connection.execute(text(_REST)).all() == []
        assert current_revision(connection) is None
    upgrade(owner, application_login=APPLICATION)
    upgrade(owner, application_login=APPLICATION)
    with owner.connect() as connection:
        assert everything(connection) == first
        assert current_revision(connection) == HEAD


def test_upgrade_that_fails_leaves_nothing_behind(owner: Engine) -> None:
    """Schema and rights come in one transaction: without the login there is no half a schema."""
    with pytest.raises(ProgrammingError, match="does not exist"):
        upgrade(owner, application_login="no such login")
    with owner.connect() as connection:
        assert connection.execute(text(_REST)).all() == []


def test_gateways_that_start_at_once_migrate_once(owner: Engine) -> None:
    """Four upgrades at the same time all come back, to one complete schema."""
    problems: list[BaseException] = []
    barrier = threading.Barrier(4)

    def start() -> None:
        barrier.wait()
        try:
            upgrade(owner, application_login=APPLICATION)
        except BaseException as error:  # noqa: BLE001  # none is expected, whichever it is
            problems.append(error)

    threads = [threading.Thread(target=start) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert problems == []
    with owner.connect() as connection:
        require_head(connection)


def test_state_of_a_newer_gateway_is_refused(owner: Engine) -> None:
    """A revision this version does not know is left alone, and the error names it."""
    upgrade(owner, application_login=APPLICATION)
    with owner.begin() as connection:
        connection.execute(text("UPDATE alembic_version SET version_num = '9999'"))
    with pytest.raises(OperatorError, match="9999") as caught:
        upgrade(owner, application_login=APPLICATION)
    assert caught.value.code is Code.STATE_VERSION
    with owner.connect() as connection, pytest.raises(OperatorError) as caught:
        require_head(connection)
    assert "newer gateway" in caught.value.hint


def test_state_without_a_schema_is_refused(owner: Engine) -> None:
    """An external database that was never migrated is told from one that is too new."""
    with owner.connect() as connection, pytest.raises(OperatorError) as caught:
        require_head(connection)
    assert caught.value.code is Code.STATE_VERSION
    assert "db upgrade" in caught.value.hint


def revisions() -> list[Path]:
    versions = Path(__file__).parents[2] / "migrations" / "versions"
    return sorted(path for path in versions.glob("*.py") if path.name != "__init__.py")


@pytest.mark.parametrize("path", revisions(), ids=lambda path: path.name)
def test_revision_has_a_readable_name_and_says_what_it_does(path: Path) -> None:
    """`0001_what_it_is_about.py`, numbered as it follows, with a docstring that says so."""
    match = re.fullmatch(r"(?P<number>[0-9]{4})_[a-z][a-z0-9_]{7,60}\.py", path.name)
    assert match is not None
    tree = ast.parse(path.read_text())
    docstring = ast.get_docstring(tree)
    assert docstring is not None
    title, _, rest = docstring.partition("\n")
    assert len(title) > 10
    assert f"Revision: {match['number']}" in rest
    assert re.search(r"^Follows: (nothing|[0-9]{4})$", rest, re.MULTILINE)


def test_revisions_are_numbered_without_gaps() -> None:
    """One line of revisions, 0001 and on."""
    numbers = [int(path.name[:4]) for path in revisions()]
    assert numbers == list(range(1, len(numbers) + 1))
    assert f"{len(numbers):04}" == HEAD
