"""Sums and means whose lattice rounds away the differences of a column's values.

The database rounds every value that it sums to a lattice of at most 2^30 steps up to the largest value that the range of
the expression allows. A large constant makes the step larger than the column's part. The rounded sum then counts the rows
above a value that the analyst chose.

Rounding moves a row by less than a step, and the arithmetic of the engines by the error of its form. Noise is scaled to the width of the range. So in a lattice with many steps the
noise hides what rounding shows, whatever the expression is. Within a person there is no noise. But what is made of the
person's value is linear without the permission to filter, and its range grows with the range of the value. So the width
is the one that the levels above know, where filters narrow it.

INVARIANT: the step is the one that the database uses: of the range that holds before filters within a person
(`unit_aggregate`), and of the range that filters narrow over all persons (`Aggregates.summed`). A sum is not rounded only if
the width is at least 2^20 steps, or if all values are points of the lattice; and if the error of the arithmetic is at most
2^-20 of the width. `tests/ranges/test_rounding.py` compares the
decision with the lattice of the release.
"""

from collections.abc import Iterator
from typing import Final, TypeAlias

from gateway.functions.range_arithmetic import Range
from gateway.plan.affine_forms import AffineForms
from gateway.plan.affine_rounding import Form
from gateway.plan.aggregates import Aggregate, Measure, PerUnit, WindowCall
from gateway.plan.node import Node, walk_nodes
from gateway.plan.relations import Window
from gateway.plan.scalars import Scalar, column_ids, scalar_origins
from gateway.plan.uses import Use, UseKind
from gateway.ranges.expressions import bounds_of, narrow_columns
from gateway.ranges.lattice import Lattice, lattice_of, person_lattice
from gateway.ranges.relations import inner_columns

_STEPS: Final = 2**20
_COUNTED: Final = frozenset(
    {
        "count",
        "regr_count",
        "row_number",
        "sample_number",
        "min",
        "max",
        "percentile_cont",
        "percentile_disc",
        "median",
        "mode",
        "dp_top",
        "lag",
        "lead",
    }
)
"""These count rows, or give one of the values as it is. All other functions add up points of a lattice."""

Summing: TypeAlias = Measure | WindowCall


def rounded_sums(plan: Node) -> frozenset[Summing]:
    """The aggregates and window functions of the plan whose values are rounded so that rows can be distinguished."""
    found = [(node, one) for node in walk_nodes(plan) for one in _summing(node) if one.arguments]
    if not found:
        return frozenset()
    forms = AffineForms.of(plan, for_rights=True)
    return frozenset(
        one
        for node, one in found
        if any(
            column_ids(value) and _is_rounded(node, one, value, forms.form(value))
            for value in one.arguments
        )
    )


def rounding_uses(plan: Node) -> frozenset[Use]:
    """The columns of which such a sum reveals more than sums: each needs the permission to filter."""
    return frozenset(
        Use(column, UseKind.FILTER)
        for one in rounded_sums(plan)
        for column in scalar_origins(*one.arguments)
    )


def _summing(node: Node) -> Iterator[Summing]:
    match node:
        case PerUnit() | Aggregate():
            yield from (one for _, one in node.measures if one.function not in _COUNTED)
        case Window():
            yield from (one for _, one in node.items if one.function not in _COUNTED)


def _is_rounded(node: Node, one: Summing, value: Scalar, form: Form) -> bool:
    seen = _range(node, one, value, narrowed=True)
    found = seen if isinstance(node, Aggregate) else _range(node, one, value, narrowed=False)
    if found is None:
        return False  # no lattice holds it: it is refused
    step = _lattice(node, found).step
    width = (seen or found).high - (seen or found).low
    coarse = step != found.step and step * _STEPS > width
    return coarse or form.error * _STEPS > width


def _range(node: Node, one: Summing, value: Scalar, *, narrowed: bool) -> Range | None:
    columns = inner_columns(node, narrowed=narrowed)
    if isinstance(node, Aggregate) and isinstance(one, Measure) and one.where is not None:
        columns = narrow_columns(one.where, columns, bounds_of)
    return bounds_of(value, columns).range


def _lattice(node: Node, found: Range) -> Lattice:
    return lattice_of(found) if isinstance(node, Aggregate) else person_lattice(found)
