"""Databases of the twin: one for each set of visible tables, made from the sealed template when first needed.

INVARIANT: nobody but the gateway can enter a database before it is finished: until then it admits no
connection. Its name is drawn at random and reveals nothing.
"""

import secrets
import threading

import psycopg
from psycopg import sql

from gateway.twin.admin_connection import admin_connection
from gateway.twin.server import TwinServer
from gateway.twin.table_ddl import table_statements
from gateway.twin.template import TEMPLATE
from gateway.twin.visible_tables import VisibleTables


class Databases:
    """The databases of one life of the server."""

    def __init__(self, server: TwinServer, outside: psycopg.Connection) -> None:
        self._server = server
        self._outside = outside
        self._lock = threading.Lock()
        self._names: dict[VisibleTables, str] = {}

    @property
    def known(self) -> frozenset[VisibleTables]:
        """The sets of visible tables that have a database."""
        with self._lock:
            return frozenset(self._names)

    def name_for(self, tables: VisibleTables) -> str:
        """The name of the database that shows exactly these tables."""
        with self._lock:
            name = self._names.get(tables)
            if name is None:
                name = self._names[tables] = self._make(tables)
            return name

    def drop(self, tables: VisibleTables) -> None:
        """Drop the database of these tables and end the sessions in it."""
        with self._lock:
            name = self._names.pop(tables, None)
            if name is not None:
                self._drop(name)

    def _make(self, tables: VisibleTables) -> str:
        name = f"view_{secrets.token_hex(8)}"
        database = sql.Identifier(name)
        # the template's privileges on functions are copied, those on the database itself are not
        self._outside.execute(
            sql.SQL("CREATE DATABASE {} TEMPLATE {} STRATEGY file_copy CONNECTION LIMIT 0").format(
                database, sql.Identifier(TEMPLATE)
            )
        )
        try:
            self._outside.execute(sql.SQL("REVOKE ALL ON DATABASE {} FROM PUBLIC").format(database))
            self._fill(name, tables)
            self._outside.execute(sql.SQL("ALTER DATABASE {} CONNECTION LIMIT -1").format(database))
        except BaseException:
            self._drop(name)
            raise
        return name

    def _fill(self, name: str, tables: VisibleTables) -> None:
        with admin_connection(self._server, name) as inside:
            inside.execute(sql.SQL("; ").join(table_statements(inside, tables)))

    def _drop(self, name: str) -> None:
        self._outside.execute(
            sql.SQL("DROP DATABASE IF EXISTS {} WITH (FORCE)").format(sql.Identifier(name))
        )
