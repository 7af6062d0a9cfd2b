"""What a condition says of the columns it compares, for the rows where it is true, or is not.

INVARIANT: only the values that are not NULL are spoken of, and a range only ever becomes narrower.
"""

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Final

from gateway.catalog.types import Family
from gateway.functions.range import Bounds, hull_bounds, meet_bounds
from gateway.plan.scalars import Call, Ref, Scalar

Columns = Mapping[str, Bounds]
Of = Callable[[Scalar, Columns], Bounds]

_MIRRORED: Final = MappingProxyType({"=": "=", "<": ">", "<=": ">=", ">": "<", ">=": "<="})
_OPPOSITE: Final = MappingProxyType({"<": ">=", "<=": ">", ">": "<=", ">=": "<", "<>": "="})


def narrow_columns(condition: Scalar, columns: Columns, of: Of, *, holds: bool = True) -> Columns:
    """The columns where the condition is true; with `holds=False`, where it is false or NULL."""
    if not isinstance(condition, Call):
        return columns
    name, parts = condition.function, condition.parts
    if name == "not":
        # NOT c is true where c is false; where NOT c is not true, c may be NULL: nothing is known
        return narrow_columns(parts[0], columns, of, holds=False) if holds else columns
    if name in {"and", "or"}:
        return (
            _all(parts, columns, of, holds)
            if (name == "and") is holds
            else (_any(parts, columns, of, holds))
        )
    if name == "in":
        return _within(parts, columns, of) if holds else columns
    operator = name if holds else _OPPOSITE.get(name, "")
    if operator not in _MIRRORED:
        return columns
    left, right = parts
    return _compared(
        right, _MIRRORED[operator], left, _compared(left, operator, right, columns, of), of
    )


def _all(parts: tuple[Scalar, ...], columns: Columns, of: Of, holds: bool) -> Columns:  # noqa: FBT001
    for part in parts:
        columns = narrow_columns(part, columns, of, holds=holds)
    return columns


def _any(parts: tuple[Scalar, ...], columns: Columns, of: Of, holds: bool) -> Columns:  # noqa: FBT001
    each = [narrow_columns(part, columns, of, holds=holds) for part in parts]
    changed = {name for one in each for name, found in one.items() if found != columns.get(name)}
    made = dict(columns)
    for name in changed:
        if all(name in one for one in each):
            made[name] = hull_bounds(one[name] for one in each)
    return made


def _within(parts: tuple[Scalar, ...], columns: Columns, of: Of) -> Columns:
    what, *among = parts
    if not isinstance(what, Ref) or not _comparable(what, *among):
        return columns
    return _with(what, hull_bounds(of(one, columns) for one in among), columns)


def _compared(left: Scalar, operator: str, right: Scalar, columns: Columns, of: Of) -> Columns:
    if not isinstance(left, Ref) or not _comparable(left, right):
        return columns
    other = of(right, columns)
    match operator:
        case "=":
            return _with(left, other, columns)
        case "<" | "<=":
            return _with(left, Bounds(None, other.high), columns)
        case _:
            return _with(left, Bounds(other.low, None), columns)


def _with(column: Ref, found: Bounds, columns: Columns) -> Columns:
    before = columns.get(column.field.id)
    if before is None:
        made = Bounds(found.low, found.high)
    else:
        narrow = meet_bounds(before, found)
        made = Bounds(narrow.low, narrow.high, before.step)
    return {**columns, column.field.id: made}


def _comparable(*scalars: Scalar) -> bool:
    """Whether their ranges are in one measure: not days and microseconds, and no texts."""
    families = {one.type.family for one in scalars}
    numbers = {Family.WHOLE, Family.EXACT, Family.FLOAT}
    return families <= numbers or families in ({Family.DATE}, {Family.TIMESTAMP})
