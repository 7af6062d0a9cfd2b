"""The sealed `template1`, from which every database of the twin is created, and its lockdown: what is revoked, with
reasons.

The lockdown revokes privileges that PostgreSQL grants to everyone. The rule for functions: a volatile one is
revoked unless it is in `VOLATILE_KEPT`; every other one is kept unless it is in `FUNCTIONS_TAKEN`, or a statistic
that is not in `STATISTICS_KEPT`. So a volatile function that a new version of PostgreSQL adds is revoked; for any
other new function a golden list in the tests no longer fits, and a maintainer has to look at it.

INVARIANT: the sealing runs once in each life of the server, before the first database and the first role of an
analyst are created; a step that fails ends the start.
INVARIANT: the lockdown is privileges alone, set in the template before any other database exists. No session
setting is involved, because a client can change those.
"""

from collections.abc import Mapping
from types import MappingProxyType

import psycopg
from psycopg import sql

from gateway.twin.server import OUTSIDE
from gateway.twin.shadow_functions import (
    CLASS_NAMES,
    NAMES,
    NAMES_BY_NUMBER,
    probe_statements,
    shadow_statements,
)
from gateway.twin.stand_ins import stand_in_statements

VOLATILE_KEPT: Mapping[str, str] = MappingProxyType(
    {
        "array_sample": "draws at random",
        "array_shuffle": "draws at random",
        "clock_timestamp": "the time",
        "gen_random_uuid": "draws at random",
        "pg_advisory_unlock_all": "part of asyncpg's reset; nobody can take such a lock",
        "pg_indexes_size": "an empty table's size, for `\\di+`",
        "pg_is_in_recovery": "drivers ask whether this is a primary; always false",
        "pg_is_wal_replay_paused": "part of how pgAdmin connects; nothing is replayed",
        "pg_partition_ancestors": "part of `\\d`; nothing is partitioned",
        "pg_partition_tree": "part of `\\dP`; nothing is partitioned",
        "pg_relation_size": "an empty table's size, for `\\dt+`",
        "pg_sequence_last_value": "part of `pg_sequences`; there is no sequence",
        "pg_table_size": "an empty table's size, for `\\dt+`",
        "pg_total_relation_size": "an empty table's size, for BI tools",
        "random": "draws at random",
        "random_normal": "draws at random",
        "set_config": "ours: changes what SET may change, and refuses all else",
        "setseed": "draws at random",
        "timeofday": "the time",
        "uuidv4": "draws at random",
        "uuidv7": "draws at random",
    }
)

_RUNS_TEXT = "runs SQL from a text, past the allow-list of statements"
_FILES = "tells of the server's files"
_ADDRESS = "tells where the server or its clients are"
_BY_NUMBER = "names any object of the server by number, other databases and roles among them"
_COUNTER = "reads the server's transaction counter: how much everybody does"
_UPTIME = "tells when the server was started or changed"

FUNCTIONS_TAKEN: Mapping[str, str] = MappingProxyType(
    {
        "age(xid)": _COUNTER,
        "mxid_age": _COUNTER,
        "pg_current_snapshot": _COUNTER,
        "pg_current_xact_id": _COUNTER,
        "pg_current_xact_id_if_assigned": _COUNTER,
        "txid_current": _COUNTER,
        "txid_current_if_assigned": _COUNTER,
        "txid_current_snapshot": _COUNTER,
        "database_to_xml": _RUNS_TEXT,
        "database_to_xml_and_xmlschema": _RUNS_TEXT,
        "database_to_xmlschema": _RUNS_TEXT,
        "schema_to_xml": _RUNS_TEXT,
        "schema_to_xml_and_xmlschema": _RUNS_TEXT,
        "schema_to_xmlschema": _RUNS_TEXT,
        "table_to_xml": _RUNS_TEXT,
        "table_to_xml_and_xmlschema": _RUNS_TEXT,
        "table_to_xmlschema": _RUNS_TEXT,
        "fmgr_c_validator": _FILES,
        "fmgr_internal_validator": _FILES,
        "fmgr_sql_validator": _FILES,
        "pg_available_extension_versions": _FILES,
        "pg_available_extensions_of_server": _FILES,
        "pg_extension_update_paths": _FILES,
        "pg_filenode_relation": _FILES,
        "pg_numa_available": "tells of the machine",
        "pg_relation_filenode": _FILES,
        "pg_relation_filepath": _FILES,
        "pg_tablespace_databases": "lists the databases",
        "pg_tablespace_location_of_server": _FILES,
        "inet_client_addr": _ADDRESS,
        "inet_client_port": _ADDRESS,
        "inet_server_addr": _ADDRESS,
        "inet_server_port": _ADDRESS,
        "pg_backend_pid_of_server": "a process id; the gateway hands out its own",
        "pg_conf_load_time": _UPTIME,
        "pg_postmaster_start_time": _UPTIME,
        "pg_describe_object": _BY_NUMBER,
        "pg_get_acl": _BY_NUMBER,
        "pg_get_object_address": _BY_NUMBER,
        "pg_identify_object": _BY_NUMBER,
        "pg_identify_object_as_address": _BY_NUMBER,
        "pg_get_publication_tables": "replication",
        "pg_get_replication_slots": "replication",
        "pg_listening_channels": "notifications are a channel between analysts",
    }
)

