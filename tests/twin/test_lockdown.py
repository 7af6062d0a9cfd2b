"""Each thing that an analyst must not do on the twin, tried as the analyst's own role.

The role is that of somebody who has switched off what a session can switch off, so a refusal here is a
matter of privileges.
"""

import pytest
from fix_twin import CLINIC, as_gateway

from gateway.twin import Twin, TwinRefused, TwinSession
from gateway.twin.stand_ins import ACTIVITY, RELATIONS_EMPTIED, STATISTICS_VIEWS_KEPT
from gateway.twin.template import FUNCTIONS_TAKEN, LANGUAGES_TAKEN

DENIED = "42501"

# what PostgreSQL refuses by itself to a role without rights, and what we rely on
BY_DEFAULT = {
    "the tables themselves": [
        "SELECT * FROM patients",
        "SELECT count(*) FROM visits",
        "SELECT patients FROM patients",
        "TABLE patients",
        "COPY patients TO STDOUT",
        "INSERT INTO patients VALUES (1)",
        "UPDATE patients SET region = 'x'",
        "DELETE FROM patients",
        "TRUNCATE patients",
        "ALTER TABLE patients ADD COLUMN a int",
        "DROP TABLE patients",
        "COMMENT ON TABLE patients IS 'x'",
        "CREATE INDEX ON patients (region)",
        "CREATE STATISTICS s ON region, code FROM patients",
        "CREATE RULE r AS ON SELECT TO patients DO INSTEAD SELECT 1",
        "CREATE POLICY p ON patients",
    ],
    "the catalogs": [
        "SELECT 1 FROM pg_class FOR UPDATE",
        "SELECT 1 FROM pg_class FOR NO KEY UPDATE",
        "SELECT 1 FROM pg_class FOR SHARE",
        "SELECT 1 FROM pg_class FOR KEY SHARE",
        "WITH d AS (DELETE FROM pg_class RETURNING 1) SELECT 1",
        "WITH d AS (UPDATE pg_class SET relname = 'x' RETURNING 1) SELECT 1",
        "WITH d AS (INSERT INTO pg_class (relname) VALUES ('x') RETURNING 1) SELECT 1",
        "MERGE INTO pg_class c USING pg_class d ON c.oid = d.oid WHEN MATCHED THEN DELETE",
    ],
    "objects of one's own": [
        "CREATE TABLE t (a int)",
        "CREATE TEMP TABLE t (a int)",
        "CREATE TEMP VIEW v AS SELECT 1",
        "SELECT 1 AS a INTO t",
        "CREATE TABLE t AS SELECT 1",
        "CREATE MATERIALIZED VIEW v AS SELECT 1",
        "CREATE SEQUENCE s",
        "CREATE TYPE t AS (a int)",
        "CREATE DOMAIN d AS int",
        "CREATE OPERATOR === (LEFTARG = int, RIGHTARG = int, FUNCTION = int4eq)",
        "CREATE AGGREGATE a (int) (SFUNC = int4pl, STYPE = int)",
        'CREATE COLLATION c FROM "C"',
        "CREATE SCHEMA s",
        "CREATE PUBLICATION p",
        "CREATE EVENT TRIGGER e ON ddl_command_start EXECUTE FUNCTION f()",
        "CREATE FOREIGN DATA WRAPPER w",
        "CREATE CAST (text AS int) WITH INOUT",
    ],
    "files and programs": [
        "COPY (SELECT 1) TO '/tmp/x'",
        "COPY (SELECT 1) TO PROGRAM 'true'",
        "SELECT pg_read_file('PG_VERSION')",
        "SELECT pg_read_binary_file('PG_VERSION')",
        "SELECT pg_ls_dir('.')",
        "SELECT pg_stat_file('PG_VERSION')",
        "SELECT pg_ls_logdir()",
        "SELECT pg_ls_waldir()",
        "SELECT pg_current_logfile()",
        "SELECT lo_import('/etc/passwd')",
        "SELECT lo_export(1, '/tmp/x')",
        "CREATE EXTENSION plpgsql",
        "CREATE EXTENSION dblink",
        "LOAD '/lib/x'",
        "SELECT * FROM pg_hba_file_rules",
        "SELECT * FROM pg_ident_file_mappings",
        "SELECT * FROM pg_file_settings",
        "SHOW data_directory",
        "SHOW config_file",
        "SHOW hba_file",
        "SHOW unix_socket_directories",
    ],
    "other roles": [
        "SET ROLE postgres",
        "SET SESSION AUTHORIZATION postgres",
        "CREATE ROLE r",
        "ALTER ROLE postgres PASSWORD 'x'",
        "ALTER ROLE CURRENT_USER SUPERUSER",
        "ALTER ROLE CURRENT_USER CONNECTION LIMIT 1000",
        "DROP ROLE postgres",
        "GRANT pg_read_all_data TO CURRENT_USER",
        "REASSIGN OWNED BY postgres TO CURRENT_USER",
        "ALTER DEFAULT PRIVILEGES FOR ROLE postgres GRANT SELECT ON TABLES TO PUBLIC",
        "SELECT * FROM pg_authid",
        "SELECT * FROM pg_shadow",
        "SELECT * FROM pg_user_mapping",
    ],
    "the server": [
        "CREATE DATABASE d",
        "ALTER DATABASE postgres SET work_mem = '1GB'",
        "CREATE TABLESPACE t LOCATION '/tmp'",
        "ALTER SYSTEM SET work_mem = '1GB'",
        "CHECKPOINT",
        "SET temp_file_limit = -1",
        "SET session_preload_libraries = 'x'",
        "SET log_statement = 'all'",
        "SET log_min_messages = 'debug5'",
        "SET track_activities = on",
        "SET track_counts = on",
        "SET session_replication_role = replica",
        "SET allow_system_table_mods = on",
        "SET zero_damaged_pages = on",
        "SET lc_messages = 'en_US.UTF-8'",
        "SELECT pg_reload_conf()",
        "SELECT pg_rotate_logfile()",
        "SELECT pg_switch_wal()",
        "SELECT pg_create_restore_point('x')",
        "SELECT pg_backup_start('x')",
        "SELECT pg_promote()",
        "SELECT pg_stat_reset()",
        "SELECT pg_log_backend_memory_contexts(1)",
        "SELECT * FROM pg_shmem_allocations",
        "SELECT * FROM pg_backend_memory_contexts",
        "SELECT * FROM pg_config",
        "SELECT * FROM pg_statistic",
        "SELECT * FROM pg_statistic_ext_data",
        "SELECT * FROM pg_largeobject",
        "SELECT * FROM pg_replication_origin_status",
    ],
}

