"""Shadow functions: the gateway's versions of PostgreSQL functions and views that show or change too much.

`set_config` of the server could change any setting, so nobody may call it. The gateway's version changes the
settings that SET may change, to the same values.

Privilege probes, such as `has_table_privilege`, say yes for what the gateway answers. A role can only ask about
a table on which it has REFERENCES, and cannot read it; tools look for SELECT before they show a table, so the
probes report SELECT. Privileges to change something are reported as denied, which they are.

Names of roles and databases are shown as the subject and the dataset, instead of the server's random names.
They come from settings that the start-up packet fixes. A client may not change these, and if it could, it would
only misname itself: nothing else reads them.

INVARIANT: a function here that runs with the rights of its owner is one expression that was parsed when it was
created: it looks up nothing by name, so no search path redirects it, and it checks its arguments before
anything else. INVARIANT: probes report privileges and grant none: PostgreSQL checks rights by itself and never
calls a function for it. INVARIANT: rights depend on the server's own roles and databases alone, whatever these
functions show; the shown functions run with the rights of their caller.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

import psycopg
from psycopg import sql

from gateway.binding.text.classify import (
    ENCODINGS,
    IDLE_LIMITS,
    ON,
    OWN_PREFIX,
    SETTINGS,
    WITHOUT_EFFECT,
)
from gateway.binding.text.search_path import FIRST_SEARCHED, NAME_IN_PATH, SYSTEM_PREFIX

_RENAMED: Final = {
    "set_config": "text, text, boolean",
    "pg_available_extensions": "",
    "pg_backend_pid": "",
    "pg_blocking_pids": "integer",
    "pg_tablespace_location": "oid",
}
_SIZES: Final = ("name", "oid")

_REFUSES: Final = """
CREATE FUNCTION pg_catalog.refuse_setting(text) RETURNS text LANGUAGE plpgsql AS $$
BEGIN
    RAISE EXCEPTION 'the setting "%" cannot be changed here to this value', pg_catalog.left($1, 40)
    USING ERRCODE = '42501', HINT = 'docs/twin.md lists the settings that can';
END $$
"""
# `names`: of settings; the other lists hold their allowed values. NULL means the default
_ALLOWED: Final = """
CREATE FUNCTION pg_catalog.may_set(name text, value text) RETURNS boolean
LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN coalesce(name = ANY ({names}), false) AND CASE
    WHEN value IS NULL THEN true
    WHEN name = ANY ({idle}) THEN false
    WHEN name = 'client_encoding'
    THEN pg_catalog.lower(pg_catalog.translate(value, '-_"''', '')) = ANY ({encodings})
    WHEN name = 'standard_conforming_strings' THEN pg_catalog.lower(value) = ANY ({on})
    WHEN name = 'search_path' THEN NOT EXISTS (
        SELECT FROM pg_catalog.unnest(pg_catalog.string_to_array(value, ',')) WITH ORDINALITY AS s(part, place)
        WHERE part !~ {name}
           OR pg_catalog.starts_with(pg_catalog.lower(pg_catalog.btrim(part, E' \t\n\v\f\r"')), {system})
          AND (place > 1 OR pg_catalog.btrim(part, E' \t\n\v\f\r"') <> {first}))
    ELSE true END
"""
_SET_CONFIG: Final = """
CREATE FUNCTION pg_catalog.set_config(setting_name text, new_value text, is_local boolean) RETURNS text
LANGUAGE sql VOLATILE SECURITY DEFINER
RETURN CASE WHEN pg_catalog.lower(setting_name) = ANY ({without_effect}) THEN new_value
            WHEN pg_catalog.may_set(pg_catalog.lower(setting_name), new_value)
            THEN pg_catalog.set_config_of_server(setting_name, new_value, is_local)
            ELSE pg_catalog.refuse_setting(setting_name) END
