"""Number of shards of a release, by the row estimates of the source's catalog.

The source's ANALYZE makes the estimate, which is read when the source is connected to. It changes the time of
an answer and nothing else: the integers are the same. The gateway does not promise that the time reveals
nothing.
"""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

from sqlalchemy import Connection

from gateway.bounding.bounded_release import BoundedRelease
from gateway.catalog.tables import Table
from gateway.engines.sql.release import can_be_sharded
from gateway.plan.node import walk_nodes
from gateway.plan.relations import Scan

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
       n.nspname = current_schema()
FROM below AS b
JOIN pg_class AS t ON t.oid = b.top
JOIN pg_class AS c ON c.oid = b.part
JOIN pg_namespace AS n ON n.oid = t.relnamespace
GROUP BY n.nspname, t.relname
"""


def load_row_estimates(connection: Connection) -> Mapping[tuple[str, str], int]:
    """By schema and name of tables; also without the schema where that is the login's own."""
    found: dict[tuple[str, str], int] = {}
    if connection.dialect.name == "postgresql":
        for schema, name, rows, own in connection.exec_driver_sql(_ESTIMATES):
            found[schema, name] = rows
            if own:
                found["", name] = rows
    return MappingProxyType(found)


def shard_count(release: BoundedRelease, rows: Mapping[tuple[str, str], int], most: int) -> int:
    """In how many parts to ask for a release; 1 is whole."""
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
