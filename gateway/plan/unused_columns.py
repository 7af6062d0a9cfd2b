"""Columns that nothing reads: they are not computed, and not scanned."""

from dataclasses import replace

from gateway.plan.aggregates import PerUnit
from gateway.plan.joins import Join, Mark, UnionAll
from gateway.plan.node import BrokenPlan, Node
from gateway.plan.relations import Constant, Filter, Project, Scan, Window
from gateway.plan.rewrite import rebuild_node
from gateway.plan.scalars import Literal, Scalar, column_ids


def drop_unused(  # noqa: PLR0911 - one answer for each kind of node
    plan: Node, wanted: frozenset[str]
) -> Node:
    """The plan with the wanted columns, and those that deciding on rows needs."""
    match plan:
        case Scan():
            return _scan(plan, wanted)
        case Constant():
            return plan
        case Filter() | Join() | Mark():
            return _over(plan, wanted | column_ids(*plan.scalars))
        case Project():
            kept = Project(plan.child, plan.alias, _items(plan, wanted))
            return _over(kept, column_ids(*kept.scalars))
        case Window():
            calls = tuple((name, one) for name, one in plan.items if name in wanted)
            if not calls:
                return drop_unused(plan.child, wanted)
            kept_calls = Window(plan.child, calls)
            return _over(kept_calls, wanted | column_ids(*kept_calls.scalars))
        case UnionAll():
            # columns go by place: both sides keep all of theirs
            below = tuple(
                drop_unused(one, frozenset(each.id for each in one.fields)) for one in plan.below
            )
            return rebuild_node(plan, below)
        case PerUnit():
            return _per_unit(plan, wanted)
        case _:
            raise BrokenPlan("a node that has other columns than rows of persons")


def _items(plan: Project, wanted: frozenset[str]) -> tuple[tuple[str, Scalar], ...]:
    """The wanted items; of names that stand twice the others too, as NULL: their ids depend on all of them."""
    named = list(zip(plan.items, plan.fields, strict=True))
    if len({name for name, _ in plan.items}) == len(plan.items):
        return tuple(item for item, made in named if made.id in wanted)
    return tuple(
        (name, one if made.id in wanted else Literal(None, one.type)) for (name, one), made in named
    )


def _over(node: Node, wanted: frozenset[str]) -> Node:
    return rebuild_node(node, tuple(drop_unused(one, wanted) for one in node.below))


def _scan(scan: Scan, wanted: frozenset[str]) -> Scan:
    protection = scan.table.protection
    key = None if protection is None else protection.unit_key
    columns = tuple(
        column
        for column, one in zip(scan.table.columns, scan.fields, strict=True)
        if one.id in wanted or column.name == key
    )
    return Scan(replace(scan.table, columns=columns), scan.alias, scan.unit)


def _per_unit(node: PerUnit, wanted: frozenset[str]) -> Node:
    made = node.fields[len(node.keys) :]
    measures = tuple(
        measure for measure, one in zip(node.measures, made, strict=True) if one.id in wanted
    )
    names = [name for name, _ in (*node.keys, *node.measures)]
    if len(set(names)) != len(names):
        measures = node.measures
    kept = PerUnit(node.child, node.alias, node.keys, measures)
    return _over(kept, column_ids(*kept.scalars))
