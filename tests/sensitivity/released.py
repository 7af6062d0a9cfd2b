"""The bounded release, as the calculus writes it down, over rows in a list: slow, short and exact."""

from collections import defaultdict
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from math import floor
from typing import TypeAlias

from sensitivity.reference import Row, computed, holds

from gateway.plan.scalars import Scalar
from gateway.ranges.lattice import Lattice
from gateway.sensitivity.analysis import Analysis, ThresholdGroups
from gateway.sensitivity.measurement import (
    Different,
    DistanceOrigin,
    Measurement,
    Products,
    Quantity,
    Rows,
    Squares,
    Total,
    Units,
)


@dataclass(frozen=True)
class Person:
    """One row of a person, in a group."""

    unit: int
    group: str
    row: Row


Exact: TypeAlias = dict[str, list[int]]
Cut: TypeAlias = Callable[[int, int, int], int]


@dataclass(frozen=True)
class Contributed:
    """The rows of a unit in a group: by what they, and the unit itself, are multiplied; whether its values count."""

    rows: list[Row]
    row_weight: int
    unit_weight: int
    values_count: bool


def cut(n: int, s: int, most: int) -> int:
    """What is left of the sum of n rows when `most` rows count."""
    if n <= most:
        return s
    whole, rest = divmod(abs(s), n)
    size = whole * most + rest * most // n
    return size if s >= 0 else -size


def uncut(_n: int, s: int, _most: int) -> int:
    """A negative control."""
    return s


def released(
    people: Sequence[Person], analysis: Analysis, groups: int | None = None, how: Cut = cut
) -> Exact:
    """For each group the measurements; `groups` is how many a unit is let into in full, `how` the cut."""
    most = analysis.groups_per_unit if groups is None else groups
    by_unit: dict[int, dict[str, list[Row]]] = defaultdict(lambda: defaultdict(list))
    for one in people:
        by_unit[one.unit][one.group].append(one.row)
    let: dict[str, list[Contributed]] = defaultdict(list)
    for unit, its in sorted(by_unit.items()):
        kept = sorted(its, key=lambda name, by=unit: hash_of(by, name))  # type: ignore[misc]
        first = kept[:most]
        there = first if analysis.clips is None or _is_found(analysis) else kept
        counts = [len(its[group]) for group in there]
        weights = _weights(analysis, counts) if groups is None and how is cut else None
        rows, own = weights or (max(one.whole for one in analysis.measurements),) * 2
        for group in there:
            let[group].append(Contributed(its[group], rows, own, group in first))
    names = {one.group for one in people}
    rows_per_unit = None if analysis.clips is not None else analysis.rows
    return {
        name: [_measured(one, let[name], rows_per_unit, how) for one in analysis.measurements]
        for name in names
    }


def _is_found(analysis: Analysis) -> bool:
    return isinstance(analysis.groups, ThresholdGroups)


def _weights(analysis: Analysis, counts: Sequence[int]) -> tuple[int, int] | None:
    """Of a unit with so many rows in each of its groups: of its rows, and of itself."""
    if analysis.clips is None:
        return None
    rows, units = analysis.clips.rows, analysis.clips.units
    return rows.weight(counts), rows.whole if units is None else units.weight([1] * len(counts))


def hash_of(unit: int, group: str) -> int:
    """Any rule will do that depends on the unit's own rows alone."""
    return (unit * 31 + sum(map(ord, group)) * 17) % 101


def _measured(one: Measurement, units: list[Contributed], most: int | None, how: Cut) -> int:
    quantity = one.quantity
    if isinstance(quantity, Different):
        kept: set[Fraction] = set()
        for unit in units:
            if unit.values_count:
                there = {value for _, value in _there(quantity.value, unit.rows, quantity.where)}
                kept |= set(sorted(there)[: one.most if how is cut else None])
        return len(kept)
    return sum(
        (unit.unit_weight if isinstance(quantity, Units) else unit.row_weight)
        * _of_unit(quantity, unit.rows, len(unit.rows) if most is None else most, how)
        for unit in units
    )


def _of_unit(quantity: Quantity, rows: list[Row], most: int, how: Cut) -> int:
    match quantity:
        case Units(where):
            return int(any(_passes(where, row) for row in rows))
        case Rows(present, where):
            n = sum(
                _passes(where, row) and all(computed(one, row) is not None for one in present)
                for row in rows
            )
            return how(n, n, most)
        case Squares(value, lattice, unit, where):
            squares = [_away(x, lattice) ** 2 for _, x in _there(value, rows, where)]
            constant = _nearest(lattice.reach**2, unit) // 2
            return how(len(squares), sum(_nearest(one, unit) - constant for one in squares), most)
        case Products(one, lattice, other, other_lattice, unit, where):
            both = [
                _away(x, lattice) * _away(y, other_lattice)
                for row, x in _there(one, rows, where)
                if (y := computed(other, row)) is not None
            ]
            return how(len(both), sum(_nearest(each, unit) for each in both), most)
        case Total(value, lattice, origin, where):
            whole = [_whole(x, lattice) for _, x in _there(value, rows, where)]
            away = {
                DistanceOrigin.MIDDLE: [i - lattice.middle for i in whole],
                DistanceOrigin.LOW: [i - lattice.low for i in whole],
                DistanceOrigin.HIGH: [lattice.high - i for i in whole],
            }[origin]
            return how(len(away), sum(away), most)
        case _:
            raise AssertionError(quantity)


def _whole(x: Fraction, lattice: Lattice) -> int:
    return min(max(round(x / lattice.step), lattice.low), lattice.high)


def _away(x: Fraction, lattice: Lattice) -> int:
    return _whole(x, lattice) - lattice.middle


def _nearest(product: int, unit: int) -> int:
    return floor(Fraction(product, unit) + Fraction(1, 2))


def _there(value: Scalar, rows: list[Row], where: Scalar | None) -> list[tuple[Row, Fraction]]:
    found = [(row, computed(value, row)) for row in rows if _passes(where, row)]
    return [(row, x) for row, x in found if x is not None]


def _passes(where: Scalar | None, row: Row) -> bool:
    return where is None or holds(where, row) is True
