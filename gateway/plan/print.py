"""A plan as an indented tree, for people and for golden files."""

from gateway.plan.aggregates import Aggregate, PerUnit
from gateway.plan.fields import Field, Protected
from gateway.plan.joins import Join, Mark, UnionAll
from gateway.plan.node import BrokenPlan, Node
from gateway.plan.relations import Constant, Filter, Project, Scan, Window
from gateway.plan.scalars import Scalar
from gateway.plan.sql_text import scalar_sql


def explain_plan(plan: Node) -> str:
    """One line for each node, deepest last; labels where they come to be."""
    return "\n".join(_lines(plan, 0))


def _lines(node: Node, depth: int) -> list[str]:
    lines = [f"{'  ' * depth}{_line(node)}"]
    for one in node.below:
        lines += _lines(one, depth + 1)
    return lines


def _line(node: Node) -> str:  # noqa: C901, PLR0911 - one answer for each kind of node
    match node:
        case Scan():
            return f"scan {node.table.name} as {node.alias} [{_label(node)}]"
        case Constant():
            columns = ", ".join(f"{one.id} {one.type}" for one in node.fields)
            few = "" if node.one_for is None else f" one for ({', '.join(node.one_for)})"
            return f"constant {node.name} ({columns}) [{_label(node)}]{few}"
        case Filter():
            return f"filter {scalar_sql(node.condition)}"
        case Project():
            return f"project {_named(node.fields, [scalar for _, scalar in node.items])}"
        case Join():
            kind = "left join" if node.outer else "join"
            on = "true" if node.condition is None else scalar_sql(node.condition)
            unique = ", ".join(str(one) for one in node.assumed_unique)
            said = "several for each" if node.several else "if unique"
            return f"{kind} on {on} [{_label(node)}]" + (f" {said} ({unique})" if unique else "")
        case Mark():
            on = "true" if node.condition is None else scalar_sql(node.condition)
            return f"mark {node.id} where {on}"
        case PerUnit():
            keys = _named(node.fields, [key for _, key in node.keys])
            measured = node.fields[len(node.keys) :]
            values = [
                f"{one.id} = {each}" for one, (_, each) in zip(measured, node.measures, strict=True)
            ]
            return f"per unit {'; '.join([keys, *values])} [{_label(node)}]"
        case Window():
            return f"window {'; '.join(f'{name} = {call}' for name, call in node.items)}"
        case UnionAll():
            return f"union all as {node.alias} [{_label(node)}]"
        case Aggregate():
            return _aggregate(node)
        case _:
            raise BrokenPlan("a node without a line")


def _aggregate(node: Aggregate) -> str:
    keys = ", ".join(f"{name} = {scalar_sql(key)}" for name, key in node.keys)
    values = "; ".join(f"{name} = {one}" for name, one in node.measures)
    whole = tuple(range(len(node.keys)))
    sets = "" if node.sets == (whole,) else f" sets {_sets(node.sets)}"
    return f"release{f' by {keys}' if keys else ''}{sets}: {values or 'keys alone'}"


def _sets(sets: tuple[tuple[int, ...], ...]) -> str:
    return ", ".join("(" + ", ".join(f"k{place + 1}" for place in one) + ")" for one in sets)


def _named(fields: tuple[Field, ...], scalars: list[Scalar]) -> str:
    return ", ".join(
        f"{one.id} = {scalar_sql(scalar)}" for one, scalar in zip(fields, scalars, strict=False)
    )


def _label(node: Node) -> str:
    label = node.label
    if not isinstance(label, Protected):
        return str(label)
    rows = "any number of rows" if label.rows is None else f"rows {label.rows}"
    return f"{label}, {rows}"
