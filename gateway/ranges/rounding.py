"""Sums and means whose lattice rounds away the differences of a column's values.

The database rounds every value that it sums to a lattice of at most 2^30 steps up to the largest value that the range of
the expression allows. A large constant, or a term that is always 0 with a wide range, makes the step larger than the
column's part in the expression. The rounded sum then counts the rows above a value that the analyst chose.

INVARIANT: the step is the one that the database uses: of the range that holds before filters within a person
(`unit_aggregate`), and of the range that filters narrow over all persons (`Aggregates.summed`). A sum is not rounded only if
each column's part has at least 2^16 steps, or if the values are points of the lattice. What has no known width is rounded.
`tests/ranges/test_rounding.py` compares the decision with what two databases return.
"""

from collections.abc import Iterator, Mapping
from typing import Final, TypeAlias

from gateway.functions.range_arithmetic import Bounds, Range
from gateway.plan.affine_forms import AffineForms
from gateway.plan.aggregates import Aggregate, Measure, PerUnit, WindowCall
from gateway.plan.fields import Protected
from gateway.plan.node import Node, walk_nodes
from gateway.plan.relations import Window
from gateway.plan.rewrite import Use, UseKind
from gateway.plan.scalars import Scalar, scalar_origins
from gateway.ranges.expressions import bounds_of, narrow_columns
from gateway.ranges.lattice import Lattice, lattice_of, person_lattice
from gateway.ranges.relations import inner_columns

_STEPS: Final = 2**16
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
    """The aggregates and window functions of the plan whose values are rounded so that rows can be told apart."""
    found = [(node, one) for node in walk_nodes(plan) for one in _summing(node) if one.arguments]
    if not found:
        return frozenset()
    forms = AffineForms.of(plan, before_filters=True)
    columns = {id(node): _columns(node) for node, _ in found}
    return frozenset(
        one
        for node, one in found
        if any(_is_rounded(node, one, value, forms, columns[id(node)]) for value in one.arguments)
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


def _columns(node: Node) -> Mapping[str, Bounds]:
    return inner_columns(node, narrowed=isinstance(node, Aggregate))


def _is_rounded(
    node: Node, one: Summing, value: Scalar, forms: AffineForms, columns: Mapping[str, Bounds]
) -> bool:
    form = forms.form(value)
    if not form.degree:
        return False
    if isinstance(node, Aggregate) and isinstance(one, Measure) and one.where is not None:
        columns = narrow_columns(one.where, columns, bounds_of)
    found = bounds_of(value, columns).range
    if found is None:
        return False  # no lattice holds it: it is refused
    if form.least is None:
        return True
    lattice = _lattice(node, found)
    return lattice.step != found.step and lattice.step * _STEPS > form.least


def _lattice(node: Node, found: Range) -> Lattice:
    if not isinstance(node, Aggregate):
        return person_lattice(found)
    label = node.below[0].label
    rows = label.rows if isinstance(label, Protected) else None
    return lattice_of(found, rows or 1)
