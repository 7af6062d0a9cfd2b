"""Analysis: how far one unit can move each number of a query, before anything is priced.

Takes a query that is bound and permitted. Gives what each of its releases measures in each of its grouping sets, with the
sensitivity of each measurement; or refuses what cannot be bounded.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from functools import partial
from types import MappingProxyType
from typing import Final, TypeAlias

from gateway.binding.bound import Cut
from gateway.bounding.fan_out import mark_fan_out, meets_tables
from gateway.bounding.licences import Licences
from gateway.bounding.time_zone import fold_moments, reads_time, require_named_clocks
from gateway.bounding.work_bound import check_work
from gateway.budget.account import Currency
from gateway.datasets.dataset import ServedDataset
from gateway.datasets.view import BoundQuery, Session
from gateway.engines.catalog.proofs import TableProof
from gateway.errors import Code, UnsupportedSql
from gateway.plan.aggregates import Aggregate
from gateway.plan.node import BrokenPlan, walk_nodes
from gateway.plan.relations import Constant, StagedRows
from gateway.plan.scalars import StagedMember, StagedValue, walk_scalar
from gateway.policy.policy import Policy
from gateway.policy.rounding import ranges_of
from gateway.pricing.price import AnalyzedQuery
from gateway.ranges.null_groups import hidden_null_groups
from gateway.regions.scope import normal_text
from gateway.release_cache.fingerprints import free_stages
from gateway.results.constants import run_with_guards, staged_rows
from gateway.sensitivity.analysis import Analysis, ThresholdGroups
from gateway.sensitivity.analyze import analyze_release
from gateway.sensitivity.clip import ClipRule
from gateway.sensitivity.grouping_sets import AnalyzedRelease, analyze_grouping_sets

SetClips: TypeAlias = tuple[tuple[tuple[str, ...], int], ...]
"""The clips that were chosen for a release: c² by the names of the keys of a grouping set."""
ChosenClips: TypeAlias = Mapping[int, SetClips]
NOT_CHOSEN: Final[ChosenClips] = MappingProxyType({})
_NOTHING: Final[Mapping[str, TableProof]] = MappingProxyType({})


def analyze_query(
    bound: BoundQuery, dataset: ServedDataset, chosen: ChosenClips = NOT_CHOSEN
) -> AnalyzedQuery:
    """The analysis, or the refusal of what cannot be bounded. `chosen` has the clips of releases, by their places."""
    question, policy, cut = bound.question, dataset.policy, bound.bound
    if not isinstance(cut, Cut):
        raise BrokenPlan("a statement without releases is analysed")
    analyses = tuple(
        _analyze_once(one.plan, dataset, question.asked_at, chosen.get(place, ()))
        for place, one in enumerate(cut.releases)
    )
    _require_listed(cut, analyses)
    return AnalyzedQuery(
        question,
        cut,
        bound.decision,
        bound.session,
        policy,
        dataset.currency,
        analyses,
        question.request.epsilon,
        _constants_of_text(cut, bound.session, policy.sizes.result_rows),
        bound.nulled,
    )


def _require_listed(cut: Cut, analyses: Sequence[AnalyzedRelease]) -> None:
    """Refuse groups that are found in the data where a group that is missing would be shown as empty."""
    for release, analysis in zip(cut.releases, analyses, strict=True):
        found = any(isinstance(part.groups, ThresholdGroups) for part in analysis.parts)
        if release.name in cut.listed and found:
            raise UnsupportedSql(
                Code.NOT_ANSWERED_YET,
                "the outer join keeps public rows, and the values of the protected columns in ON are not listed",
                "declare a domain for these columns, or use an inner join",
            )


def _analyze_once(
    plan: Aggregate, dataset: ServedDataset, now: datetime, clips: SetClips
) -> AnalyzedRelease:
    """The analysis of a plan that was bound before is remembered, unless it depends on the time.

    INVARIANT: it depends on the plan, on the policy of the dataset, on what the source's last catalog proved and on these
    clips alone. The plan and the proofs are kept beside it, so no others have their identities.
    """
    proven = proofs_for(plan, dataset)
    key = (id(plan), id(proven), clips)
    known = dataset.analyses.find(key)
    if known is not None:
        return known[2]
    found = partial(analyze_plan, plan, dataset.policy, dataset.currency, now, proven, clips)
    if reads_time(plan):
        return found()
    return dataset.analyses.get(key, lambda: (plan, proven, found()))[2]


def proofs_for(plan: Aggregate, dataset: ServedDataset) -> Mapping[str, TableProof]:
    """What the source's last catalog proved, where the analysis of the plan depends on it."""
    return dataset.proofs.now() if meets_tables(plan) else _NOTHING


def analyze_plan(  # noqa: PLR0917 - a plan, and all that its analysis depends on
    plan: Aggregate,
    policy: Policy,
    currency: Currency,
    now: datetime,
    proven: Mapping[str, TableProof] | None = None,
    clips: SetClips = (),
) -> AnalyzedRelease:
    """What a release measures in each of its grouping sets, and how far one unit moves it.

    Without proofs, as of a source that is not asked, public tables are taken to be unique on what they are joined by.
    """
    folded = fold_moments(plan, now)
    if proven is not None:
        folded = mark_fan_out(folded, Licences(proven).meets_one)
    if not isinstance(folded, Aggregate):
        raise BrokenPlan("a release that is none any more")
    require_named_clocks(folded)
    check_work(folded)
    default = policy.clipping.default
    chosen = dict(clips)

    def one_set(each: Aggregate, /, *, total: bool = False) -> Analysis:
        names = tuple(name for name, _ in each.keys)
        square = chosen.get(names, None if default is None else default**2)
        return analyze_release(
            each,
            pairs=currency is Currency.PURE,
            enumerated_groups=policy.sizes.enumerated_groups,
            min_units=policy.auditing.min_units,
            suppress_small=policy.results.suppress_small,
            clip=ClipRule(square, policy.clipping.largest**2),
            total=total,
        )

    ranges = ranges_of(folded, policy.results.reported)
    hidden = hidden_null_groups(folded)
    found = analyze_grouping_sets(folded, one_set, _key_order(folded))
    return replace(found, ranges=ranges, hidden=hidden)


def _key_order(plan: Aggregate) -> Sequence[int]:
    """The places of the keys in the order of their normal texts, which have no aliases.

    So the order in which a statement names its keys decides nothing: neither what is measured nor which groups a unit keeps.
    """
    if len(plan.keys) < 2:  # noqa: PLR2004 - one key has one order
        return range(len(plan.keys))
    own_names = {one: one for one in _constants_in(plan)}
    texts = [normal_text(plan.child, key, own_names) for _, key in plan.keys]
    return sorted(range(len(texts)), key=texts.__getitem__)


def _constants_in(plan: Aggregate) -> Iterator[str]:
    """The names of the staged constants that the plan reads."""
    for node in walk_nodes(plan):
        if isinstance(node, Constant):
            yield node.name
        for scalar in node.scalars:
            for part in walk_scalar(scalar):
                if isinstance(part, StagedValue | StagedMember):
                    yield part.constant


def _constants_of_text(cut: Cut, session: Session, most: int) -> Mapping[str, StagedRows]:
    """The rows of stages that need nothing but the text of the statement, computed on the twin.

    With them the auditor reads conditions on these stages as conditions on constants.
    """
    found: dict[str, StagedRows] = {}
    for step in free_stages(cut):
        with session() as twin:
            found[step.name] = staged_rows(step, run_with_guards(step.sql, {}, twin, most).rows)
    return found
