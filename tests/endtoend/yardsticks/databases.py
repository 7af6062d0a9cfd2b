"""A schema with its rows, from CSV files, in PostgreSQL and in DuckDB."""

import re
import secrets
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Final

import duckdb
import psycopg
from endtoend.clinic_gateway import dsn
from psycopg import sql
from sqlalchemy import URL

from gateway.postgres_server import Lease

_SCHEMAS: Final = Path(__file__).parents[2] / "cases" / "schemas"


@contextmanager
def in_postgresql(server: Lease, schema: str, tables: Sequence[str], rows: Path) -> Iterator[URL]:
    """A database, dropped afterwards."""
    name = f"{schema}_{secrets.token_hex(6)}"
    password = server.superuser_password
    admin = server.address.url(user=server.superuser, password=password, database="postgres")
    with psycopg.connect(dsn(admin), autocommit=True) as connection:
        database = sql.Identifier(name)
        connection.execute(sql.SQL("CREATE DATABASE {}").format(database))
        try:
            with psycopg.connect(dsn(admin.set(database=name)), autocommit=True) as inside:
                inside.execute(_ddl(schema).encode())
                for table in tables:
                    copy = sql.SQL("COPY {} FROM STDIN (FORMAT csv)").format(sql.Identifier(table))
                    with inside.cursor().copy(copy) as into:
                        into.write((rows / f"{table}.csv").read_bytes())
                inside.execute("ANALYZE")
            yield admin.set(database=name)
        finally:
            connection.execute(sql.SQL("DROP DATABASE {} WITH (FORCE)").format(database))


def in_duckdb(file: Path, schema: str, tables: Sequence[str], rows: Path) -> URL:
    """A file."""
    with duckdb.connect(str(file)) as connection:
        connection.execute(_ddl(schema))
        for table in tables:
            connection.execute(f"COPY {table} FROM '{rows}/{table}.csv' (HEADER false)")
    return URL.create("duckdb", database=str(file))


def policy_for_duckdb(policy: str) -> str:
    """The policy with the types that DuckDB has: texts of any length, and whole numbers for serial keys."""
    return re.sub(
        r"\{type: (?:var)?char\((\d+)\)", lambda one: f"{{type: text, max_length: {one[1]}", policy
    )


def _ddl(schema: str) -> str:
    return (_SCHEMAS / f"{schema}.sql").read_text()
