"""Types of the twin's expressions, where they can be told before PostgreSQL is asked."""

from collections.abc import Mapping

from sqlglot import exp

from gateway.binding.aggregates import Measures, is_aggregate
from gateway.binding.constants import column_type
from gateway.binding.expressions import ScalarBinder
from gateway.binding.extensions import is_end
from gateway.binding.scope import Scope, Visible
from gateway.catalog.types import ColumnType
from gateway.errors import Refusal
from gateway.plan.fields import BOOLEAN, DOUBLE, Field
from gateway.plan.scalars import Scalar, StagedValue


def expression_type(
    node: exp.Expression, scope: Scope, values: Mapping[int, ColumnType | None] | None = None
) -> ColumnType | None:
    """The type of an expression of the twin, where it can be told here.

    `values` are the types of the queries in it that give one column.
    """

    def lookup(column: exp.Column) -> Visible:
        seen = scope.find(column)
        field = None if seen.type is None else Field(f"x.{seen.name}", seen.type)
        return Visible(seen.name, seen.type, field)

    def special(one: exp.Expression) -> Scalar | None:
        if is_end(one):
            return StagedValue("", DOUBLE)
        if is_aggregate(one):
            return StagedValue("", Measures(ScalarBinder(lookup, "UTC")).measure(one).type)
        if isinstance(one, exp.Exists):
            return StagedValue("", BOOLEAN)
        if isinstance(one, exp.Subquery):
            kind = (values or {}).get(id(one.this))
            return None if kind is None else StagedValue("", kind)
        return None

    try:
        if isinstance(node, exp.Cast):
            return column_type(node.args["to"])  # whatever is cast, this comes out
        return ScalarBinder(lookup, "UTC", None, special).bind(node).type
    except Refusal:
        return None
