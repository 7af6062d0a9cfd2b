"""The release cache of one dataset: the entries, contents and history that one process knows, in step with the state.

If nothing is new, the state is asked only for the number of the last event. What is read is never older than what
`refresh` returned. A query that was planned on it is charged only if that is still the last event.

INVARIANT: everything here is public: regions of queries, released noisy integers, names of accounts.

The contents of entries are kept up to a total size; the least recently used go first. Equal parts of entries are stored
once, because the same tables, keys and prices come again and again. 10,000 releases with two keys and three measures take
21 MB so, and 112 MB without it; they are read in two thirds of the time.
"""

from collections.abc import Collection, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from datetime import datetime
from threading import Lock, RLock
from typing import Final

from sqlalchemy import Engine

from gateway.errors import BackendUnavailable, Code
from gateway.events import Emit, StateForged, ignore_event
from gateway.lru_cache import LruCache
from gateway.overlap.history import History
from gateway.regions.scope import ReleaseScope
from gateway.release_cache.audit_history import Histories
from gateway.release_cache.copies import Copy, find_copy
from gateway.release_cache.entitlements import Entitlements
from gateway.release_cache.entry import CacheEntry, Content, Interned
from gateway.release_cache.event_log import load_after, load_content, load_end, load_last
from gateway.release_cache.events import (
    ColumnsShared,
    ContentLost,
    ContentStored,
    DataRefreshed,
    EntryCharged,
    LoggedEvent,
    UnreadableEvent,
)
from gateway.release_cache.index import EntryIndex, GroupIndex
from gateway.release_cache.serialization import content_of_text
from gateway.trail.seal import EventChain, ForgedRow, Seal

MOST_CELLS: Final = 4_000_000
_EMPTY: Final = 16  # what an entry takes besides its cells, in cells


def _cells(content: Content) -> int:
    keys = len(content.keys) * max(1, len(content.keys[0])) if content.keys else 0
    return _EMPTY + keys + sum(map(len, content.columns)) + sum(map(len, content.chosen))


@dataclass(frozen=True, slots=True)
class CachePosition:
    """The last event that the cache has read, and the epoch of the data."""

    ordinal: int = 0
    epoch: int = 0


