"""Whether one may: probes of privileges say yes to what the gateway answers.

A table can be asked about where one has REFERENCES on it, and cannot be read. Tools look for SELECT before they show
a table, so that is what these functions say of it. Everything that changes something is denied, as it is.

INVARIANT: probes tell and give nothing: PostgreSQL checks rights by itself, and never asks a function.
"""

from collections.abc import Iterator
from typing import Final

import psycopg
from psycopg import sql

# those that take the name of a role, and all for tables, columns and databases
_PROBES: Final = """
SELECT proname, ARRAY(SELECT pg_catalog.format_type(t, NULL) FROM pg_catalog.unnest(proargtypes) AS t)
FROM pg_catalog.pg_proc
WHERE pronamespace = 'pg_catalog'::regnamespace
  AND (proname LIKE 'has\\_%\\_privilege' AND
         ('name'::regtype = proargtypes[0] AND pronargs > 2
          OR proname IN ('has_table_privilege', 'has_any_column_privilege', 'has_column_privilege',
                         'has_database_privilege'))
       OR proname = 'pg_has_role' AND 'name'::regtype = ANY (proargtypes::oid[]))
ORDER BY oid
"""
_ASKED_ABOUT: Final = frozenset(
    {"has_table_privilege", "has_any_column_privilege", "has_column_privilege"}
)
_ASKS_SELECT: Final = sql.SQL(
    """CREATE FUNCTION pg_catalog.asks_select(text) RETURNS boolean
       LANGUAGE sql IMMUTABLE PARALLEL SAFE
       RETURN 'SELECT' = ANY (pg_catalog.string_to_array(
           pg_catalog.replace(pg_catalog.upper($1), ' ', ''), ','))"""
)


def probe_statements(template: psycopg.Connection) -> Iterator[sql.Composed | sql.SQL]:
    """The statements that put ours in the place of PostgreSQL's own, which they call."""
    yield _ASKS_SELECT
    for name, types in template.execute(_PROBES).fetchall():
        yield from _probe(name, types)


def _probe(name: str, types: list[str]) -> Iterator[sql.Composed]:
    taken = sql.SQL(", ").join(map(sql.SQL, types))  # in PostgreSQL's own rendering
    function = sql.Identifier("pg_catalog", name)
    renamed = f"{name}_of_server"
    yield sql.SQL("ALTER FUNCTION {} ({}) RENAME TO {}").format(
        function, taken, sql.Identifier(renamed)
    )
    about = len(types) - 1  # the last says which privilege, the one before it for what
    given = [
        _given(type_, place, named=name == "has_database_privilege" and place == about)
        for place, type_ in enumerate(types, 1)
    ]
    says = _call(renamed, given)
    if name in _ASKED_ABOUT:
        says = sql.SQL("({} OR pg_catalog.asks_select({}) AND {})").format(
            says, given[-1], _call(renamed, [*given[:-1], sql.SQL("'REFERENCES'")])
        )
    # not STRICT, though it is: the planner then puts the expression in the place of the call
    yield sql.SQL(
        "CREATE FUNCTION {} ({}) RETURNS boolean LANGUAGE sql STABLE PARALLEL SAFE RETURN {}"
    ).format(function, taken, says)


def _given(type_: str, place: int, *, named: bool) -> sql.SQL:
    """A parameter, as the server's own name where it is a name that may be ours."""
    if type_ == "name":
        return sql.SQL(f"pg_catalog.role_of_server(${place})")
    if named and type_ == "text":
        return sql.SQL(f"pg_catalog.database_of_server(${place})")
    return sql.SQL(f"${place}")


def _call(function: str, given: list[sql.SQL]) -> sql.Composed:
    return sql.SQL("{}({})").format(
        sql.Identifier("pg_catalog", function), sql.SQL(", ").join(given)
    )
