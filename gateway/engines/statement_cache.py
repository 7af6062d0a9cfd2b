"""Statements that were written before: of equal releases, word for word."""

import threading
from collections import OrderedDict
from collections.abc import Callable
from typing import Any, Final

from sqlalchemy import Select

from gateway.bounding.bounded_release import BoundedRelease
from gateway.engines.sql.shard_filter import Part

_MOST: Final = 256


class Rendered:
    """The last statements. SQLAlchemy remembers of each what it compiles to.

    A release is known by its repr, not by being equal: `1.0` and `1.00` are equal and not the same text, and
    what `now` is stands in it wherever it matters.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._known: OrderedDict[tuple[str, Part | None], Select[Any]] = OrderedDict()
        self._texts: OrderedDict[int, tuple[BoundedRelease, str]] = OrderedDict()

    def find(
        self, release: BoundedRelease, part: Part | None, render: Callable[[], Select[Any]]
    ) -> Select[Any]:
        """The statement of this release, rendered if it has to be; a refusal is not remembered."""
        with self._lock:
            text = self._texts.get(id(release))
        key = (repr(release) if text is None else text[1], part)
        with self._lock:
            # the release is kept beside its text, so that its id stays its own
            self._texts[id(release)] = (release, key[0])
            if len(self._texts) > _MOST:
                self._texts.popitem(last=False)
            found = self._known.get(key)
            if found is not None:
                self._known.move_to_end(key)
                return found
        made = render()
        with self._lock:
            self._known[key] = made
            if len(self._known) > _MOST:
                self._known.popitem(last=False)
        return made
