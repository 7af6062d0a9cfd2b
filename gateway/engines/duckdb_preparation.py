"""Questions prepared on DuckDB in this process: a connection holds its file, and what the catalog of that file says.

The file is opened for reading alone, so nothing in it changes while a connection is there: what its catalog said when it
was first asked holds for as long as the connection does.

INVARIANT: DuckDB's own PREPARE plans, and planning computes: nothing is parsed beforehand. That a file has tables and
columns as declared its catalog says.
"""

import threading
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from time import monotonic
from typing import Final

from sqlalchemy import Connection
from sqlalchemy.exc import SQLAlchemyError

from gateway.computation import Computation, Ended
from gateway.engines.cancelling import Watchdog
from gateway.engines.connections import Attempt, Connections, watched
from gateway.engines.described import describe
from gateway.engines.failures import Failures
from gateway.engines.preparation import (
    Given,
    Preparation,
    Read,
    Render,
    SourceCatalog,
    Statement,
    T,
)
from gateway.errors import BackendUnavailable, Code

_CATALOG: Final = "gateway_catalog"
_ROWS_AT_ONCE: Final = 4096


class DuckDbDatabase:
    """One file. Safe among threads."""

    def __init__(self, connections: Connections, failures: Failures) -> None:
        self.connections = connections
        self.failures = failures
        self.watchdog = Watchdog()

    def prepare(
        self, tables: Sequence[str], *, limit_s: float, cancelled: threading.Event | None
    ) -> Preparation:
        with self.watchdog.watching(limit_s, cancelled) as watch:
            attempt = Attempt(watch, limit_s)
            try:
                connection = self.connections.take(attempt)
                try:
                    with watched(connection, attempt):
                        catalog = _catalog(connection)
                except BaseException:
                    _give_back(connection)
                    raise
            except SQLAlchemyError as error:
                raise self.failures.before_charge(error, watch.stopped) from None
        if any(catalog.described.find(name) is None for name in tables):
            _give_back(connection)
            raise BackendUnavailable(Code.SOURCE_SCHEMA)
        return _Prepared(self, connection, catalog)

    def close(self) -> None:
        self.connections.drop()
        self.watchdog.close()


@dataclass
class _Prepared:
    """One question on its connection."""

    database: DuckDbDatabase
    connection: Connection
    catalog: SourceCatalog
    _closed: bool = field(default=False)

    def parse(self, statements: Sequence[Statement], given: Given) -> None:
        """See above."""

    def run(  # noqa: PLR0913 - of the protocol
        self,
        render: Render,
        parts: int,  # noqa: ARG002 - it uses all cores for one statement
        given: Given,
        read: Read[T],
        *,
        limit_s: float,
        cancelled: threading.Event | None,
    ) -> T:
        began = monotonic()
        with self.database.watchdog.watching(limit_s, cancelled) as watch:
            try:
                with watched(self.connection, Attempt(watch, limit_s)):
                    [statement] = render(1)
                    result = self.connection.execute(statement, given)
                    return read([result.partitions(_ROWS_AT_ONCE)])
            except SQLAlchemyError as error:
                ran = Computation(monotonic() - began, limit_s, Ended.LIMIT)
                raise self.database.failures.after_charge(error, watch.stopped, ran) from None

    def close(self) -> None:
        if not self._closed:
            self._closed = True
            _give_back(self.connection)


def _give_back(connection: Connection) -> None:
    with suppress(SQLAlchemyError):
        connection.close()


def _catalog(connection: Connection) -> SourceCatalog:
    there = connection.info  # of the driver's connection: gone when that is
    if _CATALOG not in there:
        there[_CATALOG] = SourceCatalog(describe(connection))
    found: SourceCatalog = there[_CATALOG]
    return found