class ReleaseCache:
    """The release cache of one dataset. Safe among threads.

    `turn` is for whoever wants to plan and charge alone in this process.
    """

    def __init__(
        self,
        engine: Engine,
        seal: Seal,
        dataset: str,
        emit: Emit = ignore_event,
        *,
        most_cells: int = MOST_CELLS,
    ) -> None:
        self._engine = engine
        self._seal = seal
        self._dataset = dataset
        self._emit = emit
        self._chain: EventChain | None = None
        self._forged: str | None = None
        self.turn = Lock()
        self._lock = RLock()
        self._seen = CachePosition()
        self._alike = Interned()
        self._index = EntryIndex()
        self._group_index = GroupIndex(self._gives_all)
        self._pending: dict[str, CacheEntry] = {}
        self._known = Entitlements()
        self._histories = Histories()
        # what it lets go of is in the state
        self._contents: LruCache[str, Content] = LruCache(
            most_cells, lambda _release, content: _cells(content), largest=most_cells
        )

    def refresh(self) -> CachePosition:
        """Read new events. Later answers of the cache are as of the returned event, or newer."""
        self.require_as_written()
        last = load_last(self._engine, self._dataset)
        if self._chain is None or last != self._seen.ordinal:
            with self._lock, self._refusing():
                self._read(last)
        return self._seen

    def _read(self, last: int) -> None:
        if self._chain is None:
            self._chain = EventChain(self._seal, load_end(self._engine, self._dataset))
        elif last < self._seen.ordinal:
            # another thread may have read further than this one looked
            last = load_last(self._engine, self._dataset)
            if last < self._seen.ordinal:
                raise ForgedRow(f"the events end at {last}, and {self._seen.ordinal} was there")
        for happened in load_after(self._engine, self._dataset, self._chain):
            self._take(happened)
        self._chain.require_end()

    def require_as_written(self) -> None:
        """INVARIANT: if an event of a dataset was ever found changed, this process answers nothing more of it."""
        if self._forged is not None:
            raise BackendUnavailable(Code.EARLIER_FORGED, hint=_SEE_LOG)

    @contextmanager
    def _refusing(self, *, all_of_it: bool = True) -> Iterator[None]:
        try:
            yield
        except ForgedRow as forged:
            problem = f"dataset `{self._dataset}`: {forged}"
            if all_of_it:
                self._forged = problem
            self._emit(StateForged(problem))
            raise BackendUnavailable(Code.EARLIER_FORGED, hint=_SEE_LOG) from None

    @property
    def position(self) -> CachePosition:
        """The last event that was read. Whoever compares it with an earlier one holds `still`."""
        return self._seen

    @property
    def still(self) -> AbstractContextManager[object]:
        """A lock: while it is held, no event is read. A reader of the history holds it."""
        return self._lock

    def entries(
        self, shape: str, *, since: datetime, awaited_since: datetime | None = None
    ) -> Sequence[CacheEntry]:
        """The entries of this shape and epoch that were bought at `since` or later, newest first.

        Also those that are still awaited: all of them, or those that were bought at `awaited_since` or later.
        """
        with self._lock:
            return self._index.of(shape, since, self._given_up(shape, since, awaited_since))

    def helpful(
        self,
        scope: ReleaseScope,
        *,
        since: datetime,
        awaited_since: datetime | None = None,
        members: frozenset[str] | None = None,
    ) -> Sequence[CacheEntry]:
        """Those entries that may answer a query with this scope; only entries of `members`, if they are given."""
        with self._lock:
            given_up = self._given_up(scope.shape, since, awaited_since)
            index = self._index if members is None else self._group_index.of(members)
            return index.helpful(scope, since, given_up)

    def copy(
        self,
        wanted: CacheEntry,
        *,
        since: datetime,
        members: frozenset[str],
        without: Collection[str] = (),
    ) -> Copy | None:
        """A draw of another trust group that cannot be distinguished from a new one, and of which no member received anything.

        `without` are releases whose draws are taken already.
        """
        with self._lock:
            taken = {self._known.origin(one) for one in without}
            return find_copy(
                wanted,
                (
                    one
                    for one in self._index.equal(wanted.scope, since)
                    if one.release not in self._pending
                    and self._known.origin(one.release) not in taken
                    and not self._known.is_given(members, one.release)
                ),
            )

    def holders(self, release: str) -> frozenset[str]:
        """The accounts that paid the whole price of the draw of a release, under any name of it."""
        with self._lock:
            return self._known.holders(release)

    def _given_up(
        self, shape: str, since: datetime, awaited_since: datetime | None
    ) -> Collection[str]:
        """The releases that no query waits for any more."""
        return {
            release
            for release, entry in self._pending.items()
            if awaited_since is not None
            and since <= entry.at < awaited_since
            and entry.scope.shape == shape
        }

    def content(self, release: str) -> Content | None:
        """The noisy integers of an entry; None if they are not stored yet, or never will be."""
        found = self._contents.find(release)
        if found is None:
            with self._refusing(all_of_it=False):
                text = load_content(self._engine, self._seal, release)
            if text is not None:
                found = content_of_text(text)
                self._contents.put(release, found)
        return found

    def pending(self, release: str) -> bool:
        """True if the release was bought and neither its content nor its loss is known."""
        with self._lock:
            return release in self._pending

    def history(self, members: frozenset[str]) -> History:
        """Every release that a member of the group bought or received, of any age."""
        with self._lock:
            return self._histories.of(members)

    def knows(
        self,
        members: frozenset[str],
        release: str,
        slots: Sequence[int] = (),
        choices: Sequence[int] = (),
    ) -> bool:
        """True if the group received all of these parts of a release."""
        with self._lock:
            return self._known.knows(members, release, slots, choices)

    def paid_slot(self, release: str, slot: int) -> frozenset[str]:
        """The accounts that paid for a slot."""
        with self._lock:
            return self._known.paid_slot(release, slot)

    def paid_choice(self, release: str, choice: int) -> frozenset[str]:
        """The accounts that paid for a choice."""
        with self._lock:
            return self._known.paid_choice(release, choice)

    def _gives_all(self, members: frozenset[str], entry: CacheEntry) -> bool:
        slots, choices = range(len(entry.slots)), range(len(entry.choices))
        return self._known.knows(members, entry.release, slots, choices)

    def _take(self, happened: LoggedEvent) -> None:
        match happened.event:
            case EntryCharged(bought, accounts, copied):
                entry = self._alike.entry(bought)
                subject = str(happened.subject)
                self._known.bought(entry.release, subject, accounts, copied)
                self._histories.bought(entry, subject)
                self._pending[entry.release] = entry
                if entry.epoch == self._seen.epoch and happened.sealed:
                    self._index.put(entry)
                    self._group_index.bought(entry, subject)
            case ColumnsShared(release, slots, choices, accounts):
                subject = str(happened.subject)
                self._known.add_recipient(release, subject, slots, choices, accounts)
                self._histories.add_recipient(release, subject, slots)
                self._group_index.add_recipient(release, subject)
            case ContentStored() as answered:
                self._pending.pop(answered.release, None)
                self._histories.answered(answered)
            case ContentLost(release):
                lost = self._pending.pop(release, None)
                if lost is not None:
                    self._index.take(lost)
                    self._group_index.lost(lost)
            case DataRefreshed():
                self._index.clear()
                self._group_index.clear()
            case UnreadableEvent() as unreadable:
                self._histories.unread(unreadable, str(happened.subject))
        epoch = self._seen.epoch + isinstance(happened.event, DataRefreshed)
        self._seen = CachePosition(happened.ordinal, epoch)


_SEE_LOG: Final = "the operator's log has the details; `gateway audit verify` finds the row"


class ReleaseCaches:
    """The release cache of each dataset, opened at its first use."""

    def __init__(self, engine: Engine, seal: Seal, emit: Emit = ignore_event) -> None:
        self._engine = engine
        self._seal = seal
        self._emit = emit
        self._lock = Lock()
        self._caches: dict[str, ReleaseCache] = {}

    def require_as_written(self) -> None:
        """Refused while events of any dataset were found changed by this process."""
        with self._lock:
            caches = list(self._caches.values())
        for cache in caches:
            cache.require_as_written()

    def __getitem__(self, dataset: str) -> ReleaseCache:
        with self._lock:
            if dataset not in self._caches:
                self._caches[dataset] = ReleaseCache(self._engine, self._seal, dataset, self._emit)
            return self._caches[dataset]
