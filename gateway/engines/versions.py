"""Minimum versions of sources, and their check.

PostgreSQL 16 has `pg_input_is_valid`, by which a text is read as a date without an error. DuckDB is part of the
gateway: there the file may be too new, and then it cannot be opened.
"""

from typing import Any, Final

from sqlalchemy import Connection

from gateway.errors import BackendUnavailable, Code

LEAST_POSTGRESQL: Final = 16
_PER_MAJOR: Final = 10_000


def old_version(connection: Connection) -> int | None:
    """The major version of a source that is too old; None where it is not."""
    if connection.dialect.name != "postgresql":
        return None
    driver: Any = connection.connection.driver_connection
    major = int(driver.info.server_version) // _PER_MAJOR
    return major if major < LEAST_POSTGRESQL else None


def require_version(connection: Connection) -> None:
    """INVARIANT: nothing is asked of a source that is too old."""
    if old_version(connection) is not None:
        raise BackendUnavailable(Code.SOURCE_VERSION)
