"""A database in which worlds have schemas of their own."""

import secrets
from collections.abc import Iterator
from contextlib import contextmanager

import psycopg
from fix_sample import plain
from psycopg import sql
from sqlalchemy import URL

from gateway.postgres_server import Lease


@contextmanager
def a_database(server: Lease) -> Iterator[URL]:
    """Gone afterwards."""
    name = f"worlds_{secrets.token_hex(6)}"
    password = server.superuser_password
    admin = server.address.url(user=server.superuser, password=password, database="postgres")
    with psycopg.connect(plain(admin), autocommit=True) as connection:
        connection.execute(sql.SQL("CREATE DATABASE {}").format(sql.Identifier(name)))
        yield admin.set(database=name)
        connection.execute(sql.SQL("DROP DATABASE {} WITH (FORCE)").format(sql.Identifier(name)))
