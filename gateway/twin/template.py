"""Sealing of `template1`, from which every database of the twin is created.

INVARIANT: this runs once in each life of the server, before the first database and the first role of an analyst
are created; a step that fails ends the start.
"""

import psycopg
from psycopg import sql

from gateway.twin.admin_connection import OUTSIDE
from gateway.twin.lockdown import (
    ACTIVITY,
    FUNCTIONS_TAKEN,
    LANGUAGES_TAKEN,
    RELATIONS_TAKEN,
    STATISTICS_KEPT,
    STATISTICS_VIEWS_KEPT,
    VOLATILE_KEPT,
)
from gateway.twin.shadow_functions import (
    NAMES,
    NAMES_BY_NUMBER,
    probe_statements,
    shadow_statements,
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

_STATISTICS_VIEWS_TAKEN = """
SELECT c.relname
FROM pg_catalog.pg_class AS c
WHERE c.relnamespace = 'pg_catalog'::regnamespace
  AND c.relname ~ '^pg_stat(io)?_'
  AND c.relkind = 'v'
  AND NOT c.relname = ANY (%(kept)s)
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
              datcollversion, NULL::aclitem[] AS datacl, datlocale AS daticulocale
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
        *map(sql.SQL, (*NAMES, *_OWN_NAMES_ALONE, *NAMES_BY_NUMBER)),
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
    views = template.execute(
        _STATISTICS_VIEWS_TAKEN, {"kept": [*STATISTICS_VIEWS_KEPT, ACTIVITY]}
    ).fetchall()
    names = sorted({*RELATIONS_TAKEN, *(name for (name,) in views)})
    relations = sql.SQL(", ").join(sql.Identifier("pg_catalog", name) for name in names)
    template.execute(sql.SQL("REVOKE ALL ON {} FROM PUBLIC").format(relations))
    template.execute("REVOKE UPDATE ON pg_catalog.pg_settings FROM PUBLIC")
