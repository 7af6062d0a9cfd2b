"""What a condition over several columns with listed values is, for every combination of their values.

Takes the condition and the bases that it reads; gives the boxes of combinations with its value in each, or None where a
column has values that no policy lists, where combinations are very many, or where nobody can compute it.

INVARIANT: what is given is exact: the boxes are disjoint, and all rows of a box have this value.
"""

from collections.abc import Sequence
from itertools import product
from math import prod
from typing import Final, TypeAlias

from gateway.catalog.values import Value
from gateway.functions.exact_values import Known, NotComputed
from gateway.plan.scalars import Literal, Ref, Scalar, transform, walk_scalar
from gateway.ranges.decimal_digits import is_exact
from gateway.ranges.enumerate import evaluate_at
from gateway.regions.axis import AxisKind, RegionAxis
from gateway.regions.base_columns import Base
from gateway.regions.cells import Cells, NameCells, union
from gateway.regions.grid import list_cells

_MOST_COMBINED: Final = 256
_MOST_WORK: Final = 8_000  # parts of the condition, times the combinations for which it is computed
_FEWEST: Final = 2  # of one column, `tabulate` knows

ListedBox: TypeAlias = tuple[tuple[RegionAxis, Cells], ...]


def tabulate_listed(scalar: Scalar, there: Sequence[Base]) -> list[tuple[Known, ListedBox]] | None:
    """The value of the condition in each box of combinations."""
    if not is_exact(scalar):
        return None
    axes = [one.axis for one in there if one.axis is not None]
    if len(axes) < max(_FEWEST, len(there)):
        return None
    if any(one.kind is not AxisKind.NAMES or one.names is None for one in axes):
        return None
    combined = prod(len(one.names or ()) + 1 for one in axes)
    if combined > _MOST_COMBINED or combined * sum(1 for _ in walk_scalar(scalar)) > _MOST_WORK:
        return None
    given = [
        list(list_cells(axis, one.field.type, one.field.domain) or ())
        for axis, one in zip(axes, there, strict=True)
    ]
    found: dict[tuple[Known, tuple[Cells, ...]], Cells] = {}
    try:
        for row in product(*given):
            values = {base.field.id: value for base, (_, value) in zip(there, row, strict=True)}
            value = evaluate_at(transform(scalar, lambda one: _filled(one, values)), None, None)  # noqa: B023 - called at once
            *others, last = (_cells(cell) for cell, _ in row)
            key = value, tuple(others)
            found[key] = union(found[key], last) if key in found else last
    except NotComputed:
        return None
    return [
        (value, tuple(zip(axes, (*others, last), strict=True)))
        for (value, others), last in found.items()
    ]


def _filled(scalar: Scalar, values: dict[str, Value | None]) -> Scalar:
    """The constant in the place of a column."""
    if isinstance(scalar, Ref):
        return Literal(values[scalar.field.id], scalar.type)
    return scalar


def _cells(cell: object) -> Cells:
    if cell is None:
        return NameCells(frozenset(), null=True)
    return NameCells(frozenset({str(cell)}))