"""
_PROCESS: Final = """
CREATE FUNCTION pg_catalog.pg_backend_pid() RETURNS integer LANGUAGE sql STABLE PARALLEL RESTRICTED
RETURN coalesce(nullif(pg_catalog.current_setting('gateway.process', true), '')::integer, 0)
"""
_LOCATION: Final = """
CREATE FUNCTION pg_catalog.pg_tablespace_location(oid) RETURNS text LANGUAGE sql STABLE PARALLEL SAFE
RETURN CASE WHEN $1 IS NULL THEN NULL::text ELSE '' END
"""
_EXTENSIONS: Final = """
CREATE FUNCTION pg_catalog.pg_available_extensions(OUT name name, OUT default_version text, OUT comment text)
RETURNS SETOF record LANGUAGE sql STABLE PARALLEL SAFE
BEGIN ATOMIC SELECT NULL::name, NULL::text, NULL::text WHERE false; END
"""
_BLOCKING: Final = """
CREATE FUNCTION pg_catalog.pg_blocking_pids(integer) RETURNS integer[] LANGUAGE sql STABLE PARALLEL SAFE
RETURN CASE WHEN $1 IS NULL THEN NULL::integer[] ELSE '{}'::integer[] END
"""
_SIZE: Final = """
CREATE FUNCTION pg_catalog.pg_database_size({type}) RETURNS bigint LANGUAGE sql STABLE PARALLEL SAFE
RETURN CASE WHEN $1 IS NULL THEN NULL::bigint ELSE 0::bigint END
"""
# of all that this view shows of connections, the own connection alone
_ACTIVITY: Final = """
CREATE OR REPLACE VIEW pg_catalog.pg_stat_activity WITH (security_barrier) AS
SELECT d.oid AS datid, d.datname, pg_catalog.pg_backend_pid() AS pid, NULL::integer AS leader_pid,
       u.oid AS usesysid, u.rolname AS usename, pg_catalog.current_setting('application_name') AS application_name,
       NULL::inet AS client_addr, NULL::text COLLATE "default" AS client_hostname, NULL::integer AS client_port,
       NULL::timestamptz AS backend_start, pg_catalog.transaction_timestamp() AS xact_start,
       pg_catalog.statement_timestamp() AS query_start, pg_catalog.statement_timestamp() AS state_change,
       NULL::text AS wait_event_type, NULL::text AS wait_event, 'active'::text AS state,
       NULL::xid AS backend_xid, NULL::xid AS backend_xmin, NULL::bigint AS query_id,
       ''::text AS query, 'client backend'::text AS backend_type
FROM pg_catalog.pg_database AS d, pg_catalog.pg_roles AS u
WHERE u.oid >= 16384
"""


def shadow_statements() -> Iterator[sql.Composable]:
    """The statements that rename PostgreSQL's functions and create the gateway's."""
    for name, types in _RENAMED.items():
        yield _renamed(name, types)
    yield from (_renamed("pg_database_size", type_) for type_ in _SIZES)
    yield sql.SQL(_REFUSES)
    yield sql.SQL(_ALLOWED).format(
        names=_list(name for name in SETTINGS if not name.startswith(OWN_PREFIX)),
        encodings=_list(ENCODINGS),
        idle=_list(IDLE_LIMITS),
        on=_list(ON),
        name=sql.Literal(f"^{NAME_IN_PATH}$"),
        system=sql.Literal(SYSTEM_PREFIX),
        first=sql.Literal(FIRST_SEARCHED),
    )
    yield sql.SQL(_SET_CONFIG).format(without_effect=_list(WITHOUT_EFFECT - IDLE_LIMITS))
    yield from map(sql.SQL, (_PROCESS, _LOCATION, _EXTENSIONS, _BLOCKING))
    yield from (sql.SQL(_SIZE).format(type=sql.SQL(type_)) for type_ in _SIZES)
    yield sql.SQL(_ACTIVITY)


def _renamed(name: str, types: str) -> sql.Composed:
    return sql.SQL("ALTER FUNCTION {} ({}) RENAME TO {}").format(
        sql.Identifier("pg_catalog", name), sql.SQL(types), sql.Identifier(f"{name}_of_server")
    )


def _list(values: Iterator[str] | frozenset[str]) -> sql.Composed:
    return sql.SQL("{}::text[]").format(sql.Literal(sorted(values)))


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
    """The statements that replace PostgreSQL's functions by the gateway's, which call them."""
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
    about = len(types) - 1  # the last parameter is the privilege, the one before it the object
    given = [
        _given(type_, place, named=name == "has_database_privilege" and place == about)
        for place, type_ in enumerate(types, 1)
    ]
    says = _call(renamed, given)
    if name in _ASKED_ABOUT:
        says = sql.SQL("({} OR pg_catalog.asks_select({}) AND {})").format(
            says, given[-1], _call(renamed, [*given[:-1], sql.SQL("'REFERENCES'")])
        )
    # not STRICT, although it behaves so: the planner then inlines the expression
    yield sql.SQL(
        "CREATE FUNCTION {} ({}) RETURNS boolean LANGUAGE sql STABLE PARALLEL SAFE RETURN {}"
    ).format(function, taken, says)


def _given(type_: str, place: int, *, named: bool) -> sql.SQL:
    """A parameter; a name that may be a shown one is translated to the server's own."""
    if type_ == "name":
        return sql.SQL(f"pg_catalog.role_of_server(${place})")
    if named and type_ == "text":
        return sql.SQL(f"pg_catalog.database_of_server(${place})")
    return sql.SQL(f"${place}")


def _call(function: str, given: list[sql.SQL]) -> sql.Composed:
    return sql.SQL("{}({})").format(
        sql.Identifier("pg_catalog", function), sql.SQL(", ").join(given)
    )


