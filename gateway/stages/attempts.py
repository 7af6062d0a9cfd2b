"""Attempts at one query: plan, quote, prepare and charge, again if another query was answered in between.

    attempts = Attempts(…)
    for attempt in attempts:
        with attempt:
            attempts.bill = charge_quote(…)

INVARIANT: a query that waits, for others or for its turn, holds no connection to the source.
INVARIANT: the attempts end. After a few, the query has its dataset to itself in this process; and what was bought too
long ago is not waited for.
"""

import threading
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from typing import Final

from gateway.errors import BackendUnavailable, Code, SourceStopped
from gateway.release_cache.cache import ReleaseCache
from gateway.stages.prepare import SourceAccess
from gateway.stages.purchase import Bill
from gateway.stages.quote import Awaited, Moved
from gateway.stages.reply_grid import Wait

_MOST: Final = 100  # how often another query may be answered between a plan and its charge
_TOGETHER: Final = 3  # after so many attempts one query of a dataset at a time in this process
_LOOK_S: Final = 0.02  # how often the log is looked at for what another query measures


class Attempts:
    """The attempts at one query."""

    def __init__(
        self, cache: ReleaseCache, source: SourceAccess, wait: Wait, cancelled: threading.Event
    ) -> None:
        self._cache = cache
        self._source = source
        self._wait = wait
        self._cancelled = cancelled
        self._moved = 0
        self._bill: Bill | None = None

    @property
    def bill(self) -> Bill:
        """What the last attempt charged."""
        if self._bill is None:
            raise ValueError("no attempt has ended with a charge")
        return self._bill

    @bill.setter
    def bill(self, bill: Bill) -> None:
        self._bill = bill

    def __iter__(self) -> Iterator[AbstractContextManager[None]]:
        while self._bill is None:
            if self._moved == _MOST:
                raise BackendUnavailable(Code.ASKED_AT_ONCE, hint="try again in a moment")
            yield self._attempt()

    @contextmanager
    def _attempt(self) -> Iterator[None]:
        alone = self._moved >= _TOGETHER
        if alone:
            self._source.let_go()
        try:
            with self._cache.turn if alone else nullcontext():
                yield
        except Moved:
            self._moved += 1
        except Awaited:
            self._source.let_go()
            if self._wait(self._cancelled, _LOOK_S):
                raise SourceStopped(Code.SOURCE_CANCELLED) from None
