"""One served dataset: its policy, its views, its source, and what the source's constraints prove.

A query rests on what the catalog said when the query was prepared; the source holds it while the query runs (see
`gateway.stages.prepare`). The last catalog is remembered here for quotes and estimates, which ask nothing of the
source.
"""

import threading
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from functools import cached_property
from typing import Final, TypeAlias

from gateway.binding.bound import Cut, Stage
from gateway.bounding.bounded_release import BoundedRelease, bound_release
from gateway.budget.account import Currency
from gateway.catalog.tables import Dataset
from gateway.datasets.view import Views
from gateway.engines.catalog.describe import SourceTables
from gateway.engines.catalog.proofs import SchemaMismatch, TableProof, find_mismatches, prove_tables
from gateway.engines.preparation import SourceCatalog
from gateway.engines.source import SourceDatabase
from gateway.errors import BackendUnavailable, Code
from gateway.events import SourceFailed
from gateway.lru_cache import LruCache
from gateway.plan.aggregates import Aggregate
from gateway.plan.relations import StagedRows
from gateway.policy.policy import Policy
from gateway.sensitivity.analysis import Analysis, EnumeratedGroups
from gateway.sensitivity.grouping_sets import AnalyzedRelease
from gateway.units import Epsilon

_MOST_BOUNDED: Final = 128
_MOST_HISTOGRAMS: Final = 256
_MOST_FAILURES: Final = 1_000
_FORGOTTEN: Final = timedelta(days=1)
_MOST_GROUPS: Final = 200_000  # of all remembered analyses together


@dataclass(frozen=True)
class SourceFacts:
    """What a source's catalog said: what its constraints prove, and what in it is not as it was declared."""

    proven: Mapping[str, TableProof]
    misfits: tuple[SchemaMismatch, ...] = ()


@dataclass
class Proofs:
    """What the source's catalog said last."""

    dataset: Dataset
    read: Callable[[], SourceTables]
    _known: tuple[SourceTables, SourceFacts] | None = None
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def now(self) -> Mapping[str, TableProof]:
        """What it proved; it is read where nobody did yet."""
        with self._lock:
            known = self._known
        return self.proven_by(self.read()) if known is None else known[1].proven

    def proven_by(self, described: SourceTables) -> Mapping[str, TableProof]:
        """What this catalog proves of the dataset."""
        return self.of(described).proven

    def of(self, described: SourceTables) -> SourceFacts:
        """What this catalog says of the dataset."""
        with self._lock:
            known = self._known
        if known is not None and known[0] is described:
            return known[1]
        found = SourceFacts(
            prove_tables(self.dataset, described), tuple(find_mismatches(self.dataset, described))
        )
        with self._lock:
            self._known = (described, found)
        return found


class BoundedReleases:
    """Releases that were bounded a moment ago: a question is rehearsed, prepared and run over the same ones.

    They are known by the analysis, the moment and the proofs themselves, not by what is equal to them.
    """

    def __init__(self) -> None:
        # what a release is known by is kept beside it, so that no other object has these ids
        self._known: LruCache[
            tuple[int, int, datetime], tuple[Analysis, Mapping[str, TableProof], BoundedRelease]
        ] = LruCache(_MOST_BOUNDED)

    def find(
        self, analysis: Analysis, now: datetime, proven: Mapping[str, TableProof]
    ) -> BoundedRelease:
        """The release, bounded by what is proven."""
        key = (id(analysis), id(proven), now)
        found = self._known.get(
            key, lambda: (analysis, proven, bound_release(analysis, now=now, proven=proven))
        )
        return found[2]


AnalysisKey: TypeAlias = tuple[int, int, tuple[tuple[tuple[str, ...], int], ...]]
"""A plan and the proofs that it was analysed by, by their identities, and the clips that were chosen for its grouping sets."""
_KeptAnalysis: TypeAlias = tuple[Aggregate, Mapping[str, TableProof], AnalyzedRelease]
"""A plan and the proofs beside the analysis: no other objects have their ids."""


def _weigh(_: AnalysisKey, found: _KeptAnalysis) -> int:
    """Listed groups are what an analysis is large by: each holds its values."""
    groups = (part.groups for part in found[2].parts)
    return 1 + sum(len(one.keys) for one in groups if isinstance(one, EnumeratedGroups))


def _remember() -> LruCache[AnalysisKey, _KeptAnalysis]:
    return LruCache(_MOST_GROUPS, _weigh)


