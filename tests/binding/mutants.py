"""Plans that differ from a plan in one place: what an equivalence must tell apart."""

from collections.abc import Iterator
from dataclasses import replace
from typing import Final

from gateway.errors import Refusal
from gateway.plan.aggregates import Aggregate, Measure, PerUnit
from gateway.plan.fields import Field, Tie
from gateway.plan.joins import Join, Mark, UnionAll
from gateway.plan.node import BrokenPlan, Node, walk_nodes
from gateway.plan.relations import Filter, Project, Window
from gateway.plan.scalars import Call, Case, Cast, Literal, Ref, Scalar, walk_scalar

_OTHER: Final = {"=": "<>", "<>": "=", "<": "<=", "<=": "<", ">": ">=", ">=": ">"} | {
    "and": "or", "or": "and", "is null": "is not null", "is not null": "is null", "like": "ilike",
    "+": "-", "-": "+", "*": "/", "/": "*", "lower": "upper", "floor": "ceil",
}  # fmt: skip
_MEASURES: Final = {"sum": "avg", "avg": "sum", "min": "max", "max": "min", "stddev": "variance"}


def mutants(plan: Aggregate) -> Iterator[tuple[str, Aggregate]]:
    """Each with what was changed. A column that nothing reads may change without changing the plan."""
    for what, changed in _everywhere(plan, _read(plan)):
        if isinstance(changed, Aggregate):
            yield what, changed


def _read(plan: Node) -> frozenset[str]:
    """The columns that something reads, from the top down."""
    read: set[str] = set()
    for node in walk_nodes(plan):
        inside: list[Scalar] = []
        match node:
            case Filter(_, condition):
                inside = [condition]
            case Join() | Mark():
                inside = [] if node.condition is None else [node.condition]
            case Project(_, _, items):
                ids = [one.id for one in node.fields]
                inside = [one for own, (_, one) in zip(ids, items, strict=True) if own in read]
            case Window(_, items):
                for _, call in items:
                    inside += [*call.arguments, *call.partition, *(one for one, _ in call.order)]
            case PerUnit(_, _, keys, measures) | Aggregate(_, keys, measures):
                inside = [key for _, key in keys]
                for _, one in measures:
                    inside += [*one.arguments, *([] if one.where is None else [one.where])]
            case UnionAll(left, right):
                read |= {one.id for one in (*left.fields, *right.fields)}
        read |= {
            one.field.id for each in inside for one in walk_scalar(each) if isinstance(one, Ref)
        }
    return frozenset(read)


def _everywhere(node: Node, read: frozenset[str]) -> Iterator[tuple[str, Node]]:
    for what, make in _here(node, read):
        try:
            yield what, make()
        except (Refusal, BrokenPlan):
            continue
    for place, below in enumerate(node.below):
        for what, changed in _everywhere(below, read):
            try:
                yield what, _with(node, place, changed)
            except (Refusal, BrokenPlan):
                continue


def _with(node: Node, place: int, below: Node) -> Node:
    match node:
        case Filter() | Project() | Window() | PerUnit() | Aggregate():
            return replace(node, child=below)
        case Mark():
            return replace(node, child=below) if place == 0 else replace(node, inner=below)
        case Join() | UnionAll():
            return replace(node, left=below) if place == 0 else replace(node, right=below)
        case _:
            raise BrokenPlan("a node without a child")


class _Make:
    """A node made later, when its maker may refuse."""

    def __init__(self, node: Node | None, **changes: object) -> None:
        self._node, self._changes = node, changes

    def __call__(self) -> Node:
        assert self._node is not None
        return replace(self._node, **self._changes)  # type: ignore[type-var]


