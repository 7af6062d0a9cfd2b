"""PostgreSQL's catalog. Only constraints that are validated and always enforced count.

A unique index counts when it is valid, immediate, over plain columns and all rows, those of tables that
inherit included; NULLs do not matter, as rows without a unit are dropped at every scan. Nobody enforces
what is declared of a foreign table.
"""

from collections import defaultdict

from sqlalchemy import Connection

from gateway.engines.source_tables import ForeignKey, SourceColumn, SourceTable

_COLUMNS = """
SELECT n.nspname, c.relname, a.attname, format_type(a.atttypid, a.atttypmod),
       a.attnotnull AND c.relkind <> 'f' AND NOT EXISTS (
           SELECT FROM pg_constraint AS k
           WHERE k.conrelid = c.oid AND k.contype = 'n' AND k.conkey = ARRAY[a.attnum]
             AND NOT k.convalidated)
       AND NOT EXISTS (
           SELECT FROM pg_inherits AS h JOIN pg_class AS f ON f.oid = h.inhrelid
           WHERE h.inhparent = c.oid AND f.relkind = 'f')
FROM pg_class AS c
JOIN pg_namespace AS n ON n.oid = c.relnamespace
JOIN pg_attribute AS a ON a.attrelid = c.oid AND a.attnum > 0 AND NOT a.attisdropped
WHERE c.relkind IN ('r', 'p', 'v', 'm', 'f')
  AND n.nspname <> 'information_schema' AND NOT starts_with(n.nspname, 'pg_')
  AND has_schema_privilege(n.oid, 'USAGE')
  AND has_column_privilege(c.oid, a.attnum, 'SELECT')
ORDER BY n.nspname, c.relname, a.attnum
"""
_UNIQUE = """
SELECT n.nspname, c.relname,
       ARRAY(SELECT a.attname::text FROM pg_attribute AS a
             WHERE a.attrelid = c.oid AND a.attnum = ANY (i.indkey[0:i.indnkeyatts - 1]))
FROM pg_index AS i
JOIN pg_class AS c ON c.oid = i.indrelid
JOIN pg_namespace AS n ON n.oid = c.relnamespace
WHERE i.indisunique AND i.indisvalid AND i.indisready AND i.indimmediate
  AND i.indpred IS NULL AND i.indexprs IS NULL
  AND (c.relkind = 'p' OR NOT EXISTS (SELECT FROM pg_inherits AS h WHERE h.inhparent = c.oid))
"""
_FOREIGN = """
SELECT n.nspname, c.relname, a.attname, tn.nspname, t.relname, ta.attname
FROM pg_constraint AS k
JOIN pg_class AS c ON c.oid = k.conrelid
JOIN pg_namespace AS n ON n.oid = c.relnamespace
JOIN pg_class AS t ON t.oid = k.confrelid
JOIN pg_namespace AS tn ON tn.oid = t.relnamespace
JOIN pg_attribute AS a ON a.attrelid = c.oid AND a.attnum = k.conkey[1]
JOIN pg_attribute AS ta ON ta.attrelid = t.oid AND ta.attnum = k.confkey[1]
WHERE k.contype = 'f' AND k.convalidated AND cardinality(k.conkey) = 1
"""

_Name = tuple[str, str]


def read_postgresql(connection: Connection) -> tuple[SourceTable, ...]:
    columns: dict[_Name, list[SourceColumn]] = defaultdict(list)
    for schema, table, column, kind, not_null in connection.exec_driver_sql(_COLUMNS):
        columns[schema, table].append(SourceColumn(column, kind, not_null=not_null))
    unique: dict[_Name, list[frozenset[str]]] = defaultdict(list)
    for schema, table, key in connection.exec_driver_sql(_UNIQUE):
        unique[schema, table].append(frozenset(key))
    foreign: dict[_Name, list[ForeignKey]] = defaultdict(list)
    for schema, table, column, to_schema, to_table, to in connection.exec_driver_sql(_FOREIGN):
        target = to_table if to_schema == schema else f"{to_schema}.{to_table}"
        foreign[schema, table].append(ForeignKey(column, target, to))
    return tuple(
        SourceTable(*name, tuple(found), tuple(unique[name]), tuple(foreign[name]))
        for name, found in columns.items()
    )
