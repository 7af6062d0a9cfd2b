"""A small clinic of which every row is known: questions about it as SQL, and as exact numbers.

Exact numbers are computed here once more, from the rows: what a unit adds is weighted over all of its groups, as
docs/proofs/clipping.md says.
"""

import random
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from fractions import Fraction
from functools import cached_property

from sensitivity.analyses import plan_of

from gateway.budget.account import Currency
from gateway.catalog.domains import Anything, Domain, Interval, Values
from gateway.catalog.tables import Column, ColumnRef, Dataset, Protection, Table
from gateway.catalog.types import parse_type
from gateway.catalog.values import Value
from gateway.noise.exponential import PureSelection
from gateway.noise.mechanism import DiscreteLaplace
from gateway.plan.scalars import Call, Literal, Ref, Scalar
from gateway.regions.scope import ReleaseScope, scope_of
from gateway.release_cache.entry import CachedChoice, CachedSlot, CacheEntry, Content
from gateway.release_cache.matching import Match, MeasurementRequest, matches, measurement_request
from gateway.sensitivity.analysis import Analysis, EnumeratedGroups
from gateway.sensitivity.analyze import analyze_release
from gateway.sensitivity.clip import ClipRule
from gateway.sensitivity.measurement import (
    Different,
    DistanceOrigin,
    Measurement,
    Rows,
    Slot,
    Total,
    Units,
)
from gateway.units import Epsilon

Row = Mapping[str, Value | None]
Key = tuple[Value | None, ...]

REGIONS = ("north", "east", "south", "west")
KINDS = ("home", "clinic", "call")
FIRST_DAY, LAST_DAY = date(2023, 1, 1), date(2024, 12, 31)
MOST_ROWS = 3
_CLIP = ClipRule(16)  # lower than what is declared, so that many persons are weighed down


def dataset(groups: int) -> Dataset:
    """A person has one row in `patients`, and any number in `visits`, of which 3 count in each of `groups` groups."""

    def column(name: str, of: str, domain: Domain | None, *, nullable: bool = False) -> Column:
        joins = ColumnRef("patients", "pid") if name == "pid" else None
        return Column(name, parse_type(of), domain or Anything(), nullable=nullable, joins=joins)

    years = Interval(2000, 2011, Fraction(1))
    days = Interval(FIRST_DAY, LAST_DAY, Fraction(1))
    return Dataset(
        "clinic",
        "person",
        (
            Table(
                "patients",
                (
                    Column("pid", parse_type("bigint"), nullable=False),
                    column("region", "text", Values(REGIONS)),
                    column("smoker", "boolean", None, nullable=True),
                    column("born", "integer", years),
                ),
                Protection("pid", 1, 1),
            ),
            Table(
                "visits",
                (
                    column("pid", "bigint", None),
                    column("kind", "text", Values(KINDS), nullable=True),
                    column("day", "date", days),
                    column("cost", "integer", Interval(0, 10, Fraction(1))),
                ),
                Protection("pid", MOST_ROWS, groups),
            ),
        ),
    )


_ALL: Mapping[str, tuple[Value | None, ...]] = {
    "region": REGIONS,
    "smoker": (True, False, None),
    "born": tuple(range(2000, 2012)),
    "kind": (*KINDS, None),
    "day": tuple(FIRST_DAY + timedelta(days=at) for at in range((LAST_DAY - FIRST_DAY).days + 1)),
}


@dataclass(frozen=True)
class By:
    """A key: the column that it is a function of, as SQL and as a function."""

    column: str
    sql: str
    of: Callable[[Value | None], Value | None]


def _month(day: Value | None) -> datetime:
    assert isinstance(day, date)
    return datetime(day.year, day.month, 1)  # noqa: DTZ001 - as the source has it


def _year(day: Value | None) -> Fraction:
    assert isinstance(day, date)
    return Fraction(day.year)


def _five(born: Value | None) -> int:
    assert isinstance(born, int)
    return born // 5


BY = {
    "region": By("region", "p.region", lambda one: one),
    "smoker": By("smoker", "p.smoker", lambda one: one),
    "born": By("born", "p.born", lambda one: one),
    "fives": By("born", "p.born / 5", _five),
    "kind": By("kind", "v.kind", lambda one: one),
    "month": By("day", "date_trunc('month', v.day)", _month),
    "year": By("day", "extract(year from v.day)", _year),
}
OF_PERSONS = ("region", "smoker", "born", "fives")


@dataclass(frozen=True)
class Where:
    """A condition on one column: the values for which it is true."""

    column: str
    sql: str
    values: tuple[Value | None, ...]


