"""The SELECT list, GROUP BY and ORDER BY: stars, ordinals and names.

PostgreSQL's rules: a bare name in GROUP BY is an input column before it is an output name; a bare name in ORDER BY
is an output name first; any larger expression sees input columns alone.

`date_trunc` of a date is a local time in the source, and a time with a zone in PostgreSQL: PostgreSQL makes a
timestamptz of the date by the zone of whoever asks, and truncates in that zone. The local time it stands for is
the same in every zone, so the source groups by that, and the finishing puts the zone back on the twin, where it is
known. The same holds for `date_trunc` of a time with a zone on the session's clock, from days upwards: no two days begin
at one moment, but for one that the clock skipped, and in which no row is.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

from sqlglot import exp

from gateway.binding import clocks
from gateway.binding.aggregates import is_aggregate
from gateway.binding.scope import FromRelation, Scope, column_text
from gateway.binding.text.dialect import fold_name, identifier, result_name
from gateway.catalog.types import ColumnType
from gateway.errors import Code, NotPermitted, SyntaxRefused, UnsupportedSql
from gateway.functions.table import function_of
from gateway.functions.zoned_times import reads_clock
from gateway.plan.aggregates import PerUnit
from gateway.plan.fields import DATE, TIMESTAMP, TIMESTAMPTZ
from gateway.plan.joins import UnionAll
from gateway.plan.node import Node, walk_nodes
from gateway.plan.relations import Project
from gateway.plan.scalars import Call, Literal, Ref, Scalar, Shift, walk_scalar

_QUERIES = (exp.Select, exp.SetOperation)


@dataclass(frozen=True, slots=True)
class Item:
    """A result column."""

    name: str
    node: exp.Expression


def items_of(select: exp.Select, scope: Scope) -> list[Item]:
    """The result columns, with stars written out."""
    items: list[Item] = []
    for node in select.expressions:
        inner = node.this if isinstance(node, exp.Alias) else node
        if isinstance(inner, exp.Star):
            items += _all(scope)
        elif isinstance(inner, exp.Column) and isinstance(inner.this, exp.Star):
            items += _of_source(_named_source(inner, scope))
        else:
            items.append(Item(result_name(node), inner))
    if not items:
        raise UnsupportedSql(Code.CLAUSE_UNSUPPORTED, "SELECT needs at least one column")
    return items


def _all(scope: Scope) -> list[Item]:
    merged = [Item(name, exp.Column(this=identifier(name))) for name in scope.merged]
    rest = [
        item
        for source in scope.sources
        for item in _of_source(source)
        if item.name not in scope.merged
    ]
    return [*merged, *rest]


def _of_source(source: FromRelation) -> list[Item]:
    table = identifier(source.alias) if source.alias else None
    items = []
    for column in source.columns:
        node = exp.Column(this=identifier(column.name))
        if table is not None:
            node.set("table", table.copy())
        items.append(Item(column.name, node))
    return items


def _named_source(column: exp.Column, scope: Scope) -> FromRelation:
    wanted = fold_name(column.args["table"])
    for source in scope.sources:
        if source.alias == wanted:
            return source
    raise NotPermitted(Code.RELATION_UNKNOWN, f"`{column_text(column)}`"[:-2] + "`")


def group_keys(
    select: exp.Select, items: list[Item], scope: Scope
) -> tuple[list[exp.Expression], list[tuple[int, ...]]]:
    """The grouping expressions, each once, and the grouping sets as places among them."""
    group = select.args.get("group")
    if group is None:
        return [], [()]
    keys: list[exp.Expression] = []
    sets: list[tuple[int, ...]] = [()]
    for node in group.expressions:
        sets = [
            (*one, *(place for place in other if place not in one))
            for one in sets
            for other in _sets_of(node, keys, items, scope)
        ]
        if len(sets) > _MOST_SETS:
            raise UnsupportedSql(
                Code.CLAUSE_UNSUPPORTED, f"GROUP BY has more than {_MOST_SETS} grouping sets"
            )
    return keys, sets


_MOST_SETS = 64
_MOST_KEYS = 32


def _sets_of(
    node: exp.Expression, keys: list[exp.Expression], items: list[Item], scope: Scope
) -> list[tuple[int, ...]]:
    if isinstance(node, exp.GroupingSets):
        return [one for each in node.expressions for one in _sets_of(each, keys, items, scope)]
    if isinstance(node, exp.Rollup):
        parts = [_places(each, keys, items, scope) for each in node.expressions]
        return [_joined(parts[:length]) for length in range(len(parts), -1, -1)]
    if isinstance(node, exp.Cube):
        parts = [_places(each, keys, items, scope) for each in node.expressions]
        if len(parts) > 6:  # noqa: PLR2004 - 64 grouping sets
            raise UnsupportedSql(
                Code.CLAUSE_UNSUPPORTED, f"GROUP BY has more than {_MOST_SETS} grouping sets"
            )
        masks = range(2 ** len(parts) - 1, -1, -1)
        top = len(parts) - 1
        return [
            _joined([part for place, part in enumerate(parts) if mask >> (top - place) & 1])
            for mask in masks
        ]
    return [_places(node, keys, items, scope)]


def _joined(parts: list[tuple[int, ...]]) -> tuple[int, ...]:
    return tuple(dict.fromkeys(place for part in parts for place in part))


def _places(
    node: exp.Expression, keys: list[exp.Expression], items: list[Item], scope: Scope
) -> tuple[int, ...]:
    if isinstance(node, exp.Tuple):
        return _joined([_places(each, keys, items, scope) for each in node.expressions])
    key = _key(node, items, scope)
    for place, known in enumerate(keys):
        if known is key or known == key:
            return (place,)
    if len(keys) == _MOST_KEYS:
        raise UnsupportedSql(Code.CLAUSE_UNSUPPORTED, f"GROUP BY has more than {_MOST_KEYS} keys")
    keys.append(key)
    return (len(keys) - 1,)


def _key(node: exp.Expression, items: list[Item], scope: Scope) -> exp.Expression:
    while isinstance(node, exp.Paren):
        node = node.this
    if isinstance(node, exp.Literal):
        return _ordinal(node, items)
    bare = isinstance(node, exp.Column) and node.args.get("table") is None
    if bare and isinstance(node, exp.Column) and scope.here(node) is None:
        found = [item for item in items if item.name == fold_name(node.this)]
        if len(found) > 1 and any(one.node != found[0].node for one in found):
            raise SyntaxRefused(
                Code.NAME_AMBIGUOUS, f"`{node.name[:63]}` in GROUP BY names several columns"
            )
        if found:
            node = found[0].node
            while isinstance(node, exp.Paren):
                node = node.this
    if has_aggregate(node):
        raise SyntaxRefused(Code.NOT_GROUPED, "aggregates are not allowed in GROUP BY")
    return node


def _ordinal(node: exp.Literal, items: list[Item]) -> exp.Expression:
    if node.is_string or not node.this.isdigit() or len(node.this) > 4:  # noqa: PLR2004
        raise SyntaxRefused(Code.SQL_SYNTAX, "a constant in GROUP BY must be a column number")
    place = int(node.this)
    if not 1 <= place <= len(items):
        raise SyntaxRefused(Code.SQL_SYNTAX, f"GROUP BY position {place} is not in the select list")
    inner = items[place - 1].node
    if has_aggregate(inner):
        raise SyntaxRefused(Code.NOT_GROUPED, "aggregates are not allowed in GROUP BY")
    return inner


def contains(node: exp.Expression, test: Callable[[exp.Expression], bool]) -> bool:
    """Whether anything in the expression passes the test; queries in it are not looked into.

    Of a window call the function itself is not tested, but what it is given and what its window is made of.
    """
    stack = [node]
    while stack:
        one = stack.pop()
        if isinstance(one, _QUERIES):
            continue
        if test(one):
            return True
        stack += _inside_window(one) if isinstance(one, exp.Window) else one.iter_expressions()
    return False


def has_aggregate(node: exp.Expression) -> bool:
    """Whether an aggregate of this query is in the expression; window calls are none themselves."""
    return contains(node, is_aggregate)


def has_window(node: exp.Expression) -> bool:
    """Whether a window call of this query is in the expression."""
    return contains(node, lambda one: isinstance(one, exp.Window))


def _inside_window(window: exp.Window) -> list[exp.Expression]:
    call = window.this
    parts: list[exp.Expression] = []
    if isinstance(call, exp.Filter):
        parts.append(call.expression)
        call = call.this
    parts += list(call.iter_expressions())
    parts += list(window.args.get("partition_by") or [])
    order = window.args.get("order")
    return [*parts, order] if order is not None else parts


_TO: Final = exp.DataType.Type.TIMESTAMPTZ
_LOCAL: Final = exp.DataType.Type.TIMESTAMP


def is_zoned(scalar: Scalar, below: Node) -> bool:
    """Whether PostgreSQL gives a time with a zone where the plan has a local one."""
    if scalar.type != TIMESTAMP:
        return False
    if isinstance(scalar, Ref):
        found = _maker(scalar.field.id, below)
        return found is not None and is_zoned(*found)
    if isinstance(scalar, Shift):
        # by days and months PostgreSQL moves the local time; by hours it moves what the zone makes of it
        return scalar.microseconds == 0 and is_zoned(scalar.moved, below)
    looked = function_of(scalar).time_part if isinstance(scalar, Call) else None
    return looked is not None and looked.is_zoned and scalar.parts[1].type == DATE


def local_period(scalar: Scalar, zone: str) -> Scalar | None:
    """The local time that begins a period, where the scalar is its moment on the session's clock."""
    match scalar:
        case Call("timezone", (Literal(name), period)) if (
            name == zone and scalar.type == TIMESTAMPTZ and clocks.is_day_start(period)
        ):
            return period if any(map(reads_clock, walk_scalar(period))) else None
        case _:
            return None


