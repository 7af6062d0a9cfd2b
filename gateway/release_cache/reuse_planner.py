"""The reuse plan of a query: what the cache gives, what is topped up, and what has to be measured.

Each slot and each choice of each part is looked up among earlier cache entries. The plan comes before the audit and the
charge.

INVARIANT: a plan depends only on the query, the policy and the event log. The position of the log is part of it, and it is
charged only while that position is the last one.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from fractions import Fraction
from typing import Final

from gateway.budget.account import Currency
from gateway.lru_cache import LruCache
from gateway.noise.allocation import CostShares, slots_of
from gateway.plan.relations import StagedRows
from gateway.regions.declarations import declarations
from gateway.regions.scope import ReleaseScope, scope_of, scopes_beside
from gateway.release_cache.decision import TopUp, UseCached, Verdict, decide_reuse
from gateway.release_cache.entry import CacheEntry
from gateway.release_cache.fingerprints import Constants
from gateway.release_cache.matching import Match, MeasurementRequest, measurement_request
from gateway.release_cache.query_plan import PlannedPart, QueryPlan, ReuseContext
from gateway.sensitivity.analysis import Analysis, EnumeratedGroups
from gateway.sensitivity.norm_release import counts_norms


def plan_reuse(around: ReuseContext) -> QueryPlan:
    """The plan without its debts: which parts of the statement are measured; all of them, if nothing may be reused."""
    return _Planning(around, Fraction(1, max(slots_of(around.query.analyses), 1))).all()


@dataclass(frozen=True)
class _PartScopes:
    """What a part is about, for the cache (`wanted`) and for the auditor (`compared`)."""

    wanted: MeasurementRequest
    extra_scopes: tuple[ReleaseScope, ...]
    compared: tuple[ReleaseScope, ...]


# An analysis is of one dataset under one policy. It is kept beside its scope, so no other analysis has its identity.
_MOST_GROUPS: Final = (
    200_000  # of all remembered scopes together: each holds the cells of its groups
)


def _weigh(_: tuple[int, Currency], found: tuple[Analysis, _PartScopes]) -> int:
    groups = found[0].groups
    return 1 + (len(groups.keys) if isinstance(groups, EnumeratedGroups) else 0)


_SCOPES: Final[LruCache[tuple[int, Currency], tuple[Analysis, _PartScopes]]] = LruCache(
    _MOST_GROUPS, _weigh
)


@dataclass
class _Planning:
    """Plans the parts in the order in which they run, because the scope of a part may depend on earlier ones.

    `share` is that of each slot and choice.
    """

    around: ReuseContext
    share: Fraction
    awaited: bool = False
    oldest: datetime | None = None
    parts: list[PlannedPart] = field(default_factory=list)

    def all(self) -> QueryPlan:
        query = self.around.query
        constants = Constants(query.cut, query.question.query_id)
        for place, release in enumerate(query.releases):
            content = constants.before(place)
            first = len(self.parts)
            for number, analysis in enumerate(release.parts, 1):
                found = self._scopes(analysis, content, query.known)
                name = f"{query.question.query_id}.r{place + 1}.{number}"
                part = self._part(name, found.wanted, found.extra_scopes)
                self.parts.append(replace(part, compared=found.compared))
            constants.set_content(place, repr([one.tells for one in self.parts[first:]]))
        return QueryPlan(self.around, tuple(self.parts), self.awaited, self.oldest)

    def _scopes(
        self,
        analysis: Analysis,
        content: Mapping[str, str],
        known: Mapping[str, StagedRows],
    ) -> _PartScopes:
        """What a part is about; remembered if no other step of the statement has to do with it."""
        if content or known:
            return self._read_scopes(analysis, content, known)
        found = _SCOPES.get(
            (id(analysis), self.around.query.currency),
            lambda: (analysis, self._read_scopes(analysis, content, known)),
        )
        return found[1]

    def _read_scopes(
        self,
        analysis: Analysis,
        content: Mapping[str, str],
        known: Mapping[str, StagedRows],
    ) -> _PartScopes:
        groups = analysis.groups
        listed = groups if isinstance(groups, EnumeratedGroups) else None
        scope = scope_of(analysis.plan, listed, content)
        if counts_norms(analysis):
            # compared with other histograms alone: docs/proofs/clip_choice.md
            scope = replace(scope, shape=f"norms of {scope.shape}")
        extra_scopes = scopes_beside(analysis, scope, content)
        compared = (scope, *extra_scopes)
        if known:
            folded = scope_of(analysis.plan, listed, content, known)
            with_constants = (folded, *scopes_beside(analysis, folded, content, known))
            if with_constants != compared:
                # for the auditor alone: how often a row is joined with a constant is not in it
                extra_scopes = compared = with_constants
        wanted = measurement_request(
            analysis,
            scope,
            currency=self.around.query.currency,
            declarations=declarations(analysis.plan, self.around.query.policy.dataset),
            constants=content,
        )
        return _PartScopes(wanted, extra_scopes, compared)

    def _part(
        self, name: str, wanted: MeasurementRequest, extra_scopes: tuple[ReleaseScope, ...]
    ) -> PlannedPart:
        around = self.around
        entries: Sequence[CacheEntry] = ()
        if not around.is_fresh:
            entries = around.cache.helpful(
                wanted.scope,
                since=around.since,
                awaited_since=around.awaited_since,
                members=around.looked_at,
            )
        times = [one.at for one in entries]
        if times:
            self.oldest = min(times if self.oldest is None else [*times, self.oldest])
        affordable = [one for one in entries if around.may_take(one)]
        awaited = [one for one in affordable if around.cache.pending(one.release)]
        there = [one for one in affordable if one not in awaited] if awaited else affordable
        part = self._decided(name, wanted, extra_scopes, there)
        if awaited and part.shares.cost:
            # somebody buys it at this moment: it is waited for, and not bought twice
            with_it = self._decided(name, wanted, extra_scopes, affordable)
            self.awaited |= with_it.shares.cost < part.shares.cost
        return part

    def _decided(
        self,
        name: str,
        wanted: MeasurementRequest,
        extra_scopes: tuple[ReleaseScope, ...],
        entries: Sequence[CacheEntry],
    ) -> PlannedPart:
        share = self.share * self.around.cost
        found = decide_reuse(wanted, entries, share, self.around.default)
        slots = [self._way(one) for one in found.slots]
        choices = [self._way(one) for one in found.choices]
        return PlannedPart(
            name,
            wanted,
            extra_scopes,
            (wanted.scope, *extra_scopes),
            CostShares(tuple(share for _, share in slots), tuple(share for _, share in choices)),
            tuple(match for match, _ in slots),
            tuple(match for match, _ in choices),
        )

    def _way(self, verdict: Verdict) -> tuple[Match | None, Fraction | None]:
        """The match that is used, and the share of the price that is measured."""
        match verdict:
            case UseCached(found):
                return found, None
            case TopUp(found, cost):
                return found, cost / self.around.cost
            case _:
                return None, self.share
