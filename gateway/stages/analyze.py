"""Analysis: how far one unit can move each number of a query, before anything is priced.

Takes a query that is bound and permitted. Gives what each of its releases measures in each of its grouping sets, with the
sensitivity of each measurement; or refuses what cannot be bounded.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import datetime
from functools import partial

from gateway.binding.bound import Cut
from gateway.bounding.time_zone import fold_moments, reads_time
from gateway.bounding.work_bound import check_work
from gateway.budget.account import Currency
from gateway.datasets.dataset import ServedDataset
from gateway.plan.aggregates import Aggregate
from gateway.plan.node import BrokenPlan
from gateway.plan.relations import StagedRows
from gateway.policy.policy import Policy
from gateway.policy.rounding import ranges_of
from gateway.policy.subjects import Subject
from gateway.pricing.price import AnalyzedStatement, PricedDataset
from gateway.release_cache.fingerprints import free_stages
from gateway.results.constants import run_with_guards, staged_rows
from gateway.sensitivity.analyze import analyze_release
from gateway.sensitivity.grouping_sets import AnalyzedRelease, analyze_grouping_sets
from gateway.stages.bind import BoundQuery, Session, require_zone_does_not_matter


@dataclass(frozen=True)
class AnalyzedQuery:
    """A query that is bound, permitted and analysed: all that its quote depends on, except what happened before."""

    subject: Subject
    dataset: ServedDataset
    asked_at: datetime
    cut: Cut
    session: Session
    statement: AnalyzedStatement

    @property
    def policy(self) -> Policy:
        return self.dataset.policy

    @property
    def most_rows(self) -> int:
        return self.policy.sizes.result_rows


def analyze_query(bound: BoundQuery) -> AnalyzedQuery:
    """The analysis, or the refusal of what cannot be bounded."""
    question, dataset, cut = bound.question, bound.dataset, bound.bound
    if not isinstance(cut, Cut):
        raise BrokenPlan("a statement without releases is analysed")
    require_zone_does_not_matter(cut, bound.request.zone)
    releases = tuple(_analyze_once(one.plan, dataset, question.asked_at) for one in cut.releases)
    known = _constants_of_text(cut, bound.session, dataset.policy.sizes.result_rows)
    statement = AnalyzedStatement(bound.request, bound.understood, releases, known)
    return AnalyzedQuery(
        question.subject, dataset, question.asked_at, cut, bound.session, statement
    )


def analyze_releases(
    cut: Cut, dataset: PricedDataset, now: datetime
) -> tuple[AnalyzedRelease, ...]:
    """What each release measures in each of its grouping sets, and how far one unit moves it."""
    return tuple(_analyze(release.plan, dataset, now) for release in cut.releases)


def _analyze_once(plan: Aggregate, dataset: ServedDataset, now: datetime) -> AnalyzedRelease:
    """The analysis of a plan that was bound before is remembered, unless it depends on the time.

    INVARIANT: it depends on the plan and on the policy of the dataset alone. The plan itself is kept beside it, so no
    other plan has its identity.
    """
    known = dataset.analyses.find(id(plan))
    if known is not None:
        return known[1]
    if reads_time(plan):
        return _analyze(plan, dataset, now)
    return dataset.analyses.get(id(plan), lambda: (plan, _analyze(plan, dataset, now)))[1]


def _analyze(plan: Aggregate, dataset: PricedDataset, now: datetime) -> AnalyzedRelease:
    folded = fold_moments(plan, now)
    if not isinstance(folded, Aggregate):
        raise BrokenPlan("a release that is none any more")
    check_work(folded)
    policy = dataset.policy
    one_set = partial(
        analyze_release,
        pairs=dataset.currency is Currency.PURE,
        enumerated_groups=policy.sizes.enumerated_groups,
        min_units=policy.auditing.min_units,
        suppress_small=policy.results.suppress_small,
    )
    ranges = ranges_of(folded, policy.results.reported)
    return replace(analyze_grouping_sets(folded, one_set), ranges=ranges)


def _constants_of_text(cut: Cut, session: Session, most: int) -> Mapping[str, StagedRows]:
    """The rows of stages that need nothing but the text of the statement, computed on the twin.

    With them the auditor reads conditions on these stages as conditions on constants.
    """
    found: dict[str, StagedRows] = {}
    for step in free_stages(cut):
        with session() as twin:
            found[step.name] = staged_rows(step, run_with_guards(step.sql, {}, twin, most).rows)
    return found
