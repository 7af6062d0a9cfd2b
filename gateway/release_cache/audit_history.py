"""The history of each trust group, as the auditor reads it: every release of any age and epoch.

INVARIANT: the history of a group is a function of the events up to one event, in their order. It is the same whether it
grew with each event or was built long afterwards, in this process or in another. Counts that became known later are added
again when they are known, and `History` keeps the last one.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, replace
from fractions import Fraction

from gateway.overlap.history import History, PriorRelease
from gateway.regions.scope import ReleaseScope
from gateway.release_cache.entry import CacheEntry, spread_of
from gateway.release_cache.events import ContentStored, UnreadableEvent

FARTHEST = Fraction(2**62)
"""The spread for a subject who received no number: it shows no person."""


@dataclass(slots=True)
class _Release:
    """A release as the history describes it."""

    query_id: str
    scope: ReleaseScope
    spreads: tuple[Fraction, ...]
    counts: tuple[int, ...] | None = None
    counted: int | None = None  # the slot that the counts are of
    extra_scopes: tuple[ReleaseScope, ...] = ()
    variance: Fraction | None = None
    whole: bool = False

    def past(self, release: str, slots: int) -> PriorRelease:
        """The release for a subject who received these slots."""
        told = [spread for slot, spread in enumerate(self.spreads) if slots >> slot & 1]
        told_counts = self.counted is None or slots >> self.counted & 1
        counts = self.counts if told_counts else None
        spread = min(told, default=FARTHEST)
        return PriorRelease(
            release, self.query_id, self.scope, counts, spread, self.variance, self.whole
        )

    def extra_releases(self, release: str, slots: int) -> Iterator[PriorRelease]:
        """The same for the scopes of single aggregates; their sizes are not known."""
        whole = self.past(release, slots)
        for number, scope in enumerate(self.extra_scopes, 1):
            yield PriorRelease(f"{release}.{number}", self.query_id, scope, None, whole.spread)


@dataclass(frozen=True, slots=True)
class _Move:
    """A subject received slots of a release; without a subject: its counts are known from here on.

    `unread`: what they were given cannot be read.
    """

    subject: str | None
    release: str
    slots: int
    unread: UnreadableEvent | None = None


@dataclass(slots=True)
class _Group:
    history: History = field(default_factory=History)
    read: int = 0
    knows: dict[str, int] = field(default_factory=dict)


class Histories:
    """The histories of all trust groups. The caller keeps threads apart."""

    def __init__(self) -> None:
        self._releases: dict[str, _Release] = {}
        self._moves: list[_Move] = []
        self._groups: dict[frozenset[str], _Group] = {}
        self._unread: dict[str, UnreadableEvent] = {}

    def bought(self, entry: CacheEntry, subject: str) -> None:
        spreads = tuple(spread_of(slot) for slot in entry.slots)
        self._releases[entry.release] = _Release(
            entry.query_id, entry.scope, spreads, extra_scopes=entry.extra_scopes
        )
        self._moves.append(_Move(subject, entry.release, (1 << len(spreads)) - 1))

    def unread(self, unreadable: UnreadableEvent, subject: str) -> None:
        """A subject received something that cannot be read; if the release can be read, its tables are known."""
        release = str(unreadable.release)
        known = self._releases.get(release)
        if known is not None:
            unreadable = replace(unreadable, tables=known.scope.tables)
        else:
            self._unread.setdefault(release, unreadable)
        self._moves.append(_Move(subject, release, 0, unreadable))

    def add_recipient(self, release: str, subject: str, slots: Iterable[int]) -> None:
        if (unread := self._unread.get(release)) is not None:
            self._moves.append(_Move(subject, release, 0, unread))
            return
        self._moves.append(_Move(subject, release, sum({1 << slot for slot in slots})))

    def answered(self, answered: ContentStored) -> None:
        known = self._releases.get(answered.release)
        if known is None or answered.counts is None or known.counts is not None:
            return
        known.counts, known.counted = answered.counts, answered.slot
        known.variance, known.whole = answered.variance, answered.whole
        self._moves.append(_Move(None, answered.release, 0))

    def of(self, members: frozenset[str]) -> History:
        """Everything that any member of the group received, up to the last event."""
        group = self._groups.setdefault(members, _Group())
        for move in self._moves[group.read :]:
            if move.unread is not None:
                if move.subject in members:
                    group.history.miss(move.unread.tables)
                continue
            known = group.knows.get(move.release)
            if move.subject in members:
                group.knows[move.release] = (known or 0) | move.slots
            elif move.subject is not None or known is None:
                continue
            slots = group.knows[move.release]
            release = self._releases[move.release]
            group.history.add(release.past(move.release, slots))
            if move.subject is not None:
                for one in release.extra_releases(move.release, slots):
                    group.history.add(one)
        group.read = len(self._moves)
        return group.history
