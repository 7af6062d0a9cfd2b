"""Prepared queries, their names and their portals: what a client bound, until it wants rows.

SQL and the protocol share one namespace of prepared statements, as in PostgreSQL. The twin decides which names
exist. A query is identified by the text that the twin has for it, and the twin is asked for its names whenever a
statement may have added or removed one.

INVARIANT: Bind and Describe run and charge nothing; the first Execute of a portal does, and none after it.
INVARIANT: no name outlives its statement on the twin: a name that the twin forgot is forgotten here before it is
used again.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final

from gateway.frontends.pgwire.classify import (
    AnalystQuery,
    ExecuteQuery,
    PrepareQuery,
    TempTableDrop,
    TempTableQuery,
)
from gateway.frontends.pgwire.messages import Bind
from gateway.lru_cache import LruCache


@dataclass(frozen=True, slots=True)
class PreparedQuery:
    """A parsed query, or an EXECUTE that may run one."""

    asking: AnalystQuery | ExecuteQuery | TempTableQuery | TempTableDrop


@dataclass(slots=True)
class Portal:
    """A query with its values; once started, it is a portal of the twin's."""

    prepared: PreparedQuery
    bind: Bind
    types: tuple[int, ...] = ()
    columns: bytes = b""  # as the twin describes them
    started: bool = False


_MOST: Final = 500  # texts of PREPARE; beyond that, the oldest can no longer be executed
_ALL_GONE: Final = frozenset({b"DEALLOCATE ALL", b"DISCARD ALL"})
_SOME_CHANGED: Final = frozenset({b"PREPARE", b"DEALLOCATE"})


class PreparedNames:
    """The prepared queries of one connection; `stale` says that the twin has to be asked for its names."""

    def __init__(self) -> None:
        self.stale = False
        self._by_name: dict[bytes, PreparedQuery] = {}
        self._by_text: LruCache[bytes, AnalystQuery] = LruCache(_MOST)

    def get(self, name: bytes) -> PreparedQuery | None:
        return self._by_name.get(name)

    def put(self, name: bytes, prepared: PreparedQuery) -> None:
        self._by_name[name] = prepared

    def drop(self, name: bytes) -> PreparedQuery | None:
        return self._by_name.pop(name, None)

    def prepare_text(self, one: PrepareQuery) -> bytes:
        """The text of a PREPARE for the twin: no two queries have the same text."""
        text = one.text
        while (known := self._by_text.peek(text)) is not None and known != one.asking:
            text += b" "
        self._by_text.put(text, one.asking)
        return text

    def done(self, tag: bytes) -> None:
        """A statement is complete: it may have changed the names."""
        if tag in _ALL_GONE:
            self._by_text.clear()
            self.refresh(())
        elif tag in _SOME_CHANGED:
            self.stale = bool(self._by_text) or any(self._by_name)

    def refresh(self, there: Iterable[tuple[bytes, bytes, bool]]) -> None:
        """Take over the twin's names, with their texts, and whether PREPARE made them; the unnamed one is not
        among them.

        A PREPARE that was parsed under a name has the same text as the statement it prepares.
        """
        found: dict[bytes, PreparedQuery] = {
            name: one for name, one in self._by_name.items() if not name
        }
        for name, text, by_sql in there:
            before = self._by_name.get(name)
            if before is not None and text == _text_of(before):
                found[name] = before
            elif by_sql and (asking := self._by_text.peek(text)) is not None:
                found[name] = PreparedQuery(asking)
        self._by_name, self.stale = found, False


def _text_of(one: PreparedQuery) -> bytes:
    return one.asking.described if isinstance(one.asking, AnalystQuery) else one.asking.text
