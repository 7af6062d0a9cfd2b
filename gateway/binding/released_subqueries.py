"""Scalar subqueries that aggregate rows of persons for each value of compared columns, as a release that is joined.

`(SELECT 0.2 * avg(l_quantity) FROM lineitem WHERE l_partkey = p_partkey)` is read as a column of

    LEFT JOIN (SELECT l_partkey AS k, 0.2 * avg(l_quantity) AS v FROM lineitem GROUP BY l_partkey) q ON q.k = p_partkey

The groups are released once, as if the join were written: charged, suppressed and audited. A row without a group has what
PostgreSQL gives for no rows: NULL, and 0 for a count. A group that was suppressed is a group that is not there.

INVARIANT: this only writes another statement. Which columns may be grouped by and compared, and what is released, is decided
where that statement is bound. A column of the query around stands in an equality of the join alone, never below the release.
A row meets one group at most, where PostgreSQL has one result: no two keys are equal to one value of the query around.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import reduce
from typing import Final

from sqlglot import exp

from gateway.binding.aggregates import aggregates_in, is_aggregate
from gateway.binding.binder import Tree, tree_leaves
from gateway.binding.join_order import conjunct_nodes, is_column_equality
from gateway.binding.known_types import expression_type
from gateway.binding.provenance.unions import using_columns
from gateway.binding.scope import Scope, Visible
from gateway.binding.select_list import has_window
from gateway.binding.text.dialect import identifier, name_of_function
from gateway.catalog.types import Family
from gateway.plan.fields import Tie

_MORE: Final = ("group", "having", "distinct", "order", "limit", "offset", "windows")
_COUNTS: Final = frozenset({"count", "regr_count"})
_NULL_OF_NULL: Final = (
    *(exp.Paren, exp.Neg, exp.Add, exp.Sub, exp.Mul, exp.Div, exp.Mod, exp.Cast),
    *(exp.DataType, exp.DataTypeParam, exp.Literal),
)
_ROUNDING: Final = frozenset({"abs", "ceil", "ceiling", "floor", "round", "trunc"})


@dataclass(frozen=True, slots=True)
class GroupedSubquery:
    """The subquery as groups: `query` under the name `alias`, joined by `condition`; `value` is its value in a row."""

    query: exp.Select
    alias: str
    condition: exp.Expression
    value: exp.Expression


def read_grouped(
    query: exp.Select, tree: Tree, outer: Scope, name: Callable[[], str]
) -> GroupedSubquery | None:
    """The subquery by the columns that its WHERE compares with those of the rows around; None: it has another form.

    `name` gives names that stand nowhere in the text.
    """
    item = _single_item(query)
    if item is None:
        return None
    sources = [leaf.source for leaf in tree_leaves(tree)]
    inner = Scope(sources, None, using_columns(query, sources))
    pairs: list[tuple[exp.Expression, exp.Expression]] = []
    own: list[exp.Expression] = []
    for part in conjunct_nodes(query.args.get("where")):
        if not _looks_out(part, inner, outer):
            own.append(part)
            continue
        pair = _pair(part, inner, outer)
        if pair is None:
            return None
        pairs.append(pair)
    if not pairs or _looks_out(item, inner, outer):
        return None
    alias, value = name(), name()
    keys = [name() for _ in pairs]
    grouped = exp.Select(
        expressions=[
            *(
                exp.Alias(this=one.copy(), alias=identifier(key))
                for key, (one, _) in zip(keys, pairs, strict=True)
            ),
            exp.Alias(this=item.copy(), alias=identifier(value)),
        ],
        from_=query.args["from_"],
        group=exp.Group(expressions=[exp.Literal.number(at + 1) for at in range(len(keys))]),
    )
    for slot in ("joins", "with_"):
        if query.args.get(slot):
            grouped.set(slot, query.args[slot])
    if own:
        grouped.set("where", exp.Where(this=exp.and_(*own)))
    equalities: list[exp.Expression] = [
        exp.EQ(this=_column(alias, key), expression=other.copy())
        for key, (_, other) in zip(keys, pairs, strict=True)
    ]
    condition = reduce(_both, equalities)
    shown = _with_missing(item, _column(alias, value), _column(alias, keys[0]), inner)
    return GroupedSubquery(grouped, alias, condition, shown)


def _single_item(query: exp.Select) -> exp.Expression | None:
    """The one expression of a SELECT that always gives one row: an aggregate without groups."""
    if len(query.expressions) != 1 or any(query.args.get(slot) for slot in _MORE):
        return None
    item: exp.Expression = query.expressions[0]
    if isinstance(item, exp.Alias):
        item = item.this
    if has_window(item) or not aggregates_in(item):
        return None
    return item


def _pair(
    part: exp.Expression, inner: Scope, outer: Scope
) -> tuple[exp.Expression, exp.Expression] | None:
    """The column of the subquery and the one around that an equality compares; None of anything else.

    The rows that have one value of a unit key, or of a key on a unit path, are those of one person: no release.
    """
    if not is_column_equality(part):
        return None
    for one, other in ((part.this, part.expression), (part.expression, part.this)):
        mine = inner.here(one)
        if mine is None or not _is_outside(other, inner, outer):
            continue
        theirs = outer.here(other)
        if _is_of_person(mine) or theirs is None or not _stay_apart(mine, theirs):
            return None
        return one, other
    return None


def _is_of_person(column: Visible) -> bool:
    field = column.field
    return field is not None and (field.tie is not Tie.NONE or bool(field.keys))


def _stay_apart(key: Visible, other: Visible) -> bool:
    """Whether two keys are never equal to one value: numbers may be one as floats, though they are two groups."""
    if key.type is None or key.type.family not in {Family.WHOLE, Family.EXACT}:
        return True
    return other.type is not None and other.type.family is not Family.FLOAT


def _looks_out(node: exp.Expression, inner: Scope, outer: Scope) -> bool:
    return any(_is_outside(one, inner, outer) for one in node.find_all(exp.Column))


def _is_outside(column: exp.Expression, inner: Scope, outer: Scope) -> bool:
    """Whether the name is that of a column around; one that may be of the subquery is its own."""
    if not isinstance(column, exp.Column) or isinstance(column.this, exp.Star):
        return False
    return not inner.may_have(column) and outer.here(column) is not None


def _with_missing(
    item: exp.Expression, value: exp.Column, key: exp.Column, inner: Scope
) -> exp.Expression:
    """The value of a row: that of its group, or what the subquery gives for no rows."""
    counts = [_is_count(one) for one in aggregates_in(item)]
    strict = _is_null_of_null(item)
    if strict and not all(counts):
        return value
    missing = _without_rows(item.copy(), inner)
    if strict:
        return exp.Anonymous(this="coalesce", expressions=[value, missing])
    absent = exp.Is(this=key, expression=exp.Null())
    return exp.Case(ifs=[exp.If(this=absent, true=missing)], default=value)


def _without_rows(node: exp.Expression, inner: Scope) -> exp.Expression:
    """The expression over no rows: counts are 0, other aggregates NULL."""
    if is_aggregate(node):
        if _is_count(node):
            return exp.Cast(this=exp.Literal.number(0), to=exp.DataType.build("bigint"))
        kind = expression_type(node, inner)
        if kind is None:
            return exp.Null()
        return exp.Cast(this=exp.Null(), to=exp.DataType.build(str(kind), dialect="postgres"))
    for child in list(node.iter_expressions()):
        made = _without_rows(child, inner)
        if made is not child:
            child.replace(made)
    return node


def _is_null_of_null(item: exp.Expression) -> bool:
    """Whether the expression is NULL where one of its aggregates is."""
    stack = [item]
    while stack:
        node = stack.pop()
        if is_aggregate(node):
            continue
        rounds = isinstance(node, exp.Anonymous) and name_of_function(node) in _ROUNDING
        if not rounds and not isinstance(node, _NULL_OF_NULL):
            return False
        stack += list(node.iter_expressions())
    return True


def _is_count(node: exp.Expression) -> bool:
    while isinstance(node, (exp.Filter, exp.WithinGroup)):
        node = node.this
    return isinstance(node, exp.Anonymous) and name_of_function(node) in _COUNTS


def _both(left: exp.Expression, right: exp.Expression) -> exp.Expression:
    return exp.And(this=left, expression=right)


def _column(table: str, name: str) -> exp.Column:
    return exp.Column(this=identifier(name), table=identifier(table))
