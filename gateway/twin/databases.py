"""Databases of the twin, one for each set of visible tables, and roles, one for each subject in a database.

INVARIANT: nobody but the gateway can enter a database before it is finished: until then it admits no connection.
Its name is drawn at random and reveals nothing.
INVARIANT: a role can connect to one database and has no other right and no membership. Its name is drawn at
random, because other roles in the same database may see that it exists.
"""

import secrets
import threading
from collections.abc import Collection
from dataclasses import dataclass

import psycopg
from psycopg import sql
from pydantic import SecretStr

from gateway.twin.server import TwinServer, admin_connection
from gateway.twin.settings import SESSIONS_OF_ROLE
from gateway.twin.template import TEMPLATE
from gateway.twin.visible_tables import VisibleTables, table_statements


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


@dataclass(frozen=True)
class Login:
    role: str
    password: SecretStr
    database: str


class Roles:
    """The roles of one life of the server."""

    def __init__(self, outside: psycopg.Connection, databases: Databases) -> None:
        self._outside = outside
        self.databases = databases
        self._lock = threading.Lock()
        self._logins: dict[tuple[str, VisibleTables], Login] = {}

    def login(self, subject: str, tables: VisibleTables) -> Login:
        """The log-in of this subject for these tables."""
        with self._lock:
            login = self._logins.get((subject, tables))
            if login is None:
                login = self._make(self.databases.name_for(tables))
                self._logins[subject, tables] = login
            return login

    def forget(self, tables: VisibleTables) -> None:
        """Drop the database of these tables with its roles, and end their sessions."""
        with self._lock:
            self._forget(tables)

    def keep(self, only: Collection[VisibleTables]) -> None:
        """Drop the databases of all other tables."""
        with self._lock:
            for tables in self.databases.known - frozenset(only):
                self._forget(tables)

    def _forget(self, tables: VisibleTables) -> None:
        self.databases.drop(tables)
        for known in [one for one in self._logins if one[1] == tables]:
            login = self._logins.pop(known)
            self._outside.execute(
                sql.SQL("DROP ROLE IF EXISTS {}").format(sql.Identifier(login.role))
            )

    def _make(self, database: str) -> Login:
        role, password = f"analyst_{secrets.token_hex(8)}", secrets.token_urlsafe(32)
        verifier = self._outside.pgconn.encrypt_password(
            password.encode(), role.encode(), b"scram-sha-256"
        ).decode()
        with self._outside.transaction():
            self._outside.execute(
                sql.SQL(
                    "CREATE ROLE {} LOGIN NOSUPERUSER NOCREATEDB NOCREATEROLE NOINHERIT "
                    "NOREPLICATION NOBYPASSRLS CONNECTION LIMIT {} PASSWORD {}"
                ).format(sql.Identifier(role), sql.Literal(SESSIONS_OF_ROLE), sql.Literal(verifier))
            )
            self._outside.execute(
                sql.SQL("GRANT CONNECT ON DATABASE {} TO {}").format(
                    sql.Identifier(database), sql.Identifier(role)
                )
            )
        return Login(role, SecretStr(password), database)
