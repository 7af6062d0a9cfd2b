"""One dataset as it is served now: its policy, what may be seen of it, its source, and what that proves.

INVARIANT: a constraint that lets a step be skipped is read again whenever the source was connected to anew: before
it is used for what is asked on the new connection, and after an answer that was under way meanwhile, which is thrown
away unless the same is proven still.
"""

import threading
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime

from gateway.binding.bound import Cut, Fetch, Stage
from gateway.bounding.bound_release import bound_release
from gateway.budget.account import Currency
from gateway.catalog.own import is_own
from gateway.engines.connect import reading_source
from gateway.engines.described import describe
from gateway.engines.proving import Proven, proven
from gateway.engines.shard_sizes import estimated_rows, parts_for
from gateway.engines.shown import Key
from gateway.engines.source import Source, Wanted
from gateway.engines.staged import StagedRows
from gateway.errors import BackendUnavailable, Code, OperatorError
from gateway.exact import ExactHistogram, ExactTable
from gateway.policy.rules import Policy
from gateway.sensitivity.analysis import Analysis
from gateway.sensitivity.choices import Histogram
from gateway.views import Views


@dataclass(frozen=True)
class Seen:
    """What a source's catalog said: what its constraints prove, and how many rows it thinks its tables have."""

    proven: Mapping[str, Proven]
    rows: Mapping[str, int]


@dataclass
class Proofs:
    """What the source's catalog said when it was last connected to."""

    read: Callable[[], Seen]
    connections: int = 0
    _known: tuple[int, Seen] | None = None
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def connected(self, *_: object) -> None:
        """Somebody connected: whatever was proven has to be proven again."""
        with self._lock:
            self.connections += 1

    def now(self) -> Mapping[str, Proven]:
        return self.seen().proven

    def seen(self) -> Seen:
        """INVARIANT: it was read after the last connection that was made before this call."""
        with self._lock:
            before, known = self.connections, self._known
        if known is None or known[0] != before:
            known = (before, self.read())
            with self._lock:
                self._known = known
        return known[1]


@dataclass(frozen=True)
class Serving:
    """What answering questions about one dataset needs."""

    policy: Policy
    views: Views
    source: Source
    proofs: Proofs
    currency: Currency

    def rehearse(self, analyses: Iterable[Analysis], cut: Cut, now: datetime) -> None:
        """Refuse what the source cannot compute, before it is charged; of the source its catalog is asked."""
        nothing = {
            step.name: StagedRows(tuple((one.id, one.type) for one in step.fields), ())
            for step in cut.steps
            if isinstance(step, Stage)
        }
        there = self.proofs.now()
        for one in analyses:
            release = bound_release(one, now=now, proven=there)
            if release.measurements or not release.histograms:
                self.source.statement(release, nothing)
            for histogram in release.histograms:
                self.source.counting(release, histogram, nothing)

    def run(
        self,
        analysis: Analysis,
        staged: Mapping[str, StagedRows],
        *,
        now: datetime,
        limit_s: float,
        cancelled: threading.Event,
    ) -> ExactTable:
        """The exact answer, bounded by what the source proves while it gives it."""
        rested_on: list[Mapping[str, Proven]] = []

        def bounded() -> Wanted:
            # called when the connections are there: those made for this question do not count as made meanwhile
            seen = self.proofs.seen()
            rested_on.append(seen.proven)
            release = bound_release(analysis, now=now, proven=seen.proven)
            return Wanted(release, parts_for(release, seen.rows, self.source.parts))

        exact = self.source.ask(bounded, staged, limit_s=limit_s, cancelled=cancelled)
        if self.proofs.now() != rested_on[-1]:
            raise BackendUnavailable(Code.SOURCE_UNAVAILABLE, hint="try again")
        return exact

    def count(
        self,
        analysis: Analysis,
        shown: Sequence[Key],
        staged: Mapping[str, StagedRows],
        *,
        now: datetime,
        limit_s: float,
        cancelled: threading.Event,
    ) -> Mapping[Histogram, ExactHistogram]:
        """The exact histograms of the groups of a release that are `shown`, bounded in the same way.

        INVARIANT: these are released, so what the source is asked depends on nothing that is not. Where none is, it is
        not asked.
        """
        if not shown:
            return {one: ExactHistogram({}) for one in analysis.histograms}
        rested_on: list[Mapping[str, Proven]] = []

        def bounded() -> Wanted:
            seen = self.proofs.seen()
            rested_on.append(seen.proven)
            # histograms add up whatever is measured beside them
            release = replace(bound_release(analysis, now=now, proven=seen.proven), measurements=())
            return Wanted(release, parts_for(release, seen.rows, self.source.parts))

        exact = self.source.count(bounded, shown, staged, limit_s=limit_s, cancelled=cancelled)
        if self.proofs.now() != rested_on[-1]:
            raise BackendUnavailable(Code.SOURCE_UNAVAILABLE, hint="try again")
        return dict(zip(analysis.histograms, exact, strict=True))

    def fetch(self, step: Fetch, own: Callable[[str], StagedRows]) -> StagedRows:
        """A public table of the source, or one of the gateway's own."""
        if is_own(step.table):
            return own(step.table.name)
        return self.source.fetch(step.table, self.policy.sizes.result_rows)

    def close(self) -> None:
        self.source.close()


def serve_dataset(policy: Policy, source: Source, currency: Currency) -> Serving:
    """Nothing is reached yet."""

    def read() -> Seen:
        try:
            with reading_source(policy.source.url) as connection:
                found = proven(policy.dataset, describe(connection))
                return Seen(found, estimated_rows(connection, policy.dataset))
        except OperatorError:
            raise BackendUnavailable(Code.SOURCE_UNAVAILABLE) from None

    proofs = Proofs(read)
    source.connections.on_connect(proofs.connected)
    return Serving(policy, Views(policy), source, proofs, currency)
