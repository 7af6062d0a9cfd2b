"""Schema of the state: the revision of a database, the revision this version needs, migrations, and the grants.

The application's log-in may insert and read, and nothing else.

INVARIANT: no grant here lets the application update, delete or truncate an append-only table; from an expiring
table it can remove old rows, by a function that checks the age itself.
"""

from typing import Final, Literal

from sqlalchemy import Connection, Engine, inspect, text

from gateway.errors import Code, OperatorError
from gateway.state.tables import EXPIRING, FORGET, METADATA, UPDATABLE

HEAD: Final = "0006"
"""The newest of `migrations/versions`, which are numbered; a test holds it against them."""

_KNOWN: Final = frozenset(f"{number:04}" for number in range(1, int(HEAD) + 1))
# Two gateways that start at once must not migrate at once; the number only has to be ours.
_MIGRATION_LOCK: Final = 0x6761_7465_0001


def grant_application(connection: Connection, login: str) -> None:
    """Give `login` exactly its rights, and revoke all others."""
    role = connection.dialect.identifier_preparer.quote(login)
    connection.execute(text(f"GRANT USAGE ON SCHEMA public TO {role}"))
    connection.execute(text(f"GRANT SELECT ON alembic_version TO {role}"))
    there = set(inspect(connection).get_table_names())  # a backup may have an older schema
    for table in METADATA.sorted_tables:
        if table.name not in there:
            continue
        connection.execute(text(f"REVOKE ALL ON {table.name} FROM {role}"))
        connection.execute(text(f"GRANT SELECT, INSERT ON {table.name} TO {role}"))
    for table in UPDATABLE:
        connection.execute(text(f"GRANT UPDATE ON {table.name} TO {role}"))
    if there.issuperset(table.name for table in EXPIRING):
        connection.execute(text(f"GRANT EXECUTE ON FUNCTION {FORGET}(integer) TO {role}"))


def migrate(connection: Connection, revision: str) -> None:
    """Upgrade to a revision, on a connection of the caller and within its transaction."""
    _alembic("upgrade", connection, revision)


def downgrade_on(connection: Connection, revision: str) -> None:
    """Downgrade to a revision; the downgrade to nothing drops everything."""
    _alembic("downgrade", connection, revision)


def _alembic(act: Literal["upgrade", "downgrade"], connection: Connection, revision: str) -> None:
    # Alembic is loaded where there is something to migrate: every command opens the state
    from alembic import command  # noqa: PLC0415
    from alembic.config import Config  # noqa: PLC0415

    config = Config()
    config.set_main_option("script_location", "gateway_migrations:")
    config.set_main_option("path_separator", "os")
    config.attributes["connection"] = connection
    getattr(command, act)(config, revision)


def current_revision(connection: Connection) -> str | None:
    """The schema revision of the database; None if it is empty."""
    # one short statement: every command asks this, and an inspector would compile a long one each time
    if connection.execute(text("SELECT to_regclass('alembic_version')")).scalar() is None:
        return None
    found: str | None = connection.execute(
        text("SELECT version_num FROM alembic_version")
    ).scalar_one_or_none()
    return found


def upgrade(owner: Engine, *, application_login: str, revision: str = HEAD) -> None:
    """Migrate as the owner and grant the application its rights, in one transaction."""
    with owner.begin() as connection:
        upgrade_on(connection, application_login=application_login, revision=revision)


def upgrade_on(connection: Connection, *, application_login: str, revision: str = HEAD) -> None:
    """Migrate within the caller's transaction."""
    connection.execute(text("SELECT pg_advisory_xact_lock(:key)"), {"key": _MIGRATION_LOCK})
    at = current_revision(connection)
    if at is not None and at not in _KNOWN:
        raise _version_error(at)
    if at != HEAD:
        migrate(connection, revision)
    grant_application(connection, application_login)


def require_head(connection: Connection) -> None:
    """Refuse a schema that this version does not know."""
    at = current_revision(connection)
    if at != HEAD:
        raise _version_error(at)


def _version_error(at: str | None) -> OperatorError:
    if at is not None and at not in _KNOWN:
        return OperatorError(
            Code.STATE_VERSION,
            f"the state is at revision `{at}`, this gateway knows up to `{HEAD}`",
            "run the newer gateway that wrote it",
        )
    return OperatorError(
        Code.STATE_VERSION,
        f"the state is at revision `{at or 'empty'}`, this gateway needs `{HEAD}`",
        "run `gateway db upgrade`",
    )
