"""UNION ALL: every row comes from a row of one side, and from none of the other side's.

What is made a column of one side is NULL in the other, so that both have as many columns as before.

Columns that a join by names makes one of two: `JOIN … USING`, `NATURAL JOIN`.

For relations without persons alone, where PostgreSQL binds the same text again: a name that has two meanings
all the same is refused there.
"""

from collections.abc import Iterator, Sequence
from dataclasses import replace

from sqlglot import exp

from gateway.binding.provenance.origin import Origin, Output, Rowset
from gateway.binding.scope import FromRelation, Visible
from gateway.binding.text.dialect import fold_name, identifier
from gateway.catalog.types import ColumnType
from gateway.plan.fields import BIGINT, common_type
from gateway.plan.node import BrokenPlan


class TracedUnion:
    """The rows of both sides. Only the numbers of their rows can be made columns of it."""

    def __init__(self, node: exp.Union, left: Rowset, right: Rowset, hidden: str) -> None:
        self._node = node
        self._sides = (left, right)
        self._hidden = hidden
        self._below = {
            replace(one, sure=False): (side, one)
            for side, rows in enumerate(self._sides)
            for one in rows.origins
        }
        self._made: dict[Origin, str] = {}
        self.origins = tuple(self._below)
        self.columns: tuple[Output, ...] | None = _columns(left, right, self._below)

    def expose(self, origin: Origin, column: str) -> str:
        """The result has the names of the first query."""
        if column != "n":
            raise BrokenPlan("an end of an interval, of rows that come from several releases")
        if origin not in self._made:
            side, below = self._below[origin]
            name = self._sides[side].expose(below, column)
            hidden = f"{self._hidden}_{len(self._made) + 1}"
            _with_nothing(self._node.expression if side == 0 else self._node.this, hidden)
            self._made[origin] = name if side == 0 else hidden
        return self._made[origin]


def can_trace_union(node: exp.SetOperation) -> bool:
    """Whether both sides can have a column more."""
    if not isinstance(node, exp.Union) or node.args.get("distinct"):
        return False
    return all(map(_can_be_wider, (node.this, node.expression)))


def _can_be_wider(query: exp.Expression) -> bool:
    if isinstance(query, exp.Subquery):
        return _can_be_wider(query.this)
    if isinstance(query, exp.SetOperation):
        return can_trace_union(query)
    return isinstance(query, exp.Select)


def _with_nothing(query: exp.Expression, name: str) -> None:
    """NULL as one column more, in every query of this side."""
    match query:
        case exp.Subquery():
            _with_nothing(query.this, name)
        case exp.Union():
            _with_nothing(query.this, name)
            _with_nothing(query.expression, name)
        case _:
            nothing = exp.Cast(this=exp.Null(), to=exp.DataType.build(str(BIGINT)))
            query.append("expressions", exp.Alias(this=nothing, alias=identifier(name)))


def _columns(
    left: Rowset, right: Rowset, below: dict[Origin, tuple[int, Origin]]
) -> tuple[Output, ...] | None:
    if left.columns is None or right.columns is None:
        return None
    above = {place: mine for mine, place in below.items()}
    made = []
    for one, other in zip(left.columns, right.columns, strict=False):
        cells = [
            (above[side, each.of], each.form)
            for side, each in enumerate((one, other))
            if each.form is not None and each.of is not None and (side, each.of) in above
        ] + [
            (above[side, of], form)
            for side, each in enumerate((one, other))
            for of, form in each.also
            if (side, of) in above
        ]
        made.append(Output(one.name, reads=one.reads | other.reads, also=tuple(cells)))
    return tuple(made)


def using_columns(node: exp.Select, sources: Sequence[FromRelation]) -> dict[str, Visible]:
    """The columns of this FROM that are one, by name."""
    merged: dict[str, Visible] = {}
    for join in _joins(node):
        for name in _names(join, sources):
            found = [one.type for source in sources for one in source.named(name)]
            if len(found) > 1:
                merged[name] = Visible(name, _one_type(found))
    return merged


def using_joins(node: exp.Select) -> list[exp.Join]:
    """The joins of this FROM that may make one column of two."""
    return [one for one in _joins(node) if one.args.get("method") or one.args.get("using")]


def _names(join: exp.Join, sources: Sequence[FromRelation]) -> list[str]:
    if str(join.args.get("method") or "").upper() == "NATURAL":
        return [column.name for source in sources for column in source.columns]
    return [fold_name(name) for name in join.args.get("using") or []]


def _joins(node: exp.Select) -> Iterator[exp.Join]:
    """The joins of this FROM, those in brackets too; what a query within joins is its own affair."""
    start = [node.args.get("from_"), *(node.args.get("joins") or [])]
    waiting = [one for one in start if isinstance(one, exp.Expression)]
    while waiting:
        one = waiting.pop()
        if isinstance(one, exp.Join):
            yield one
        if not isinstance(one, exp.Select | exp.SetOperation):
            waiting += one.iter_expressions()


def _one_type(types: Sequence[ColumnType | None]) -> ColumnType | None:
    result = types[0]
    for one in types[1:]:
        result = None if result is None or one is None else common_type(result, one)
    return result
