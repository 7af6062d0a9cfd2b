"""The reuse plan of a query: what the cache gives, what is topped up, and what has to be measured.

Each slot and each choice of each part is looked up among earlier cache entries. The plan comes before the audit and the
charge.

INVARIANT: a plan depends only on the query, the policy and the event log. The position of the log is part of it, and it is
charged only while that position is the last one.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from fractions import Fraction
from functools import cached_property
from itertools import count
from typing import Final

from gateway.budget.account import Currency
from gateway.lru_cache import LruCache
from gateway.noise.allocation import CostShares, slots_of
from gateway.plan.relations import StagedRows
from gateway.pricing.price import AnalyzedQuery
from gateway.regions.declarations import declarations
from gateway.regions.scope import ReleaseScope, aggregate_scopes, scope_of
from gateway.release_cache.cache import ReleaseCache
from gateway.release_cache.decision import TopUp, UseCached, Verdict, decide_reuse
from gateway.release_cache.entry import CacheEntry
from gateway.release_cache.fingerprints import Constants
from gateway.release_cache.matching import Match, MeasurementRequest, measurement_request
from gateway.requests.request import CacheUse
from gateway.sensitivity.analysis import Analysis, EnumeratedGroups
from gateway.units import Epsilon


@dataclass(frozen=True)
class ReuseContext:
    """What a query is planned in.

    `cost` is what the whole statement would take at `price`, in the ledger's currency. What is bought is bought `now`, in
    this epoch of the data. What was bought before `awaited_since` is not waited for. `own`: only what the subject was
    given before is taken.
    """

    query: AnalyzedQuery
    cache: ReleaseCache
    price: Epsilon
    cost: Fraction
    now: datetime
    epoch: int
    awaited_since: datetime
    own: bool = False

    @property
    def default(self) -> Epsilon | None:
        """The default price where none was asked for; None where one was."""
        return self.query.policy.privacy.default_price if self.query.epsilon is None else None

    @property
    def is_fresh(self) -> bool:
        """True if nothing is taken from earlier answers."""
        return self.query.question.request.fresh or not self.query.policy.max_age

    @property
    def since(self) -> datetime:
        """Nothing that was bought before is taken."""
        return self.now - self.query.policy.max_age

    @cached_property
    def members(self) -> frozenset[str] | None:
        """The subjects whose answers are taken; None: everybody's."""
        return self.query.policy.given_to(self.query.subject)

    def may_take(self, entry: CacheEntry) -> bool:
        """True if the subject has the entry already, or if it costs no more than the query offers."""
        if not self.own and entry.cost <= self.cost:
            return True
        slots, choices = range(len(entry.slots)), range(len(entry.choices))
        return self.cache.knows(frozenset({self.query.subject}), entry.release, slots, choices)


@dataclass(frozen=True)
class PlannedPart:
    """A part of a release: `shares` of the price of the statement are bought of it, the rest is taken.

    A slot with both is topped up. `asides` are what single aggregates are about that look at other rows, and what the
    part is about once constants of the text are in it. `compared` is what the auditor holds against earlier questions.
    """

    name: str
    wanted: MeasurementRequest
    asides: tuple[ReleaseScope, ...]
    compared: tuple[ReleaseScope, ...]
    shares: CostShares
    slots: tuple[Match | None, ...]
    choices: tuple[Match | None, ...]

    @property
    def analysis(self) -> Analysis:
        return self.wanted.analysis

    @property
    def ground(self) -> ReleaseScope:
        return self.wanted.ground

    def with_constants(
        self, names: Mapping[str, str], there: Mapping[str, StagedRows]
    ) -> tuple[ReleaseScope, ...]:
        """The scopes to audit now that these constants are known; none, if nothing is new."""
        analysis = self.analysis
        listed = analysis.groups if isinstance(analysis.groups, EnumeratedGroups) else None
        ground = scope_of(analysis.plan, listed, names, there)
        found = (ground, *aggregate_scopes(analysis.plan, ground, names, there))
        return found if set(found) - set(self.compared) else ()

    @property
    def taken(self) -> Iterator[Match]:
        return (one for one in (*self.slots, *self.choices) if one is not None)

    @property
    def tells(self) -> str:
        """The identity of the part's content: where each slot and choice is found, or will be found."""
        return repr(
            [
                *self._found(self.slots, self.shares.slots),
                *self._found(self.choices, self.shares.choices),
            ]
        )

    def _found(
        self, taken: Sequence[Match | None], shares: Sequence[Fraction | None]
    ) -> Iterator[tuple[str, int, str]]:
        bought = count()
        for match, share in zip(taken, shares, strict=True):
            if share is not None:
                yield self.name, next(bought), CacheUse.SAME.value
            elif match is not None:
                yield match.entry.release, match.place, match.how.value


