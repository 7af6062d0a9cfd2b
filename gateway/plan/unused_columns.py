"""Columns that nothing reads: they are not computed, and not scanned."""

from collections.abc import Collection
from dataclasses import replace

from gateway.plan.aggregates import PerUnit
from gateway.plan.fields import Tie
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
            places = {place for place, one in enumerate(plan.fields) if one.id in wanted}
            return rebuild_node(plan, tuple(_blank(one, places) for one in plan.below))
        case PerUnit():
            return _per_unit(plan, wanted)
        case _:
            raise BrokenPlan("a node that has other columns than rows of persons")


def _blank(side: Node, places: Collection[int]) -> Node:
    """A side of a union, whose columns go by place: those that nothing reads are NULL. The person is kept.

    INVARIANT: what is below reads nothing for them, also in a union within a union.
    """
    match side:
        case UnionAll():
            return rebuild_node(side, tuple(_blank(one, places) for one in side.below))
        case Filter():
            read = column_ids(side.condition)
            more = {place for place, one in enumerate(side.fields) if one.id in read}
            return rebuild_node(side, (_blank(side.child, {*places, *more}),))
        case Project():
            items = tuple(
                (
                    name,
                    one if place in places or made.tie is not Tie.NONE else Literal(None, one.type),
                )
                for place, ((name, one), made) in enumerate(
                    zip(side.items, side.fields, strict=True)
                )
            )
            kept = Project(side.child, side.alias, items)
            return _over(kept, column_ids(*kept.scalars))
        case _:
            return drop_unused(side, frozenset(one.id for one in side.fields))


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
    columns = tuple(
        column
        for column, one in zip(scan.table.columns, scan.fields, strict=True)
        if one.id in wanted or scan.table.is_kept(column)
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
