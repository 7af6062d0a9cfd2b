"""Sharding: one release in parts on several connections at the same time, each with the rows of some persons.

INVARIANT: all shards see one snapshot, and they are added before any noise. One failing shard fails the whole:
no sum that lacks a shard is released.
"""

from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from math import inf
from typing import Any, Final, TypeAlias

from psycopg.sql import SQL, Literal
from sqlalchemy import Connection, Row, Select
from sqlalchemy.exc import DBAPIError, SQLAlchemyError

from gateway.engines.connections import statement_stopper
from gateway.engines.timeout import StatementWatch, StopReason

Bound: TypeAlias = Mapping[str, list[str | None] | str]
"""What a statement is executed with beside the values that stand in it."""
_BEGIN: Final = "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY"


@contextmanager
def share_snapshot(
    first: Connection, others: Sequence[Connection], tables: Sequence[str], watch: StatementWatch
) -> Iterator[bool]:
    """Whether these connections see one and the same snapshot until the block is left, and nobody alters the tables.

    The source may be unable to: behind a pooler that shares connections, the others may be on another server. The login
    may be unable to: locking a table takes more than the right to some of its columns.
    """
    every = (first, *others)
    try:
        yield _shared(first, others, tables, watch)
    finally:
        for one in every:
            end_transaction(one)


def _shared(
    first: Connection, others: Sequence[Connection], tables: Sequence[str], watch: StatementWatch
) -> bool:
    """INVARIANT: the lock comes before the snapshot, which PostgreSQL takes with the first query after it."""
    try:
        first.exec_driver_sql(_BEGIN)
        if tables:
            first.exec_driver_sql(f"LOCK TABLE {', '.join(tables)} IN ACCESS SHARE MODE")
        name = first.exec_driver_sql("SELECT pg_export_snapshot()").scalar_one()
        take = SQL("SET TRANSACTION SNAPSHOT {}").format(Literal(name)).as_string()
        for one in others:
            one.exec_driver_sql(_BEGIN)
            one.exec_driver_sql(take)
    except DBAPIError as error:
        if error.connection_invalidated or watch.stopped is not StopReason.NOT:
            raise
        end_transaction(first)  # its transaction may have failed, and it is asked alone now
        return False
    return True


def end_transaction(connection: Connection) -> None:
    """End its transaction, or the connection."""
    if connection.invalidated or connection.closed:
        return
    try:
        connection.exec_driver_sql("ROLLBACK")
    except SQLAlchemyError:
        connection.invalidate()


def run_shards(
    asked: Sequence[tuple[Connection, Select[Any]]], bound: Bound | None = None
) -> list[Sequence[Row[Any]]]:
    """The rows of every part; when one fails the others are stopped, and the first failure is raised."""
    failures: list[BaseException] = []
    together = StatementWatch(inf, None)

    def ended(future: "Future[Sequence[Row[Any]]]") -> None:
        failure = future.exception()
        if failure is not None:
            failures.append(failure)
            together.stop(StopReason.FAILED)

    with ExitStack() as stack:
        for connection, _ in asked:
            stack.enter_context(together.reaching(statement_stopper(connection, together)))
        stack.callback(together.end)
        with ThreadPoolExecutor(len(asked), thread_name_prefix="source-part") as threads:
            futures = [threads.submit(_rows, *one, bound) for one in asked]
            for future in futures:
                future.add_done_callback(ended)
    if failures:
        raise failures[0]
    return [future.result() for future in futures]


def _rows(
    connection: Connection, statement: Select[Any], bound: Bound | None
) -> Sequence[Row[Any]]:
    return connection.execute(statement, bound).all()