@dataclass(frozen=True)
class SoldHistogram:
    """A histogram of norms for a statement: the rows that it is of, with its keys, and the one release that measures it."""

    rows: Aggregate
    cut: Cut
    release: AnalyzedRelease


HistogramKey: TypeAlias = tuple[int, int, frozenset[str]]
"""A plan and proofs as in `AnalysisKey`, and the names of the keys."""
KeptHistogram: TypeAlias = tuple[Aggregate, Mapping[str, TableProof], SoldHistogram]


class FailedHistograms:
    """Histograms of norms that a subject could not have: they are not bought again for a day.

    What a subject pays for a source that cannot count norms in time is bounded so, and its queries are answered.

    INVARIANT: a failure is remembered for the subject that it happened to, who was told of it by its own record.
    """

    def __init__(self) -> None:
        self._known: LruCache[tuple[str, str], datetime] = LruCache(_MOST_FAILURES)

    def note(self, subject: str, over: str, now: datetime) -> None:
        """It failed now; `over` says its tables and keys."""
        self._known.put((subject, over), now)

    def has(self, subject: str, over: str, now: datetime) -> bool:
        """Whether it failed within a day."""
        failed = self._known.find((subject, over))
        return failed is not None and now - failed < _FORGOTTEN


@dataclass(frozen=True)
class ServedDataset:
    """What answering questions about one dataset needs."""

    policy: Policy
    views: Views
    source: SourceDatabase
    proofs: Proofs
    currency: Currency
    bounded: BoundedReleases = field(default_factory=BoundedReleases)
    analyses: LruCache[AnalysisKey, _KeptAnalysis] = field(default_factory=_remember)
    histograms: LruCache[HistogramKey, KeptHistogram] = field(
        default_factory=lambda: LruCache(_MOST_HISTOGRAMS)
    )
    failures: FailedHistograms = field(default_factory=FailedHistograms)

    @cached_property
    def histogram_policy(self) -> Policy:
        """The policy under which histograms of norms are bought: they serve for a time of their own."""
        return replace(self.policy, max_age=self.policy.clipping.max_age)

    @cached_property
    def held_histogram_policy(self) -> Policy:
        """The same where no price is too low: a histogram of norms serves until it is too old, whatever it was bought for."""
        policy = self.histogram_policy
        return replace(policy, privacy=replace(policy.privacy, default_price=Epsilon.zero()))

    def render(self, analyses: Iterable[Analysis], cut: Cut, now: datetime) -> None:
        """Refuse what the source cannot compute, by what its catalog said last: for an estimate."""
        nothing = stage_placeholders(cut)
        there = self.proofs.now()
        for one in analyses:
            release = self.bounded.find(one, now, there)
            if release.measurements or not release.histograms:
                self.source.statement(release, nothing)
            for histogram in release.histograms:
                self.source.counting(release, histogram, nothing)

    def require_fit(self, tables: Iterable[str], catalog: SourceCatalog) -> None:
        """Refuse what is not as the policy declares it, in any column of these tables; the log says what it is.

        INVARIANT: what the calculus takes from a declared type is so of the stored column: it has that type.
        """
        asked = frozenset(tables)
        found = [one for one in self.proofs.of(catalog.described).misfits if one.table in asked]
        if not found:
            return
        for one in found:
            self.source.emit(SourceFailed(one.message))
        hidden = all(self._is_hidden(one, catalog) for one in found)
        raise BackendUnavailable(Code.SOURCE_PRIVILEGE if hidden else Code.SOURCE_SCHEMA)

    @staticmethod
    def _is_hidden(misfit: SchemaMismatch, catalog: SourceCatalog) -> bool:
        schema, _, name = misfit.table.rpartition(".")
        places = {(one, name) for one in ((schema,) if schema else catalog.described.search_path)}
        if misfit.column is None:
            return any((one[0], one[1]) in places for one in catalog.unreadable)
        return any((*place, misfit.column) in catalog.unreadable for place in places)

    def close(self) -> None:
        self.source.close()

    def stop(self) -> None:
        """End whatever the source runs, now."""
        self.source.stop()


def stage_placeholders(cut: Cut) -> Mapping[str, StagedRows]:
    """What is staged later, with its types and without rows."""
    return {
        step.name: StagedRows(tuple((one.id, one.type) for one in step.fields), ())
        for step in cut.steps
        if isinstance(step, Stage)
    }


def serve_dataset(policy: Policy, source: SourceDatabase, currency: Currency) -> ServedDataset:
    """Nothing is reached yet."""
    proofs = Proofs(policy.dataset, source.described)
    return ServedDataset(policy, Views(policy), source, proofs, currency)
