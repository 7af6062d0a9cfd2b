"""What auditing costs: one new question beside 1,000, 10,000 and 100,000 earlier ones about the same rows, and memory.

The earlier questions are of the kinds that dashboards ask: months, quarters, weeks and days of a date, bands of years
and of incomes, a region or two, alone and together, cut in groups or not. All their regions differ.
"""

import argparse
import random
import statistics
import time
import tracemalloc
from collections.abc import Iterator
from datetime import date
from fractions import Fraction
from itertools import islice

from gateway.catalog.tables import ColumnRef
from gateway.errors import OverlapRefused
from gateway.overlap.auditor import History, NewQuery, PriorRelease, audit
from gateway.policy.policy import Auditing, UnreadableConditions
from gateway.regions.axis import AxisKind, RegionAxis
from gateway.regions.cells import Cells, NameCells, StepCells, all_cells
from gateway.regions.region import EVERYTHING, Region, region_along
from gateway.regions.scope import GroupKey, ReleaseScope

_RULES = Auditing(10, 1, (), UnreadableConditions.REFUSE)
_EPOCH = date(1970, 1, 1)
_SPREAD = Fraction(800)


def _axis(name: str, low: int, high: int, stride: int = 1) -> RegionAxis:
    column = ColumnRef("visits", name)
    size = (high - low) // stride + 1
    return RegionAxis(
        f"visits.{name}", AxisKind.STEPS, low, high, size, True, True, True, column, None, stride
    )


