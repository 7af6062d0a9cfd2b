"""Databases of the twin, one for each set of visible tables, and roles, one for each subject in a database.

INVARIANT: nobody but the gateway can enter a database before it is finished: until then it admits no connection.
Its name is drawn at random and reveals nothing.
INVARIANT: a role can connect to one database and has no other right and no membership. Its name is drawn at
random, because other roles on the server may see that it exists. Roles are made before somebody needs them, so
many at once for each database: what others see of a role, its number, its name and the right to connect, is the
same whether it is anybody's. How many subjects there are is known in steps of so many alone.
"""

import secrets
import threading
from collections.abc import Collection
from dataclasses import dataclass
from typing import Final

import psycopg
from psycopg import sql
from pydantic import SecretStr

from gateway.twin.server import TwinServer, admin_connection
from gateway.twin.settings import SESSIONS_OF_ROLE
from gateway.twin.template import TEMPLATE
from gateway.twin.visible_tables import VisibleTables, table_statements

MADE_AT_ONCE: Final = 16


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
        self._spare: dict[VisibleTables, list[str]] = {}

    def login(self, subject: str, tables: VisibleTables) -> Login:
        """The log-in of this subject for these tables."""
        with self._lock:
            login = self._logins.get((subject, tables))
            if login is None:
                login = self._make(tables)
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
        known = [one for one in self._logins if one[1] == tables]
        roles = [*(self._logins.pop(one).role for one in known), *self._spare.pop(tables, ())]
        if roles:
            self._outside.execute(
                sql.SQL("DROP ROLE IF EXISTS {}").format(
                    sql.SQL(", ").join(map(sql.Identifier, roles))
                )
            )

    def _make(self, tables: VisibleTables) -> Login:
        database = self.databases.name_for(tables)
        if not self._spare.get(tables):
            self._spare[tables] = self._make_spare(database)
        role, password = self._spare[tables][-1], secrets.token_urlsafe(32)
        verifier = self._outside.pgconn.encrypt_password(
            password.encode(), role.encode(), b"scram-sha-256"
        ).decode()
        self._outside.execute(
            sql.SQL("ALTER ROLE {} LOGIN PASSWORD {}").format(
                sql.Identifier(role), sql.Literal(verifier)
            )
        )
        self._spare[tables].pop()
        return Login(role, SecretStr(password), database)

    def _make_spare(self, database: str) -> list[str]:
        """Roles of subjects who have not come yet: all but that nobody can log in."""
        names = [f"analyst_{secrets.token_hex(8)}" for _ in range(MADE_AT_ONCE)]
        roles = [sql.Identifier(name) for name in names]
        with self._outside.transaction():
            self._outside.execute(
                sql.SQL("; ").join(
                    sql.SQL(
                        "CREATE ROLE {} NOLOGIN NOSUPERUSER NOCREATEDB NOCREATEROLE NOINHERIT "
                        "NOREPLICATION NOBYPASSRLS CONNECTION LIMIT {}"
                    ).format(role, sql.Literal(SESSIONS_OF_ROLE))
                    for role in roles
                )
            )
            self._outside.execute(
                sql.SQL("GRANT CONNECT ON DATABASE {} TO {}").format(
                    sql.Identifier(database), sql.SQL(", ").join(roles)
                )
            )
        return names
