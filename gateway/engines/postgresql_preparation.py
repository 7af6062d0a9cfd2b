"""Preparation of queries on PostgreSQL: a connection that is kept from before the charge to the last statement.

Before the charge the connection is asked for the digests of the tables, and new statements are parsed. Neither
takes a lock beyond its own end, so nothing of the source is locked while the ledger is written to. Each statement
has the digests in it once more: see `postgresql_digest`. Where a release is asked for in parts, the tables are
locked first, then the snapshot is made that all parts share.

`parse_only` parses a statement and does nothing else with it. SQLAlchemy compiles statements, and remembers
what to, only on the way to executing them. So a statement that is to be parsed goes that way, and here, at its
end, `Parse` and `Describe Statement` take the place of executing.

INVARIANT: a statement is parsed and described before the charge, never bound, planned or explained: planning
computes. PostgreSQL analyses its names, types and functions, by its catalog alone.
INVARIANT: an answer is made of the rows of one attempt. Asking again after a kept connection was found dead draws
no second noise for one charge: noise is drawn from the table that is returned, once, and a failed attempt returns
none.
"""

import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from operator import itemgetter
from time import monotonic
from typing import Any, Final

from psycopg import Cursor
from psycopg.adapt import PyFormat, Transformer
from psycopg.errors import error_from_result
from psycopg.pq import ExecStatus
from sqlalchemy import Connection, Result
from sqlalchemy.engine import ExecutionContext
from sqlalchemy.exc import SQLAlchemyError

from gateway.cancellation import Computation, SourceEnd
from gateway.engines.catalog.describe import describe_source
from gateway.engines.connections import (
    Attempt,
    Connections,
    limit_statements,
    require_version,
    return_connection,
)
from gateway.engines.failures import Failures, is_connection_lost
from gateway.engines.postgresql_digest import (
    digest_parameters,
    digest_query,
    regclass_name,
    require_digests,
)
from gateway.engines.preparation import (
    Chunks,
    Given,
    Preparation,
    Read,
    Render,
    SourceCatalog,
    Statement,
    T,
)
from gateway.engines.sharding import end_transaction, load_row_estimates, run_shards, share_snapshot
from gateway.engines.timeout import StatementTimer, StatementWatch, StopReason
from gateway.errors import BackendUnavailable, Code
from gateway.lru_cache import LruCache

PARSED: Final = "gateway_parse"
"""The execution option of what is parsed alone."""
_UNNAMED: Final = b""


def parse_only(
    cursor: Cursor[Any],
    statement: str,
    parameters: Mapping[str, Any] | Sequence[Any],
    context: ExecutionContext,
) -> bool | None:
    """A listener of `do_execute`, which returns True if the statement was only to be parsed."""
    if not context.execution_options.get(PARSED):
        return None
    if not isinstance(parameters, Mapping):
        raise TypeError("the parameters of a parsed statement have names")
    numbers = _Numbers()
    text = statement % numbers
    connection = cursor.connection
    transformer = Transformer(connection)
    values = [parameters[name] for name in numbers]
    transformer.dump_sequence(values, [PyFormat.AUTO] * len(values))
    server = connection.pgconn
    encoding = connection.info.encoding
    for result in (
        server.prepare(_UNNAMED, text.encode(encoding), transformer.types or ()),
        server.describe_prepared(_UNNAMED),
    ):
        if result.status != ExecStatus.COMMAND_OK:
            raise error_from_result(result, encoding)
    return True


class _Numbers(dict[str, str]):
    """Names of parameters in the order in which a text first has them, each with its place as PostgreSQL writes it."""

    def __missing__(self, name: str) -> str:
        made = self[name] = f"${len(self) + 1}"
        return made


_TRIES: Final = 3
_ROWS_AT_ONCE: Final = 4096
_MOST_DRESSED: Final = 512
_SNAPSHOT: Final = "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY"
_UNREADABLE: Final = """
SELECT n.nspname, c.relname, a.attname
FROM pg_class AS c
JOIN pg_namespace AS n ON n.oid = c.relnamespace
JOIN pg_attribute AS a ON a.attrelid = c.oid AND a.attnum > 0 AND NOT a.attisdropped
WHERE c.relkind IN ('r', 'p', 'v', 'm', 'f')
  AND n.nspname <> 'information_schema' AND NOT starts_with(n.nspname, 'pg_')
  AND NOT (has_schema_privilege(n.oid, 'USAGE')
           AND has_column_privilege(c.oid, a.attnum, 'SELECT'))
"""
_ADDED: Final = 2  # columns of a statement that is held
_OWN: Final = itemgetter(slice(None, -_ADDED))

Digests = tuple[tuple[str, str], ...]
"""Tables by their names, each with its digest."""


