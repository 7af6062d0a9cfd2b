"""The bounded release, as the calculus writes it down, over rows in a list: slow, short and exact."""

from collections import defaultdict
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import TypeAlias

from sensitivity.reference import Row, computed, holds

from gateway.plan.scalars import Scalar
from gateway.sensitivity.analysis import Analysis
from gateway.sensitivity.measurement import (
    Different,
    Measurement,
    Origin,
    Quantity,
    Rows,
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
    """For each group the measurements; `groups` is how many a unit is let into, `how` the cut."""
    most = analysis.groups_per_unit if groups is None else groups
    by_unit: dict[int, dict[str, list[Row]]] = defaultdict(lambda: defaultdict(list))
    for one in people:
        by_unit[one.unit][one.group].append(one.row)
    let: dict[str, list[list[Row]]] = defaultdict(list)
    for unit, its in sorted(by_unit.items()):
        for group in sorted(its, key=lambda name, by=unit: hash_of(by, name))[:most]:  # type: ignore[misc]
            let[group].append(its[group])
    names = {one.group for one in people}
    return {
        name: [_measured(one, let[name], analysis.rows, how) for one in analysis.measurements]
        for name in names
    }


def hash_of(unit: int, group: str) -> int:
    """Any rule will do that depends on the unit's own rows alone."""
    return (unit * 31 + sum(map(ord, group)) * 17) % 101


def _measured(one: Measurement, units: list[list[Row]], most: int, how: Cut) -> int:
    quantity = one.quantity
    if isinstance(quantity, Different):
        kept: set[Fraction] = set()
        for rows in units:
            there = {value for _, value in _there(quantity.value, rows, quantity.where)}
            kept |= set(sorted(there)[: most if how is cut else None])
        return len(kept)
    return sum(_of_unit(quantity, rows, most, how) for rows in units)


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
        case Total(value, lattice, origin, where):
            whole = [
                min(max(round(x / lattice.step), lattice.low), lattice.high)
                for _, x in _there(value, rows, where)
            ]
            away = {
                Origin.MIDDLE: [i - lattice.middle for i in whole],
                Origin.LOW: [i - lattice.low for i in whole],
                Origin.HIGH: [lattice.high - i for i in whole],
            }[origin]
            return how(len(away), sum(away), most)
        case _:
            raise AssertionError(quantity)


def _there(value: Scalar, rows: list[Row], where: Scalar | None) -> list[tuple[Row, Fraction]]:
    found = [(row, computed(value, row)) for row in rows if _passes(where, row)]
    return [(row, x) for row, x in found if x is not None]


def _passes(where: Scalar | None, row: Row) -> bool:
    return where is None or holds(where, row) is True
