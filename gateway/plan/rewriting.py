"""A plan with something else in the place of its scans: how row rules get under everything above.

INVARIANT: every node is made anew by its own constructor, so what is put in passes the same checks.
"""

from collections.abc import Callable
from dataclasses import replace

from gateway.plan.grouping import Aggregate, PerUnit
from gateway.plan.joins import Join, Mark, UnionAll
from gateway.plan.node import BrokenPlan, Node
from gateway.plan.relations import Constant, Filter, Project, Scan, Window


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