@dataclass(frozen=True)
class _Known:
    """The catalog, as it was after `connects` connections had been opened."""

    connects: int
    digests: Mapping[str, str]
    catalog: SourceCatalog


class PostgresqlDatabase:
    """A PostgreSQL database. Safe among threads."""

    def __init__(self, connections: Connections, failures: Failures) -> None:
        self.connections = connections
        self.failures = failures
        self.watchdog = StatementTimer()
        self._lock = threading.Lock()
        self._connects = 0
        self._known: _Known | None = None
        # the statement is kept beside it, so that its id stays its own
        self._dressed: LruCache[tuple[int, int], tuple[Statement, Statement]] = LruCache(
            _MOST_DRESSED
        )
        connections.on_connect(self._connected)
        connections.on_execute(parse_only)

    def prepare(
        self,
        tables: Sequence[str],
        *,
        subject: str,  # noqa: ARG002 - how many questions of one run at a time, the front ends hold
        limit_s: float,
        cancelled: threading.Event | None,
    ) -> Preparation:
        """Prepare the query, and once more if a connection of an earlier query was found dead."""
        with self.watchdog.watching(limit_s, cancelled) as watch:
            attempt = Attempt(watch, limit_s)
            try:
                return self._reached(tables, attempt, cancelled)
            except SQLAlchemyError as error:
                if not (
                    is_connection_lost(error) and attempt.kept and watch.stopped is StopReason.NOT
                ):
                    raise self.failures.before_charge(error, watch) from None
            self.connections.drop()  # whatever ended it may have ended the others
            try:
                return self._reached(tables, Attempt(watch, limit_s), cancelled)
            except SQLAlchemyError as error:
                raise self.failures.before_charge(error, watch) from None

    def close(self) -> None:
        self.connections.drop()
        self.watchdog.close()

    def stop(self) -> None:
        self.watchdog.stop()
        self.close()

    def _reached(
        self, tables: Sequence[str], attempt: Attempt, cancelled: threading.Event | None
    ) -> Preparation:
        connection = self.connections.take(attempt)
        try:
            with limit_statements(connection, attempt):
                catalog, found = self.catalog(connection, tables)
        except BaseException:
            return_connection(connection)
            raise
        return _Prepared(self, connection, catalog, found, attempt, cancelled)

    def catalog(
        self, connection: Connection, tables: Sequence[str]
    ) -> tuple[SourceCatalog, Digests]:
        """The catalog and the digests of these tables. The catalog is read again only if a digest differs."""
        require_version(connection)
        connects, known = self._connects, self._known
        found = _digests(connection, tables)
        if known is None or known.connects != connects or not _says(known, found):
            known = self._read(connection, tables)
        return known.catalog, tuple((name, known.digests[name]) for name in tables)

    def dressed(self, statement: Statement, many: int) -> Statement:
        """The statement with the digests of so many tables. SQLAlchemy caches its compiled form.

        One statement may be a part of questions about different numbers of tables.
        """
        key = (id(statement), many)
        return self._dressed.get(key, lambda: (statement, require_digests(statement, many)))[1]

    def _read(self, connection: Connection, tables: Sequence[str]) -> _Known:
        """Read the catalog. Parts of it are not in the snapshot, so the digests are compared before and after."""
        names = sorted({*tables, *(() if self._known is None else self._known.digests)})
        for _ in range(_TRIES):
            connects = self._connects
            before = _digests(connection, names)
            if any(before[name] is None for name in tables):
                raise BackendUnavailable(Code.SOURCE_SCHEMA)
            connection.exec_driver_sql(_SNAPSHOT)
            try:
                hidden = connection.exec_driver_sql(_UNREADABLE)
                catalog = SourceCatalog(
                    describe_source(connection),
                    load_row_estimates(connection),
                    frozenset((schema, table, column) for schema, table, column in hidden),
                )
            finally:
                end_transaction(connection)
            if _digests(connection, names) == before:
                there = {name: one for name, one in before.items() if one is not None}
                self._known = _Known(connects, there, catalog)
                return self._known
        raise BackendUnavailable(Code.SOURCE_UNAVAILABLE, hint="try again")

    def _connected(self, *_: object) -> None:
        with self._lock:
            self._connects += 1


