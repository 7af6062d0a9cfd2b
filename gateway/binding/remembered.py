"""Statements that were bound before: the same text over the same catalog means the same.

INVARIANT: what is remembered depends on the text, the parameters and the dataset alone, so a hit gives
what binding would give. A dataset is told by the very object: another one, though equal, starts anew.
"""

from collections import OrderedDict
from collections.abc import Sequence
from threading import Lock
from typing import Final

from gateway.binding.bind import bind
from gateway.binding.bound import Bound
from gateway.catalog.tables import Dataset
from gateway.errors import Refusal
from gateway.plan.scalars import Literal

_MOST: Final = 1_000
_LONGEST: Final = 8_192  # longer texts are bound each time: memory is bounded by both


class Remembered:
    """Binds, and remembers the last statements of one dataset."""

    def __init__(self, dataset: Dataset, most: int = _MOST) -> None:
        self._dataset = dataset
        self._most = most
        self._lock = Lock()
        self._known: OrderedDict[tuple[str, tuple[Literal, ...]], Bound | Refusal] = OrderedDict()

    def bind(self, sql: str, parameters: Sequence[Literal] = ()) -> Bound:
        """As `gateway.binding.bind.bind`; refusals are remembered too."""
        key = (sql, tuple(parameters))
        with self._lock:
            found = self._known.get(key)
            if found is not None:
                self._known.move_to_end(key)
        if found is None:
            found = self._fresh(sql, key[1])
            if len(sql) <= _LONGEST:
                with self._lock:
                    self._known[key] = found
                    while len(self._known) > self._most:
                        self._known.popitem(last=False)
        if isinstance(found, Refusal):
            raise type(found)(found.code, found.detail, found.hint)
        return found

    def _fresh(self, sql: str, parameters: tuple[Literal, ...]) -> Bound | Refusal:
        try:
            return bind(sql, self._dataset, parameters=parameters)
        except Refusal as refusal:
            return refusal.with_traceback(None)
