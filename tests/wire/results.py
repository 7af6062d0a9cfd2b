"""What came over a wire: columns by name, type and modifier, and rows as texts; and in what two results differ."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import psycopg
from psycopg import pq
from same_rows import Row, row_differences

_NUMERIC: Final = 1700
# what is released has 15 digits; of floating numbers the last ones depend on the order of adding
_DIGITS: Final = {_NUMERIC: 12, 701: 9, 700: 5}


@dataclass(frozen=True)
class Column:
    """As RowDescription has it."""

    name: str
    oid: int
    modifier: int


@dataclass(frozen=True)
class Result:
    tag: str
    columns: tuple[Column, ...]
    rows: tuple[Row, ...]


def simple(connection: psycopg.Connection, text: str) -> Result:
    """By the simple protocol."""
    return _result(connection.pgconn.exec_(text.encode()))


def extended(
    connection: psycopg.Connection, text: str, values: Sequence[str | None] = ()
) -> Result:
    """By Parse, Bind, Describe and Execute, in text."""
    given = [None if one is None else one.encode() for one in values]
    return _result(connection.pgconn.exec_params(text.encode(), given))


def described(connection: psycopg.Connection, text: str) -> tuple[Column, ...]:
    """What Describe says of a statement that is never run."""
    for said in (
        connection.pgconn.prepare(b"described", text.encode()),
        found := connection.pgconn.describe_prepared(b"described"),
        connection.pgconn.exec_(b'DEALLOCATE "described"'),
    ):
        assert not said.error_message, said.error_message.decode()
    return _columns(found)


def _columns(said: pq.abc.PGresult) -> tuple[Column, ...]:
    return tuple(
        Column((said.fname(place) or b"").decode(), said.ftype(place), said.fmod(place))
        for place in range(said.nfields)
    )


def _result(said: pq.abc.PGresult) -> Result:
    assert not said.error_message, said.error_message.decode()
    rows = tuple(
        tuple(_text(said.get_value(row, place)) for place in range(said.nfields))
        for row in range(said.ntuples)
    )
    return Result((said.command_status or b"").decode(), _columns(said), rows)


def _text(value: bytes | None) -> str | None:
    return None if value is None else value.decode()


def differences(ours: Result, theirs: Result, *, ordered: bool) -> list[str]:
    """What is not the same: names, types, the number of rows, or a value beyond its digits."""
    if (ours.columns, ours.tag) != (theirs.columns, theirs.tag):
        return [f"{ours.tag} {ours.columns} and not {theirs.tag} {theirs.columns}"]
    if len(ours.rows) != len(theirs.rows):
        return [f"{len(ours.rows)} rows and not {len(theirs.rows)}"]
    digits = [_DIGITS.get(column.oid) for column in ours.columns]
    return row_differences(ours.rows, theirs.rows, digits, ordered=ordered)
