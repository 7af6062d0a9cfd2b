"""Window functions within a unit whose values are cut to the declared rows, where the statement can tell: sentences beside the answer.

`row_number`, `count` and `sum` of a window are computed as if a unit had R rows at most: the ranges of expressions rest on it,
and so does the auditor. No row is left out for that, but later rows have the number R, and larger counts are R. Takes a
release and gives a sentence for each kind of value that is cut and read.

A number that is only compared with constants below R is the same with and without the cut: `row_number() = 1` says nothing. A
frame of at most R rows is never cut.

INVARIANT: no use of a cut value is silent but for those that `_is_exact` shows to have the same result.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Final

from gateway.plan.aggregates import Aggregate, WindowCall
from gateway.plan.fields import Protected
from gateway.plan.joins import UnionAll
from gateway.plan.node import Node, walk_nodes
from gateway.plan.relations import Project, Window
from gateway.plan.scalars import Call, Literal, Ref, Scalar

_NUMBERING: Final = frozenset({"row_number"})
_CUT: Final = _NUMBERING | {"count", "sum"}
_WHOLE: Final = _NUMBERING | {"count"}
_TURNED: Final = {"<": ">", ">": "<", "<=": ">=", ">=": "<=", "=": "=", "<>": "<>"}
_BELOW: Final = frozenset({"=", "<>", "<=", ">"})
"""Compared with k, min(n, R) gives the same as n where k is below R; `<` and `>=` also where k is R."""
_PRESENT: Final = frozenset({"is null", "is not null"})


@dataclass(frozen=True, slots=True)
class _CutColumn:
    function: str
    rows: int


def cut_window_notices(plan: Aggregate, unit: str) -> Iterator[str]:
    """A sentence for row numbers that are cut and read, and one for counts and sums."""
    for one in dict.fromkeys(_cut_columns_read(plan)):
        if one.function in _NUMBERING:
            yield f"row numbers of each {unit} end at {one.rows}: all later rows have this number"
        else:
            yield f"{one.function}s in windows of each {unit} are those of at most {one.rows} rows"


def _cut_columns_read(plan: Aggregate) -> Iterator[_CutColumn]:
    cut: dict[str, _CutColumn] = {}
    for node in reversed(list(walk_nodes(plan))):  # from below, as columns are handed on
        for scalar in node.scalars:
            if not (isinstance(node, Project) and isinstance(scalar, Ref)):
                yield from _read(scalar, cut)
        cut |= _made(node, cut)


def _made(node: Node, cut: Mapping[str, _CutColumn]) -> dict[str, _CutColumn]:
    """The columns of this node that are cut, or that hand one on."""
    match node:
        case Window():
            label = node.child.label
            if not isinstance(label, Protected) or label.rows is None or label.rows == 1:
                return {}
            rows = label.rows
            return {
                name: _CutColumn(call.function, rows)
                for name, call in node.items
                if _is_cut(call, rows)
            }
        case Project():
            pairs = [(made.id, one) for made, (_, one) in zip(node.fields, node.items, strict=True)]
            return {
                name: cut[one.field.id]
                for name, one in pairs
                if isinstance(one, Ref) and one.field.id in cut
            }
        case UnionAll():
            return {
                made.id: cut[one.id]
                for side in node.below
                for made, one in zip(node.fields, side.fields, strict=True)
                if one.id in cut
            }
        case _:
            return {}


def _is_cut(call: WindowCall, rows: int) -> bool:
    """Whether it can be of more than so many rows."""
    if call.function not in _CUT:
        return False
    if call.frame is None or call.function in _NUMBERING:
        return True
    first, last = map(_place, call.frame)
    return first is None or last is None or last - first + 1 > rows


def _place(bound: str) -> int | None:
    """Where a frame begins or ends, in rows after the current one; None without an end."""
    if bound == "current row":
        return 0
    away, side = bound.split(" ")
    if away == "unbounded":
        return None
    return int(away) if side == "following" else -int(away)


def _read(scalar: Scalar, cut: Mapping[str, _CutColumn]) -> Iterator[_CutColumn]:
    """The cut columns that an expression reads in another way than with the same result."""
    if isinstance(scalar, Ref):
        found = cut.get(scalar.field.id)
        if found is not None:
            yield found
    elif not _is_exact(scalar, cut):
        for part in scalar.parts:
            yield from _read(part, cut)


def _is_exact(scalar: Scalar, cut: Mapping[str, _CutColumn]) -> bool:
    """Whether it is a test of one cut column whose result is the same with and without the cut."""
    if not isinstance(scalar, Call):
        return False
    if scalar.function in _PRESENT:
        return isinstance(scalar.parts[0], Ref)
    if scalar.function not in _TURNED:
        return False
    left, right = scalar.parts
    name = scalar.function
    if isinstance(left, Literal):
        left, right, name = right, left, _TURNED[name]
    if not isinstance(left, Ref) or not isinstance(right, Literal):
        return False
    column, number = cut.get(left.field.id), right.value
    if column is None or column.function not in _WHOLE or type(number) is not int:
        return False
    return number < column.rows or (number == column.rows and name not in _BELOW)
