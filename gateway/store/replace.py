"""Put a backup where the state is: one transaction, checked before it counts."""

from collections.abc import Callable
from typing import Final

from alembic.util import CommandError
from psycopg.errors import DataError, InsufficientPrivilege, IntegrityError
from sqlalchemy import Connection, Engine, text
from sqlalchemy.exc import ProgrammingError

from gateway.errors import Code, OperatorError
from gateway.store.backup import Backup, load_backup
from gateway.store.migrate import downgrade_on, upgrade_on
from gateway.store.not_behind import hold_state_alone, last_position
from gateway.store.position import GENESIS

_SLOW: Final = "SET LOCAL statement_timeout = 0"


def replace_state(
    owner: Engine,
    backup: Backup,
    *,
    application_login: str,
    even_if_not_empty: bool,
    check: Callable[[Connection], None],
) -> None:
    """Load `backup` as the owner while no gateway works; `check` may still refuse what was loaded."""
    with owner.connect() as guard:
        hold_state_alone(guard)
        with owner.begin() as connection:
            connection.execute(text(_SLOW))
            if last_position(connection) != GENESIS and not even_if_not_empty:
                raise OperatorError(
                    Code.BACKUP_UNUSABLE,
                    "the state is not empty",
                    "add --replace to put the backup in its place; what it lacks is charged",
                )
            _make_empty(connection, backup, application_login)
            _load(connection, backup)
            upgrade_on(connection, application_login=application_login)
            check(connection)


def _load(connection: Connection, backup: Backup) -> None:
    try:
        load_backup(connection, backup)
    except (DataError, IntegrityError) as error:
        raise OperatorError(
            Code.BACKUP_UNUSABLE,
            f"the state in `{backup.path}` was forged before it was backed up: {error.diag.message_primary}",
            "use an older backup",
        ) from None


def _make_empty(connection: Connection, backup: Backup, application_login: str) -> None:
    """Empty tables of the schema that the backup was written from."""
    try:
        downgrade_on(connection, "base")
        upgrade_on(connection, application_login=application_login, revision=backup.revision)
    except CommandError:
        raise OperatorError(
            Code.STATE_VERSION,
            f"the backup is of revision `{backup.revision}`, which this gateway does not know",
            "restore it with the newer gateway that wrote it",
        ) from None
    except ProgrammingError as error:
        if not isinstance(error.orig, InsufficientPrivilege):
            raise
        raise OperatorError(
            Code.BACKUP_UNUSABLE,
            "this login may not replace the state",
            "let GATEWAY_STATE_OWNER_URL name the login that owns it",
        ) from None
