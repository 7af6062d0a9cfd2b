"""Functions and views of ours in the place of some that PostgreSQL has: for oneself they say what they always do.

`set_config` of the server could change any setting, so nobody may call it. Ours may, and does so for the settings that
SET may change and for the same values.

INVARIANT: a function here that runs with the rights of its owner is one expression that was parsed when it was made:
it finds nothing by name, so no search path leads it elsewhere, and it does nothing before it has looked at its
arguments.
"""

from collections.abc import Iterator
from typing import Final

from psycopg import sql

from gateway.binding.session_settings import (
    ENCODINGS,
    FIRST_SEARCHED,
    IDLE_LIMITS,
    ON,
    OWN_PREFIX,
    SEARCHED,
    SETTINGS,
)

_RENAMED: Final = {
    "set_config": "text, text, boolean",
    "pg_backend_pid": "",
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
# `names`: of settings; the other lists hold what some may be. NULL leads back to the default
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
        WHERE pg_catalog.btrim(part, ' "') <> ALL ({searched})
          AND (place > 1 OR pg_catalog.btrim(part, ' "') <> {first}))
    ELSE true END
"""
_SET_CONFIG: Final = """
CREATE FUNCTION pg_catalog.set_config(setting_name text, new_value text, is_local boolean) RETURNS text
LANGUAGE sql VOLATILE SECURITY DEFINER
RETURN CASE WHEN pg_catalog.may_set(pg_catalog.lower(setting_name), new_value)
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
_SIZE: Final = """
CREATE FUNCTION pg_catalog.pg_database_size({type}) RETURNS bigint LANGUAGE sql STABLE PARALLEL SAFE
RETURN CASE WHEN $1 IS NULL THEN NULL::bigint ELSE 0::bigint END
"""
# of all that this view tells of connections, what one knows of one's own
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


def emulating_statements() -> Iterator[sql.Composable]:
    """The statements that rename PostgreSQL's own and make ours."""
    for name, types in _RENAMED.items():
        yield _renamed(name, types)
    yield from (_renamed("pg_database_size", type_) for type_ in _SIZES)
    yield sql.SQL(_REFUSES)
    yield sql.SQL(_ALLOWED).format(
        names=_list(name for name in SETTINGS if not name.startswith(OWN_PREFIX)),
        encodings=_list(ENCODINGS),
        idle=_list(IDLE_LIMITS),
        on=_list(ON),
        searched=_list(SEARCHED),
        first=sql.Literal(FIRST_SEARCHED),
    )
    yield from map(sql.SQL, (_SET_CONFIG, _PROCESS, _LOCATION))
    yield from (sql.SQL(_SIZE).format(type=sql.SQL(type_)) for type_ in _SIZES)
    yield sql.SQL(_ACTIVITY)


def _renamed(name: str, types: str) -> sql.Composed:
    return sql.SQL("ALTER FUNCTION {} ({}) RENAME TO {}").format(
        sql.Identifier("pg_catalog", name), sql.SQL(types), sql.Identifier(f"{name}_of_server")
    )


def _list(values: Iterator[str] | frozenset[str]) -> sql.Composed:
    return sql.SQL("{}::text[]").format(sql.Literal(sorted(values)))
