"""The plan of a query, as values: what the cache gives, what is topped up, what is measured, and what both cost.

`gateway.release_cache.reuse_planner` makes a plan. What follows from one is computed once, because a plan may answer many
repeats.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from fractions import Fraction
from functools import cached_property
from itertools import count

from gateway.budget.account import Account
from gateway.budget.charge import CachedMeasurement
from gateway.engines.catalog.proofs import TableProof
from gateway.noise.allocation import CostShares
from gateway.plan.relations import StagedRows
from gateway.pricing.price import AnalyzedQuery
from gateway.regions.scope import ReleaseScope, scope_of, scopes_beside
from gateway.release_cache.cache import CachePosition, ReleaseCache
from gateway.release_cache.entry import CacheEntry
from gateway.release_cache.events import ColumnsShared
from gateway.release_cache.matching import Match, MeasurementRequest
from gateway.requests.request import CacheUse
from gateway.sensitivity.analysis import Analysis, EnumeratedGroups
from gateway.units import Epsilon


@dataclass(frozen=True)
class Basis:
    """What a plan rests on besides its query: the log, the accounts on the path, and the proofs of the source."""

    seen: CachePosition
    accounts: Sequence[Account]
    proven: Mapping[str, TableProof]


@dataclass(frozen=True)
class ReuseContext:
    """What a query is planned in.

    `cost` is what the whole statement would take at `price`, in the ledger's currency. What is bought is bought `now`.
    What was bought before `awaited_since` is not waited for. `own`: only what the subject was given before is taken.
    """

    query: AnalyzedQuery
    cache: ReleaseCache
    basis: Basis
    price: Epsilon
    cost: Fraction
    now: datetime
    awaited_since: datetime
    own: bool = False

    @cached_property
    def path(self) -> tuple[str, ...]:
        """The names of the accounts that are charged, from the analyst's own up to the ledger's."""
        return tuple(one.name for one in self.basis.accounts)

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

    @property
    def looked_at(self) -> frozenset[str] | None:
        """The subjects whose releases are looked at: where only its own are taken, others crowd none of them out."""
        return frozenset({self.query.subject}) if self.own else self.members

    def may_take(self, entry: CacheEntry) -> bool:
        """True if the subject has the entry already, or if it costs no more than the query."""
        if not self.own and entry.cost <= self.cost:
            return True
        slots, choices = range(len(entry.slots)), range(len(entry.choices))
        return self.cache.knows(frozenset({self.query.subject}), entry.release, slots, choices)


@dataclass(frozen=True)
class PlannedPart:
    """A part of a release: it buys `shares` of the statement's price, and takes the rest from the cache.

    A slot with both is topped up. `extra_scopes` are those of single aggregates that select other rows, and the scope
    of the part once constants of the text are in it. The auditor compares `compared` with earlier queries.
    """

    name: str
    wanted: MeasurementRequest
    extra_scopes: tuple[ReleaseScope, ...]
    compared: tuple[ReleaseScope, ...]
    shares: CostShares
    slots: tuple[Match | None, ...]
    choices: tuple[Match | None, ...]

    @property
    def analysis(self) -> Analysis:
        return self.wanted.analysis

    @property
    def scope(self) -> ReleaseScope:
        return self.wanted.scope

    def with_constants(
        self, names: Mapping[str, str], there: Mapping[str, StagedRows]
    ) -> tuple[ReleaseScope, ...]:
        """The scopes to audit now that these constants are known; none, if nothing is new."""
        analysis = self.analysis
        listed = analysis.groups if isinstance(analysis.groups, EnumeratedGroups) else None
        scope = scope_of(analysis.plan, listed, names, there)
        found = (scope, *scopes_beside(analysis, scope, names, there))
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
class Debts:
    """What accounts owe for cached measurements that others bought.

    `told` is what is written down of it: also of what is owed nothing for, when the subject is new to it.
    """

    owed: tuple[CachedMeasurement, ...] = ()
    told: tuple[ColumnsShared, ...] = ()

    def of(self, account: str) -> Fraction:
        """What one account owes, in the ledger's currency."""
        return sum((one.cost for one in self.owed if account not in one.paid), Fraction(0))


@dataclass(frozen=True)
class QueryPlan:
    """What a query takes from earlier answers, what is measured for it, and what both cost.

    `parts` are those of all releases, in order. `awaited`: some of what is bought is about to be given to somebody else.
    `oldest` is the time of the oldest entry that was looked at: until it is too old, the same entries are looked at.
    """

    context: ReuseContext
    parts: tuple[PlannedPart, ...]
    awaited: bool = False
    oldest: datetime | None = None
    debts: Debts = Debts()

    @property
    def cost(self) -> Fraction:
        """What is measured, in the ledger's currency."""
        return self.context.cost * self.bought

    @property
    def charged(self) -> Epsilon:
        """What the analyst's own account gives, in epsilon."""
        given = self.cost + self.debts.of(self.context.path[0])
        return Epsilon(self.context.price.value * given / self.context.cost)

    @cached_property
    def shares(self) -> tuple[CostShares, ...]:
        return tuple(one.shares for one in self.parts)

    @cached_property
    def bought(self) -> Fraction:
        """The fraction of the statement's price that is measured."""
        return sum((one.cost for one in self.shares), Fraction(0))

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
