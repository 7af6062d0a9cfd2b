"""Preparation: the source is reached, and everything that it can refuse is refused before the charge.

`prepare_query` bounds the releases that are measured by what the source's catalog proves, renders them as its SQL and has
them parsed there. `SourceAccess` is the source as one query has it, from the preparation until the last statement ran:

    prepare   connect, read the catalog, compare it with the dataset, bound and parse the statements
    run       run what was prepared, after the charge

INVARIANT: nothing is charged before `prepare` has returned, and what `prepare` refuses is not charged.
INVARIANT: a quote is charged only if the source proves what the quote was made on. Other queries read the catalog too, so
the comparison is with the proofs in the quote and not with the last ones that this process has seen.
INVARIANT: a query is bounded by what the catalog of its preparation proves, and the source holds these constraints for the
rows that it computes on. So the charged cells of an immutable partition, which rest on the same proofs, are the right ones.
INVARIANT: a query that waits, for others or for its turn, holds no connection. Every way out gives it back.
"""

import threading
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from types import TracebackType
from typing import Self

from gateway.binding.bound import Fetch
from gateway.catalog.tables import is_system_table
from gateway.datasets.dataset import ServedDataset, stage_placeholders
from gateway.engines.catalog.proofs import TableProof
from gateway.engines.preparation import Preparation
from gateway.engines.sharding import shard_count
from gateway.engines.sql.group_limits import Key
from gateway.errors import Code, Unbounded
from gateway.exact import ExactHistogram, ExactTable
from gateway.noise.allocation import ReleaseNoise
from gateway.plan.node import BrokenPlan
from gateway.plan.relations import StagedRows, stored_tables
from gateway.policy.levels import TableLevel, unkeyed_level
from gateway.pricing.price import AnalyzedQuery
from gateway.sensitivity.analysis import Analysis, EnumeratedGroups
from gateway.sensitivity.choices import Histogram
from gateway.stages.purchase import Quote
from gateway.stages.quote import Moved, rehearse_query


@dataclass
class SourceAccess:
    """One for each query, used by one thread, and left as a context."""

    serving: ServedDataset
    query: AnalyzedQuery
    limit_s: float
    cancelled: threading.Event
    _preparation: Preparation | None = field(default=None)
    _parsed: tuple[Analysis, ...] | None = field(default=None)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.let_go()

    def let_go(self) -> None:
        """Give the connection back; later statements are prepared anew."""
        preparation, self._preparation, self._parsed = self._preparation, None, None
        if preparation is not None:
            preparation.close()

    @property
    def proven(self) -> Mapping[str, TableProof]:
        """The proofs that the query rests on; before the preparation, those of the last catalog."""
        if self._preparation is None:
            return self.serving.proofs.now()
        return self.serving.proofs.proven_by(self._preparation.catalog.described)

    def prepare(self, bought: Iterable[ReleaseNoise]) -> None:
        """Reach the source for these measurements, or refuse; do nothing if nothing of it is needed."""
        wanted = tuple(one.analysis for one in bought if asks(one))
        fetched = [
            one.table
            for one in self.query.cut.steps
            if isinstance(one, Fetch) and not is_system_table(one.table)
        ]
        if self._parsed == wanted or not (wanted or fetched):
            return
        source = self.serving.source
        if self._preparation is None:
            # of the whole statement: what is bought of it may change until it is charged
            scanned = {
                name for release in self.query.cut.releases for name in stored_tables(release.plan)
            }
            tables = sorted(scanned | {one.name for one in fetched})
            self._preparation = source.database.prepare(
                tables, subject=self.query.subject, limit_s=self.limit_s, cancelled=self.cancelled
            )
            self.serving.require_fit(tables, self._preparation.catalog)
        proven = self.proven
        _require_unique_codes(self.query, wanted, proven)
        releases = [
            self.serving.bounded.find(one, self.query.question.asked_at, proven) for one in wanted
        ]
        source.parse(self._preparation, releases, stage_placeholders(self.query.cut), fetched)
        self._parsed = wanted

    def run(self, analysis: Analysis, staged: Mapping[str, StagedRows]) -> ExactTable:
        """The exact answer."""
        there = self._held
        release = self.serving.bounded.find(analysis, self.query.question.asked_at, self.proven)
        parts = shard_count(release, there.catalog.rows, self.serving.source.parts)
        return self.serving.source.run(
            release,
            staged,
            limit_s=self.limit_s,
            cancelled=self.cancelled,
            parts=parts,
            on=there,
        )

    def count(
        self, analysis: Analysis, shown: Sequence[Key], staged: Mapping[str, StagedRows]
    ) -> Mapping[Histogram, ExactHistogram]:
        """The exact histograms of the groups of a release that are `shown`, bounded in the same way.

        INVARIANT: these are released, so what the source is asked depends on nothing that is not. Where none is, it is
        not asked.
        """
        if not shown:
            return {one: ExactHistogram({}) for one in analysis.histograms}
        there = self._held
        # histograms add up whatever is measured beside them
        whole = self.serving.bounded.find(analysis, self.query.question.asked_at, self.proven)
        release = replace(whole, measurements=())
        parts = shard_count(release, there.catalog.rows, self.serving.source.parts)
        exact = self.serving.source.count(
            release,
            shown,
            staged,
            limit_s=self.limit_s,
            cancelled=self.cancelled,
            parts=parts,
            on=there,
        )
        return dict(zip(analysis.histograms, exact, strict=True))

    def fetch(self, step: Fetch) -> StagedRows:
        """A public table of the source."""
        return self.serving.source.fetch(
            step.table,
            self.serving.policy.sizes.result_rows,
            cancelled=self.cancelled,
            on=self._preparation,
        )

    @property
    def _held(self) -> Preparation:
        if self._preparation is None:
            raise BrokenPlan("a question that was not prepared is to be run")
        return self._preparation


def asks(release: ReleaseNoise) -> bool:
    """True if the source is asked for it; listed groups without measurements ask nothing."""
    listed = isinstance(release.analysis.groups, EnumeratedGroups)
    return bool(release.noises or release.choices) or not listed


def prepare_query(quote: Quote, source: SourceAccess) -> None:
    """Prepare what the quote asks of the source; `Moved` if the source proves something else than the quote rests on."""
    if quote.plan is None:
        return
    source.prepare(quote.purchases)
    if source.proven != quote.plan.context.basis.proven:
        raise Moved


def check_query(query: AnalyzedQuery, quote: Quote, dataset: ServedDataset) -> None:
    """The same for an estimate, which asks nothing of the source: by what its catalog proved last."""
    measured = [one.analysis for one in quote.purchases if asks(one)]
    _require_unique_codes(query, measured, dataset.proofs.now())
    dataset.render(measured, query.cut, query.question.asked_at)
    rehearse_query(query)


def _require_unique_codes(
    query: AnalyzedQuery, wanted: Iterable[Analysis], proven: Mapping[str, TableProof]
) -> None:
    """Refuse levels whose table may have a code twice, by their names: bounding would name a join that nobody wrote."""
    scanned = {name for one in wanted for name in stored_tables(one.plan)}
    for column, read in query.decision.levels.items():
        for level in (read.level, read.measures):
            if column.table in scanned and isinstance(level, TableLevel):
                there = proven.get(level.table.name)
                if there is None or not there.meets_one({level.key}):
                    raise Unbounded(Code.FAN_OUT, *unkeyed_level(column, level))
