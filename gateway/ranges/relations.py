"""Ranges of the columns of a relation.

Two readings. By default: what holds of every row on which a database may compute something, in whatever order
it takes filters and expressions; total expressions rest on it. `narrowed`: what holds of the rows that get
through the filters; sensitivity and groups rest on it, and the sink clamp enforces it.

INVARIANT: nothing a filter says is in the ranges by default: a database may well compute an expression before
it asks the filter below it.

Ranges of what is computed from all rows of one unit: they are enforced, not only true.

Ranges of expressions and relations: where the other rooms come in.
"""

from collections.abc import Iterable, Mapping
from datetime import date, datetime
from fractions import Fraction
from typing import Final

from gateway.catalog.domains import Anything, Domain, Interval, Values
from gateway.catalog.types import ColumnType, Family, Kind
from gateway.catalog.values import Value
from gateway.functions.calendar import DAY
from gateway.functions.range_arithmetic import (
    NOTHING,
    OPEN,
    Bounds,
    Range,
    bounds,
    common_divisor,
    hull_bounds,
    meet_bounds,
    range_bounds,
)
from gateway.lru_cache import LruCache
from gateway.plan.aggregates import Aggregate, Measure, PerUnit, WindowCall
from gateway.plan.fields import Field, Label, Protected, is_number
from gateway.plan.joins import Join, Mark, UnionAll
from gateway.plan.node import BrokenPlan, Node
from gateway.plan.relations import Constant, Filter, Project, Scan, Window
from gateway.plan.scalars import Ref, Scalar
from gateway.ranges.expressions import (
    bounds_of,
    length_id,
    narrow_columns,
    type_bounds,
    value_bounds,
)


def aggregate_bounds(  # noqa: PLR0911 - one answer for each function
    function: str, argument: Bounds | None, rows: int | None
) -> Bounds | None:
    """The range of an aggregate or window function over at most `rows` rows of a unit.

    COUNT is from 0 to R, SUM from R·min(low, 0) to R·max(high, 0), the others among the values.
    """
    match function:
        case "count":
            return None if rows is None else bounds(0, rows, 1)
        case "row_number":
            return None if rows is None else bounds(1, max(rows, 1), 1)
        case "sum":
            inner = None if argument is None else argument.range
            if inner is None or rows is None:
                return None
            zero = Fraction(0)
            return bounds(rows * min(inner.low, zero), rows * max(inner.high, zero), inner.step)
        case "avg":
            return None if argument is None else Bounds(argument.low, argument.high)
        case "min" | "max" | "lag" | "lead":
            return argument
        case _:
            return None


def measure_bounds(
    measure: Measure | WindowCall, label: Label, columns: Mapping[str, Bounds]
) -> Bounds | None:
    rows = label.rows if isinstance(label, Protected) else None
    argument = _first(measure.arguments, columns)
    return aggregate_bounds(measure.function, argument, rows)


def _first(arguments: tuple[Scalar, ...], columns: Mapping[str, Bounds]) -> Bounds | None:
    return bounds_of(arguments[0], columns) if arguments else None


Columns = Mapping[str, Bounds]


def ranges_of(node: Node, *, narrowed: bool = False) -> Mapping[str, Range]:
    """The ranges of the fields that have one, by field id."""
    found = columns_of(node, narrowed=narrowed)
    there = {one.id: found.get(one.id, OPEN).range for one in node.fields}
    return {name: range_ for name, range_ in there.items() if range_ is not None}


_MOST_NODES: Final = 512
# what is known by its identity is kept beside it, so that no other object has this id
_known_columns: LruCache[tuple[int, bool], tuple[Node, Columns]] = LruCache(_MOST_NODES)


def columns_of(node: Node, *, narrowed: bool) -> Columns:
    """The bounds of the fields, open ones too.

    The binder, the policy, the analysis and the regions each ask this of the same nodes.
    """
    key = (id(node), narrowed)
    return _known_columns.get(key, lambda: (node, _columns_of(node, narrowed=narrowed)))[1]


def _columns_of(node: Node, *, narrowed: bool) -> Columns:
    below = [columns_of(one, narrowed=narrowed) for one in node.below]
    made = dict(_made(node, below, narrowed=narrowed))
    if narrowed:
        for one in node.fields:
            made[one.id] = meet_bounds(made.get(one.id, OPEN), domain_bounds(one.domain, one.type))
        made |= lengths_of(node.fields)
    return made


def inner_columns(node: Node, *, narrowed: bool) -> Columns:
    """The bounds of the columns that the node's own expressions read."""
    merged: dict[str, Bounds] = {}
    for one in node.below:
        merged |= columns_of(one, narrowed=narrowed)
    return merged


_MOST_DOMAINS: Final = 4_096
_known_domains: LruCache[tuple[int, bool], tuple[Domain, Bounds]] = LruCache(_MOST_DOMAINS)


def domain_bounds(domain: Domain, kind: ColumnType) -> Bounds:
    """What a domain says of the values of a column of this type."""
    if isinstance(domain, Anything):
        return OPEN
    key = (id(domain), kind.family is Family.TIMESTAMP)  # nothing else of a type counts
    return _known_domains.get(key, lambda: (domain, _domain_bounds(domain, kind)))[1]


