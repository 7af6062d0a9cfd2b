"""20,000 invented people, and how many of them are in a region: what released counts are simulated from.

A row of a table is a row of arrays, one for each column; a region is read over the cells of its axes. What has an axis
that is no column here (a count for each person) is not counted.
"""

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from datetime import date
from functools import cache
from math import prod

import numpy as np
from numpy.typing import NDArray

from gateway.regions.axis import FIRST, LAST, RegionAxis
from gateway.regions.cells import Cells, NameCells, StepCells
from gateway.regions.region import Region
from gateway.regions.scope import ReleaseScope

MANY = 20_000
_FEW_GROUPS = 50  # a number for each person in each group is then less work than to sort the rows
_EPOCH = date(1970, 1, 1)
_SHOP = frozenset({"customers", "orders"})
_SECONDS_OF_DAY = 86_400


@dataclass(frozen=True)
class Rows:
    """Columns by the names of their axes; NULL is -2**62 among numbers, and None among names."""

    columns: dict[str, NDArray[np.int64] | NDArray[np.object_]]
    person: NDArray[np.int64]


@dataclass(frozen=True)
class Counted:
    """Rows as they are counted: a name is its place in the list of all names of its column."""

    columns: dict[str, NDArray[np.int64]]
    names: dict[str, NDArray[np.str_]]
    person: NDArray[np.int64]

    def only(self, kept: NDArray[np.int64], columns: Collection[str]) -> "Counted":
        """Some rows, with some columns."""
        some = {name: self.columns[name][kept] for name in columns}
        return Counted(some, self.names, self.person[kept])


@cache
def _counted_rows(table: str) -> Counted:
    """The rows of a table; its texts are compared once here, and not for each region."""
    there = rows(table)
    columns, names = {}, {}
    for name, values in there.columns.items():
        if values.dtype == np.object_:
            known = {one: place for place, one in enumerate(dict.fromkeys(values.tolist()))}
            names[name] = np.array([str(one) for one in known])
            columns[name] = np.array([known[one] for one in values.tolist()], dtype=np.int64)
        else:
            columns[name] = values.astype(np.int64, copy=False)
    return Counted(columns, names, there.person)


@cache
def rows(table: str) -> Rows:
    """The rows of a table, with what is known of the person in each."""
    chance = np.random.default_rng(20_000)
    if table in {"patients", "visits"}:
        people = _patients(chance)
        return people if table == "patients" else _visits(chance, people)
    if table in _SHOP:
        buyers = _customers(chance)
        return buyers if table == "customers" else _orders(chance, buyers)
    people = _persons(chance)
    return people if table == "persons" else _stays(chance, people)


def _day(year: int, month: int, day: int) -> int:
    return (date(year, month, day) - _EPOCH).days


def _patients(chance: np.random.Generator) -> Rows:
    region = chance.choice(np.array(["north", "east", "south", "west"], dtype=object), MANY)
    born = np.clip(np.round(chance.normal(1965, 22, MANY)), 1920, 2020).astype(np.int64)
    income = np.clip(chance.lognormal(10.6, 0.6, MANY), 0, 200_000).astype(np.int64)
    return Rows(
        {"patients.region": region, "patients.birth_year": born, "patients.income": income},
        np.arange(MANY),
    )


def _visits(chance: np.random.Generator, people: Rows) -> Rows:
    person = np.repeat(np.arange(MANY), np.minimum(chance.geometric(0.2, MANY), 40))
    much = len(person)
    names = np.array(["flu", "asthma", "sprain", "cataract", "kuru"], dtype=object)
    columns = {name: values[person] for name, values in people.columns.items()}
    columns["visits.diagnosis"] = chance.choice(names, much, p=[0.5, 0.3, 0.15, 0.0499, 0.0001])
    columns["visits.cost"] = np.clip(chance.lognormal(6, 1, much) * 100, 0, 500_000).astype(
        np.int64
    )
    columns["visits.visit_date"] = chance.integers(_day(2020, 1, 1), _day(2026, 12, 31), much)
    return Rows(columns, person)


def _persons(chance: np.random.Generator) -> Rows:
    codes = np.array([*(str(1000 + 10 * one) for one in range(40)), "9999"], dtype=object)
    columns: dict[str, NDArray[np.int64] | NDArray[np.object_]] = {
        "persons.name": np.array([f"person {one}" for one in range(MANY)], dtype=object),
        "persons.birth_date": chance.integers(_day(1920, 1, 1), _day(2019, 12, 31), MANY),
        "persons.postcode": chance.choice(codes, MANY, p=[*[0.99999 / 40] * 40, 0.00001]),
        "persons.sex": chance.choice(
            np.array(["f", "m", "x"], dtype=object), MANY, p=[0.5, 0.48, 0.02]
        ),
        "persons.smoker": chance.choice(
            np.array(["true", "false"], dtype=object), MANY, p=[0.3, 0.7]
        ),
        "persons.children": np.minimum(chance.geometric(0.4, MANY) - 1, 12),
        "persons.salary": np.clip(chance.lognormal(10.7, 0.5, MANY), 0, 299_999).astype(np.int64),
        "persons.score": chance.integers(0, 100, MANY),
    }
    return Rows(columns, np.arange(MANY))


def _stays(chance: np.random.Generator, people: Rows) -> Rows:
    person = np.repeat(np.arange(MANY), chance.geometric(0.4, MANY) - 1)
    much = len(person)
    wards = np.array(["a1", "a2", "b1", "b2", "c1", "c2", "d1", "d2", "e1", "e2", "f1", "f2"])
    columns = {name: values[person] for name, values in people.columns.items()}
    columns["stays.ward"] = chance.choice(wards.astype(object), much)
    columns["stays.admitted"] = chance.integers(_day(2020, 1, 1), _day(2025, 12, 31), much)
    columns["stays.nights"] = np.minimum(chance.geometric(0.1, much), 60)
    return Rows(columns, person)


