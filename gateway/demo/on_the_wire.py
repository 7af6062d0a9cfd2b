"""The stops of the tour that any client of PostgreSQL could make."""

from dataclasses import dataclass

import psycopg
from psycopg.rows import tuple_row

from gateway.errors import Code, OperatorError

_PATIENCE_S = 30


@dataclass(frozen=True)
class Statement:
    """A statement, by whom, and the SQLSTATE that it is refused with, if it is."""

    title: str
    who: str
    sql: str
    refused: str | None = None


def said(url: str, key: str, statement: Statement) -> list[str]:
    """What the gateway said, as psql would show it."""
    try:
        with psycopg.connect(
            url, password=key, connect_timeout=_PATIENCE_S, row_factory=tuple_row
        ) as connection:
            cursor = connection.execute(statement.sql.encode())
            names = [column.name for column in cursor.description or ()]
            told, state = _table(names, cursor.fetchall()), None
    except psycopg.Error as error:
        found, state = error.diag, error.sqlstate
        given = {"ERROR": found.message_primary, "DETAIL": found.message_detail}
        hint = {"HINT": found.message_hint}
        told = [f"{name}:  {text}" for name, text in {**given, **hint}.items() if text]
        told = told or [str(error).strip()]
    if state != statement.refused:
        raise OperatorError(
            Code.ARGUMENT_INVALID, f"the tour expected something else than {told[0]}"
        )
    return told


def _table(names: list[str], rows: list[tuple[object, ...]]) -> list[str]:
    lines = [[str(cell) for cell in row] for row in rows]
    widths = [max(map(len, column)) for column in zip(names, *lines, strict=True)]
    return [
        " | ".join(cell.ljust(width) for cell, width in zip(line, widths, strict=True)).rstrip()
        for line in [names, *lines]
    ]