def _domain_bounds(domain: Domain, kind: ColumnType) -> Bounds:
    match domain:
        case Interval(low, high, step):
            first, last = value_bounds(low), value_bounds(high)
            if first.low is None or last.high is None:
                return OPEN
            pace = step * 1_000_000 if kind.family is Family.TIMESTAMP else step
            if first.low:
                pace = common_divisor(pace, abs(first.low))
            return bounds(first.low, last.high, pace)
        case Values(values):
            stamps = kind.family is Family.TIMESTAMP
            return hull_bounds(value_bounds(_stamp(one) if stamps else one) for one in values)
        case Anything():
            return OPEN


def _stamp(value: Value) -> Value:
    """A date among timestamps is its midnight."""
    if isinstance(value, date) and not isinstance(value, datetime):
        return datetime(value.year, value.month, value.day)  # noqa: DTZ001 - without a zone
    return value


def lengths_of(fields: Iterable[Field]) -> dict[str, Bounds]:
    """How long the texts of columns with listed values are; blanks at the end of a `char(n)` are not counted."""
    found = {}
    for one in fields:
        listed = one.domain if isinstance(one.domain, Values) else ()
        lengths = [len(text) for text in listed if isinstance(text, str)]
        if lengths and one.type.kind is not Kind.CHAR:
            found[length_id(one.id)] = bounds(min(lengths), max(lengths), 1)
    return found


def _cut_lengths(scan: Scan | Constant) -> dict[str, Bounds]:
    """How long the texts are that the scan cuts to a declared `max_length`; keys are read as they are stored."""
    if isinstance(scan, Constant):
        return {}
    return {
        length_id(one.id): bounds(0, column.longest, 1)
        for one, column in zip(scan.fields, scan.table.columns, strict=True)
        if column.max_length is not None
        and column.longest is not None
        and column.type.kind is not Kind.CHAR
        and not scan.table.is_key(column)
    }


def _of_refs(made: Iterable[tuple[Field, Scalar]], below: Columns) -> dict[str, Bounds]:
    """The lengths of texts that are handed on."""
    named = [(one, scalar.field) for one, scalar in made if isinstance(scalar, Ref)]
    lengths = ((length_id(one.id), below.get(length_id(of.id))) for one, of in named)
    return {name: found for name, found in lengths if found is not None}


def field_bounds(one: Field) -> Bounds:
    """What the domain and the type of a column say together."""
    declared = domain_bounds(one.domain, one.type)
    return meet_bounds(declared, type_bounds(one.type)) if is_number(one.type) else declared


def _made(  # noqa: PLR0911 - one answer for each kind of node
    node: Node, below: list[Columns], *, narrowed: bool
) -> Columns:
    match node:
        case Scan() | Constant():
            found = {one.id: field_bounds(one) for one in node.fields}
            return found | _cut_lengths(node) | lengths_of(node.fields)
        case Filter():
            return narrow_columns(node.condition, below[0], bounds_of) if narrowed else below[0]
        case Project():
            items = [(one, made) for one, (_, made) in zip(node.fields, node.items, strict=True)]
            found = {one.id: bounds_of(scalar, below[0]) for one, scalar in items}
            return found | _of_refs(items, below[0])
        case Window():
            return {**below[0], **_of_window(node, below[0])}
        case Join():
            merged = {**below[0], **below[1]}
            if narrowed and node.condition is not None and not node.outer:
                return narrow_columns(node.condition, merged, bounds_of)
            return merged
        case Mark():
            return below[0]
        case UnionAll():
            return _union(node, below)
        case PerUnit() | Aggregate():
            return _grouped(node, below[0])
        case _:
            raise BrokenPlan("a node without ranges")


def _of_window(node: Window, below: Columns) -> Columns:
    added = {name: measure_bounds(call, node.child.label, below) for name, call in node.items}
    return {name: found for name, found in added.items() if found is not None}


def _grouped(node: PerUnit | Aggregate, below: Columns) -> Columns:
    keys = len(node.keys)
    made = {
        one.id: bounds_of(key, below)
        for one, (_, key) in zip(node.fields[:keys], node.keys, strict=True)
    }
    if isinstance(node, PerUnit):
        for one, (_, measure) in zip(node.fields[keys:], node.measures, strict=True):
            made[one.id] = measure_bounds(measure, node.child.label, below) or OPEN
    named = zip(node.fields[:keys], (key for _, key in node.keys), strict=True)
    return made | _of_refs(named, below)


def _union(node: UnionAll, below: list[Columns]) -> Columns:
    made = {}
    for place, one in enumerate(node.fields):
        sides = (node.left.fields[place], node.right.fields[place])
        found = [
            _as_type(columns.get(side.id, OPEN), side.type, one.type)
            for columns, side in zip(below, sides, strict=True)
        ]
        made[one.id] = hull_bounds(each for each in found if each is not NOTHING)
    return made


def _as_type(found: Bounds, of: ColumnType, to: ColumnType) -> Bounds:
    if of.family is not Family.DATE or to.family is not Family.TIMESTAMP:
        return found
    if found.low is None or found.high is None:
        return OPEN
    return bounds(
        found.low * DAY, found.high * DAY, None if found.step is None else found.step * DAY
    )


def range_of(scalar: Scalar, columns: Mapping[str, Range]) -> Range | None:
    """The range of an expression whose columns have these; None: it is not bounded, or no number or time."""
    return bounds_of(scalar, {name: range_bounds(one) for name, one in columns.items()}).range