def _maker(column: str, below: Node) -> tuple[Scalar, Node] | None:
    """The expression that a column came from, and the relation that reads."""
    for node in walk_nodes(below):
        made: list[tuple[Scalar, Node]] = []
        if isinstance(node, Project):
            made = [(scalar, node.child) for _, scalar in node.items]
        elif isinstance(node, PerUnit):
            made = [(scalar, node.child) for _, scalar in node.keys]
        elif isinstance(node, UnionAll):
            made = [(Ref(one), node.left) for one in node.left.fields]
        for one, field in zip(made, node.fields, strict=False):
            if field.id == column:
                return one
    return None


def add_zone(column: exp.Expression) -> exp.Expression:
    """The local time as PostgreSQL shows it."""
    return exp.Cast(this=column, to=exp.DataType(this=_TO))


def add_moment(column: exp.Expression) -> exp.Expression:
    """The moment of the local time that a key stands for; in brackets it is a moment to what reads the result, too."""
    return exp.Paren(this=add_zone(column))


def strip_zone(value: exp.Expression, kind: ColumnType) -> exp.Expression:
    """The value as a plan reads it: times without a zone, whatever PostgreSQL has made of them."""
    return exp.Cast(this=value, to=exp.DataType(this=_LOCAL)) if kind == TIMESTAMP else value


def unwrap_zone(node: exp.Expression) -> exp.Expression:
    """The local time in what `add_zone` made; anything else as it is."""
    made = isinstance(node, exp.Cast) and node.args["to"].this == _TO
    return node.this if made else node
