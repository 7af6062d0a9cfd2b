"""Stand-ins: empty views in the place of relations that tell of the server or of others.

Tools read statistics, locks, replication and subscriptions when they connect or open their tree. A relation that
nobody may read makes them stop. A stand-in has the same name and the same columns and no row.

INVARIANT: a stand-in reads no table. A relation that is a table keeps its number, by which the server itself finds it,
and has another name, under which nobody may read it.
"""

from collections.abc import Iterator, Mapping
from types import MappingProxyType
from typing import Final

import psycopg
from psycopg import sql

_OTHERS = "tells of other connections"
_FILES = "tells of the server's files"

RELATIONS_EMPTIED: Mapping[str, str] = MappingProxyType(
    {
        "pg_available_extension_versions": _FILES,
        "pg_available_extensions": _FILES,
        "pg_db_role_setting": "tells the settings of other roles",
        "pg_group": "lists the roles",
        "pg_largeobject_metadata": "large objects are a channel between analysts",
        "pg_locks": _OTHERS,
        "pg_parameter_acl": "tells what other roles may set",
        "pg_prepared_xacts": _OTHERS,
        "pg_publication_tables": "replication",
        "pg_replication_origin": "replication",
        "pg_replication_slots": "replication",
        "pg_shdepend": "counts what every database and role of the server has",
        "pg_subscription": "replication",
        "pg_subscription_rel": "replication",
        "pg_wait_events": "tells of the server",
    }
)
STATISTICS_VIEWS_KEPT: frozenset[str] = frozenset(
    {
        "pg_stat_all_indexes",
        "pg_stat_all_tables",
        "pg_stat_sys_indexes",
        "pg_stat_sys_tables",
        "pg_stat_user_indexes",
        "pg_stat_user_tables",
        "pg_statio_all_indexes",
        "pg_statio_all_sequences",
        "pg_statio_all_tables",
        "pg_statio_sys_indexes",
        "pg_statio_sys_sequences",
        "pg_statio_sys_tables",
        "pg_statio_user_indexes",
        "pg_statio_user_sequences",
        "pg_statio_user_tables",
    }
)

# a view of ours has this name: one row, of oneself
ACTIVITY: Final = "pg_stat_activity"
_STATISTICS_VIEWS = """
SELECT c.relname
FROM pg_catalog.pg_class AS c
WHERE c.relnamespace = 'pg_catalog'::regnamespace
  AND c.relname ~ '^pg_stat(io)?_'
  AND c.relkind = 'v'
  AND NOT c.relname = ANY (%(kept)s)
"""
# the types and collations are PostgreSQL's own rendering
_COLUMNS = """
SELECT c.relname, c.relkind = 'v', a.attname, pg_catalog.format_type(a.atttypid, a.atttypmod),
       (SELECT o.collname FROM pg_catalog.pg_collation AS o WHERE o.oid = a.attcollation)
FROM pg_catalog.pg_class AS c
JOIN pg_catalog.pg_attribute AS a ON a.attrelid = c.oid AND a.attnum > 0 AND NOT a.attisdropped
WHERE c.relnamespace = 'pg_catalog'::regnamespace AND c.relname = ANY (%(names)s)
ORDER BY c.relname, a.attnum
"""


def stand_in_statements(template: psycopg.Connection) -> Iterator[sql.Composed]:
    """The statements that put an empty view in the place of each of these relations."""
    kept = [*STATISTICS_VIEWS_KEPT, ACTIVITY]
    views = template.execute(_STATISTICS_VIEWS, {"kept": kept}).fetchall()
    names = sorted({*RELATIONS_EMPTIED, *(name for (name,) in views)})
    columns: dict[tuple[str, bool], list[sql.Composed]] = {}
    for name, is_view, column, kind, collation in template.execute(_COLUMNS, {"names": names}):
        columns.setdefault((name, is_view), []).append(_null(column, kind, collation))
    for (name, is_view), items in columns.items():
        yield from _emptied(name, items, is_view=is_view)


def _emptied(name: str, items: list[sql.Composed], *, is_view: bool) -> Iterator[sql.Composed]:
    shown = sql.Identifier("pg_catalog", name)
    if not is_view:
        renamed = sql.Identifier("pg_catalog", f"{name}_of_server")
        yield sql.SQL("ALTER TABLE {} RENAME TO {}").format(
            shown, sql.Identifier(f"{name}_of_server")
        )
        yield sql.SQL("REVOKE ALL ON {} FROM PUBLIC").format(renamed)
        # tools ask rows of a catalog for the number of their catalog
        items = [*items, sql.SQL("NULL::oid AS tableoid").format()]
    yield sql.SQL("CREATE OR REPLACE VIEW {} AS SELECT {} WHERE false").format(
        shown, sql.SQL(", ").join(items)
    )
    yield sql.SQL("GRANT SELECT ON {} TO PUBLIC").format(shown)


def _null(column: str, kind: str, collation: str | None) -> sql.Composed:
    """A column without a value, as the relation has it."""
    collated = sql.SQL(" COLLATE {}").format(sql.Identifier("pg_catalog", collation or ""))
    return sql.SQL("NULL::{}{} AS {}").format(
        sql.SQL(kind), collated if collation else sql.SQL(""), sql.Identifier(column)
    )
