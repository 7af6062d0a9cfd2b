"""Which question the name of a prepared statement stands for: PostgreSQL has one row of names for SQL and the protocol.

What has a name is the twin's to say. A question is known by the text that the twin was told of it, and the twin is
asked for its names whenever a statement may have given or taken one.

INVARIANT: no name outlives its statement on the twin: what the twin forgot is forgotten here before it is used again.
"""

from collections.abc import Iterable
from typing import Final

from gateway.frontends.pgwire.classify import Asking, Preparing
from gateway.frontends.pgwire.portals import Prepared
from gateway.lru_cache import LruCache

_MOST: Final = 500  # texts of PREPARE; who has more hears of the oldest that it may not be read
_ALL_GONE: Final = frozenset({b"DEALLOCATE ALL", b"DISCARD ALL"})
_SOME_CHANGED: Final = frozenset({b"PREPARE", b"DEALLOCATE"})


class Recalled:
    """The prepared questions of one connection; `stale` is whether the twin has to be asked for its names."""

    def __init__(self) -> None:
        self.stale = False
        self._by_name: dict[bytes, Prepared] = {}
        self._by_text: LruCache[bytes, Asking] = LruCache(_MOST)

    def get(self, name: bytes) -> Prepared | None:
        return self._by_name.get(name)

    def put(self, name: bytes, prepared: Prepared) -> None:
        self._by_name[name] = prepared

    def drop(self, name: bytes) -> Prepared | None:
        return self._by_name.pop(name, None)

    def told(self, one: Preparing) -> bytes:
        """What the twin is told of a PREPARE: no two questions have the same text."""
        text = one.text
        while (known := self._by_text.peek(text)) is not None and known != one.asking:
            text += b" "
        self._by_text.put(text, one.asking)
        return text

    def done(self, tag: bytes) -> None:
        """A statement is complete: it may have changed what has a name."""
        if tag in _ALL_GONE:
            self._by_text.clear()
            self.refresh(())
        elif tag in _SOME_CHANGED:
            self.stale = bool(self._by_text) or any(self._by_name)

    def refresh(self, there: Iterable[tuple[bytes, bytes, bool]]) -> None:
        """The names that the twin has, with their texts, and whether PREPARE gave them; no name is none of them.

        A PREPARE that was parsed under a name has the same text as what it prepares.
        """
        found: dict[bytes, Prepared] = {
            name: one for name, one in self._by_name.items() if not name
        }
        for name, text, by_sql in there:
            before = self._by_name.get(name)
            if before is not None and text == _text_of(before):
                found[name] = before
            elif by_sql and (asking := self._by_text.peek(text)) is not None:
                found[name] = Prepared(asking)
        self._by_name, self.stale = found, False


def _text_of(one: Prepared) -> bytes:
    return one.asking.described if isinstance(one.asking, Asking) else one.asking.text
