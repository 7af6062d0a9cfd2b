"""What remains of a SELECT after its aggregates were released: SQL over a constant relation.

INVARIANT: it is free. Every aggregate and every key became a column of the release, and no other column
of the rows is left in it; a name that is neither grouped nor aggregated is refused.
"""

from functools import reduce

from sqlglot import exp

from gateway.binding.aggregates import Measures, is_aggregate, split_array_aggregate
from gateway.binding.binder import FreeRelation, Key, SelectRows
from gateway.binding.durations import as_interval, bind_duration
from gateway.binding.expressions import ScalarBinder
from gateway.binding.extensions import find_output, has_end, is_end
from gateway.binding.free_select import may_return_rows
from gateway.binding.joins import ungrouped_column_refusal
from gateway.binding.listed_ends import bind_listed_end, value_at
from gateway.binding.scope import Visible, chain_parts, expression_key, kind_of
from gateway.binding.select_list import Item, add_zone, is_zoned, unwrap_zone
from gateway.binding.text.dialect import fold_name, identifier, name_of_function
from gateway.catalog.types import ColumnType
from gateway.errors import Code, NotAggregate, Refusal, SyntaxRefused
from gateway.plan.aggregates import Aggregate, Measure
from gateway.plan.fields import DOUBLE, Field

_MOST_MARKS = 32  # PostgreSQL takes fewer: the bits of an integer
_HERE = "\0"  # the release's name is known when its plan is; no text has such a character


