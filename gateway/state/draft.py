"""Draft of a journal step: the rows, facts and knowledge that it wants to write, and the statement that writes
them.

A step reads the past through `recall`, requests rows with `insert`, and stores new knowledge with `remember`.
If the step raises, its draft is discarded. If another process wrote first, every draft of the batch is
discarded and the steps run again on the new past: a step is a function of its draft and does nothing else.

The rows of a whole batch are written with one statement: one round trip, one commit, all or nothing. They
travel as one JSON parameter. The statement depends only on the set of written tables, so PostgreSQL plans it
once for each set.

Every statement first takes a shared lock, which costs no round trip and waits only for a gateway that holds it
exclusively, because other gateways were faster before. Without it a gateway that writes under the lock could be
overtaken by one that does not, again and again.
"""

import json
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Final, TypeVar, cast

from psycopg import Connection as DriverConnection
from psycopg import RawCursor
from sqlalchemy import Connection, Table
from sqlalchemy.dialects import postgresql

from gateway.state.anchor import Position
from gateway.state.tables import METADATA, SEALED

Value = TypeVar("Value")
Cell = str | int | None


@dataclass
class Memory:
    """The knowledge of the state as of `position`. Values are frozen; only the mapping changes."""

    position: Position
    values: dict[Hashable, object] = field(default_factory=dict)

    def draft(self, connection: Connection) -> "Draft":
        """An empty draft of a step on top of this knowledge."""
        return Draft(self, connection)


class Draft:
    """The rows, facts and knowledge of one step."""

    def __init__(self, memory: Memory, connection: Connection) -> None:
        self._memory = memory
        self._connection = connection
        self._learned: dict[Hashable, object] = {}
        self.position = memory.position
        self.rows: list[tuple[Table, Mapping[str, Cell]]] = []
        self._unsealed: list[tuple[Table, dict[str, Cell]]] = []
        self.facts: dict[str, Mapping[str, str | None]] = {}

    def recall(self, key: Hashable, load: Callable[[Connection], Value]) -> Value:
        """The value of `key` from memory, or loaded from the database."""
        if key in self._learned:
            return cast("Value", self._learned[key])
        if key not in self._memory.values:
            self._memory.values[key] = load(self._connection)
        return cast("Value", self._memory.values[key])

    def remember(self, key: Hashable, value: object) -> None:
        self._learned[key] = value

    def insert(self, table: Table, row: Mapping[str, Cell]) -> None:
        """Write this row with the step; omitted columns are NULL."""
        if table in SEALED:
            # it gets its seal with the next record of the trail: see gateway.trail.seal
            own = dict(row)
            self._unsealed.append((table, own))
            row = own
        self.rows.append((table, row))

    def unsealed(self) -> list[tuple[Table, dict[str, Cell]]]:
        """The rows that need a seal; each is returned once."""
        rows, self._unsealed = self._unsealed, []
        return rows

    def state_fact(self, name: str, value: Mapping[str, str | None]) -> None:
        """State a fact that the anchor stores once this step is durable."""
        self.facts[name] = value

    def move_to(self, position: Position) -> None:
        self.position = position

    def accept(self) -> None:
        """Make the knowledge of this step visible to the steps that follow."""
        self._memory.position = self.position
        self._memory.values.update(self._learned)


WRITERS_LOCK: Final = 0x6761_7465_0002
_TURN = f"turn AS MATERIALIZED (SELECT pg_advisory_xact_lock_shared({WRITERS_LOCK}))"
_DIALECT = postgresql.dialect()  # type: ignore[no-untyped-call]  # SQLAlchemy leaves it untyped
_ENCODE = json.JSONEncoder(separators=(",", ":")).encode
_ORDER = {table.name: place for place, table in enumerate(METADATA.sorted_tables)}


Driver = DriverConnection[tuple[object, ...]]


def write_rows(
    connection: Driver,
    rows: Iterable[tuple[Table, Mapping[str, Cell]]],
) -> None:
    """Insert `rows`; the caller controls the transaction."""
    by_table: dict[str, list[Mapping[str, Cell]]] = {}
    for table, row in rows:
        by_table.setdefault(table.name, []).append(row)
    names = tuple(sorted(by_table, key=_ORDER.__getitem__))
    RawCursor(connection).execute(insert_statement(names), (_ENCODE(by_table),), prepare=True)


@lru_cache
def insert_statement(names: Sequence[str]) -> bytes:
    """The statement for this set of tables, made from names in the MetaData alone."""
    inserts = [_insert_into(METADATA.tables[name]) for name in names]
    *first, last = inserts
    steps = [f"step_{place} AS ({insert})" for place, insert in enumerate(first)]
    return f"WITH {', '.join([_TURN, *steps])} {last}".encode()


def _insert_into(table: Table) -> str:
    columns = ", ".join(column.name for column in table.columns)
    typed = ", ".join(f"{column.name} {column.type.compile(_DIALECT)}" for column in table.columns)
    return (
        f"INSERT INTO {table.name} ({columns}) SELECT {columns}"  # noqa: S608  # names of our own tables
        f" FROM turn, jsonb_to_recordset($1::jsonb -> '{table.name}') AS row({typed})"
    )
