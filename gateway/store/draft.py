"""What one step of the journal wants to write, before anything is written.

A step reads the past through `recall`, says what it wants with `insert`, and leaves what it now knows
with `remember`. If the step raises, its draft is thrown away whole. If another process wrote first,
every draft of the batch is thrown away and the steps run again on the new past: a step is a function
of its draft and does nothing else.
"""

from collections.abc import Callable, Hashable, Mapping
from dataclasses import dataclass, field
from typing import TypeVar, cast

from sqlalchemy import Connection, Table

from gateway.store.position import Position
from gateway.store.tables import SEALED

Value = TypeVar("Value")
Cell = str | int | None


@dataclass
class Memory:
    """What is known of the state as of `position`. Values are frozen; only the mapping changes."""

    position: Position
    values: dict[Hashable, object] = field(default_factory=dict)


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
        """What is known under `key`, read from the database when it is not."""
        if key in self._learned:
            return cast("Value", self._learned[key])
        if key not in self._memory.values:
            self._memory.values[key] = load(self._connection)
        return cast("Value", self._memory.values[key])

    def remember(self, key: Hashable, value: object) -> None:
        self._learned[key] = value

    def insert(self, table: Table, row: Mapping[str, Cell]) -> None:
        """Write this row with the step; every column of the table that is left out is NULL."""
        if table in SEALED:
            # it gets its seal with the next record of the trail: see gateway.trail.seal
            own = dict(row)
            self._unsealed.append((table, own))
            row = own
        self.rows.append((table, row))

    def unsealed(self) -> list[tuple[Table, dict[str, Cell]]]:
        """The rows that wait for their seal, handed out once."""
        rows, self._unsealed = self._unsealed, []
        return rows

    def state_fact(self, name: str, value: Mapping[str, str | None]) -> None:
        """Say what the anchor must know once this step is durable."""
        self.facts[name] = value

    def move_to(self, position: Position) -> None:
        self.position = position

    def accept(self) -> None:
        """Let what was learned count for the steps that follow."""
        self._memory.position = self.position
        self._memory.values.update(self._learned)
