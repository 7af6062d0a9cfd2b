"""Plans for these tests, from SQL over the dataset of the binding cases."""

from collections.abc import Mapping
from fractions import Fraction

from binding.clinic import CLINIC

from gateway.binding.bind import bind
from gateway.binding.bound import Cut
from gateway.catalog.domains import Anything, Domain, Interval
from gateway.catalog.tables import Column, Dataset, Protection, Table
from gateway.catalog.types import parse_type
from gateway.functions.range_arithmetic import Range
from gateway.plan.aggregates import Aggregate
from gateway.sensitivity.analysis import Analysis, EnumeratedGroups
from gateway.sensitivity.analyze import analyze_release
from gateway.sensitivity.clip import DECLARED_CLIP, ClipRule


def plan_of(sql: str, dataset: Dataset = CLINIC) -> Aggregate:
    bound = bind(sql, dataset)
    assert isinstance(bound, Cut)
    return bound.releases[-1].plan


def analysed(
    sql: str,
    *,
    pairs: bool = True,
    most: int = 10_000,
    min_units: int = 10,
    of: Dataset = CLINIC,
    clip: ClipRule = DECLARED_CLIP,
) -> Analysis:
    return analyze_release(
        plan_of(sql, of), pairs=pairs, enumerated_groups=most, min_units=min_units, clip=clip
    )


def keys_of(sql: str) -> tuple[tuple[object, ...], ...] | None:
    """The groups that come back; None where they are found in the data."""
    groups = analysed(sql).groups
    return groups.keys if isinstance(groups, EnumeratedGroups) else None


def dataset(
    rows: int, columns: Mapping[str, tuple[str, Domain | None]], groups: int = 1
) -> Dataset:
    """One table `t` of persons `u` with these columns."""
    made = [Column("u", parse_type("bigint"))]
    made += [Column(name, parse_type(of), it or Anything()) for name, (of, it) in columns.items()]
    table = Table("t", tuple(made), Protection("u", rows, groups))
    return Dataset("d", "person", (table,))


def whole(low: int, high: int) -> Interval:
    return Interval(low, high, Fraction(1))


def span(low: float, high: float, step: Fraction | None = None) -> Range:
    return Range(Fraction(low), Fraction(high), step)


def ends(found: Range | None) -> tuple[float, float]:
    assert found is not None
    return float(found.low), float(found.high)
