"""Read one row with a statement that PostgreSQL has planned before, without a transaction around it.

SQLAlchemy's own way takes five times as long: it begins a transaction, ends it, and dresses the rows. What
every request reads pays for that each time. The connections are the engine's own all the same.
"""

from collections.abc import Mapping
from typing import Any, Final

import psycopg
from sqlalchemy import Engine, PoolProxiedConnection, Select
from sqlalchemy.dialects.postgresql.psycopg import PGDialect_psycopg
from sqlalchemy.exc import InterfaceError, OperationalError
from sqlalchemy.exc import TimeoutError as PoolTimeout

UNREACHABLE: Final = (
    *(OperationalError, InterfaceError, PoolTimeout),
    *(psycopg.OperationalError, psycopg.InterfaceError),
)
"""What says that the state cannot be asked, whether SQLAlchemy or the driver says it."""


class Prepared:
    """A statement that is only read, with its parameters by name."""

    def __init__(self, statement: Select[Any]) -> None:
        dialect = PGDialect_psycopg()  # type: ignore[no-untyped-call]  # SQLAlchemy leaves it untyped
        self._text = str(statement.compile(dialect=dialect)).encode()

    def one_or_none(self, engine: Engine, values: Mapping[str, str]) -> tuple[Any, ...] | None:
        """The only row there is, if there is one."""
        lent = engine.raw_connection()
        try:
            driver = _driver(lent)
            driver.autocommit = True  # a read of one statement is its own snapshot
            row: tuple[Any, ...] | None = driver.execute(
                self._text, values, prepare=True
            ).fetchone()
            driver.autocommit = False
        except BaseException:
            lent.invalidate()  # nobody knows what is still on its way there
            raise
        finally:
            lent.close()
        return row


def _driver(lent: PoolProxiedConnection) -> "psycopg.Connection[tuple[Any, ...]]":
    driver = lent.driver_connection
    if not isinstance(driver, psycopg.Connection):
        raise TypeError("the state is reached through psycopg")
    return driver
