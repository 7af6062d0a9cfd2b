"""Sharding: one release in parts on several connections at the same time, each with the rows of some persons.

The number of shards follows from the row estimates of the source's catalog. The source's ANALYZE makes the
estimate, which is read when the source is connected to. It changes the time of an answer and nothing else: the
integers are the same. The gateway does not promise that the time reveals nothing.

INVARIANT: all shards see one snapshot, and they are added before any noise. One failing shard fails the whole: no
sum that lacks a shard is released.
"""

from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from math import inf
from types import MappingProxyType
from typing import Any, Final, TypeAlias

from psycopg.sql import SQL, Literal
from sqlalchemy import Connection, Row, Select
from sqlalchemy.exc import DBAPIError, SQLAlchemyError

from gateway.bounding.bounded_release import BoundedRelease
from gateway.catalog.tables import Table
from gateway.engines.connections import statement_stopper
from gateway.engines.sql.release import can_be_sharded
from gateway.engines.timeout import StatementWatch, StopReason
from gateway.plan.node import walk_nodes
from gateway.plan.relations import Scan

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
    """End the transaction; close the connection if that fails."""
    if connection.invalidated or connection.closed:
        return
    try:
        connection.exec_driver_sql("ROLLBACK")
    except SQLAlchemyError:
        connection.invalidate()


def run_shards(
    asked: Sequence[tuple[Connection, Select[Any]]], bound: Bound | None = None
) -> list[Sequence[Row[Any]]]:
    """The rows of every part. If one fails, the others are stopped and the first error is raised."""
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


MANY_ROWS: Final = 1_000_000
"""Measured on two cores: groups gain from 300,000 rows on; a bare count never gains much, and loses below a million."""
_ESTIMATES: Final = """
WITH RECURSIVE below (top, part) AS (
    SELECT oid, oid FROM pg_class WHERE relkind IN ('r', 'p', 'm', 'f')
    UNION
    SELECT b.top, h.inhrelid FROM below AS b JOIN pg_inherits AS h ON h.inhparent = b.part
)
SELECT n.nspname, t.relname,
       sum(CASE WHEN c.relkind = 'p' THEN 0 ELSE greatest(c.reltuples, 0) END)::bigint,
       t.oid = to_regclass(quote_ident(t.relname))
FROM below AS b
JOIN pg_class AS t ON t.oid = b.top
JOIN pg_class AS c ON c.oid = b.part
JOIN pg_namespace AS n ON n.oid = t.relnamespace
GROUP BY n.nspname, t.relname, t.oid
"""


def load_row_estimates(connection: Connection) -> Mapping[tuple[str, str], int]:
    """By schema and name of tables; also without the schema where such a name leads to the table."""
    found: dict[tuple[str, str], int] = {}
    if connection.dialect.name == "postgresql":
        for schema, name, rows, own in connection.exec_driver_sql(_ESTIMATES):
            found[schema, name] = rows
            if own:
                found["", name] = rows
    return MappingProxyType(found)


def shard_count(release: BoundedRelease, rows: Mapping[tuple[str, str], int], most: int) -> int:
    """The number of parts of a release; 1 means the whole."""
    if not release.by_unit or not can_be_sharded(release):
        return 1
    many = sum(
        rows.get(_place(one.table), 0)
        for one in walk_nodes(release.rows)
        if isinstance(one, Scan) and not one.table.public
    )
    return most if many >= MANY_ROWS else 1


def _place(table: Table) -> tuple[str, str]:
    schema, _, name = table.name.rpartition(".")
    return schema, name