DATASET_UNNAMED: Final = "gateway"  # a session that was begun without a dataset's name


@dataclass(frozen=True)
class SessionNames:
    """The names that a session shows for its subject and its dataset, and its client's cancel number."""

    subject: str = ""
    dataset: str = ""
    process: int = 0

    def settings(self) -> dict[str, str]:
        """The settings that the functions below read."""
        given = {"subject": self.subject, "dataset": self.dataset, "process": str(self.process)}
        return {f"gateway.{name}": value for name, value in given.items() if value}


_SUBJECT: Final = (
    "coalesce(nullif(pg_catalog.current_setting('gateway.subject', true), '')::name, CURRENT_USER)"
)
_DATASET: Final = (
    "coalesce(nullif(pg_catalog.current_setting('gateway.dataset', true), ''), "
    f"'{DATASET_UNNAMED}')::name"
)

# The number of `current_database` stays that of a built-in function, which the executor would call without
# looking here. But a function that is one expression is put in its place by the planner, in every view of
# `information_schema` too; a test looks at each of them.
NAMES: Final = (
    """CREATE FUNCTION pg_catalog.current_database_of_server() RETURNS name
       LANGUAGE internal STABLE STRICT PARALLEL SAFE AS 'current_database'""",
    f"""CREATE OR REPLACE FUNCTION pg_catalog.current_database() RETURNS name
       LANGUAGE sql STABLE PARALLEL SAFE RETURN {_DATASET}""",
    # what the gateway makes of keywords; the columns have their names
    *(
        f'ALTER FUNCTION pg_catalog."{keyword}"() RENAME TO {keyword}_of_server'
        for keyword in ("current_user", "session_user", "system_user")
    ),
    *(
        f'CREATE FUNCTION pg_catalog."{keyword}"() RETURNS name '
        f"LANGUAGE sql STABLE PARALLEL SAFE RETURN {_SUBJECT}"
        for keyword in ("current_user", "session_user", "user", "current_role")
    ),
    f"""CREATE FUNCTION pg_catalog.system_user() RETURNS text
       LANGUAGE sql STABLE PARALLEL SAFE RETURN {_SUBJECT}::text""",
    """CREATE FUNCTION pg_catalog.current_catalog() RETURNS name
       LANGUAGE sql STABLE PARALLEL SAFE RETURN pg_catalog.current_database()""",
    # from a shown name to the server's own, for functions that take one
    """CREATE FUNCTION pg_catalog.role_of_server(name) RETURNS name
       LANGUAGE sql STABLE PARALLEL SAFE
       RETURN CASE WHEN $1 = pg_catalog."current_user"() THEN CURRENT_USER ELSE $1 END""",
    """CREATE FUNCTION pg_catalog.database_of_server(text) RETURNS text
       LANGUAGE sql STABLE PARALLEL SAFE
       RETURN CASE WHEN $1 = pg_catalog.current_database()
                   THEN pg_catalog.current_database_of_server()::text ELSE $1 END""",
)

# From a shown name of three parts to the two that the server reads. As above, a function that is one expression is put in
# the place of the built-in one, in casts too.
CLASS_NAMES: Final = (
    *(
        f"""CREATE FUNCTION pg_catalog.{name}_of_server(text) RETURNS regclass
           LANGUAGE internal STABLE STRICT PARALLEL SAFE AS '{internal}'"""
        for name, internal in (("regclass", "text_regclass"), ("to_regclass", "to_regclass"))
    ),
    """CREATE FUNCTION pg_catalog.without_database(text) RETURNS text
       LANGUAGE sql STABLE PARALLEL SAFE
       RETURN pg_catalog.regexp_replace($1,
           '^"?' || pg_catalog.current_database() || '"?[.](("[^"]+"|[^".]+)[.]("[^"]+"|[^".]+))$', '\\1')""",
    *(
        f"""CREATE OR REPLACE FUNCTION pg_catalog.{name}(text) RETURNS regclass
           LANGUAGE sql STABLE PARALLEL SAFE
           RETURN pg_catalog.{name}_of_server(pg_catalog.without_database($1))"""
        for name in ("regclass", "to_regclass")
    ),
)

# These read `pg_roles`, which must be restricted to the own role by then.
NAMES_BY_NUMBER: Final = (
    "ALTER FUNCTION pg_catalog.pg_get_userbyid(oid) RENAME TO pg_get_userbyid_of_server",
    """CREATE FUNCTION pg_catalog.pg_get_userbyid(oid) RETURNS name
       LANGUAGE sql STABLE STRICT PARALLEL SAFE
       RETURN coalesce((SELECT rolname FROM pg_catalog.pg_roles WHERE oid = $1),
                       ('unknown (OID=' || $1 || ')')::name)""",
)