@dataclass
class _Prepared:
    """One query on its connection."""

    database: PostgresqlDatabase
    connection: Connection
    catalog: SourceCatalog
    digests: Digests
    attempt: Attempt
    cancelled: threading.Event | None
    _closed: bool = field(default=False)

    def parse(self, statements: Sequence[Statement], given: Given) -> None:
        failures, limit_s = self.database.failures, self.attempt.limit_s
        with self.database.watchdog.watching(limit_s, self.cancelled) as watch:
            try:
                with limit_statements(self.connection, Attempt(watch, limit_s)):
                    for one in statements:
                        self._execute(self.connection, one, given, {PARSED: True})
            except SQLAlchemyError as error:
                raise failures.before_charge(error, watch) from None

    def run(
        self,
        render: Render,
        parts: int,
        given: Given,
        read: Read[T],
        *,
        limit_s: float,
        cancelled: threading.Event | None,
    ) -> T:
        failures, began = self.database.failures, monotonic()

        def failed(error: SQLAlchemyError, watch: StatementWatch) -> BaseException:
            ran = Computation(monotonic() - began, limit_s, SourceEnd.LIMIT)
            return failures.after_charge(error, watch, ran)

        with self.database.watchdog.watching(limit_s, cancelled) as watch:
            attempt = Attempt(watch, limit_s, self.attempt.kept)
            try:
                return self._ran(attempt, render, parts, given, read)
            except SQLAlchemyError as error:
                if not (
                    is_connection_lost(error) and attempt.kept and watch.stopped is StopReason.NOT
                ):
                    raise failed(error, watch) from None
            try:
                self._reach_again(watch, limit_s)
                return self._ran(Attempt(watch, limit_s), render, parts, given, read)
            except SQLAlchemyError as error:
                raise failed(error, watch) from None

    def close(self) -> None:
        if not self._closed:
            self._closed = True
            return_connection(self.connection)

    def _reach_again(self, watch: StatementWatch, limit_s: float) -> None:
        """A connection to replace a dead one. The catalog must be the one that the charge rests on."""
        return_connection(self.connection)
        self.database.connections.drop()
        self.attempt = Attempt(watch, limit_s)
        self.connection = self.database.connections.take(self.attempt)
        with limit_statements(self.connection, self.attempt):
            tables = [name for name, _ in self.digests]
            catalog, found = self.database.catalog(self.connection, tables)
        if found != self.digests or catalog.described != self.catalog.described:
            raise BackendUnavailable(Code.SOURCE_CHANGED)

    def _ran(self, attempt: Attempt, render: Render, parts: int, given: Given, read: Read[T]) -> T:
        with limit_statements(self.connection, attempt), ExitStack() as stack:
            if parts > 1:
                every = self._others(stack, attempt, parts)
                if every is not None:
                    asked = [
                        (one, self._dressed(statement))
                        for one, statement in zip(every, render(parts), strict=True)
                    ]
                    rows = run_shards(asked, {**given, **self._expected()})
                    return read([list(_own(iter([one]))) for one in rows])
            [statement] = render(1)
            result = self._execute(self.connection, statement, given, {})
            return read([_own(result.partitions(_ROWS_AT_ONCE))])

    def _others(
        self, stack: ExitStack, attempt: Attempt, parts: int
    ) -> Sequence[Connection] | None:
        """A connection for each part; None if the source has no room or no shared snapshot for them."""
        others: list[Connection] = []
        for _ in range(parts - 1):
            another = stack.enter_context(self.database.connections.more(attempt))
            if another is None:
                return None
            others.append(another)
        tables = [regclass_name(name) for name, _ in self.digests]
        if not stack.enter_context(share_snapshot(self.connection, others, tables, attempt.watch)):
            return None
        return (self.connection, *others)

    def _execute(
        self,
        connection: Connection,
        statement: Statement,
        given: Given,
        options: Mapping[str, Any],
    ) -> Result[Any]:
        bound = {**given, **self._expected()}
        return connection.execute(self._dressed(statement), bound, execution_options=options)

    def _dressed(self, statement: Statement) -> Statement:
        return self.database.dressed(statement, len(self.digests))

    def _expected(self) -> Mapping[str, str]:
        return digest_parameters(self.digests)


def _own(chunks: Iterator[Sequence[Sequence[Any]]]) -> Chunks:
    """The rows of the statement itself; an error if the tables have changed."""
    for rows in chunks:
        if any(row[-1] is not True for row in (rows[0], rows[-1])):
            raise BackendUnavailable(Code.SOURCE_CHANGED)
        if rows[0][-_ADDED] is None:
            return  # no row at all: that of the digests alone
        yield list(map(_OWN, rows))


def _says(known: _Known, found: Mapping[str, str | None]) -> bool:
    return all(one is not None and known.digests.get(name) == one for name, one in found.items())


def _digests(connection: Connection, tables: Sequence[str]) -> Mapping[str, str | None]:
    if not tables:
        return {}
    names = tuple(map(regclass_name, tables))
    row = connection.exec_driver_sql(digest_query(len(names)), names).one()
    return dict(zip(tables, row, strict=True))
