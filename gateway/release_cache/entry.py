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

    `bounding` is the digest of how a unit is bounded in it. `plain`: a group of it is what a question about that group
    alone would measure; `additive`: and groups put together are what a question about all of them would. `listed`:
    its groups are all combinations of its keys' values, in their order; else they were found in the data.
    `asked_at` is the price of the statement that it was bought by, `delta` what its threshold took; `touched` are the
    cells of the immutable partition that it is confined to, None where it is not. `asides` are what single aggregates
    are about that look at fewer rows; questions are compared with them, and never answered from them. `cost` is all that was given for what is in it.
    """

    release: str
    query_id: str
    at: datetime
    epoch: int
    ground: ReleaseScope
    bounding: str
    additive: bool
    plain: bool
    listed: bool
    slots: tuple[CachedSlot, ...]
    choices: tuple[CachedChoice, ...]
    asked_at: Epsilon
    delta: Fraction = Fraction(0)
    touched: tuple[str, ...] | None = None
    asides: tuple[ReleaseScope, ...] = ()
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

    `columns` has a column for each measurement of the sheet's slots, in order; `chosen` and `spans` one for each
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

    def sheet(self, sheet: CacheEntry) -> CacheEntry:
        """The same entry, made of parts that other entries share."""
        return replace(
            sheet,
            ground=self.ground(sheet.ground),
            bounding=self.part(sheet.bounding),
            slots=self.part(tuple(map(self.part, sheet.slots))),
            choices=self.part(tuple(map(self.part, sheet.choices))),
            asked_at=self.part(sheet.asked_at),
            touched=self.part(sheet.touched),
        )

    def ground(self, ground: ReleaseScope) -> ReleaseScope:
        region = ground.region
        boxes = tuple(self._box(one) for one in region.boxes)
        return replace(
            ground,
            shape=self.part(ground.shape),
            tables=self.part(ground.tables),
            region=self.part(Region(self.part(region.axes), boxes)),
            keys=tuple(map(self._key, ground.keys)),
            unreadable=self.part(ground.unreadable),
        )

    def part(self, part: Part) -> Part:
        return cast("Part", self._parts.setdefault((type(part), part), part))

    def _key(self, key: GroupKey) -> GroupKey:
        """Values of different types may be equal, such as 1 and true; what is handed out has the types that came in."""
        types = tuple(map(type, key.values or ()))
        return cast("GroupKey", self._parts.setdefault((types, key), key))

    def _box(self, box: Box) -> Box:
        return Box(tuple((self.part(name), self.part(cells)) for name, cells in box.parts))