def one_of(column: str, *values: str) -> Where:
    alias = "p" if column == "region" else "v"
    return Where(column, f"{alias}.{column} in ({', '.join(map(repr, values))})", values)


def born(low: int, high: int) -> Where:
    return Where("born", f"p.born between {low} and {high}", tuple(range(low, high + 1)))


def days(low: date, high: date) -> Where:
    there = tuple(one for one in _ALL["day"] if isinstance(one, date) and low <= one <= high)
    return Where("day", f"v.day between date '{low}' and date '{high}'", there)


SMOKERS = Where("smoker", "p.smoker", (True,))
NO_SMOKERS = Where("smoker", "not p.smoker", (False,))
UNKNOWN = Where("smoker", "p.smoker is null", (None,))


@dataclass(frozen=True)
class Question:
    """`persons`: about patients alone, else about their visits."""

    keys: tuple[str, ...]
    wheres: tuple[Where, ...]
    measures: tuple[str, ...]
    groups: int = 24
    persons: bool = False
    pairs: bool = True

    @property
    def sql(self) -> str:
        keys = [BY[one].sql for one in self.keys]
        tables = "patients p" if self.persons else "visits v join patients p on v.pid = p.pid"
        where = f" where {' and '.join(one.sql for one in self.wheres)}" if self.wheres else ""
        by = f" group by {', '.join(keys)}" if keys else ""
        return f"select {', '.join([*keys, *self.measures])} from {tables}{where}{by}"

    @cached_property
    def analysis(self) -> Analysis:
        plan = plan_of(self.sql, dataset(self.groups))
        return analyze_release(
            plan, pairs=self.pairs, enumerated_groups=10_000, min_units=2, clip=_CLIP
        )

    @cached_property
    def scope(self) -> ReleaseScope:
        groups = self.analysis.groups
        assert isinstance(groups, EnumeratedGroups)
        return scope_of(self.analysis.plan, groups, {})

    @cached_property
    def wanted(self) -> MeasurementRequest:
        currency = Currency.PURE if self.pairs else Currency.ZCDP
        return measurement_request(
            self.analysis,
            self.scope,
            currency=currency,
            declarations=f"{self.groups}",
            constants={},
        )

    def entry(self, name: str, *, scale: Fraction = Fraction(10), at: int = 0) -> CacheEntry:
        """As if it had been bought, with so much noise in everything."""
        wanted = self.wanted
        slots = (
            CachedSlot(
                digest,
                (DiscreteLaplace(scale),) * len(slot.measurements),
                Fraction(1, 10),
                slot.most,
            )
            for digest, slot in zip(wanted.slots, self.analysis.slots, strict=True)
        )
        choices = (
            CachedChoice(one, PureSelection(scale), Fraction(1, 10)) for one in wanted.choices
        )
        return CacheEntry(
            name,
            name,
            datetime(2026, 3, 1, tzinfo=UTC) + timedelta(minutes=at),
            0,
            wanted.scope,
            wanted.bounding,
            wanted.additive,
            wanted.plain,
            wanted.listed,
            tuple(slots),
            tuple(choices),
            Epsilon.parse("0.1"),
        )

    def content(self, rows: Sequence[Row]) -> Content:
        """What it measures, without noise."""
        groups = self.analysis.groups
        assert isinstance(groups, EnumeratedGroups)
        columns = [column for slot in self.analysis.slots for column in self.exact(slot, rows)]
        return Content(groups.keys, tuple(columns))

    def exact(self, slot: Slot, rows: Sequence[Row]) -> tuple[tuple[int, ...], ...]:
        """A column for each measurement."""
        groups = self.analysis.groups
        assert isinstance(groups, EnumeratedGroups)
        there = {key: at for at, key in enumerate(groups.keys)}
        by_unit: dict[Value | None, dict[int, list[Row]]] = {}
        for row in rows:
            key = tuple(BY[one].of(row[BY[one].column]) for one in self.keys)
            if key in there and all(row[one.column] in one.values for one in self.wheres):
                by_unit.setdefault(row["pid"], {}).setdefault(there[key], []).append(row)
        columns = [[0] * len(groups.keys) for _ in slot.measurements]
        clips = self.analysis.clips
        for own in by_unit.values():
            for column, one in zip(columns, slot.measurements, strict=True):
                first = sorted(own)[: self.analysis.groups_per_unit]
                if clips is None or isinstance(one.quantity, Different):
                    kept, weight = first, 1
                elif isinstance(one.quantity, Units):
                    kept = sorted(own)
                    weight = (
                        one.whole if clips.units is None else clips.units.weight([1] * len(own))
                    )
                else:
                    kept, weight = sorted(own), clips.rows.weight(map(len, own.values()))
                for at in kept:
                    column[at] += weight * _of_unit(one, own[at])
        return tuple(map(tuple, columns))


