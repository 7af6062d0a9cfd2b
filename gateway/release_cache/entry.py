"""Cache entries: what a part of a release measured and how exactly, and its noisy integers.

INVARIANT: all of it is public. An entry follows from queries, policies and prices; its content was released.
"""

from dataclasses import dataclass, field, replace
from datetime import datetime
from fractions import Fraction
from typing import TypeAlias, TypeVar, cast

from gateway.catalog.values import Value
from gateway.noise.combined_noise import AnyNoise, unit_variance
from gateway.noise.drawn_choices import Span
from gateway.noise.exponential import Choice as Selecting
from gateway.regions.region import Box, Region
from gateway.regions.scope import GroupKey, ReleaseScope
from gateway.units import Epsilon

Part = TypeVar("Part")
Key: TypeAlias = tuple[Value | None, ...]


@dataclass(frozen=True, slots=True)
class CachedSlot:
    """A measured slot: one noise for each of its measurements, over all groups.

    `cost` is all that was given for it, in the ledger's currency; `most` is how far one unit moves it in a group.
    """

    digest: str
    noises: tuple[AnyNoise, ...]
    cost: Fraction
    most: int


@dataclass(frozen=True, slots=True)
class CachedChoice:
    """A measured choice. A choice of a query with the same digest is the same choice."""

    digest: str
    selection: Selecting
    cost: Fraction


@dataclass(frozen=True, slots=True)
class CacheEntry:
    """A measured part of a release: its scope, its slots and its choices.

    `bounding` is the digest of its contribution bounds. `plain`: a query about one group alone would measure the same
    as that group. `additive`: a query about several groups would measure their sum. `listed`: its groups are all
    combinations of its keys' values, in their order; otherwise they were found in the data. `asked_at` is the price of
    the statement that bought it, `delta` the part that its threshold took. `touched` are the cells of the immutable
    partition that confine it, or None. `extra_scopes` are those of single aggregates that select fewer rows: the
    auditor compares queries with them, and no query is answered from them. `cost` is the cost of everything in it.
    """

    release: str
    query_id: str
    at: datetime
    epoch: int
    scope: ReleaseScope
    bounding: str
    additive: bool
    plain: bool
    listed: bool
    slots: tuple[CachedSlot, ...]
    choices: tuple[CachedChoice, ...]
    asked_at: Epsilon
    delta: Fraction = Fraction(0)
    touched: tuple[str, ...] | None = None
    extra_scopes: tuple[ReleaseScope, ...] = ()
    cost: Fraction = field(init=False)

    def __post_init__(self) -> None:
        costs = (one.cost for each in (self.slots, self.choices) for one in each)
        object.__setattr__(self, "cost", sum(costs, Fraction(0)))

    def first_column(self, slot: int) -> int:
        """The position of a slot's first measurement among the columns of the content."""
        return sum(len(one.noises) for one in self.slots[:slot])


@dataclass(frozen=True, slots=True)
class Content:
    """The released values of an entry: one row of `keys` for each group.

    `columns` has a column for each measurement of the entry's slots, in order; `chosen` and `spans` one for each
    choice. A column of spans is empty where its choice tells none.
    """

    keys: tuple[Key, ...]
    columns: tuple[tuple[int, ...], ...] = field(repr=False)
    chosen: tuple[tuple[Value, ...], ...] = field(default=(), repr=False)
    spans: tuple[tuple[Span, ...], ...] = field(default=(), repr=False)


def spread_of(slot: CachedSlot) -> Fraction:
    """The variance of the slot's noise when one unit moves it by 1."""
    return unit_variance(slot.noises, slot.most)


class Interned:
    """Equal parts of cache entries, stored once. The caller keeps threads apart."""

    def __init__(self) -> None:
        self._parts: dict[object, object] = {}

    def entry(self, entry: CacheEntry) -> CacheEntry:
        """The same entry, made of parts that other entries share."""
        return replace(
            entry,
            scope=self.scope(entry.scope),
            bounding=self.part(entry.bounding),
            slots=self.part(tuple(map(self.part, entry.slots))),
            choices=self.part(tuple(map(self.part, entry.choices))),
            asked_at=self.part(entry.asked_at),
            touched=self.part(entry.touched),
        )

    def scope(self, scope: ReleaseScope) -> ReleaseScope:
        region = scope.region
        boxes = tuple(self._box(one) for one in region.boxes)
        return replace(
            scope,
            shape=self.part(scope.shape),
            tables=self.part(scope.tables),
            region=self.part(Region(self.part(region.axes), boxes)),
            keys=tuple(map(self._key, scope.keys)),
            unreadable=self.part(scope.unreadable),
        )

    def part(self, part: Part) -> Part:
        return cast("Part", self._parts.setdefault((type(part), part), part))

    def _key(self, key: GroupKey) -> GroupKey:
        """Values of different types may be equal, such as 1 and true; what is handed out has the types that came in."""
        types = tuple(map(type, key.values or ()))
        return cast("GroupKey", self._parts.setdefault((types, key), key))

    def _box(self, box: Box) -> Box:
        return Box(tuple((self.part(name), self.part(cells)) for name, cells in box.parts))
