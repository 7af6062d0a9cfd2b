"""The stage between a plan and its charge: a source that is reached, and what its catalog says, held for what runs.

A question is prepared before it is charged: its source is connected to, the catalog is read, and its statements are
parsed. Nothing of that computes on rows. After the charge the same preparation runs them.

INVARIANT: what runs is what was prepared. `run` gives rows only where the tables of the preparation are, at the snapshot
that the rows are of, what `catalog` says of them; else it raises, and nothing of the rows leaves it. So a step that was
left out because of a constraint in `catalog` was left out rightly.
INVARIANT: a refusal of `Database.prepare` and `Preparation.parse` depends on the catalog and on whether the source can be
reached; whoever gets it has paid nothing. Whatever `run` raises was paid for.

See docs/proofs/licences_held.md.
"""

import threading
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any, Protocol, TypeAlias, TypeVar

from sqlalchemy import Select

from gateway.engines.catalog.describe import SourceTables

Statement: TypeAlias = Select[Any]
Given: TypeAlias = Mapping[str, list[str | None]]
"""What a statement is executed with beside the values that stand in it."""
Chunks: TypeAlias = Iterable[Sequence[Sequence[Any]]]
"""Rows, some at a time, each with a value for each column of its statement."""
Render: TypeAlias = Callable[[int], Sequence[Statement]]
"""The statements of so many parts of one release; their rows are added."""

T = TypeVar("T")
Read: TypeAlias = Callable[[Sequence[Chunks]], T]
"""What is made of the rows of each of the statements that ran."""


@dataclass(frozen=True, eq=False)
class SourceCatalog:
    """What a source's catalog says: its tables, and how many rows it thinks they have, by schema and name.

    `unreadable` are the columns that the login may not read, by schema, table and name. As long as all of it is the same
    it is the same object.
    """

    described: SourceTables
    rows: Mapping[tuple[str, str], int] = field(default_factory=lambda: MappingProxyType({}))
    unreadable: frozenset[tuple[str, str, str]] = frozenset()


class Preparation(Protocol):
    """One query at its source. One thread uses it, and its creator closes it."""

    @property
    def catalog(self) -> SourceCatalog:
        """The catalog that holds while the query runs."""
        ...

    def parse(self, statements: Sequence[Statement], given: Given) -> None:
        """Refuse a statement that the source cannot parse. Nothing is planned or computed."""
        ...

    def run(
        self,
        render: Render,
        parts: int,
        given: Given,
        read: Read[T],
        *,
        limit_s: float,
        cancelled: threading.Event | None,
    ) -> T:
        """The result of `read` over the rows of `render(parts)` from one snapshot; of `render(1)` if there is no room."""
        ...

    def close(self) -> None:
        """Release the connection. It never raises, and may be called again."""
        ...


class Database(Protocol):
    """The database of one source."""

    def prepare(
        self,
        tables: Sequence[str],
        *,
        subject: str,
        limit_s: float,
        cancelled: threading.Event | None,
    ) -> Preparation:
        """Connect, and read the catalog of these tables, by their names in policies.

        If connections are few, each `subject` has a share of them.
        """
        ...

    def close(self) -> None:
        """Close all connections that are not in use."""
        ...

    def stop(self) -> None:
        """Stop all statements now, because the gateway stops. Waiting callers get an error."""
        ...
