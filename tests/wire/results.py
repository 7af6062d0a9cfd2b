"""What came over a wire: columns by name, type and modifier, and rows as texts; and in what two results differ."""

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Final

import psycopg
from psycopg import pq

_NUMERIC: Final = 1700
# what is released has 15 digits; of floating numbers the last ones depend on the order of adding
_DIGITS: Final = {_NUMERIC: 12, 701: 9, 700: 5}
_NEAR: Final = 6

Row = tuple[str | None, ...]


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
    digits = [_DIGITS.get(column.oid) for column in ours.columns]
    pairs = zip(
        _lined_up(ours.rows, digits, ordered=ordered),
        _lined_up(theirs.rows, digits, ordered=ordered),
        strict=True,
    )
    return [
        f"{one} and not {other}"
        for one, other in pairs
        if not all(_same(*cells) for cells in zip(one, other, digits, strict=True))
    ]


def _lined_up(rows: Sequence[Row], digits: Sequence[int | None], *, ordered: bool) -> Sequence[Row]:
    if ordered:
        return rows
    return sorted(rows, key=lambda row: [_near(*cell) for cell in zip(row, digits, strict=True)])


def _near(cell: str | None, digits: int | None) -> tuple[int, float, str]:
    """Numbers that are the same by `_same` come to lie at the same place."""
    if cell is None:
        return (0, 0.0, "")
    if digits is None:
        return (1, 0.0, cell)
    return (1, float(f"{float(cell):.{_NEAR}g}") + 0.0, "")


def _same(one: str | None, other: str | None, digits: int | None) -> bool:
    if one == other or one is None or other is None or digits is None:
        return one == other
    left, right = Fraction(one), Fraction(other)
    return abs(left - right) * int(10**digits) <= max(abs(left), abs(right))