STATISTICS_KEPT: frozenset[str] = frozenset(
    {
        # per table, for BI tools that estimate sizes; always zero, since `track_counts` is off
        "pg_stat_get_analyze_count",
        "pg_stat_get_autoanalyze_count",
        "pg_stat_get_autovacuum_count",
        "pg_stat_get_blocks_fetched",
        "pg_stat_get_blocks_hit",
        "pg_stat_get_dead_tuples",
        "pg_stat_get_ins_since_vacuum",
        "pg_stat_get_last_analyze_time",
        "pg_stat_get_last_autoanalyze_time",
        "pg_stat_get_last_autovacuum_time",
        "pg_stat_get_last_vacuum_time",
        "pg_stat_get_lastscan",
        "pg_stat_get_live_tuples",
        "pg_stat_get_mod_since_analyze",
        "pg_stat_get_numscans",
        "pg_stat_get_total_analyze_time",
        "pg_stat_get_total_autoanalyze_time",
        "pg_stat_get_total_autovacuum_time",
        "pg_stat_get_total_vacuum_time",
        "pg_stat_get_tuples_deleted",
        "pg_stat_get_tuples_fetched",
        "pg_stat_get_tuples_hot_updated",
        "pg_stat_get_tuples_inserted",
        "pg_stat_get_tuples_newpage_updated",
        "pg_stat_get_tuples_returned",
        "pg_stat_get_tuples_updated",
        "pg_stat_get_vacuum_count",
    }
)

LANGUAGES_TAKEN: Mapping[str, str] = MappingProxyType(
    {
        "plpgsql": "a program can do what no statement shows, `DO` among them",
        "sql": "a function can hide a statement",
    }
)


TEMPLATE = "template1"

# every routine that `lockdown` revokes, as REVOKE spells it
_ROUTINES_TAKEN = """
SELECT p.oid::regprocedure::text
FROM pg_catalog.pg_proc AS p
WHERE pg_catalog.has_function_privilege('public', p.oid, 'EXECUTE')
  AND (
    (p.provolatile = 'v' AND NOT p.proname = ANY (%(volatile_kept)s))
    OR p.proname = ANY (%(taken)s)
    OR p.oid::regprocedure::text = ANY (%(taken)s)
    OR (p.proname LIKE 'pg\\_stat\\_get\\_%%' AND NOT p.proname = ANY (%(statistics_kept)s))
  )
"""

# SQL functions that read pg_database with the rights of their caller must read the view instead
_READERS_OF_DATABASES = """
SELECT pg_catalog.pg_get_functiondef(oid)
FROM pg_catalog.pg_proc
WHERE pg_catalog.strpos(prosqlbody::text, ':relid 1262 ') > 0
"""

