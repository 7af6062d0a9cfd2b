"""Put a backup where the state is: one transaction, checked before it counts."""

from collections.abc import Callable
from typing import Final

from sqlalchemy import Connection, Engine, text

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
            downgrade_on(connection, "base")
            upgrade_on(connection, application_login=application_login, revision=backup.revision)
            load_backup(connection, backup)
            upgrade_on(connection, application_login=application_login)
            check(connection)
