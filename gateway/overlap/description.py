"""Description of release scopes in words: selected rows, grouping keys, and conditions that cannot be compared.

`policy explain` and the command line show it. It contains nothing but policies and the query's own text, like a
scope.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from math import prod
from typing import Final

from gateway.catalog.tables import Dataset
from gateway.catalog.types import ColumnType
from gateway.catalog.types import Kind as TypeKind
from gateway.policy.policy import UnreadableConditions
from gateway.regions.axis import FIRST, LAST, RegionAxis, is_of_partner
from gateway.regions.cells import Cells, NameCells, StepCells
from gateway.regions.grid import name_of, value_at
from gateway.regions.region import Box
from gateway.regions.scope import GroupKey, ReleaseScope

_ALL: Final = "not NULL"
_MOST_PARTS: Final = 8
_MOST_NAMES: Final = 6
_MIDNIGHT: Final = " 00:00:00"
# values computed for each person have no known type here: counts are shown as numbers, others not at all
_COUNTED: Final = "count("
_WHOLE: Final = ColumnType(TypeKind.BIGINT)
_SOME: Final = "in a part of its range"
_TREATED: Final = {
    UnreadableConditions.REFUSE: "a question with such a condition is refused",
    UnreadableConditions.COUNT_AS_UNKNOWN: "such parts are compared by their released sizes, and in combinations of questions",
    UnreadableConditions.ALLOW: "such parts are not compared",
}


def region_lines(scope: ReleaseScope, dataset: Dataset) -> Iterator[str]:
    """One line for a region of one box; otherwise a line for each of the first boxes."""
    boxes, words = scope.region.boxes, _Words(dataset, scope.tables)
    tables, cut = " and ".join(sorted(scope.tables)), words.cut(scope.keys)
    if not boxes:
        yield f"{tables}, none of the rows, {cut}"
    elif scope.region.is_everything:
        yield f"{tables}, all rows, {cut}"
    elif len(boxes) == 1:
        yield f"{tables} where {words.box(boxes[0], scope.region.axes)}, {cut}"
    else:
        yield f"{tables} in one of {len(boxes)} parts, {cut}"
        for box in boxes[:_MOST_PARTS]:
            yield f"  where {words.box(box, scope.region.axes)}"
        if len(boxes) > _MOST_PARTS:
            yield f"  and {len(boxes) - _MOST_PARTS} more"
    for key in scope.keys:
        if key.axis is None:
            yield f"the key `{words.named(key.text)}` is compared by its text alone"


def unread_lines(scopes: Iterable[ReleaseScope], opaque: UnreadableConditions) -> Iterator[str]:
    """Opaque conditions, each once, with the effect that the policy gives them."""
    texts = dict.fromkeys(text for scope in scopes for text in scope.unreadable)
    for text in texts:
        yield f"cannot be compared with other questions: `{text}`"
    if texts:
        yield f"`opaque_predicates: {opaque}`: {_TREATED[opaque]}"


@dataclass(frozen=True, slots=True)
class _Words:
    """Column names; without their table if there is only one."""

    dataset: Dataset
    tables: frozenset[str]

    def cut(self, keys: Sequence[GroupKey]) -> str:
        if not keys:
            return "as one group"
        by = " and ".join(self.named(key.text) for key in keys)
        values = [key.values for key in keys]
        if any(one is None for one in values):
            return f"cut by {by} (groups are found in the data)"
        many = prod(len(one) for one in values if one is not None)
        return f"cut by {by} ({many} {'group' if many == 1 else 'groups'})"

    def box(self, box: Box, axes: Sequence[RegionAxis]) -> str:
        by_name = {axis.name: axis for axis in axes}
        return ", ".join(self._part(by_name[name], cells) for name, cells in box.parts)

    def named(self, text: str) -> str:
        if len(self.tables) != 1:
            return text
        [table] = self.tables
        return text.removeprefix(f"{table}.")

    def _part(self, axis: RegionAxis, cells: Cells) -> str:
        if not axis.readable:
            return _unread(axis, cells)
        if is_of_partner(axis):
            return f"not `{axis.name}`" if cells.null else f"`{axis.name}`"
        texts = _names(cells) if isinstance(cells, NameCells) else self._steps(axis, cells)
        return f"{self.named(axis.name)} {_either([*texts, *(['NULL'] if cells.null else [])])}"

    def _steps(self, axis: RegionAxis, cells: StepCells) -> list[str]:
        column = None if axis.column is None else self.dataset.find(axis.column)
        if column is not None:
            of = column.type
        elif axis.name.startswith(_COUNTED):
            of = _WHOLE
        else:
            return [_SOME] if cells.ranges else []
        values = _Values(of, axis)
        return _shortened([values.range(*one) for one in cells.ranges])


@dataclass(frozen=True, slots=True)
class _Values:
    """Cells of an axis as the values they stand for."""

    of: ColumnType
    axis: RegionAxis

    def range(self, first: int, last: int) -> str:
        """A range in words; the end of a declared domain stands for everything beyond."""
        if (first, last) == (FIRST, LAST):
            return _ALL
        low = self.axis.low if first == FIRST else first
        high = self.axis.high if last == LAST else last
        if low is None:
            return self._to(last)
        if high is None:
            return self._from(first)
        if low == high:
            return self._single(low)
        starts = f"above {self._value(low - 1)}" if self._between(low) else self._value(low)
        ends = f"below {self._value(high + 1)}" if self._between(high) else self._value(high)
        return f"{starts} to {ends}"

    def _single(self, cell: int) -> str:
        if self._between(cell):
            return f"between {self._value(cell - 1)} and {self._value(cell + 1)}"
        return self._value(cell)

    def _from(self, cell: int) -> str:
        return (
            f"above {self._value(cell - 1)}"
            if self._between(cell)
            else f"from {self._value(cell)} on"
        )

    def _to(self, cell: int) -> str:
        return (
            f"below {self._value(cell + 1)}"
            if self._between(cell)
            else f"up to {self._value(cell)}"
        )

    def _between(self, cell: int) -> bool:
        """True if the cell lies between two millionths."""
        return self._endless and cell % 2 == 1

    @property
    def _endless(self) -> bool:
        return self.of.resolution is None

    def _value(self, cell: int) -> str:
        try:
            return name_of(value_at(cell, self.of)).removesuffix(_MIDNIGHT)
        except OverflowError:  # no such day
            return f"cell {cell}"


def _names(cells: NameCells) -> list[str]:
    names = _shortened(sorted(cells.values))
    if not cells.rest:
        return names
    return [f"anything but {_either(names)}"] if names else [_ALL]


def _unread(axis: RegionAxis, cells: Cells) -> str:
    """A condition by its text: that it is true, that it is false, or that it is NULL."""
    values = cells.values if isinstance(cells, NameCells) else frozenset[str]()
    said = {
        "true": f"`{axis.name}`",
        "false": f"not `{axis.name}`",
    }
    texts = [text for value, text in said.items() if value in values]
    return _either([*texts, *([f"`{axis.name}` is NULL"] if cells.null else [])])


def _shortened(texts: Sequence[str]) -> list[str]:
    if len(texts) <= _MOST_NAMES:
        return list(texts)
    return [*texts[:_MOST_NAMES], f"{len(texts) - _MOST_NAMES} more"]


def _either(texts: Sequence[str]) -> str:
    if len(texts) < 2:  # noqa: PLR2004 - one is enough
        return "".join(texts)
    return f"{', '.join(texts[:-1])} or {texts[-1]}"