def _of_unit(measured: Measurement, rows: Sequence[Row]) -> int:
    """What a unit adds to a group, before it is weighted."""
    quantity = measured.quantity
    kept = [row for row in rows if quantity.where is None or _value(quantity.where, row) is True]
    match quantity:
        case Rows(present):
            there = [row for row in kept if all(_value(one, row) is not None for one in present)]
            return len(there)
        case Units():
            return int(bool(kept))
        case Different(value):
            return min(len({_value(value, row) for row in kept} - {None}), measured.most)
        case Total(value, lattice, origin):
            places = []
            for row in kept:
                number = _value(value, row)
                assert isinstance(number, int)
                places.append(int(number / lattice.step))
            away = {
                DistanceOrigin.MIDDLE: [one - lattice.middle for one in places],
                DistanceOrigin.LOW: [one - lattice.low for one in places],
                DistanceOrigin.HIGH: [lattice.high - one for one in places],
            }[origin]
            return sum(away)
        case _:
            raise AssertionError(quantity)


def _value(scalar: Scalar, row: Row) -> Value | None:
    match scalar:
        case Ref(field):
            return row[field.id.rsplit(".", 1)[1]]
        case Literal(value):
            return value
        case Call("=", (one, other)):
            return _value(one, row) == _value(other, row)
        case Call("is not null", (one,)):
            return _value(one, row) is not None
        case Call("and", parts):
            return all(_value(one, row) is True for one in parts)
        case _:
            raise AssertionError(scalar)


def any_rows(chance: random.Random, *, persons: bool) -> list[Row]:
    """Persons with more rows than count, in more groups than count."""
    found: list[Row] = []
    for pid in range(chance.randint(4, 12)):
        person = {
            "pid": pid,
            **{one: chance.choice(_ALL[one]) for one in ("region", "smoker", "born")},
        }
        for _ in range(1 if persons else chance.choice((1, 2, 5, 9))):
            visit = {one: chance.choice(_ALL[one]) for one in ("kind", "day")}
            found.append({**person, **visit, "cost": chance.randint(0, 10)})
    return found


def any_where(chance: random.Random) -> Where:
    low = chance.randint(2000, 2011)
    month = chance.randint(1, 9)
    start = date(chance.choice((2023, 2024)), month, 1)
    return chance.choice(
        (
            one_of("region", *chance.sample(REGIONS, chance.randint(1, 3))),
            one_of("kind", *chance.sample(KINDS, chance.randint(1, 2))),
            chance.choice((SMOKERS, NO_SMOKERS, UNKNOWN)),
            born(low, chance.randint(low, 2011)),
            days(start, date(start.year, month + chance.randint(1, 3), 1) - timedelta(days=1)),
            days(start, start + timedelta(days=chance.randint(0, 40))),
            days(date(start.year, 1, 1), date(start.year, 12, 31)),
        )
    )


MEASURES = (
    "count(*)",
    "count(distinct v.pid)",
    "sum(v.cost)",
    "avg(v.cost)",
    "count(distinct v.kind)",
    "count(v.kind)",
    "count(*) filter (where p.smoker)",
    "sum(v.cost) filter (where v.kind = 'home')",
)


def any_question(chance: random.Random, groups: int) -> Question:
    several = list(MEASURES) if chance.random() < 0.5 else list(MEASURES[:4])
    keys = chance.sample(
        list(BY) if chance.random() < 0.5 else OF_PERSONS, chance.choice((0, 1, 1, 2, 2, 3))
    )
    return Question(
        tuple(keys),
        _apart(any_where(chance) for _ in range(chance.choice((0, 0, 1, 1, 2)))),
        tuple(chance.sample(several, chance.randint(1, 4))),
        groups,
        pairs=chance.random() < 0.5,
    )


def _apart(wheres: Iterable[Where]) -> tuple[Where, ...]:
    """At most one condition on each column."""
    return tuple({one.column: one for one in wheres}.values())


def matched(
    wanted: MeasurementRequest, entries: Iterable[CacheEntry]
) -> tuple[tuple[Match | None, ...], tuple[Match | None, ...]]:
    """The best match for each slot, and for each choice."""
    found = matches(wanted, entries)
    return (
        tuple(next(iter(one), None) for one in found.slots),
        tuple(next(iter(one), None) for one in found.choices),
    )
