"""`date_trunc` of a date: a local time in the source, a time with a zone in PostgreSQL.

PostgreSQL makes a timestamptz of the date by the zone of whoever asks, and truncates in that zone. The
local time it stands for is the same in every zone, so the source groups by that, and the finishing puts
the zone back on the twin, where it is known.
"""

from typing import Final

from sqlglot import exp

from gateway.catalog.types import ColumnType
from gateway.plan.grouping import PerUnit
from gateway.plan.joins import UnionAll
from gateway.plan.node import Node, nodes
from gateway.plan.relations import Project
from gateway.plan.scalars import Call, Ref, Scalar, Shift
from gateway.plan.types import DATE, TIMESTAMP

_TO: Final = exp.DataType.Type.TIMESTAMPTZ
_LOCAL: Final = exp.DataType.Type.TIMESTAMP


def is_zoned(scalar: Scalar, below: Node) -> bool:
    """Whether PostgreSQL gives a time with a zone where the plan has a local one."""
    if scalar.type != TIMESTAMP:
        return False
    if isinstance(scalar, Ref):
        found = _maker(scalar.field.id, below)
        return found is not None and is_zoned(*found)
    if isinstance(scalar, Shift):
        # by days and months PostgreSQL moves the local time; by hours it moves what the zone makes of it
        return scalar.microseconds == 0 and is_zoned(scalar.moved, below)
    return (
        isinstance(scalar, Call)
        and scalar.function == "date_trunc"
        and scalar.parts[1].type == DATE
    )


def _maker(column: str, below: Node) -> tuple[Scalar, Node] | None:
    """The expression that a column came from, and the relation that reads."""
    for node in nodes(below):
        made: list[tuple[Scalar, Node]] = []
        if isinstance(node, Project):
            made = [(scalar, node.child) for _, scalar in node.items]
        elif isinstance(node, PerUnit):
            made = [(scalar, node.child) for _, scalar in node.keys]
        elif isinstance(node, UnionAll):
            made = [(Ref(one), node.left) for one in node.left.fields]
        for one, field in zip(made, node.fields, strict=False):
            if field.id == column:
                return one
    return None


def zoned(column: exp.Expression) -> exp.Expression:
    """The local time as PostgreSQL shows it."""
    return exp.Cast(this=column, to=exp.DataType(this=_TO))


def staged(value: exp.Expression, kind: ColumnType) -> exp.Expression:
    """The value as a plan reads it: times without a zone, whatever PostgreSQL has made of them."""
    return exp.Cast(this=value, to=exp.DataType(this=_LOCAL)) if kind == TIMESTAMP else value


def local(node: exp.Expression) -> exp.Expression:
    """The local time in what `zoned` made; anything else as it is."""
    made = isinstance(node, exp.Cast) and node.args["to"].this == _TO
    return node.this if made else node