# what everyone has on an ordinary server, and the template takes back
TAKEN = {
    "languages": [
        "DO $$ BEGIN END $$",
        "DO LANGUAGE plpgsql $$ BEGIN END $$",
        "CREATE FUNCTION f() RETURNS int LANGUAGE sql AS 'SELECT 1'",
        "CREATE FUNCTION f() RETURNS int LANGUAGE plpgsql AS 'BEGIN RETURN 1; END'",
        "CREATE FUNCTION pg_temp.f() RETURNS int LANGUAGE sql AS 'SELECT 1'",
        "CREATE PROCEDURE p() LANGUAGE sql AS ''",
    ],
    "sleeping": [
        "SELECT pg_sleep(0)",
        "SELECT pg_sleep_for('0 s')",
        "SELECT pg_sleep_until(now())",
    ],
    "locks": [
        "SELECT pg_advisory_lock(1)",
        "SELECT pg_advisory_lock_shared(1, 2)",
        "SELECT pg_advisory_xact_lock(1)",
        "SELECT pg_try_advisory_lock(1)",
        "SELECT pg_try_advisory_xact_lock_shared(1)",
        "SELECT pg_advisory_unlock(1)",
        "SELECT pg_blocking_pids_of_server(1)",
    ],
    "large objects": [
        "SELECT lo_create(0)",
        "SELECT lo_creat(-1)",
        "SELECT lo_from_bytea(0, 'x')",
        "SELECT lo_put(1, 0, 'x')",
        "SELECT lo_get(1)",
        "SELECT lo_open(1, 131072)",
        "SELECT lo_unlink(1)",
    ],
    "messages to others": [
        "SELECT pg_notify('a', 'b')",
        "SELECT pg_listening_channels()",
        "SELECT pg_notification_queue_usage()",
        "SELECT pg_logical_emit_message(false, 'a', 'b')",
        "SELECT pg_export_snapshot()",
    ],
    "other sessions": [
        "SELECT pg_terminate_backend(1)",
        "SELECT pg_cancel_backend(1)",
        "SELECT pg_stat_get_activity(NULL)",
        "SELECT pg_stat_get_backend_idset()",
        "SELECT pg_stat_get_db_numbackends(1)",
        "SELECT pg_backend_pid_of_server()",
        "SELECT txid_current()",
        "SELECT pg_current_xact_id()",
        "SELECT pg_current_snapshot()",
        "SELECT pg_xact_status('1')",
        "SELECT age(datfrozenxid) FROM pg_database",
    ],
    "settings": [
        "SELECT set_config('work_mem', '1GB', false)",
        "SELECT set_config('gateway.subject', 'bob', false)",
        "SELECT set_config('gateway.dataset', 'other', true)",
        "SELECT set_config('role', 'postgres', false)",
        "SELECT set_config('ROLE', 'postgres', false)",
        "SELECT set_config('session_authorization', 'postgres', false)",
        "SELECT set_config('default_tablespace', 'x', false)",
        "SELECT set_config(NULL, 'x', false)",
        "SELECT set_config('client_encoding', 'LATIN1', false)",
        "SELECT set_config('standard_conforming_strings', 'off', false)",
        "SELECT set_config('search_path', 'pg_temp', false)",
        "SELECT set_config('search_path', 'public, pg_catalog', false)",
        "SELECT set_config('search_path', 'public, \"pg_temp\"', false)",
        "SELECT set_config_of_server('work_mem', '1GB', false)",
        "SELECT refuse_setting('x')",
        "UPDATE pg_settings SET setting = '1GB' WHERE name = 'work_mem'",
    ],
    "text that is run": [
        "SELECT query_to_xml('SELECT 1', true, true, '')",
        "SELECT table_to_xml('patients', true, true, '')",
        "SELECT database_to_xml(true, true, '')",
        "SELECT cursor_to_xml('c', 1, true, true, '')",
        "SELECT ts_stat('SELECT 1')",
        "SELECT ts_rewrite('a'::tsquery, 'SELECT 1')",
    ],
    "files and addresses": [
        "SELECT pg_relation_filepath('patients')",
        "SELECT pg_relation_filenode('patients')",
        "SELECT pg_tablespace_databases(1663)",
        "SELECT pg_tablespace_location_of_server(1663)",
        "SELECT pg_database_size_of_server(current_database())",
        "SELECT inet_server_addr()",
        "SELECT inet_server_port()",
        "SELECT inet_client_addr()",
        "SELECT pg_postmaster_start_time()",
        "SELECT pg_conf_load_time()",
        "SELECT pg_control_system()",
        "SELECT pg_current_wal_lsn()",
        "SELECT pg_get_loaded_modules()",
    ],
    "names of others": [
        "SELECT * FROM pg_database_of_all",
        "SELECT pg_describe_object('pg_database_of_all'::regclass, 1, 0)",
        "SELECT pg_identify_object('pg_database_of_all'::regclass, 1, 0)",
        "SELECT pg_get_acl('pg_database_of_all'::regclass, 1, 0)",
    ],
}

