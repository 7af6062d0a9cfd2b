"""Roles of the twin: one for each subject and set of visible tables, with a password that only the gateway
holds.

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

from gateway.twin.databases import Databases
from gateway.twin.settings import SESSIONS_OF_ROLE
from gateway.twin.visible_tables import VisibleTables


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
