"""Rewrites before bounding: window orders are made total, unused columns dropped, the current time folded to a
constant.

Columns that nothing reads are not computed, and not scanned. Rows that agree in all columns that are read may then
be taken for each other: no window order needs more.

`current_date` and `localtimestamp` become constants: one moment for the whole statement, in the zone it is given
in. The source computes in UTC. There a time with a zone is a moment, whatever zone it is shown in; but the day or
the hour of it, a text without an offset read as one, and days added to it depend on the zone.

INVARIANT: rows that still tie agree in every column there is, so it makes no difference which comes first. Orders
are rendered over canonical keys, text in binary collation.
INVARIANT: no frame reaches to the last row of a person from a row that moves: a database would look at all later
rows for each row. Such a frame is turned round, which is the same set of rows.
INVARIANT: where the answer could differ between two zones, the plan is said to read them.
"""

from dataclasses import replace
from datetime import UTC, datetime
from typing import Final

from gateway.catalog.types import Kind
from gateway.catalog.values import Value
from gateway.plan.aggregates import PerUnit, WindowCall
from gateway.plan.fields import Field, Tie
from gateway.plan.joins import Join, Mark, UnionAll
from gateway.plan.node import BrokenPlan, Node, walk_nodes
from gateway.plan.relations import Constant, Filter, Project, Scan, Window
from gateway.plan.rewrite import map_scalars, rebuild_node, rewrite_plan
from gateway.plan.scalars import (
    Call,
    Cast,
    Literal,
    Moment,
    Ref,
    Scalar,
    Shift,
    column_ids,
    transform,
    walk_scalar,
)

ORDERED: Final = frozenset({"row_number", "sample_number", "lag", "lead"})
_BEGINNING: Final = "unbounded preceding"
_END: Final = "unbounded following"
_RUNNING: Final = (_BEGINNING, "current row")


def complete_window_order(plan: Node) -> Node:
    """The plan with windows whose results do not depend on ties."""

    def complete(node: Node) -> Node:
        if not isinstance(node, Window):
            return node
        items = tuple((name, _completed(one, node.child.fields)) for name, one in node.items)
        return Window(node.child, items)

    return rewrite_plan(plan, complete)


def _completed(call: WindowCall, columns: tuple[Field, ...]) -> WindowCall:
    if call.function not in ORDERED and not call.order and call.frame is None:
        return call  # over all rows of the partition: their order does not matter
    there: set[Scalar] = {one for one, _ in call.order}
    rest = [Ref(one) for one in columns if one.tie is not Tie.ALWAYS and Ref(one) not in there]
    order = (*call.order, *((one, False) for one in rest))
    frame = call.frame
    if frame is None and call.function not in ORDERED:
        frame = _RUNNING  # the default would be RANGE, which sees ties
    if frame is not None and frame[1] == _END and frame[0] != _BEGINNING:
        # the other way round the frame begins where rows begin: its least and greatest are kept from row to row
        order = tuple((one, not down) for one, down in order)
        frame = (_BEGINNING, _mirrored(frame[0]))
    return replace(call, order=order, frame=frame)


def _mirrored(bound: str) -> str:
    """The same row, seen from the other end."""
    away, _, side = bound.partition(" ")
    if bound == "current row":
        return bound
    return f"{away} {'following' if side == 'preceding' else 'preceding'}"


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
            items = tuple(
                (name, one)
                for (name, one), made in zip(plan.items, plan.fields, strict=True)
                if made.id in wanted
            )
            if len({name for name, _ in plan.items}) != len(plan.items):
                items = plan.items  # their ids tell them apart, and depend on all of them
            kept = Project(plan.child, plan.alias, items)
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


def fold_moments(plan: Node, now: datetime) -> Node:
    """The plan without moments."""

    def fold(node: Node) -> Node:
        if not any(isinstance(part, Moment) for one in node.scalars for part in walk_scalar(one)):
            return node
        return map_scalars(node, lambda one: fold_scalar(one, now))

    return rewrite_plan(plan, fold)


def fold_scalar(scalar: Scalar, now: datetime) -> Scalar:
    """The expression without moments."""
    values: dict[Kind, Value] = {
        Kind.DATE: now.date(),
        Kind.TIMESTAMP: now.replace(tzinfo=None),
        Kind.TIMESTAMPTZ: now.astimezone(UTC),
    }

    def fold(one: Scalar) -> Scalar:
        if not isinstance(one, Moment):
            return one
        value = values.get(one.type.kind)
        if value is None:
            raise BrokenPlan("a moment of a type that has no time")
        return Literal(value, one.type)

    return transform(scalar, fold)


def reads_time(plan: Node) -> bool:
    """Whether the plan reads the current date or time, so that its analysis depends on when it is asked."""
    return any(
        isinstance(one, Moment)
        for node in walk_nodes(plan)
        for scalar in node.scalars
        for one in walk_scalar(scalar)
    )


# these look at moments and at nothing of them
_OF_MOMENTS = frozenset({"=", "<>", "<", "<=", ">", ">=", "in", "not in", "is null", "is not null"})


def depends_on_zone(plan: Node) -> bool:
    """Whether a day, an hour or a text of a time with a zone is made or read anywhere."""
    return any(is_zone_dependent(scalar) for node in walk_nodes(plan) for scalar in node.scalars)


def is_zone_dependent(scalar: Scalar) -> bool:
    """The same of one expression."""
    return any(_reads(one) for one in walk_scalar(scalar))


def _reads(scalar: Scalar) -> bool:
    match scalar:
        case Call():
            zoned = [_is_zoned(part) for part in scalar.parts]
            moments = scalar.function.lower() in _OF_MOMENTS and all(zoned)
            return any(zoned) and not moments
        case Cast():
            return _is_zoned(scalar) or _is_zoned(scalar.what)
        case Shift() | Literal():
            return _is_zoned(scalar)
    return False


def _is_zoned(scalar: Scalar) -> bool:
    return scalar.type.kind is Kind.TIMESTAMPTZ
