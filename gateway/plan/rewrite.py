"""A plan made again over other relations below: the way every rewrite of a plan goes up the tree.

INVARIANT: a rebuilt node is constructed like any other, so every check of a node holds for it again; its
expressions read the columns that are below it now, with the domains these have.

A plan with something else in the place of its scans: how row rules get under everything above.

INVARIANT: every node is made anew by its own constructor, so what is put in passes the same checks.
"""

from collections.abc import Callable, Mapping
from dataclasses import replace

from gateway.plan.aggregates import Measure, WindowCall
from gateway.plan.fields import Field
from gateway.plan.grouping import Aggregate, PerUnit
from gateway.plan.joins import Join, Mark, UnionAll
from gateway.plan.node import BrokenPlan, Node
from gateway.plan.relations import Constant, Filter, Project, Scan, Window
from gateway.plan.scalars import Call, Case, Cast, Ref, Scalar, Shift, StagedMember


def rewritten(plan: Node, rewrite: Callable[[Node], Node]) -> Node:
    """The plan with every node replaced by what `rewrite` makes of it, from the leaves up."""
    below = tuple(rewritten(one, rewrite) for one in plan.below)
    return rewrite(plan if below == plan.below else rebuilt(plan, below))


def rebuilt(  # noqa: C901 - one answer for each kind of node
    node: Node, below: tuple[Node, ...]
) -> Node:
    """The node over other relations that have its columns."""
    there = {one.id: one for child in below for one in child.fields}

    def again(scalar: Scalar) -> Scalar:
        return with_columns(scalar, there)

    made: Node
    match node:
        case Scan() | Constant():
            made = node
        case Filter():
            made = Filter(below[0], again(node.condition))
        case Project():
            items = tuple((name, again(one)) for name, one in node.items)
            made = Project(below[0], node.alias, items)
        case Window():
            calls = tuple((name, _window(one, again)) for name, one in node.items)
            made = Window(below[0], calls)
        case Join():
            condition = None if node.condition is None else again(node.condition)
            made = Join(below[0], below[1], condition, node.outer)
        case Mark():
            condition = None if node.condition is None else again(node.condition)
            made = Mark(below[0], below[1], condition, node.id)
        case UnionAll():
            made = UnionAll(below[0], below[1], node.alias, node.names)
        case PerUnit():
            keys, measures = _grouping(node, again)
            made = PerUnit(below[0], node.alias, keys, measures)
        case Aggregate():
            keys, measures = _grouping(node, again)
            made = Aggregate(below[0], keys, measures, node.sets)
        case _:
            raise BrokenPlan("a node that cannot be rebuilt")
    return made


def with_columns(scalar: Scalar, there: Mapping[str, Field]) -> Scalar:
    """The expression reading these columns, found by their ids."""

    def again(one: Scalar) -> Scalar:
        return with_columns(one, there)

    match scalar:
        case Ref(field):
            return Ref(there.get(field.id, field))
        case Call():
            return replace(scalar, parts=tuple(again(one) for one in scalar.parts))
        case Shift():
            return replace(scalar, moved=again(scalar.moved))
        case Cast() | StagedMember():
            return replace(scalar, what=again(scalar.what))
        case Case():
            branches = tuple((again(when), again(then)) for when, then in scalar.branches)
            return replace(scalar, branches=branches, otherwise=again(scalar.otherwise))
        case _:
            return scalar


_Again = Callable[[Scalar], Scalar]


def _grouping(
    node: PerUnit | Aggregate, again: _Again
) -> tuple[tuple[tuple[str, Scalar], ...], tuple[tuple[str, Measure], ...]]:
    keys = tuple((name, again(one)) for name, one in node.keys)
    return keys, tuple((name, _measure(one, again)) for name, one in node.measures)


def _measure(measure: Measure, again: _Again) -> Measure:
    return replace(
        measure,
        arguments=tuple(again(one) for one in measure.arguments),
        where=None if measure.where is None else again(measure.where),
    )


def _window(call: WindowCall, again: _Again) -> WindowCall:
    return replace(
        call,
        arguments=tuple(again(one) for one in call.arguments),
        partition=tuple(again(one) for one in call.partition),
        order=tuple((again(one), down) for one, down in call.order),
    )


def over_scans(plan: Node, change: Callable[[Scan], Node]) -> Node:
    """The plan with `change` of each scan, also inside EXISTS and IN."""
    match plan:
        case Scan():
            return change(plan)
        case Constant():
            return plan
        case Filter() | Project() | Window() | PerUnit() | Aggregate():
            return replace(plan, child=over_scans(plan.child, change))
        case Join() | UnionAll():
            left, right = over_scans(plan.left, change), over_scans(plan.right, change)
            return replace(plan, left=left, right=right)
        case Mark():
            child, inner = over_scans(plan.child, change), over_scans(plan.inner, change)
            return replace(plan, child=child, inner=inner)
        case _:
            raise BrokenPlan("a node that nobody rewrites")