class FinishingBinder:
    """Rewrites one SELECT."""

    def __init__(
        self, rows: SelectRows, keys: list[Key], select: exp.Select, *, several: bool
    ) -> None:
        """`several`: the keys are grouped in several sets, and the release has columns that tell them apart."""
        self._rows = rows
        self._keys = keys
        self._select = select
        self._several = several
        self._binder = Measures(rows.scalars)
        self._items: list[Item] = []
        self.measures: list[Measure] = []

    def query(self, items: list[Item]) -> exp.Select:
        """The SELECT over the release."""
        node = self._select
        self._items = items
        names = {item.name for item in items}
        out = exp.Select(
            expressions=[
                exp.Alias(this=self._free(item.node), alias=identifier(item.name)) for item in items
            ],
            from_=exp.From(this=exp.Table(this=identifier(_HERE))),
        )
        having = node.args.get("having")
        if having is not None:
            out.set("where", exp.Where(this=self._free(having.this)))
        for slot in ("limit", "offset"):
            if node.args.get(slot) is not None:
                out.set(slot, self._free(node.args[slot]))
        for window in node.args.get("windows") or []:
            out.append("windows", self._free(window))
        order = node.args.get("order")
        if order is not None:
            out.set("order", exp.Order(expressions=self._ordered(order.expressions, names)))
        distinct = node.args.get("distinct")
        if distinct is not None and node.args.get("group") is None and not self.measures:
            distinct = None  # the keys of the release differ already
        if distinct is not None:
            out.set("distinct", self._distinct(distinct, names))
        return out

    def finished(self, query: exp.Select, items: list[Item], plan: Aggregate) -> FreeRelation:
        """The query with the release's name in it."""
        cutting = self._rows.queries.cutting
        name = cutting.release(plan)
        if self._rows.queries.must_list(self._select):
            cutting.listed.add(name)
        for one in query.find_all(exp.Identifier):
            if one.this == _HERE:
                one.set("this", name)
        columns = {one.id: one for one in plan.fields}
        types = tuple(_type(unwrap_zone(one.this), columns) for one in query.expressions)
        return FreeRelation(
            query,
            tuple(item.name for item in items),
            types,
            claims=self._claims(items, plan),
        )

    def _claims(self, items: list[Item], plan: Aggregate) -> frozenset[frozenset[int]]:
        """The result columns that tell its rows apart, as they read: all keys, when all of them are shown."""
        if plan.sets != (tuple(range(len(plan.keys))),) or any(
            may_return_rows(item.node) for item in items
        ):
            return frozenset()
        items = [Item(one.name, exp.null()) if has_end(one.node) else one for one in items]
        places = set()
        for key in self._keys:
            found = [
                place
                for place, item in enumerate(items)
                if expression_key(item.node, self._rows.lookup) == key.identity
            ]
            if not found:
                return frozenset()
            places.add(found[0])
        return frozenset({frozenset(places)})

    def _ordered(self, order: list[exp.Expression], names: set[str]) -> list[exp.Expression]:
        out = []
        for one in order:
            made = one.copy()
            made.set("this", self._by_name(one.this, names))
            out.append(made)
        return out

    def _by_name(self, node: exp.Expression, names: set[str]) -> exp.Expression:
        """A bare name is an output name first, a number an output column."""
        bare = isinstance(node, exp.Column) and node.args.get("table") is None
        if (bare and fold_name(node.this) in names) or isinstance(node, exp.Literal):
            return node.copy()
        return self._free(node)

    def _distinct(self, distinct: exp.Distinct, names: set[str]) -> exp.Distinct:
        on = distinct.args.get("on")
        if on is None:
            return exp.Distinct()
        inner = [self._by_name(one, names) for one in on.expressions]
        return exp.Distinct(on=exp.Tuple(expressions=inner))

    def _free(self, node: exp.Expression) -> exp.Expression:
        """The expression over the release."""
        known = self._known(node)
        if known is not None:
            return known
        if isinstance(node, exp.Column):
            self._rows.lookup(node)
            raise ungrouped_column_refusal(node)
        if isinstance(node, exp.Window):
            return self._window(node)
        if is_aggregate(node):
            return self._measure(node)
        if isinstance(node, (exp.Select, exp.SetOperation)):
            return self._subquery(node)
        if isinstance(node, (exp.And, exp.Or)):
            return self._chain(node)
        return self._parts(node)

    def _known(self, node: exp.Expression) -> exp.Expression | None:
        """What is a column of the release."""
        if is_end(node):
            return self._end(node)
        if isinstance(node, exp.Anonymous) and name_of_function(node) == "grouping":
            return self._grouping(node)
        return self._as_key(node)

    def _end(self, node: exp.Expression) -> exp.Expression:
        """The end of an interval: of a column of the list, by its name, or of an expression."""
        return exp.Anonymous(
            this=name_of_function(node) if isinstance(node, exp.Anonymous) else "",
            expressions=[
                self._free(find_output(one, self._items) or one) for one in node.expressions
            ],
        )

    def _chain(self, node: exp.Expression) -> exp.Expression:
        first, *others = (self._free(one) for one in chain_parts(node))
        for other in others:
            first = node.__class__(this=first, expression=other)
        return first

    def _parts(self, node: exp.Expression) -> exp.Expression:
        out = node.__class__()
        for slot, value in node.args.items():
            if isinstance(value, exp.Expression):
                out.set(slot, self._free(value))
            elif isinstance(value, list):
                made = [
                    self._free(one) if isinstance(one, exp.Expression) else one for one in value
                ]
                out.set(slot, made)
            else:
                out.set(slot, value)
        return out

    def _as_key(self, node: exp.Expression) -> exp.Expression | None:
        if isinstance(node, (exp.Identifier, exp.Literal, exp.Select, exp.SetOperation)):
            return None
        if all(key.identity[0] != kind_of(node) for key in self._keys):
            return None
        mine = expression_key(node, self._rows.lookup)
        if mine is None:
            return None
        for key in self._keys:
            if key.identity == mine:
                column = exp.Column(this=identifier(key.name), table=identifier(_HERE))
                return column if key.show is None else key.show(column)
        return None

    def _grouping(self, node: exp.Expression) -> exp.Expression:
        """Which of these keys are not among those of the row's grouping set, as bits: the last is worth 1."""
        marks = [self._mark(one) for one in node.expressions]
        if not 0 < len(marks) < _MOST_MARKS:
            raise SyntaxRefused(
                Code.TYPE_MISMATCH, f"`grouping` does not accept {len(marks)} arguments"
            )
        if not self._several:
            return exp.Cast(this=exp.Literal.number(0), to=exp.DataType.build("int"))
        parts = [
            exp.Mul(this=mark, expression=exp.Literal.number(2**place)) if place else mark
            for place, mark in zip(range(len(marks) - 1, -1, -1), marks, strict=True)
        ]
        return parts[0] if len(parts) == 1 else exp.Paren(this=reduce(_sum, parts))

    def _mark(self, node: exp.Expression) -> exp.Expression:
        mine = expression_key(node, self._rows.lookup)
        for place, key in enumerate(self._keys):
            if mine is not None and key.identity == mine:
                return exp.Column(this=identifier(f"g{place + 1}"), table=identifier(_HERE))
        raise SyntaxRefused(Code.NOT_GROUPED, "the arguments of `grouping` must be grouping keys")

    def _measure(self, node: exp.Expression) -> exp.Expression:
        several = split_array_aggregate(node)
        if several is not None:
            return exp.Array(expressions=[self._measure(one) for one in several])
        seconds = bind_duration(node, self._binder, self._rows.scalars)
        if seconds is not None:
            return as_interval(self._column(seconds), seconds)
        ended = bind_listed_end(node, self._rows.scalars)
        if ended is not None:
            return value_at(self._column(ended[0]), ended[1])
        measure = self._binder.measure(node)
        column = self._column(measure)
        shown = measure.hands_on and is_zoned(measure.arguments[0], self._rows.plan)
        return add_zone(column) if shown else column

    def _column(self, measure: Measure) -> exp.Column:
        """The column of the release that has the aggregate."""
        if measure not in self.measures:
            self.measures.append(measure)
        name = f"m{self.measures.index(measure) + 1}"
        return exp.Column(this=identifier(name), table=identifier(_HERE))

    def _window(self, node: exp.Window) -> exp.Expression:
        """A window over the released rows; its function is no aggregate of the rows of persons."""
        call, where = node.this, None
        if isinstance(call, exp.Filter):
            call, where = call.this, call.expression
        made = self._parts(call)
        if where is not None:
            made = exp.Filter(this=made, expression=self._parts(where))
        out = exp.Window()
        for slot, value in node.args.items():
            if slot == "this":
                out.set(slot, made)
            elif isinstance(value, list):
                out.set(slot, [self._free(one) for one in value])
            elif isinstance(value, exp.Order):
                out.set(slot, self._parts(value))
            elif isinstance(value, exp.Expression):
                out.set(slot, value.copy())
            else:
                out.set(slot, value)
        return out

    def _subquery(self, node: exp.Expression) -> exp.Expression:
        relation = self._rows.queries.query(node, self._rows.around, self._rows.scope, "")
        if not isinstance(relation, FreeRelation):
            raise NotAggregate(
                Code.PERSON_AS_VALUE,
                "a subquery would return protected rows",
                "aggregate in the subquery",
            )
        return relation.query


def _sum(left: exp.Expression, right: exp.Expression) -> exp.Expression:
    return exp.Add(this=left, expression=right)


def _type(node: exp.Expression, columns: dict[str, Field]) -> ColumnType | None:
    if is_end(node):
        return DOUBLE

    def lookup(column: exp.Column) -> Visible:
        field = columns[column.name]
        return Visible(field.id, field.type, field)

    try:
        return ScalarBinder(lookup, "UTC").bind(node).type
    except Refusal:
        return None
