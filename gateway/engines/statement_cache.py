"""Cache of rendered statements: equal releases have equal texts."""

from collections.abc import Callable
from typing import Any, Final

from sqlalchemy import Select

from gateway.bounding.bounded_release import BoundedRelease
from gateway.engines.sql.shard_filter import Part
from gateway.lru_cache import LruCache

_MOST: Final = 256


class RenderedCache:
    """The last statements. SQLAlchemy remembers of each what it compiles to.

    A release is known by its repr, not by being equal: `1.0` and `1.00` are equal and not the same text, and
    what `now` is stands in it wherever it matters.
    """

    def __init__(self) -> None:
        self._known: LruCache[tuple[str, Part | None], Select[Any]] = LruCache(_MOST)
        # the release is kept beside its text, so that its id stays its own
        self._texts: LruCache[int, tuple[BoundedRelease, str]] = LruCache(_MOST)

    def find(
        self, release: BoundedRelease, part: Part | None, render: Callable[[], Select[Any]]
    ) -> Select[Any]:
        """The statement of this release, rendered if it has to be; a refusal is not remembered."""
        _, text = self._texts.get(id(release), lambda: (release, repr(release)))
        return self._known.get((text, part), render)
