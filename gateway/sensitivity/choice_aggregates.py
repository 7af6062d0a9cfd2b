"""From aggregates that hand on a value to choices: quantiles, the smallest and the largest, the most frequent one.

Two aggregates that seek the same in the same histogram are one choice, and are paid for once: `percentile_cont` and
`percentile_disc` differ by less than a rank, which is less than what the noise hides.
"""

from collections.abc import Mapping
from fractions import Fraction
from itertools import takewhile
from typing import Final

from gateway.catalog.values import Value
from gateway.errors import Code, Unbounded, UnsupportedSql
from gateway.functions.range_arithmetic import Bounds
from gateway.plan.aggregates import Measure
from gateway.plan.node import BrokenPlan
from gateway.plan.scalars import Literal, Scalar
from gateway.ranges.enumerate import list_values
from gateway.ranges.expressions import bounds_of, narrow_columns
from gateway.ranges.lattice import lattice_of
from gateway.sensitivity.analysis import EnumeratedGroups
from gateway.sensitivity.choices import (
    MOST_BUCKETS,
    BinnedRows,
    Choice,
    Chosen,
    End,
    Frequent,
    Histogram,
    Limit,
    ListedRows,
    QuantileLevel,
    Sought,
    buckets_of,
)
from gateway.sensitivity.summands import no_bound, require_known_lengths

CHOSEN: Final = frozenset({"min", "max", "percentile_cont", "percentile_disc", "mode", "dp_top"})
MOST_CELLS: Final = 2_000_000
"""Of a histogram, over all groups: about what the gateway can hold of it at once."""
_LEAST_BUCKETS: Final = 16
_FOUND_GROUPS: Final = 500  # so many are reckoned with where groups are found in the data
_FINEST: Final = (
    10**9
)  # as many parts of a rank as scores of a billion unweighted rows in words of 64 bits have room for


class ChoiceBuilder:
    """Collects choices, each once. `rows` is R where nothing is weighted."""

    def __init__(
        self, columns: Mapping[str, Bounds], rows: int, groups: EnumeratedGroups | None
    ) -> None:
        self._columns = columns
        self._rows = rows
        self._groups = _FOUND_GROUPS if groups is None else max(1, len(groups.keys))
        self._choices: list[Choice] = []
        self._lists: dict[tuple[Scalar, Scalar | None], ListedRows] = {}

    @property
    def choices(self) -> tuple[Choice, ...]:
        return tuple(self._choices)

    def formula(self, measure: Measure) -> Chosen:
        """Which choice gives the aggregate."""
        sought = _sought(measure)
        columns = self._columns
        if measure.where is not None:
            columns = narrow_columns(measure.where, columns, bounds_of)
        histogram: Histogram
        if isinstance(sought, Frequent):
            histogram = self._listed(measure, columns, sought.place)
        else:
            histogram = self._binned(measure, columns)
        if isinstance(sought, Frequent):
            self._add_places(histogram, sought.place - 1)
        place = self._place_of(Choice(histogram, sought, self._rows))
        if not isinstance(sought, QuantileLevel):
            return Chosen(place)
        # each end that is asked for is a choice more; the smallest and the largest value are ends themselves
        sides = [high for high, asked in ((False, measure.low), (True, measure.high)) if asked]
        limits = [Choice(histogram, Limit(sought, high), self._rows) for high in sides]
        return Chosen(place, tuple(map(self._place_of, limits)))

    def _add_places(self, histogram: Histogram, last: int) -> None:
        """Choose all places up to the last: each is among those that all places before it have left."""
        choices = [Choice(histogram, Frequent(one), self._rows) for one in range(1, last + 1)]
        # where one is there, all before it are
        missing = list(takewhile(lambda one: one not in self._choices, reversed(choices)))
        self._choices += reversed(missing)

    def _place_of(self, choice: Choice) -> int:
        if choice not in self._choices:
            self._choices.append(choice)
        return self._choices.index(choice)

    def _binned(self, measure: Measure, columns: Mapping[str, Bounds]) -> BinnedRows:
        value = measure.arguments[0]
        found = bounds_of(value, columns).range
        if found is None:
            raise no_bound(value, columns, f"`{measure.function}`")
        require_known_lengths(value, found, columns, f"`{measure.function}`")
        most = min(MOST_BUCKETS, max(_LEAST_BUCKETS, MOST_CELLS // self._groups))
        return BinnedRows(value, buckets_of(lattice_of(found), most), measure.where)

    def _listed(self, measure: Measure, columns: Mapping[str, Bounds], place: int) -> ListedRows:
        key = measure.arguments[0], measure.where
        listed = self._lists.get(key)
        if listed is None:
            listed = self._lists[key] = self._list(measure, columns)
        if place > listed.candidates:
            raise UnsupportedSql(
                Code.FUNCTION_UNSUPPORTED,
                f"`{measure.function}` asks for more than the {listed.candidates} possible values",
            )
        return listed

    def _list(self, measure: Measure, columns: Mapping[str, Bounds]) -> ListedRows:
        value = measure.arguments[0]
        found = list_values(value, columns)
        if not found:
            raise Unbounded(
                Code.NO_BOUND,
                f"the possible values of the argument of `{measure.function}` are not declared",
                "declare `domain: {in: [...]}` for the column, or group by it and count",
            )
        values = _in_order(found)
        if len(values) * self._groups > MOST_CELLS:
            raise UnsupportedSql(
                Code.NOT_ANSWERED_YET,
                f"`{measure.function}` of {len(values)} possible values in {self._groups} groups is too large",
                "use fewer GROUP BY keys",
            )
        return ListedRows(value, values, measure.where)


def _in_order(found: frozenset[Value | None]) -> tuple[Value, ...]:
    there = [one for one in found if one is not None]
    if not there:
        raise Unbounded(
            Code.NO_BOUND, "an expression that is always NULL has no most frequent value"
        )
    return tuple(sorted(there))


def _sought(measure: Measure) -> Sought:
    match measure.function:
        case "min":
            return End.LOWEST
        case "max":
            return End.HIGHEST
        case "mode":
            return Frequent()
        case "dp_top":
            return Frequent(_place(measure))
        case "percentile_cont" | "percentile_disc":
            return _level(_share(measure))
        case _:
            raise BrokenPlan("an aggregate that is not chosen")


def _place(measure: Measure) -> int:
    fraction = measure.fraction
    if not isinstance(fraction, Literal) or type(fraction.value) is not int:
        raise BrokenPlan("a place that is no number")
    return fraction.value


def _level(share: Fraction) -> Sought:
    """At 0 and at 1 are the ends: a rank of 0 would touch every empty bucket below all rows."""
    if share in (0, 1):
        return End.HIGHEST if share else End.LOWEST
    return QuantileLevel(share)


def _share(measure: Measure) -> Fraction:
    fraction = measure.fraction
    if not isinstance(fraction, Literal) or not isinstance(fraction.value, int | Fraction):
        raise BrokenPlan("a percentile without its number")
    share = Fraction(fraction.value)
    return (1 - share if measure.descending else share).limit_denominator(_FINEST)