# what no privilege of PostgreSQL stops: the allow-list of statements, the clock and the limits must
LEFT_TO_THE_GATEWAY = [
    "SET statement_timeout = 0",
    "SET work_mem = '1GB'",
    "SET default_transaction_read_only = off",
    "SET search_path = pg_catalog",
    "ALTER ROLE CURRENT_USER SET work_mem = '64kB'",
    "ALTER ROLE CURRENT_USER PASSWORD 'known'",
    "LISTEN a",
    "NOTIFY a, 'b'",
    "LOCK TABLE pg_class IN ACCESS SHARE MODE",
]
# refused for another reason than a missing right
_STATES = {
    "CREATE EXTENSION plpgsql": "42710",
    "CREATE EXTENSION dblink": "0A000",
    "ALTER SYSTEM SET work_mem = '1GB'": "0A000",
}


@pytest.mark.parametrize("statement", [one for group in BY_DEFAULT.values() for one in group])
def test_analyst_is_refused_by_default(attacker: TwinSession, statement: str) -> None:
    """PostgreSQL itself refuses, for want of a right."""
    assert _refusal(attacker, statement) == _STATES.get(statement, DENIED)


@pytest.mark.parametrize("statement", [one for group in TAKEN.values() for one in group])
def test_analyst_is_refused_what_was_taken_back(attacker: TwinSession, statement: str) -> None:
    """What everyone has elsewhere is refused here, for want of a right."""
    assert _refusal(attacker, statement) == DENIED


def test_table_cannot_be_locked_or_granted(attacker: TwinSession) -> None:
    """A lock is refused in a transaction too, and granting what one does not have does nothing."""
    attacker.run("GRANT SELECT ON patients TO CURRENT_USER")
    assert _refusal(attacker, "SELECT FROM patients") == DENIED
    attacker.run("BEGIN")
    assert _refusal(attacker, "LOCK TABLE patients IN ACCESS SHARE MODE") == DENIED


def test_prepared_transaction_is_refused(attacker: TwinSession) -> None:
    """A transaction cannot outlive its session."""
    attacker.run("BEGIN")
    assert _refusal(attacker, "PREPARE TRANSACTION 'x'") == "55000"


