"""Sources that are made of a few statements, and what their catalogs say."""

from pathlib import Path

import duckdb
import psycopg
from fix_sample import plain
from sqlalchemy import URL

from gateway.engines.connect import reading_source
from gateway.engines.described import Described, describe


def in_duckdb(place: Path, statements: str) -> URL:
    file = place / "clinic.duckdb"
    with duckdb.connect(str(file)) as connection:
        connection.execute(statements)
    return URL.create("duckdb", database=str(file))


def in_postgresql(url: URL, statements: str) -> URL:
    with psycopg.connect(plain(url), autocommit=True) as connection:
        connection.execute(statements.encode())
    return url


def described(url: URL) -> Described:
    with reading_source(url) as connection:
        return describe(connection)
