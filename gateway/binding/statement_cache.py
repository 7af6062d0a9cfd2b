"""Statements that were bound before: the same text over the same catalog means the same.

INVARIANT: what is remembered depends on the text, the parameters and the dataset alone, so a hit gives
what binding would give. A dataset is told by the very object: another one, though equal, starts anew.
"""

from collections.abc import Sequence
from copy import copy
from typing import Final, TypeAlias

from gateway.binding.bind import bind
from gateway.binding.bound import Bound
from gateway.binding.describe import Describe
from gateway.binding.text.parameters import Given
from gateway.catalog.tables import Dataset
from gateway.errors import Reason, Refusal
from gateway.lru_cache import LruCache

_MOST: Final = 1_000
_OF_THE_MOMENT: Final = frozenset(
    {Reason.LIMIT_EXCEEDED, Reason.TIMEOUT, Reason.BACKEND_UNAVAILABLE, Reason.INTERNAL}
)
_LONGEST: Final = 8_192  # longer texts are bound each time: memory is bounded by both

_Key: TypeAlias = tuple[str, tuple[Given, ...], bool]


class StatementCache:
    """Binds, and remembers the last statements of one dataset."""

    def __init__(self, dataset: Dataset, most: int = _MOST) -> None:
        self._dataset = dataset
        self._known: LruCache[_Key, Bound | Refusal] = LruCache(most)

    def bind(
        self,
        sql: str,
        parameters: Sequence[Given] = (),
        describe: Describe | None = None,
    ) -> Bound:
        """As `gateway.binding.bind.bind`; refusals that depend on the text alone are remembered too."""
        key = (sql, tuple(parameters), describe is not None)
        found = self._known.find(key)
        if found is None:
            found = self._fresh(sql, key[1], describe)
            if len(sql) <= _LONGEST and not _passes_over(found):
                self._known.put(key, found)
        if isinstance(found, Refusal):
            raise copy(found)  # its traceback would be shared, too
        return found

    def _fresh(
        self, sql: str, parameters: tuple[Given, ...], describe: Describe | None
    ) -> Bound | Refusal:
        try:
            return bind(sql, self._dataset, parameters=parameters, describe=describe)
        except Refusal as refusal:
            return refusal.with_traceback(None)


def _passes_over(found: Bound | Refusal) -> bool:
    """Whether it is a refusal of the moment: the twin was busy, slow or gone."""
    return isinstance(found, Refusal) and found.reason in _OF_THE_MOMENT
