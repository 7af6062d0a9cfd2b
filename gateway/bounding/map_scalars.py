"""Scalars of a node or a measurement, each replaced by what a function makes of it."""

from collections.abc import Callable
from dataclasses import replace
from typing import TypeAlias

from gateway.plan.aggregates import Measure, WindowCall
from gateway.plan.grouping import Aggregate, PerUnit
from gateway.plan.joins import Join, Mark, UnionAll
from gateway.plan.node import BrokenPlan, Node
from gateway.plan.relations import Constant, Filter, Project, Scan, Window
from gateway.plan.scalars import Call, Case, Cast, Scalar, Shift, StagedMember
from gateway.sensitivity.choices import Histogram
from gateway.sensitivity.measurement import (
    Different,
    Products,
    Quantity,
    Rows,
    Squares,
    Total,
    Units,
)

Change: TypeAlias = Callable[[Scalar], Scalar]


def inside_out(scalar: Scalar, change: Change) -> Scalar:
    """The expression with `change` of every part, from the innermost outwards."""
    made: Scalar
    match scalar:
        case Call():
            made = replace(scalar, parts=tuple(inside_out(one, change) for one in scalar.parts))
        case Shift():
            made = replace(scalar, moved=inside_out(scalar.moved, change))
        case Cast() | StagedMember():
            made = replace(scalar, what=inside_out(scalar.what, change))
        case Case():
            branches = tuple(
                (inside_out(when, change), inside_out(then, change))
                for when, then in scalar.branches
            )
            otherwise = inside_out(scalar.otherwise, change)
            made = replace(scalar, branches=branches, otherwise=otherwise)
        case _:
            made = scalar
    return change(made)


def in_node(node: Node, change: Change) -> Node:
    """The node with its own expressions changed; what is below stays."""
    made: Node
    match node:
        case Scan() | Constant() | UnionAll():
            made = node
        case Filter():
            made = Filter(node.child, change(node.condition))
        case Project():
            items = tuple((name, change(one)) for name, one in node.items)
            made = Project(node.child, node.alias, items)
        case Window():
            calls = tuple((name, _call(one, change)) for name, one in node.items)
            made = Window(node.child, calls)
        case Join() | Mark():
            if node.condition is None:
                return node
            made = replace(node, condition=change(node.condition))
        case PerUnit() | Aggregate():
            keys = tuple((name, change(one)) for name, one in node.keys)
            measures = tuple((name, _measure(one, change)) for name, one in node.measures)
            if isinstance(node, PerUnit):
                made = PerUnit(node.child, node.alias, keys, measures)
            else:
                made = Aggregate(node.child, keys, measures, node.sets)
        case _:
            raise BrokenPlan("a node without expressions of its own")
    return made


def in_quantity(quantity: Quantity, change: Change) -> Quantity:
    """What is measured, over changed expressions."""
    where = None if quantity.where is None else change(quantity.where)
    match quantity:
        case Rows():
            return Rows(tuple(change(one) for one in quantity.present), where)
        case Units():
            return Units(where)
        case Different():
            return Different(change(quantity.value), where)
        case Total() | Squares():
            return replace(quantity, value=change(quantity.value), where=where)
        case Products(one=one, other=other):
            return replace(quantity, one=change(one), other=change(other), where=where)


def of_quantity(quantity: Quantity) -> tuple[Scalar, ...]:
    """The expressions a measurement reads."""
    where = () if quantity.where is None else (quantity.where,)
    match quantity:
        case Rows():
            return (*quantity.present, *where)
        case Units():
            return where
        case Different() | Total() | Squares():
            return (quantity.value, *where)
        case Products(one=one, other=other):
            return (one, other, *where)


def in_histogram(histogram: Histogram, change: Change) -> Histogram:
    """What is counted by its value, over changed expressions."""
    where = None if histogram.where is None else change(histogram.where)
    return replace(histogram, value=change(histogram.value), where=where)


def of_histogram(histogram: Histogram) -> tuple[Scalar, ...]:
    """The expressions a histogram reads."""
    return (histogram.value, *(() if histogram.where is None else (histogram.where,)))


def _measure(measure: Measure, change: Change) -> Measure:
    return replace(
        measure,
        arguments=tuple(change(one) for one in measure.arguments),
        where=None if measure.where is None else change(measure.where),
    )


def _call(call: WindowCall, change: Change) -> WindowCall:
    return replace(
        call,
        arguments=tuple(change(one) for one in call.arguments),
        partition=tuple(change(one) for one in call.partition),
        order=tuple((change(one), down) for one, down in call.order),
    )