@pytest.mark.parametrize("statement", LEFT_TO_THE_GATEWAY)
def test_statement_is_left_to_the_gateway(twin: Twin, statement: str) -> None:
    """These do run on the twin: if PostgreSQL learns to refuse one, the list gets shorter."""
    with twin.session(f"careless {statement}", CLINIC) as session:
        session.run("SET default_transaction_read_only = off")
        session.run("BEGIN")
        session.run(statement)


def test_every_listed_language_is_taken(attacker: TwinSession) -> None:
    """Nothing in the lists of `lockdown` is still usable, and all of it is there."""
    for language in LANGUAGES_TAKEN:
        assert attacker.run("SELECT has_language_privilege($1, 'USAGE')", [language]) == (("f",),)


def test_stand_in_shows_the_columns_and_no_row(attacker: TwinSession) -> None:
    """Relations that tell of others are empty; where one was a table, nobody reads it under its other name."""
    statistics = attacker.run(
        "SELECT relname FROM pg_class WHERE relname ~ '^pg_stat(io)?_' AND relkind = 'v'"
    )
    kept = STATISTICS_VIEWS_KEPT | {ACTIVITY, "pg_stats", "pg_stats_ext", "pg_stats_ext_exprs"}
    emptied = {name for (name,) in statistics if name is not None} - kept
    assert {"pg_stat_database", "pg_stat_replication", "pg_stat_ssl"} < emptied
    for relation in sorted({*RELATIONS_EMPTIED, *emptied}):
        assert attacker.run(f"SELECT * FROM pg_catalog.{relation}") == (), relation
    renamed = attacker.run("SELECT relname FROM pg_class WHERE relname LIKE 'pg\\_%of\\_server'")
    assert len(renamed) >= len(("pg_subscription", "pg_shdepend", "pg_db_role_setting"))
    for (other,) in renamed:
        assert _refusal(attacker, f"SELECT FROM pg_catalog.{other}") == DENIED, other


def test_every_listed_function_is_taken(attacker: TwinSession) -> None:
    """No form of a listed function can be called, and each name is one of this PostgreSQL's."""
    for function in FUNCTIONS_TAKEN:
        column = "oid::regprocedure::text" if "(" in function else "proname"
        found = attacker.run(
            f"SELECT has_function_privilege(oid, 'EXECUTE') FROM pg_proc WHERE {column} = $1",
            [function],
        )
        assert found, function
        assert set(found) == {("f",)}, function


def test_role_cannot_poison_its_next_session(twin: Twin) -> None:
    """What a role sets for itself does not reach what changes results in its later sessions."""
    with twin.session("poisoner", CLINIC) as session:
        session.run("SET default_transaction_read_only = off")
        for setting in (
            "transform_null_equals = on",
            "array_nulls = off",
            "standard_conforming_strings = off",
            "\"DateStyle\" = 'German'",
            "\"TimeZone\" = 'Asia/Tokyo'",
            "search_path = pg_temp",
            "extra_float_digits = -15",
        ):
            session.run(f"ALTER ROLE CURRENT_USER SET {setting}")
    with twin.session("poisoner", CLINIC) as session:
        assert session.run(
            "SELECT NULL = NULL, '{NULL}'::text[], E'\\\\' = '\\', date '2026-01-31', "
            "timestamptz '2026-01-31 00:00+00', current_schema(), 0.1::float8"
        ) == ((None, "{NULL}", "t", "2026-01-31", "2026-01-31 00:00:00+00", "public", "0.1"),)


def test_ordinary_database_would_allow_it(twin: Twin) -> None:
    """The negative control: on a database that was not sealed, the same attempts succeed."""
    with as_gateway(twin) as gateway:
        gateway.execute("CREATE ROLE control")
        try:
            gateway.execute("SET ROLE control")
            for statement in (
                "SELECT pg_sleep(0)",
                "SELECT pg_notify('a', 'b')",
                "SELECT lo_from_bytea(0, 'x')",
                "SELECT * FROM pg_stat_activity",
                "DO $$ BEGIN END $$",
                "SELECT set_config('work_mem', '1MB', false)",
            ):
                gateway.execute(statement)
        finally:
            gateway.execute("RESET ROLE")
            gateway.execute("SELECT lo_unlink(oid) FROM pg_largeobject_metadata")
            gateway.execute("DROP OWNED BY control")
            gateway.execute("DROP ROLE control")


def _refusal(session: TwinSession, statement: str) -> str:
    with pytest.raises(TwinRefused) as refused:
        session.run(statement)
    return refused.value.unexpected or refused.value.sqlstate