def _customers(chance: np.random.Generator) -> Rows:
    region = chance.choice(np.array(["north", "east", "south", "west"], dtype=object), MANY)
    sex = chance.choice(np.array(["f", "m"], dtype=object), MANY)
    return Rows({"customers.region": region, "customers.sex": sex}, np.arange(MANY))


def _orders(chance: np.random.Generator, people: Rows) -> Rows:
    """400,000 orders within 300 days, about 1,300 on each, of which next to none are returned."""
    much = 400_000
    person = chance.integers(0, MANY, much)
    columns = {name: values[person] for name, values in people.columns.items()}
    day = chance.integers(_day(2025, 9, 1), _day(2026, 6, 28), much)
    columns["orders.order_date"] = day
    second = day * _SECONDS_OF_DAY + chance.integers(0, _SECONDS_OF_DAY, much)
    columns["orders.ordered_at"] = second * 1_000_000
    columns["orders.amount"] = np.clip(chance.lognormal(4, 1, much), 0, 2_000).astype(np.int64)
    status = np.array(["paid", "sent", "returned"], dtype=object)
    columns["orders.status"] = chance.choice(status, much, p=[0.5, 0.4999, 0.0001])
    return Rows(columns, person)


def counted(scope: ReleaseScope, most: int = 1) -> tuple[int, ...] | None:
    """How many people are in each group, in the order of the keys' product; of several rows each, as rows tell it."""
    if any(one.cells is None or one.axis is None for one in scope.keys):
        return None
    there = _counted_rows(max(scope.tables, key=lambda one: one in {"visits", "stays", "orders"}))
    named = {one.name for one in scope.region.axes} | {
        one.axis.name for one in scope.keys if one.axis
    }
    if not named <= set(there.columns):
        return None
    kept = np.flatnonzero(_inside(scope.region, there))
    inside = there.only(kept, named)
    sizes = [len(key.cells or ()) for key in scope.keys]
    group = np.zeros(len(kept), dtype=np.int64)
    for key, size in zip(scope.keys, sizes, strict=True):
        if key.axis is not None:
            place = _places(inside, key.axis, key.cells or ())
            group = np.where((place < 0) | (group < 0), -1, group * size + place)
    listed = group >= 0
    pairs = group[listed] * MANY + inside.person[listed]
    if prod(sizes) <= _FEW_GROUPS:
        each = np.bincount(pairs, minlength=prod(sizes) * MANY).reshape(-1, MANY)
        totals = np.minimum(each, most).sum(1)
    else:
        pairs, each = np.unique(pairs, return_counts=True)
        totals = np.bincount(pairs // MANY, np.minimum(each, most), minlength=prod(sizes))
    return tuple(int(one) // most for one in totals)


def _places(there: Counted, axis: RegionAxis, groups: Sequence[Cells]) -> NDArray[np.int64]:
    """For each row the place of its group; -1 if it is in none."""
    place = np.full(len(there.person), -1, dtype=np.int64)
    if isinstance(groups[0], NameCells) or not all(len(one.ranges) <= 1 for one in _steps(groups)):
        for at, cells in enumerate(groups):
            place[_has(there, axis, cells)] = at
        return place
    numbers = _numbers(there, axis)
    ranges = sorted((*each, at) for at, one in enumerate(_steps(groups)) for each in one.ranges)
    firsts, lasts, ats = (np.array(one, dtype=np.int64) for one in zip(*ranges, strict=True))
    found = np.searchsorted(firsts, numbers, side="right") - 1
    within = (found >= 0) & (numbers <= lasts[found])
    place[within] = ats[found[within]]
    return place


def _numbers(there: Counted, axis: RegionAxis) -> NDArray[np.int64]:
    """The cells of a column: moments are microseconds, whatever step is declared."""
    values = there.columns[axis.name]
    return values if axis.name == "orders.ordered_at" else values * axis.stride


def _steps(groups: Sequence[Cells]) -> Iterator[StepCells]:
    return (one for one in groups if isinstance(one, StepCells))


def _inside(region: Region, there: Counted) -> NDArray[np.bool_]:
    mask = np.zeros(len(there.person), dtype=np.bool_)
    for box in region.boxes:
        one = np.ones(len(there.person), dtype=np.bool_)
        for name, cells in box.parts:
            one &= _has(there, region.axis(name), cells)
        mask |= one
    return mask


def _has(there: Counted, axis: RegionAxis, cells: Cells) -> NDArray[np.bool_]:
    values = there.columns[axis.name]
    if isinstance(cells, NameCells):
        listed = np.isin(there.names[axis.name], sorted(cells.values) or [""])
        wanted: NDArray[np.bool_] = listed != cells.rest
        return wanted[values]
    mask = np.zeros(len(values), dtype=np.bool_)
    numbers = _numbers(there, axis)
    for first, last in cells.ranges:
        low = FIRST if first == FIRST else first
        high = LAST if last == LAST else last
        mask |= (numbers >= low) & (numbers <= high)
    return mask


def noisy(counts: Sequence[int], chance: np.random.Generator, price: int = 1) -> tuple[int, ...]:
    """As they would be released at so many times the default price: Laplace, at a scale of 20 for one."""
    return tuple(int(one + round(chance.laplace(0, 20 / price))) for one in counts)
