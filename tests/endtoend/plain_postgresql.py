"""What plain PostgreSQL says: columns by name and type, and rows as texts."""

from collections.abc import Sequence
from dataclasses import dataclass

import psycopg
from endtoend.clinic_gateway import dsn
from sqlalchemy import URL

_TYPE_NAMES = b"SELECT pg_catalog.format_type($1::oid, $2::int4)"


@dataclass(frozen=True)
class Result:
    """A result by PostgreSQL's own names of columns and types."""

    columns: tuple[tuple[str, str], ...]
    rows: tuple[tuple[str | None, ...], ...]


def plain_connection(url: URL) -> psycopg.Connection:
    """As the twin's sessions are set."""
    return psycopg.connect(
        dsn(url), autocommit=True, options="-c timezone=UTC -c datestyle=ISO -c search_path=public"
    )


def plain_result(
    connection: psycopg.Connection, text: str, parameters: Sequence[str | None] = ()
) -> Result:
    """The statement as it was written, run on the tables as they are."""
    pgconn = connection.pgconn
    values = [None if one is None else one.encode() for one in parameters]
    said = pgconn.exec_params(text.encode(), values)
    if said.error_message:
        raise AssertionError(said.error_message.decode())
    width = range(said.nfields)
    columns = tuple(
        (
            (said.fname(place) or b"").decode(),
            _type(connection, said.ftype(place), said.fmod(place)),
        )
        for place in width
    )
    rows = tuple(
        tuple(_text(said.get_value(row, place)) for place in width) for row in range(said.ntuples)
    )
    return Result(columns, rows)


def _type(connection: psycopg.Connection, oid: int, modifier: int) -> str:
    said = connection.pgconn.exec_params(_TYPE_NAMES, [str(oid).encode(), str(modifier).encode()])
    return _text(said.get_value(0, 0)) or ""


def _text(value: bytes | None) -> str | None:
    return None if value is None else value.decode()
