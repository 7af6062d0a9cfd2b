"""Interval columns: arrays of lower and upper ends, and whether there is an interval."""

from collections.abc import Iterable, Iterator, Sequence
from typing import Self, TypeAlias, overload

import numpy as np
from numpy.typing import NDArray

from gateway.columnar.texts import Elements

Interval: TypeAlias = "tuple[float, float] | None"
Floats: TypeAlias = NDArray[np.float64]
Truths: TypeAlias = NDArray[np.bool_]


class IntervalEnds(Elements[Interval]):
    """A column of intervals, with None where there is none; the arrays are never changed."""

    __slots__ = ("high", "low", "there")

    def __init__(self, low: Floats, high: Floats, there: Truths) -> None:
        self.low, self.high, self.there = low, high, there

    @classmethod
    def of(cls, intervals: Sequence[Interval]) -> "IntervalEnds":
        if isinstance(intervals, IntervalEnds):
            return intervals
        there = np.array([one is not None for one in intervals], dtype=np.bool_)
        ends = np.array([(0.0, 0.0) if one is None else one for one in intervals], dtype=np.float64)
        low, high = ends.reshape(-1, 2).T
        return cls(low.copy(), high.copy(), there)

    @classmethod
    def joined(cls, columns: Iterable[Sequence[Interval]]) -> Self:
        """The columns concatenated."""
        each = [cls.of(one) for one in columns]
        return cls(
            np.concatenate([one.low for one in each]),
            np.concatenate([one.high for one in each]),
            np.concatenate([one.there for one in each]),
        )

    @classmethod
    def none(cls, rows: int) -> Self:
        """No interval at all."""
        nothing = np.broadcast_to(np.float64(0), rows)
        return cls(nothing, nothing, np.broadcast_to(np.False_, rows))

    @property
    def middles(self) -> Floats:
        """Half-way between the ends."""
        return self.low + (self.high - self.low) / 2

    def taken(self, places: NDArray[np.int64], of: Truths) -> "IntervalEnds":
        """The intervals at these places, where `of` is true; other places are not read."""
        if not len(self):
            return IntervalEnds.none(len(places))
        at = np.where(of, places, 0)
        return IntervalEnds(self.low[at], self.high[at], self.there[at] & of)

    def where(self, those: Truths) -> "IntervalEnds":
        """The column with no intervals outside of these rows."""
        return IntervalEnds(self.low, self.high, self.there & those)

    def filled(self, other: "IntervalEnds") -> "IntervalEnds":
        """The column with another's intervals where this one has none."""
        low, high = (
            np.where(self.there, one, two)
            for one, two in ((self.low, other.low), (self.high, other.high))
        )
        return IntervalEnds(low, high, self.there | other.there)

    def part(self, rows: slice) -> "IntervalEnds":
        return IntervalEnds(self.low[rows], self.high[rows], self.there[rows])

    def __len__(self) -> int:
        return len(self.there)

    def __iter__(self) -> Iterator[Interval]:
        ends = zip(self.low.tolist(), self.high.tolist(), strict=True)
        if self.there.all():
            return ends
        return (
            one if there else None for one, there in zip(ends, self.there.tolist(), strict=True)
        )

    @overload
    def __getitem__(self, place: int) -> Interval: ...
    @overload
    def __getitem__(self, place: slice) -> "IntervalEnds": ...
    def __getitem__(self, place: int | slice) -> "Interval | IntervalEnds":
        if isinstance(place, slice):
            return self.part(place)
        return (float(self.low[place]), float(self.high[place])) if self.there[place] else None


class IntervalRows(Elements[tuple[Interval, ...]]):
    """The intervals of a table, None for a column that has none: equal to the tuple of its rows."""

    __slots__ = ("_many", "columns")

    def __init__(self, columns: Sequence[IntervalEnds | None], many: int) -> None:
        self.columns = tuple(columns)
        self._many = many

    @classmethod
    def of(cls, rows: Sequence[Sequence[Interval]]) -> Self:
        if isinstance(rows, cls):
            return rows
        return cls([IntervalEnds.of(one) for one in zip(*rows, strict=True)], len(rows))

    def where(self, those: Truths) -> "IntervalRows":
        """The table with no intervals outside of these rows."""
        each = (None if one is None else one.where(those) for one in self.columns)
        return IntervalRows(tuple(each), self._many)

    def parts(self, rows: int) -> Iterator[tuple[int, list[IntervalEnds | None]]]:
        """The table in parts of that many rows: the number of rows of a part, and its columns."""
        for first in range(0, self._many, rows):
            part = slice(first, first + rows)
            columns = [None if one is None else one.part(part) for one in self.columns]
            yield min(rows, self._many - first), columns

    def __len__(self) -> int:
        return self._many

    def __iter__(self) -> Iterator[tuple[Interval, ...]]:
        if not self.columns:
            return iter(((),) * self._many)
        return zip(*((None,) * self._many if one is None else one for one in self.columns))  # noqa: B905 - of one table

    @overload
    def __getitem__(self, place: int) -> tuple[Interval, ...]: ...
    @overload
    def __getitem__(self, place: slice) -> tuple[tuple[Interval, ...], ...]: ...
    def __getitem__(
        self, place: int | slice
    ) -> tuple[Interval, ...] | tuple[tuple[Interval, ...], ...]:
        if isinstance(place, slice):
            return tuple(self)[place]
        at = range(self._many)[place]
        return tuple(None if one is None else one[at] for one in self.columns)

    def __repr__(self) -> str:
        return repr(tuple(self))
