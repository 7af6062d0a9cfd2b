"""The query plan and the quote, as values: what earlier answers give, what is measured, and what that costs.

A quote is what `gateway.stages.quote` makes, `gateway.stages.charge` charges and `gateway.stages.execute` runs. What
follows from it is computed once, because one quote may answer many repeats (`gateway.stages.quote_cache`).
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from fractions import Fraction
from functools import cached_property

from gateway.engines.catalog.proofs import TableProof
from gateway.noise.allocation import ReleaseNoise
from gateway.release_cache.assemble import PlannedRelease
from gateway.release_cache.cache import CachePosition
from gateway.release_cache.cost_sharing import Debts, copies_of, plan_entries
from gateway.release_cache.entry import CacheEntry
from gateway.release_cache.events import EntryCharged, Event
from gateway.release_cache.reuse_planner import ReuseContext, ReusePlan
from gateway.requests.request import CacheUse
from gateway.units import Epsilon


@dataclass(frozen=True)
class QueryPlan:
    """Which parts are taken from earlier answers, which are measured, and what both cost.

    `seen` is the position of the log that it was planned at. `path` are the accounts that are charged, from the analyst's
    own up to the ledger's.
    """

    seen: CachePosition
    parts: ReusePlan
    context: ReuseContext
    debts: Debts
    path: tuple[str, ...]

    @property
    def cost(self) -> Fraction:
        """What is measured, in the ledger's currency."""
        return self.context.cost * self.parts.bought

    @property
    def charged(self) -> Epsilon:
        """What the analyst's own account gives, in epsilon, where it is the one that binds."""
        given = self.cost + self.debts.of(self.path[0])
        return Epsilon(self.context.price.value * given / self.context.cost)


@dataclass(frozen=True)
class Quote:
    """A query that is planned, audited and priced: what `charge_quote` charges and `execute_query` runs.

    `plan` is None if the query measures nothing. `touched` are the cells of an immutable partition that it is confined to,
    by what was `proven` of the source's tables when the quote was made.
    """

    releases: tuple[PlannedRelease, ...]
    plan: QueryPlan | None = None
    touched: tuple[str, ...] | None = None
    proven: Mapping[str, TableProof] = field(default_factory=dict, repr=False)

    @cached_property
    def purchases(self) -> tuple[ReleaseNoise, ...]:
        """What the source is asked for."""
        parts = (one for each in self.releases for one in each.errands)
        return tuple(one.purchase for one in parts if one.purchase is not None)

    @cached_property
    def charges(self) -> bool:
        """Whether any account gives anything for it."""
        return self.plan is not None and bool(self.plan.parts.bought or self.plan.debts.owed)

    @cached_property
    def is_repeat(self) -> bool:
        """Whether it answers from the cache, costs nothing, and tells its reader nothing new."""
        return self.reused is not None and not self.charges and not self.events

    @cached_property
    def measured(self) -> tuple[str, ...]:
        """The names of the releases that are new."""
        parts = (one for each in self.releases for one in each.errands)
        return tuple(one.sheet.release for one in parts if one.sheet is not None)

    @cached_property
    def events(self) -> tuple[Event, ...]:
        """What is written down when it is charged."""
        if self.plan is None:
            return ()
        accounts = frozenset(self.plan.path)
        new = [
            EntryCharged(
                one.sheet, accounts, None if one.copied is None else one.copied.sheet.release
            )
            for each in self.releases
            for one in each.errands
            if one.sheet is not None
        ]
        return (*new, *self.plan.debts.told)

    @cached_property
    def entries(self) -> tuple[CacheEntry, ...]:
        """The cache entries that something is taken from."""
        return () if self.plan is None else tuple(plan_entries(self.plan.parts))

    @cached_property
    def taken(self) -> tuple[CacheEntry, ...]:
        """These entries, and those whose draws are handed on."""
        return (*self.entries, *(one.sheet for one in copies_of(self.releases)))

    @cached_property
    def since(self) -> datetime | None:
        """The age of the oldest cache entry that something is taken from."""
        return min((one.at for one in self.entries), default=None)

    @cached_property
    def reused(self) -> CacheUse | None:
        """How the whole answer came from the cache; None if a part of it did not."""
        return None if self.plan is None else self.plan.parts.reused

    @cached_property
    def partly(self) -> bool:
        """Whether a part of the answer came from the cache and a part did not."""
        return self.plan is not None and self.plan.parts.partly