_REGIONS = ("north", "east", "south", "west")
_REGION = RegionAxis(
    "patients.region",
    AxisKind.NAMES,
    None,
    None,
    4,
    nullable=True,
    readable=True,
    quasi=True,
    column=ColumnRef("patients", "region"),
    names=frozenset(_REGIONS),
)
_DATE = _axis("visit_date", (date(2020, 1, 1) - _EPOCH).days, (date(2026, 12, 31) - _EPOCH).days)
_YEAR = _axis("birth_year", 1920, 2020)
_INCOME = _axis("income", 0, 200_000)
_DIAGNOSIS = RegionAxis(
    "visits.diagnosis",
    AxisKind.NAMES,
    None,
    None,
    None,
    nullable=True,
    readable=True,
    quasi=False,
    column=ColumnRef("visits", "diagnosis"),
)
_MONTHS = [
    (
        (date(year, month, 1) - _EPOCH).days,
        (date(year + month // 12, month % 12 + 1, 1) - _EPOCH).days - 1,
    )
    for year in range(2020, 2027)
    for month in range(1, 13)
]


def _listed(axis: RegionAxis, cells: list[Cells]) -> GroupKey:
    text = axis.name if axis.kind is AxisKind.NAMES else f"trunc({axis.name})"
    return GroupKey(text, axis, tuple(range(len(cells))), tuple(cells))


_BY_REGION = _listed(
    _REGION, [*(NameCells(frozenset({one})) for one in _REGIONS), NameCells(frozenset(), null=True)]
)
_ENDS = [(-(2**62), _MONTHS[0][1]), *_MONTHS[1:-1], (_MONTHS[-1][0], 2**62)]
_BY_MONTH = _listed(_DATE, [*(StepCells((one,)) for one in _ENDS), StepCells((), null=True)])
_BY_DIAGNOSIS = GroupKey("visits.diagnosis", _DIAGNOSIS, None, None)


def scopes(seed: int) -> Iterator[ReleaseScope]:
    """Honest questions without end."""
    chance = random.Random(seed)  # noqa: S311 - invented questions, no secret
    known: set[tuple[Region, tuple[GroupKey, ...]]] = set()
    while True:
        scope = _scope(chance)
        if (scope.region, scope.keys) not in known:
            known.add((scope.region, scope.keys))
            yield scope


def _scope(chance: random.Random) -> ReleaseScope:
    region = EVERYTHING

    def sometimes(percent: int) -> bool:
        return chance.randrange(100) < percent

    if sometimes(80):
        region = region.meet(region_along(_DATE, _period(chance)))
    if sometimes(50):
        region = region.meet(region_along(_YEAR, _band(chance, 1920, 2020, 5)))
    if sometimes(40):
        region = region.meet(region_along(_INCOME, _band(chance, 0, 200_000, 5000)))
    if sometimes(40):
        names = chance.sample(_REGIONS, chance.randint(1, 3))
        region = region.meet(region_along(_REGION, NameCells(frozenset(names))))
    if sometimes(30):
        name = f"d{chance.randint(1, 40)}"
        region = region.meet(region_along(_DIAGNOSIS, NameCells(frozenset({name}))))
    keys = [(), (), (_BY_REGION,), (_BY_MONTH,), (_BY_REGION, _BY_MONTH), (_BY_DIAGNOSIS,)]
    return ReleaseScope("visits", frozenset({"visits"}), region, chance.choice(keys), ())


def _period(chance: random.Random) -> Cells:
    kind = chance.randrange(4)
    if kind == 0:
        first = chance.randrange(len(_MONTHS))
        last = min(len(_MONTHS) - 1, first + chance.choice([0, 2, 5, 11]))
        return StepCells(((_MONTHS[first][0], _MONTHS[last][1]),))
    if kind == 1:
        first = chance.randrange(len(_MONTHS))
        return StepCells(((_MONTHS[first][0], 2**62),))
    low = _MONTHS[0][0] + 5 + 7 * chance.randrange(350)  # Mondays
    weeks = chance.choice([1, 2, 4, 13, 26, 52])
    return StepCells(((low, low + 7 * weeks - 1),))


def _band(chance: random.Random, low: int, high: int, step: int) -> Cells:
    first, last = sorted(chance.sample(range(low, high, step), 2))
    if not chance.randrange(5):
        return StepCells(((first, 2**62),))
    return StepCells(((first, last - 1),))


def past(number: int, scope: ReleaseScope, chance: random.Random) -> PriorRelease:
    """As if it had been answered: a size after its share of the cells, with noise."""
    share = 1.0
    for name, cells in scope.region.boxes[0].parts:
        axis = scope.region.axis(name)
        share *= _share(cells, axis)
    groups = 1
    for key in scope.keys:
        groups *= len(key.values or ())
    counts = None
    if groups:
        mean = 100_000 * share / groups
        counts = tuple(round(chance.gauss(mean, 28)) for _ in range(groups))
    return PriorRelease(
        f"q{number}.r1.1", f"q{number}", scope, counts, _SPREAD, _SPREAD, whole=True
    )


def _share(cells: Cells, axis: RegionAxis) -> float:
    if isinstance(cells, NameCells):
        return len(cells.values) / (axis.size or 40)
    whole = all_cells(axis)
    assert isinstance(whole, StepCells)
    low, high = axis.low or 0, axis.high or 0
    inside = sum(min(last, high) - max(first, low) + 1 for first, last in cells.ranges)
    return inside / (axis.size or 1)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=200, help="new questions at each size")
    parser.add_argument("--most", type=int, default=100_000, help="earlier questions")
    rounds, most = vars(parser.parse_args()).values()
    sizes = [one for one in (1_000, 10_000, 100_000) if one <= most]
    print(
        "earlier questions   audit, median (ms)   95 % below (ms)   worst (ms)   refused   memory (MB)"
    )
    chance = random.Random(7)  # noqa: S311 - invented questions, no secret
    stream = scopes(11)
    told: list[PriorRelease] = []
    for size in sizes:
        told += [past(n, one, chance) for n, one in enumerate(islice(stream, size - len(told)))]
        tracemalloc.start()
        history = History(told)
        memory = tracemalloc.get_traced_memory()[0] / 1e6
        tracemalloc.stop()
        taken, refused = _measured(history, rounds)
        taken.sort()
        print(
            f"{size:>17,}   {statistics.median(taken):>18.2f}   {taken[int(0.95 * rounds)]:>15.2f}"
            f"   {taken[-1]:>10.2f}   {refused:>7}   {memory:>11.0f}"
        )


def _measured(history: History, rounds: int) -> tuple[list[float], int]:
    taken, refused = [], 0
    for scope in islice(scopes(99), rounds):
        began = time.thread_time()
        try:
            audit([NewQuery(scope, _SPREAD)], history, _RULES)
        except OverlapRefused:
            refused += 1
        taken.append((time.thread_time() - began) * 1000)
    return taken, refused


if __name__ == "__main__":
    main()
