"""What a query buys, as values: its quote, its bill, and what is released for it.

`gateway.stages.quote` makes a quote: what earlier answers give, what is measured, and what that costs.
`gateway.stages.charge` charges it and gives the bill, `gateway.stages.execute` runs it and gives what is released. What
follows from a quote is computed once, because one quote may answer many repeats (`gateway.stages.repeat_cache`).
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from fractions import Fraction
from functools import cached_property

from gateway.noise.allocation import ReleaseNoise
from gateway.pricing.price import AnalyzedQuery
from gateway.release_cache.assemble import PlannedRelease
from gateway.release_cache.cost_sharing import copies_of, plan_entries
from gateway.release_cache.entry import CacheEntry, Content
from gateway.release_cache.events import EntryCharged, Event
from gateway.release_cache.query_plan import QueryPlan
from gateway.requests.request import CacheUse
from gateway.results.constants import ConstantTable
from gateway.results.rollup import NoisyRelease
from gateway.units import Delta, Epsilon


@dataclass(frozen=True)
class Quote:
    """A query that is planned, audited and priced: what `charge_quote` charges and `execute_query` runs.

    `plan` is None if the query measures nothing. `touched` are the cells of an immutable partition that it is confined to,
    by what was proven of the source's tables when the quote was made.
    """

    releases: tuple[PlannedRelease, ...]
    plan: QueryPlan | None = None
    touched: tuple[str, ...] | None = None

    @cached_property
    def purchases(self) -> tuple[ReleaseNoise, ...]:
        """What the source is asked for."""
        parts = (one for each in self.releases for one in each.measurements)
        return tuple(one.purchase for one in parts if one.purchase is not None)

    @cached_property
    def charges(self) -> bool:
        """Whether any account gives anything for it."""
        return self.plan is not None and bool(self.plan.bought or self.plan.debts.owed)

    @cached_property
    def is_repeat(self) -> bool:
        """Whether it answers from the cache, costs nothing, and tells its reader nothing new."""
        return self.reused is not None and not self.charges and not self.events

    @cached_property
    def measured(self) -> tuple[str, ...]:
        """The names of the releases that are new."""
        parts = (one for each in self.releases for one in each.measurements)
        return tuple(one.entry.release for one in parts if one.entry is not None)

    @cached_property
    def events(self) -> tuple[Event, ...]:
        """What is written down when it is charged."""
        if self.plan is None:
            return ()
        accounts = frozenset(self.plan.context.path)
        new = [
            EntryCharged(
                one.entry, accounts, None if one.copied is None else one.copied.entry.release
            )
            for each in self.releases
            for one in each.measurements
            if one.entry is not None
        ]
        return (*new, *self.plan.debts.told)

    @cached_property
    def entries(self) -> tuple[CacheEntry, ...]:
        """The cache entries that something is taken from."""
        return () if self.plan is None else tuple(plan_entries(self.plan))

    @cached_property
    def taken(self) -> tuple[CacheEntry, ...]:
        """These entries, and those whose draws are handed on."""
        return (*self.entries, *(one.entry for one in copies_of(self.releases)))

    @cached_property
    def since(self) -> datetime | None:
        """The age of the oldest cache entry that something is taken from."""
        return min((one.at for one in self.entries), default=None)

    @cached_property
    def reused(self) -> CacheUse | None:
        """How the whole answer came from the cache; None if a part of it did not."""
        return None if self.plan is None else self.plan.reused

    @cached_property
    def partly(self) -> bool:
        """Whether a part of the answer came from the cache and a part did not."""
        return self.plan is not None and self.plan.partly


@dataclass(frozen=True)
class Bill:
    """A quote that is charged: it may run now. `contents` are the cached integers that it takes.

    `price` is that of the query; `charged`, `rho` and `delta` are what the analyst's own account paid.
    """

    quote: Quote
    contents: Mapping[str, Content] = field(default_factory=dict)
    price: Epsilon = field(default_factory=Epsilon.zero)
    charged: Epsilon = field(default_factory=Epsilon.zero)
    rho: Fraction | None = None
    delta: Delta = field(default_factory=Delta.zero)
    notices: tuple[str, ...] = ()


@dataclass(frozen=True)
class Released:
    """A query whose numbers are released: what is left is PostgreSQL's own work over them.

    `constants` are relations for the twin, `noisy` the noisy tables among them by the names of their releases, and
    `small` the rows of each release whose aggregates are blank. `undefined`: NULL was staged for a missing value.
    `notices` name the columns that are mostly noise.
    """

    query: AnalyzedQuery
    bill: Bill
    constants: Mapping[str, ConstantTable]
    noisy: Mapping[str, NoisyRelease]
    small: Mapping[str, frozenset[int]]
    undefined: bool = False
    notices: tuple[str, ...] = ()
