"""Bring the state to the schema this version knows, or say clearly that it is at another one.

What the application's login may do with the state: insert and read, and nothing else.

INVARIANT: no grant here lets the application update, delete or truncate an append-only table; of an expiring
one it can remove what is old, by a function that looks at the age itself.
"""

from alembic import command
from alembic.config import Config
from alembic.migration import MigrationContext
from alembic.script import ScriptDirectory
from sqlalchemy import Connection, Engine, inspect, text

from gateway.errors import Code, OperatorError
from gateway.state.tables import EXPIRING, FORGET, METADATA, UPDATABLE


def grant_application(connection: Connection, login: str) -> None:
    """Give `login` exactly its rights, taking away whatever else it was granted before."""
    role = connection.dialect.identifier_preparer.quote(login)
    connection.execute(text(f"GRANT USAGE ON SCHEMA public TO {role}"))
    connection.execute(text(f"GRANT SELECT ON alembic_version TO {role}"))
    there = set(inspect(connection).get_table_names())  # a backup may be of an older schema
    for table in METADATA.sorted_tables:
        if table.name not in there:
            continue
        connection.execute(text(f"REVOKE ALL ON {table.name} FROM {role}"))
        connection.execute(text(f"GRANT SELECT, INSERT ON {table.name} TO {role}"))
    for table in UPDATABLE:
        connection.execute(text(f"GRANT UPDATE ON {table.name} TO {role}"))
    if there.issuperset(table.name for table in EXPIRING):
        connection.execute(text(f"GRANT EXECUTE ON FUNCTION {FORGET}(integer) TO {role}"))


# Two gateways that start at once must not migrate at once; the number only has to be ours.
_MIGRATION_LOCK = 0x6761_7465_0001


def head_revision() -> str:
    head = ScriptDirectory.from_config(_config()).get_current_head()
    if head is None:
        raise OperatorError(Code.STATE_VERSION, "this installation contains no migrations")
    return head


def current_revision(connection: Connection) -> str | None:
    """The schema the database is at; None when it is empty."""
    return MigrationContext.configure(connection).get_current_revision()


def upgrade(owner: Engine, *, application_login: str, revision: str = "head") -> None:
    """Migrate as the owner and grant the application its rights, in one transaction."""
    with owner.begin() as connection:
        upgrade_on(connection, application_login=application_login, revision=revision)


def upgrade_on(connection: Connection, *, application_login: str, revision: str = "head") -> None:
    """Migrate within the caller's transaction."""
    connection.execute(text("SELECT pg_advisory_xact_lock(:key)"), {"key": _MIGRATION_LOCK})
    at = current_revision(connection)
    if at is not None and at not in _known_revisions():
        raise _version_error(at)
    command.upgrade(_config(connection), revision)
    grant_application(connection, application_login)


def downgrade_on(connection: Connection, revision: str) -> None:
    """Go back within the caller's transaction; the way back to nothing drops everything."""
    command.downgrade(_config(connection), revision)


def require_head(connection: Connection) -> None:
    """Refuse to work on a schema this version does not know."""
    at = current_revision(connection)
    if at != head_revision():
        raise _version_error(at)


def _version_error(at: str | None) -> OperatorError:
    head = head_revision()
    if at is not None and at not in _known_revisions():
        return OperatorError(
            Code.STATE_VERSION,
            f"the state is at revision `{at}`, this gateway knows up to `{head}`",
            "run the newer gateway that wrote it",
        )
    return OperatorError(
        Code.STATE_VERSION,
        f"the state is at revision `{at or 'empty'}`, this gateway needs `{head}`",
        "run `gateway db upgrade`",
    )


def _known_revisions() -> frozenset[str]:
    scripts = ScriptDirectory.from_config(_config())
    return frozenset(script.revision for script in scripts.walk_revisions())


def _config(connection: Connection | None = None) -> Config:
    config = Config()
    config.set_main_option("script_location", "gateway_migrations:")
    config.set_main_option("path_separator", "os")
    config.attributes["connection"] = connection
    return config