@dataclass(frozen=True)
class ReusePlan:
    """The parts of all releases, in order. `awaited`: some of what is bought is about to be given to somebody else.

    `oldest` is the time of the oldest entry that was looked at: until it is too old, the same entries are looked at.
    """

    parts: tuple[PlannedPart, ...]
    awaited: bool = False
    oldest: datetime | None = None

    @cached_property
    def shares(self) -> tuple[CostShares, ...]:
        return tuple(one.shares for one in self.parts)

    @cached_property
    def bought(self) -> Fraction:
        """The fraction of the statement's price that is measured."""
        return sum((one.cost for one in self.shares), Fraction(0))

    @cached_property
    def topped_up(self) -> Fraction:
        """The fraction of the price that tops up cached values."""
        return sum(
            (
                share
                for part in self.parts
                for match, share in zip(part.slots, part.shares.slots, strict=True)
                if match is not None and share is not None
            ),
            Fraction(0),
        )

    @cached_property
    def reused(self) -> CacheUse | None:
        """How the whole answer came from the cache; None if a part of it did not, or if nothing is measured."""
        ways = {match.how for part in self.parts for match in part.taken}
        if self.bought or not ways:
            return None
        return max(ways, key=list(CacheUse).index)

    @cached_property
    def partly(self) -> bool:
        """True if a part of the answer came from the cache and a part did not."""
        return bool(self.bought) and any(True for part in self.parts for _ in part.taken)


def plan_reuse(around: ReuseContext) -> ReusePlan:
    """The plan: which parts of the statement are measured; all of them, if nothing may be reused."""
    return _Planning(around, Fraction(1, max(slots_of(around.query.analyses), 1))).all()


@dataclass(frozen=True)
class _Scope:
    """What a part is about, for the cache (`wanted`) and for the auditor (`compared`)."""

    wanted: MeasurementRequest
    asides: tuple[ReleaseScope, ...]
    compared: tuple[ReleaseScope, ...]


# An analysis is of one dataset under one policy. It is kept beside its scope, so no other analysis has its identity.
_MOST_GROUPS: Final = (
    200_000  # of all remembered scopes together: each holds the cells of its groups
)


def _weigh(_: tuple[int, Currency], found: tuple[Analysis, _Scope]) -> int:
    groups = found[0].groups
    return 1 + (len(groups.keys) if isinstance(groups, EnumeratedGroups) else 0)


_SCOPES: Final[LruCache[tuple[int, Currency], tuple[Analysis, _Scope]]] = LruCache(
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

    def all(self) -> ReusePlan:
        query = self.around.query
        constants = Constants(query.cut, query.question.query_id)
        for place, release in enumerate(query.releases):
            content = constants.before(place)
            first = len(self.parts)
            for number, analysis in enumerate(release.parts, 1):
                scope = self._scope(analysis, content, query.known)
                name = f"{query.question.query_id}.r{place + 1}.{number}"
                part = self._part(name, scope.wanted, scope.asides)
                self.parts.append(replace(part, compared=scope.compared))
            constants.told(place, repr([one.tells for one in self.parts[first:]]))
        return ReusePlan(tuple(self.parts), self.awaited, self.oldest)

    def _scope(
        self,
        analysis: Analysis,
        content: Mapping[str, str],
        known: Mapping[str, StagedRows],
    ) -> _Scope:
        """What a part is about; remembered if no other step of the statement has to do with it."""
        if content or known:
            return self._read_scope(analysis, content, known)
        found = _SCOPES.get(
            (id(analysis), self.around.query.currency),
            lambda: (analysis, self._read_scope(analysis, content, known)),
        )
        return found[1]

    def _read_scope(
        self,
        analysis: Analysis,
        content: Mapping[str, str],
        known: Mapping[str, StagedRows],
    ) -> _Scope:
        groups = analysis.groups
        listed = groups if isinstance(groups, EnumeratedGroups) else None
        ground = scope_of(analysis.plan, listed, content)
        asides = aggregate_scopes(analysis.plan, ground, content)
        compared = (ground, *asides)
        if known:
            folded = scope_of(analysis.plan, listed, content, known)
            with_constants = (folded, *aggregate_scopes(analysis.plan, folded, content, known))
            if with_constants != compared:
                # for the auditor alone: how often a row is joined with a constant is not in it
                asides = compared = with_constants
        wanted = measurement_request(
            analysis,
            ground,
            currency=self.around.query.currency,
            declarations=declarations(analysis.plan, self.around.query.policy.dataset),
            constants=content,
        )
        return _Scope(wanted, asides, compared)

    def _part(
        self, name: str, wanted: MeasurementRequest, asides: tuple[ReleaseScope, ...]
    ) -> PlannedPart:
        around = self.around
        entries: Sequence[CacheEntry] = ()
        if not around.is_fresh:
            entries = around.cache.helpful(
                wanted.ground,
                since=around.since,
                awaited_since=around.awaited_since,
                members=around.members,
            )
        times = [one.at for one in entries]
        if times:
            self.oldest = min(times if self.oldest is None else [*times, self.oldest])
        affordable = [one for one in entries if around.may_take(one)]
        awaited = [one for one in affordable if around.cache.pending(one.release)]
        there = [one for one in affordable if one not in awaited] if awaited else affordable
        part = self._decided(name, wanted, asides, there)
        if awaited and part.shares.cost:
            # somebody buys it at this moment: it is waited for, and not bought twice
            with_it = self._decided(name, wanted, asides, affordable)
            self.awaited |= with_it.shares.cost < part.shares.cost
        return part

    def _decided(
        self,
        name: str,
        wanted: MeasurementRequest,
        asides: tuple[ReleaseScope, ...],
        entries: Sequence[CacheEntry],
    ) -> PlannedPart:
        share = self.share * self.around.cost
        found = decide_reuse(wanted, entries, share, self.around.default)
        slots = [self._way(one) for one in found.slots]
        choices = [self._way(one) for one in found.choices]
        return PlannedPart(
            name,
            wanted,
            asides,
            (wanted.ground, *asides),
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
