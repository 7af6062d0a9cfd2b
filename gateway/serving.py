"""One dataset as it is served now: its policy, what may be seen of it, its source, and what that proves.

INVARIANT: a constraint that lets a step be skipped is read again whenever the source was connected to anew,
and an answer that was under way meanwhile is thrown away.
"""

import threading
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from datetime import datetime

from sqlalchemy import event

from gateway.binding.bound import Cut, Fetch, Stage
from gateway.bounding.bound_release import bound_release
from gateway.budget.account import Currency
from gateway.catalog.own import is_own
from gateway.engines.connect import reading_source
from gateway.engines.described import describe
from gateway.engines.proving import Proven, proven
from gateway.engines.source import Source
from gateway.engines.staged import StagedRows
from gateway.errors import BackendUnavailable, Code, OperatorError
from gateway.exact import ExactTable
from gateway.policy.rules import Policy
from gateway.sensitivity.analysis import Analysis
from gateway.views import Views


@dataclass
class Proofs:
    """What the source's constraints prove, read when it was last connected to."""

    read: Callable[[], Mapping[str, Proven]]
    connections: int = 0
    _known: tuple[int, Mapping[str, Proven]] | None = None
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def connected(self, *_: object) -> None:
        """Somebody connected: whatever was proven has to be proven again."""
        with self._lock:
            self.connections += 1

    def now(self) -> Mapping[str, Proven]:
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
            self.source.statement(bound_release(one, now=now, proven=there), nothing)

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
        self.source.reach()  # a first connection does not count as one made meanwhile
        there = self.proofs.now()
        release = bound_release(analysis, now=now, proven=there)
        exact = self.source.run(release, staged, limit_s=limit_s, cancelled=cancelled)
        if self.proofs.now() != there:
            raise BackendUnavailable(Code.SOURCE_UNAVAILABLE, hint="try again")
        return exact

    def fetch(self, step: Fetch, own: Callable[[str], StagedRows]) -> StagedRows:
        """A public table of the source, or one of the gateway's own."""
        if is_own(step.table):
            return own(step.table.name)
        return self.source.fetch(step.table, self.policy.sizes.result_rows)

    def close(self) -> None:
        self.source.close()


def serve_dataset(policy: Policy, source: Source, currency: Currency) -> Serving:
    """Nothing is reached yet."""

    def read() -> Mapping[str, Proven]:
        try:
            with reading_source(policy.source.url) as connection:
                return proven(policy.dataset, describe(connection))
        except OperatorError:
            raise BackendUnavailable(Code.SOURCE_UNAVAILABLE) from None

    proofs = Proofs(read)
    event.listen(source.engine, "connect", proofs.connected)
    return Serving(policy, Views(policy), source, proofs, currency)
