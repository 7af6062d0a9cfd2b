"""Names of a source's types, the types under its enums and domains, and the labels of enums. Only catalogs are read.

An enum is read as text, by the cast that both databases have for every enum. A value of a domain is one of the type
that the domain is made of, so the domain's own conditions do not matter.

INVARIANT: the cast from an enum to text is the database's own, which fails for no value. An enum with another cast to
text has no type under it here.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final, TypeAlias

from sqlalchemy import Connection

Place: TypeAlias = tuple[str, str, str]
"""Schema, table and column."""

_USER_TYPES: Final = """
WITH RECURSIVE chain (named, oid, modifier) AS (
    SELECT t.oid, t.oid, -1 FROM pg_type AS t WHERE t.typtype IN ('d', 'e')
    UNION ALL
    SELECT chain.named, d.typbasetype, d.typtypmod
    FROM chain JOIN pg_type AS d ON d.oid = chain.oid AND d.typtype = 'd')
SELECT n.nspname, c.relname, a.attname,
       CASE WHEN t.typtype <> 'e' THEN format_type(t.oid, chain.modifier)
            WHEN NOT EXISTS (SELECT FROM pg_cast AS k
                             WHERE k.castsource = t.oid AND k.casttarget = 'text'::regtype)
            THEN 'text' ELSE '' END,
       ARRAY(SELECT e.enumlabel::text FROM pg_enum AS e WHERE e.enumtypid = t.oid
             ORDER BY e.enumsortorder)
FROM pg_attribute AS a
JOIN pg_class AS c ON c.oid = a.attrelid
JOIN pg_namespace AS n ON n.oid = c.relnamespace
JOIN chain ON chain.named = a.atttypid
JOIN pg_type AS t ON t.oid = chain.oid AND t.typtype <> 'd'
WHERE c.relkind IN ('r', 'p', 'v', 'm', 'f') AND a.attnum > 0 AND NOT a.attisdropped
  AND n.nspname <> 'information_schema' AND NOT starts_with(n.nspname, 'pg_')
"""
# What DuckDB calls otherwise than PostgreSQL.
_NAMES: Final = {
    "TINYINT": "smallint",
    "VARCHAR": "text",
    "FLOAT": "real",
    "DOUBLE": "double precision",
    "TIMESTAMP": "timestamp without time zone",
    "TIMESTAMP WITH TIME ZONE": "timestamp with time zone",
}
_DECIMAL: Final = re.compile(r"DECIMAL(\(.*\))")
_ENUM: Final = re.compile(r"ENUM\((.*)\)", re.DOTALL)
_QUOTED: Final = re.compile(r"'((?:[^']|'')*)'")


@dataclass(frozen=True)
class UserType:
    """`base` is the type that values are read as, empty if there is none; `labels` are those of an enum, in order."""

    base: str = ""
    labels: tuple[str, ...] = ()


PLAIN: Final = UserType()


def read_user_types(connection: Connection) -> Mapping[Place, UserType]:
    """The columns of PostgreSQL whose type is an enum or a domain."""
    return {
        (schema, table, column): UserType(base, tuple(labels))
        for schema, table, column, base, labels in connection.exec_driver_sql(_USER_TYPES)
    }


def duckdb_type(name: str) -> tuple[str, UserType]:
    """PostgreSQL's name of a type of DuckDB; of an enum also its labels, by which DuckDB names it."""
    if enum := _ENUM.fullmatch(name):
        labels = tuple(one.replace("''", "'") for one in _QUOTED.findall(enum[1]))
        return "enum", UserType("text", labels)
    if decimal := _DECIMAL.fullmatch(name):
        return f"numeric{decimal[1].replace(' ', '')}", PLAIN
    return _NAMES.get(name, name.lower()), PLAIN