# Names of databases and roles cannot be hidden by privileges on the tables that hold them, and every
# catalog browser reads these three. So they become views of what is one's own: tables that PostgreSQL
# itself finds by number, not by name, and this server never lives to be upgraded.
_OWN_NAMES_ALONE = (
    "ALTER TABLE pg_catalog.pg_database RENAME TO pg_database_of_all",
    "REVOKE ALL ON pg_catalog.pg_database_of_all FROM PUBLIC",
    # psql before 17 asks for a column that was renamed since
    """CREATE VIEW pg_catalog.pg_database WITH (security_barrier) AS
       SELECT oid, pg_catalog.current_database() AS datname, datdba, encoding, datlocprovider, datistemplate,
              datallowconn, dathasloginevt, -1 AS datconnlimit, '0'::xid AS datfrozenxid,
              '0'::xid AS datminmxid, dattablespace, datcollate, datctype, datlocale, daticurules,
              datcollversion, NULL::aclitem[] AS datacl, datlocale AS daticulocale, 1262::oid AS tableoid
       FROM pg_catalog.pg_database_of_all
       WHERE datname = pg_catalog.current_database_of_server()""",
    "GRANT SELECT ON pg_catalog.pg_database TO PUBLIC",
    # the roles PostgreSQL is born with have numbers below 16384
    """CREATE OR REPLACE VIEW pg_catalog.pg_roles WITH (security_barrier) AS
       SELECT CASE WHEN rolname = CURRENT_USER THEN pg_catalog."current_user"() ELSE rolname END AS rolname,
              rolsuper, rolinherit, rolcreaterole, rolcreatedb, rolcanlogin, rolreplication,
              -1 AS rolconnlimit, '********'::text AS rolpassword, rolvaliduntil, rolbypassrls,
              NULL::text[] COLLATE "C" AS rolconfig, oid
       FROM pg_catalog.pg_authid
       WHERE oid < 16384 OR rolname = CURRENT_USER""",
    """CREATE OR REPLACE VIEW pg_catalog.pg_user WITH (security_barrier) AS
       SELECT CASE WHEN rolname = CURRENT_USER THEN pg_catalog."current_user"() ELSE rolname END AS usename,
              oid AS usesysid, rolcreatedb AS usecreatedb, rolsuper AS usesuper,
              rolreplication AS userepl, rolbypassrls AS usebypassrls, '********'::text AS passwd,
              rolvaliduntil AS valuntil, NULL::text[] COLLATE "C" AS useconfig
       FROM pg_catalog.pg_authid
       WHERE rolcanlogin AND (oid < 16384 OR rolname = CURRENT_USER)""",
)


def seal_template(template: psycopg.Connection, outside: psycopg.Connection) -> None:
    """Revoke the default privileges of PUBLIC, then close the template to all log-ins."""
    with template.transaction():
        _rename(template)
        _take_routines(template)
        _take_relations(template)
        for language in LANGUAGES_TAKEN:
            template.execute(
                sql.SQL("REVOKE ALL ON LANGUAGE {} FROM PUBLIC").format(sql.Identifier(language))
            )
        template.execute("REVOKE ALL ON SCHEMA public FROM PUBLIC")
        template.execute("GRANT USAGE ON SCHEMA public TO PUBLIC")
    template.close()
    for database in (TEMPLATE, OUTSIDE):
        outside.execute(
            sql.SQL("REVOKE ALL ON DATABASE {} FROM PUBLIC").format(sql.Identifier(database))
        )
    outside.execute(
        sql.SQL("ALTER DATABASE {} ALLOW_CONNECTIONS false").format(sql.Identifier(TEMPLATE))
    )


def _rename(template: psycopg.Connection) -> None:
    """Replace the functions that show names or do more than an analyst may."""
    readers = template.execute(_READERS_OF_DATABASES).fetchall()
    statements: list[sql.Composable] = [
        sql.SQL("SET LOCAL allow_system_table_mods = on"),
        *map(sql.SQL, (*NAMES, *CLASS_NAMES, *_OWN_NAMES_ALONE, *NAMES_BY_NUMBER)),
        # in PostgreSQL's own rendering, where the name now means the view
        *(sql.SQL(definition) for (definition,) in readers),
        *probe_statements(template),
        *shadow_statements(),
    ]
    template.execute(sql.SQL(";").join(statements))


def _take_routines(template: psycopg.Connection) -> None:
    found = template.execute(
        _ROUTINES_TAKEN,
        {
            "volatile_kept": list(VOLATILE_KEPT),
            "taken": list(FUNCTIONS_TAKEN),
            "statistics_kept": list(STATISTICS_KEPT),
        },
    ).fetchall()
    # the signatures are PostgreSQL's own rendering, quoted where that is needed
    signatures = sql.SQL(", ").join(sql.SQL(signature) for (signature,) in found)
    template.execute(sql.SQL("REVOKE EXECUTE ON ROUTINE {} FROM PUBLIC").format(signatures))


def _take_relations(template: psycopg.Connection) -> None:
    template.execute("SET LOCAL allow_system_table_mods = on")
    template.execute(sql.SQL(";").join(stand_in_statements(template)))
    template.execute("REVOKE UPDATE ON pg_catalog.pg_settings FROM PUBLIC")