def _here(node: Node, read: frozenset[str]) -> Iterator[tuple[str, _Make]]:  # noqa: C901, PLR0912 - one for each kind
    match node:
        case Filter(child, condition):
            yield "a filter dropped", _Make(child)
            for what, one in _scalars(condition, child.fields):
                yield what, _Make(node, condition=one)
        case Project(child, _, items):
            for place, (name, scalar) in enumerate(items):
                if node.fields[place].id not in read:
                    continue
                for what, one in _scalars(scalar, child.fields):
                    changed = (*items[:place], (name, one), *items[place + 1 :])
                    yield what, _Make(node, items=changed)
        case Join(left, right, condition, outer):
            yield "another join kind", _Make(node, outer=not outer)
            if condition is not None:
                for what, one in _scalars(condition, (*left.fields, *right.fields)):
                    yield what, _Make(node, condition=one)
        case Mark(child, inner, condition):
            if condition is not None:
                for what, one in _scalars(condition, (*child.fields, *inner.fields)):
                    yield what, _Make(node, condition=one)
        case UnionAll(left, right):
            yield "the sides of a union", _Make(node, left=right, right=left)
        case Window(child, [(name, call)]):
            turned = tuple((key, not down) for key, down in call.order)
            if turned:
                yield "another order", _Make(node, items=((name, replace(call, order=turned)),))
            if call.frame is not None:
                wider = ("unbounded preceding", "unbounded following")
                yield "another frame", _Make(node, items=((name, replace(call, frame=wider)),))
        case PerUnit(child, _, keys, measures) | Aggregate(child, keys, measures):
            yield from _grouping(node, child, keys, measures)
        case _:
            return


def _grouping(
    node: Node,
    child: Node,
    keys: tuple[tuple[str, Scalar], ...],
    measures: tuple[tuple[str, Measure], ...],
) -> Iterator[tuple[str, _Make]]:
    for place, (name, key) in enumerate(keys):
        for what, one in _scalars(key, child.fields):
            yield what, _Make(node, keys=(*keys[:place], (name, one), *keys[place + 1 :]))
    for place, (name, measure) in enumerate(measures):
        for what, other in _measures(measure, child.fields):
            changed = (*measures[:place], (name, other), *measures[place + 1 :])
            yield what, _Make(node, measures=changed)
    if isinstance(node, Aggregate) and len(node.sets) > 1:
        yield "another grouping set", _Make(node, sets=node.sets[:-1])


def _measures(measure: Measure, fields: tuple[Field, ...]) -> Iterator[tuple[str, Measure]]:
    if measure.function in _MEASURES:
        yield "another measure", replace(measure, function=_MEASURES[measure.function])
    if measure.function == "count" and measure.arguments:
        yield "distinct", replace(measure, distinct=not measure.distinct)
    if measure.where is not None:
        yield "no FILTER", replace(measure, where=None)
        for what, one in _scalars(measure.where, fields):
            yield what, replace(measure, where=one)
    if measure.function in {"percentile_cont", "percentile_disc"}:
        yield "another direction", replace(measure, descending=not measure.descending)
    for place, argument in enumerate(measure.arguments):
        for what, one in _scalars(argument, fields):
            arguments = (*measure.arguments[:place], one, *measure.arguments[place + 1 :])
            yield what, replace(measure, arguments=arguments)


def _scalars(  # noqa: C901, PLR0912 - one for each kind
    scalar: Scalar, fields: tuple[Field, ...]
) -> Iterator[tuple[str, Scalar]]:
    match scalar:
        case Ref(mine):
            for other in fields:
                if other.id != mine.id and other.type == mine.type and other.tie is Tie.NONE:
                    yield "another column", Ref(other)
                    return
        case Literal(int(value), kind) if not isinstance(value, bool):
            yield "another constant", Literal(value + 1, kind)
        case Literal(str(value), kind):
            yield "another constant", Literal(value + "x", kind)
        case Call(function, parts):
            if function in _OTHER:
                yield f"{function} for another", replace(scalar, function=_OTHER[function])
            for place, part in enumerate(parts):
                for what, one in _scalars(part, fields):
                    changed = (*parts[:place], one, *parts[place + 1 :])
                    yield what, replace(scalar, parts=changed)
        case Cast(inner):
            for what, one in _scalars(inner, fields):
                yield what, replace(scalar, what=one)
        case Case([(when, then), *_], otherwise):
            yield "a branch dropped", replace(scalar, branches=((when, otherwise),))
            for what, one in _scalars(when, fields):
                yield what, replace(scalar, branches=((one, then), *scalar.branches[1:]))
        case _:
            return
