"""Columns that nothing reads are not computed, and not scanned.

Rows that agree in all columns that are read may then be taken for each other: no window order needs more.
"""

from collections.abc import Iterable
from dataclasses import replace

from gateway.plan.grouping import PerUnit
from gateway.plan.joins import Join, Mark, UnionAll
from gateway.plan.node import BrokenPlan, Node
from gateway.plan.relations import Constant, Filter, Project, Scan, Window
from gateway.plan.rewrite import rebuilt
from gateway.plan.scalars import Ref, Scalar, walk


def read_by(scalars: Iterable[Scalar]) -> frozenset[str]:
    """The columns that expressions read."""
    return frozenset(
        one.field.id for scalar in scalars for one in walk(scalar) if isinstance(one, Ref)
    )


def drop_unused(  # noqa: C901, PLR0911 - one answer for each kind of node
    plan: Node, wanted: frozenset[str]
) -> Node:
    """The plan with the wanted columns, and those that deciding on rows needs."""
    match plan:
        case Scan():
            return _scan(plan, wanted)
        case Constant():
            return plan
        case Filter():
            return _over(plan, wanted | read_by((plan.condition,)))
        case Project():
            items = tuple(
                (name, one)
                for (name, one), made in zip(plan.items, plan.fields, strict=True)
                if made.id in wanted
            )
            if len({name for name, _ in plan.items}) != len(plan.items):
                items = plan.items  # their ids tell them apart, and depend on all of them
            kept = Project(plan.child, plan.alias, items)
            return _over(kept, read_by(one for _, one in items))
        case Window():
            calls = tuple((name, one) for name, one in plan.items if name in wanted)
            if not calls:
                return drop_unused(plan.child, wanted)
            read = [
                part
                for _, one in calls
                for part in (*one.arguments, *one.partition, *(by for by, _ in one.order))
            ]
            return _over(Window(plan.child, calls), wanted | read_by(read))
        case Join() | Mark():
            return _over(plan, wanted | read_by([plan.condition] if plan.condition else []))
        case UnionAll():
            # columns go by place: both sides keep all of theirs
            below = tuple(
                drop_unused(one, frozenset(each.id for each in one.fields)) for one in plan.below
            )
            return rebuilt(plan, below)
        case PerUnit():
            return _per_unit(plan, wanted)
        case _:
            raise BrokenPlan("a node that has other columns than rows of persons")


def _over(node: Node, wanted: frozenset[str]) -> Node:
    return rebuilt(node, tuple(drop_unused(one, wanted) for one in node.below))


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
    read = [one for _, one in node.keys]
    for _, measure in measures:
        read += [*measure.arguments, *(() if measure.where is None else (measure.where,))]
    return _over(kept, read_by(read))
