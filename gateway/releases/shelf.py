"""The sheets that may be given again, by what they are about, newest first.

Views are handed out while others put sheets onto the shelf: a view keeps what was there when it was made.
"""

from bisect import bisect_left, insort
from collections.abc import Collection, Iterator, Sequence
from datetime import datetime
from typing import overload

from gateway.releases.sheets import Sheet


class Newest(Sequence[Sheet]):
    """A part of a list that only grows at its end, read backwards."""

    def __init__(self, sheets: list[Sheet], start: int, stop: int) -> None:
        self._sheets = sheets
        self._start = start
        self._stop = stop

    def __len__(self) -> int:
        return self._stop - self._start

    @overload
    def __getitem__(self, place: int) -> Sheet: ...
    @overload
    def __getitem__(self, place: slice) -> Sequence[Sheet]: ...
    def __getitem__(self, place: int | slice) -> Sheet | Sequence[Sheet]:
        if isinstance(place, slice):
            return [self._sheets[self._stop - 1 - at] for at in range(len(self))[place]]
        return self._sheets[self._stop - 1 - range(len(self))[place]]

    def __iter__(self) -> Iterator[Sheet]:
        for place in range(self._stop - 1, self._start - 1, -1):
            yield self._sheets[place]


class Shelf:
    """Not safe among threads by itself; its views are."""

    def __init__(self) -> None:
        self._by_shape: dict[str, list[Sheet]] = {}

    def put(self, sheet: Sheet) -> None:
        """A sheet in its place by age. Clocks of several gateways differ: the newest may come before an older one."""
        shape = sheet.ground.shape
        there = self._by_shape.setdefault(shape, [])
        if there and sheet.at < there[-1].at:
            there = self._by_shape[shape] = list(there)
            insort(there, sheet, key=_age)
        else:
            there.append(sheet)

    def take(self, sheet: Sheet) -> None:
        """Away with a sheet that has no content and never will."""
        shape = sheet.ground.shape
        there = self._by_shape.get(shape, ())
        self._by_shape[shape] = [one for one in there if one.release != sheet.release]

    def clear(self) -> None:
        self._by_shape = {}

    def of(self, shape: str, since: datetime, without: Collection[str] = ()) -> Sequence[Sheet]:
        """The sheets of this shape that are not older than `since`, newest first."""
        there = self._by_shape.get(shape)
        if there is None:
            return ()
        view = Newest(there, bisect_left(there, since, key=_age), len(there))
        return [one for one in view if one.release not in without] if without else view


def _age(sheet: Sheet) -> datetime:
    return sheet.at
