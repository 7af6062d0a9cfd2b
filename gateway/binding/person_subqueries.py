"""Subqueries that read the rows of one person: scalar subqueries and LATERAL, as joins on the unit key.

`(SELECT SUM(cost) FROM visits v WHERE v.patient_id = p.patient_id)` is a LEFT JOIN with the sums of all persons. Of a
person without rows it is NULL, and a COUNT is 0. Without an aggregate the subquery has one row of a person at most:
`ORDER BY … LIMIT 1` is the row whose ROW_NUMBER is 1, and the order is completed by all columns.

INVARIANT: a row meets rows of its own person alone. The equality of both unit keys is the condition of a `Join`, which
checks their ties, and nothing else of the query around is read below it.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace

from sqlglot import exp

from gateway.binding.binder import Binder, Environment, Key, SelectRows, Tree
from gateway.binding.expressions import ScalarBinder, Subqueries
from gateway.binding.join_order import conjoin, conjunct_nodes, refresh_column
from gateway.binding.joins import JoinBinder, ungrouped_column_refusal, whole_row_refusal
from gateway.binding.operands import compare
from gateway.binding.scope import Scope, Visible, expression_key, unknown_column_refusal
from gateway.binding.select_list import Item, has_aggregate, has_window, items_of
from gateway.binding.staging import StageBinder
from gateway.binding.text.dialect import fold_name
from gateway.binding.unit_aggregates import PerUnitGrouping
from gateway.binding.windows import bind_order
from gateway.errors import Code, SyntaxRefused, UnsupportedSql
from gateway.plan.aggregates import WindowCall
from gateway.plan.fields import BIGINT, INTEGER, Field, Protected, Tie
from gateway.plan.joins import Join
from gateway.plan.node import Node
from gateway.plan.relations import Filter, Project, Window
from gateway.plan.scalars import Call, Literal, Ref, Scalar, column_ids


class Inside:
    """The rows of a subquery: names are sought here first, then one level out."""

    def __init__(self, rows: SelectRows, plan: Node, scope: Scope) -> None:
        self._rows = rows
        self.plan = plan
        self.scope = scope
        self.scalars: ScalarBinder
        self.around = rows.around

    @property
    def queries(self) -> Binder:
        return self._rows.queries

    def lookup(self, column: exp.Column) -> Visible:
        found = self.own(column)
        if found is not None:
            return found
        if self._rows.scope.here(column) is None:
            for scope in self._rows.scope.around():
                if scope.here(column) is not None:
                    raise UnsupportedSql(
                        Code.CORRELATED,
                        f"`{column.name[:63]}` is a column of a query two levels out",
                    )
            raise unknown_column_refusal(column)
        return self._rows.lookup(column)

    def own(self, column: exp.Column) -> Visible | None:
        """The column, where it is one of the subquery's own rows."""
        found = self.scope.here(column)
        if found is not None:
            return refresh_column(found, self.plan.fields)
        row = whole_row_refusal(self.scope, column)
        if row is not None:
            raise row
        return None


class Beside:
    """The rows that stand before a LATERAL subquery in a FROM."""

    def __init__(self, queries: Binder, around: Environment, plan: Node, scope: Scope) -> None:
        self.queries = queries
        self.around = around
        self.plan = plan
        self.scope = scope
        self.scalars = ScalarBinder(self.lookup, queries.cutting.zone)

    def lookup(self, column: exp.Column) -> Visible:
        return refresh_column(self.scope.find(column), self.plan.fields)


@dataclass(frozen=True, slots=True)
class PersonRelation:
    """The rows of a subquery with the unit of each, beside rows of the query around.

    `compared` is the column of the query around that `unit` is compared with; `shown` are the columns by `names`.
    `always`: the subquery has a row for persons without rows too, with NULL in its columns.
    """

    rows: SelectRows
    plan: Node
    unit: Field
    compared: Scalar
    names: tuple[str, ...]
    shown: tuple[Field, ...]
    always: bool = False

    def joined(self, beyond: Scalar | None = None, *, keeps: bool) -> Node:
        """The join with the rows of the query around; `keeps`: rows without a match are kept."""
        same = compare("=", self.compared, Ref(self.unit))
        if self.always and not keeps:
            rows: Node = Join(self.rows.plan, self.plan, same, outer=True)
            return rows if beyond is None else Filter(rows, beyond)
        condition = conjoin([same] if beyond is None else [same, beyond])
        return Join(self.rows.plan, self.plan, condition, keeps)


class PersonQuery:
    """Binds one such subquery; `subqueries` binds those inside it."""

    def __init__(
        self,
        rows: SelectRows,
        query: exp.Select,
        tree: Tree,
        around: Environment,
        subqueries: Callable[[SelectRows], Subqueries] | None,
    ) -> None:
        self._query = query
        self._cutting = rows.queries.cutting
        pending = conjunct_nodes(query.args.get("where"))
        joining = JoinBinder(StageBinder(self._cutting, around), rows.scope, pending)
        inside = Inside(rows, joining.build(tree), joining.scope)
        self._rows, self._inside = rows, inside
        self._inner = None if subqueries is None else subqueries(inside)
        inside.scalars = ScalarBinder(self._own, rows.queries.cutting.zone, self._inner)
        conditions = ScalarBinder(inside.lookup, rows.queries.cutting.zone, self._inner)
        self._keep([conditions.condition(part, filtering=True) for part in pending])
        self.items = items_of(query, joining.scope)

    def value(self) -> Scalar:
        """The one value of a scalar subquery for each row of the query around, whose plan is extended."""
        if len(self.items) != 1:
            raise SyntaxRefused(Code.SQL_SYNTAX, "the subquery must return one column")
        [item] = self.items
        if not has_aggregate(item.node):
            found = self.relation(single=True)
            self._rows.plan = found.joined(keeps=True)
            return Ref(self._rows.plan.fields[-1])
        grouped = self._query.args.get("group") is not None
        found, grouping = self._aggregated(grouped=grouped)
        self._rows.plan = found.joined(keeps=True)
        many = len(found.plan.fields)
        fields = self._rows.plan.fields[-many:]
        return grouping.above(fields, filled=not grouped).bind(item.node)

    def relation(self, *, single: bool) -> PersonRelation:
        """The rows of the subquery: of each person one with ORDER BY and LIMIT 1, else all; `single`: at most one."""
        if any(has_aggregate(one.node) for one in self.items):
            return self._aggregates()
        self._refuse("group", "having", "distinct", "offset", "windows")
        if any(has_window(one.node) for one in self.items):
            raise _unsupported("a window function")
        bound = [self._inside.scalars.bind(one.node) for one in self.items]
        plan, unit, compared = self._own_rows()
        limit, order = self._query.args.get("limit"), self._query.args.get("order")
        if limit is not None:
            plan = first_of_each(
                plan, (Ref(unit),), self._order(order), self._cutting.alias("place")
            )
            _require_one(limit)
        elif order is not None:
            self._refuse("order")
        elif single and isinstance(plan.label, Protected) and plan.label.rows != 1:
            raise UnsupportedSql(
                Code.CORRELATED,
                "the subquery could return several rows of a person",
                "use an aggregate in it, or ORDER BY … LIMIT 1",
            )
        items = (("k1", Ref(unit)), *((f"c{at + 1}", one) for at, one in enumerate(bound)))
        made = Project(plan, self._cutting.alias("of_person"), items)
        return self._related(made, compared)

    def _related(self, made: Node, compared: Scalar) -> PersonRelation:
        """A relation whose first column is the unit."""
        unit, *shown = made.fields
        names = tuple(one.name for one in self.items)
        return PersonRelation(self._rows, made, unit, compared, names, tuple(shown))

    def _aggregates(self) -> PersonRelation:
        """The aggregates of a LATERAL subquery; a count that is 0 without rows would be NULL."""
        grouped = self._query.args.get("group") is not None
        found, grouping = self._aggregated(grouped=grouped)
        if grouping.counts and not grouped:
            raise UnsupportedSql(
                Code.CORRELATED,
                "COUNT in a LATERAL subquery over protected rows is not supported",
                "write it as a scalar subquery of the select list, or join a subquery that groups by the unit key",
            )
        above = grouping.above(found.plan.fields)
        items = tuple((f"c{at + 1}", above.bind(one.node)) for at, one in enumerate(self.items))
        made = Project(
            found.plan, self._cutting.alias("of_person"), (("k1", Ref(found.unit)), *items)
        )
        return replace(self._related(made, found.compared), always=not grouped)

    def _aggregated(self, *, grouped: bool) -> tuple[PersonRelation, PerUnitGrouping]:
        self._refuse("having", "distinct", "order", "limit", "offset", "windows")
        if any(has_window(one.node) for one in self.items):
            raise _unsupported("a window function")
        units = [one for one in self._inside.plan.fields if one.tie is Tie.ALWAYS]
        if grouped:
            self._require_unit_group(units)
        identity = ("column", units[0].id if units else "")
        # the key is the unit that is compared; which one that is, the conditions say
        grouping = PerUnitGrouping(
            self._own,
            self._cutting.zone,
            self._inner,
            self._beyond,
            [Key("k1", Ref(units[0]), identity)] if units else [],
        )
        grouping.collect([one.node for one in self.items])
        plan, unit, compared = self._own_rows()
        made = grouping.keyed(plan, Ref(unit), self._cutting.alias("by_person"))
        return self._related(made, compared), grouping

    def _require_unit_group(self, units: list[Field]) -> None:
        group = self._query.args["group"]
        known = {expression_key(one, self._own) for one in group.expressions}
        if not known or not known <= {("column", one.id) for one in units}:
            raise _unsupported("GROUP BY of anything but the unit key")

    def _keep(self, conditions: list[Scalar]) -> None:
        """The rows that the conditions keep; what is said of the query around is the equality of both unit keys."""
        mine = {one.id: one for one in self._inside.plan.fields}
        kept = conjoin([one for one in conditions if column_ids(one) <= mine.keys()])
        if kept is not None:
            self._inside.plan = Filter(self._inside.plan, kept)
        self._compared = {
            _unit_pair(one, mine): None for one in conditions if not column_ids(one) <= mine.keys()
        }

    def _own_rows(self) -> tuple[Node, Field, Scalar]:
        """The rows of the subquery, their unit, and what it is compared with in the query around."""
        if len(self._compared) != 1:
            raise _unrelated()
        [(unit, compared)] = self._compared
        plan = self._inside.plan
        return plan, next(one for one in plan.fields if one.id == unit), compared

    def _order(self, order: exp.Order | None) -> tuple[tuple[Scalar, bool], ...]:
        return bind_order(by_names(order, self.items), self._inside.scalars)

    def _own(self, column: exp.Column) -> Visible:
        found = self._inside.own(column)
        if found is not None:
            return found
        self._inside.lookup(column)
        raise UnsupportedSql(
            Code.CORRELATED,
            f"`{column.name[:63]}` is a column of the outer query",
            "compare the unit keys in the subquery, and use columns of the outer query outside of it",
        )

    def _beyond(self, column: exp.Column) -> Visible:
        """A column that stands beside the aggregates of the subquery: of the query around."""
        if self._inside.own(column) is not None:
            raise ungrouped_column_refusal(column)
        return self._inside.lookup(column)

    def _refuse(self, *slots: str) -> None:
        for slot in slots:
            if self._query.args.get(slot) is not None:
                raise _unsupported(slot.upper() if slot != "order" else "ORDER BY without LIMIT 1")


def first_of_each(
    plan: Node,
    partition: tuple[Scalar, ...],
    order: tuple[tuple[Scalar, bool], ...],
    name: str,
) -> Filter:
    """The first row of each part; the order is completed by all columns before it runs."""
    call = WindowCall("row_number", (), partition, order, None, BIGINT)
    numbered = Window(plan, ((name, call),))
    return Filter(numbered, compare("=", Ref(numbered.fields[-1]), Literal(1, INTEGER)))


def by_names(order: exp.Order | None, items: list[Item]) -> exp.Order | None:
    """The order with output names and places as the expressions that they stand for."""
    if order is None:
        return None
    made = order.copy()
    for one in made.expressions:
        one.set("this", resolve_names([one.this], items)[0])
    return made


def resolve_names(nodes: list[exp.Expression], items: list[Item]) -> list[exp.Expression]:
    """Output names and places of the list as the expressions that they stand for."""
    return [_resolved(node, items).copy() for node in nodes]


def _resolved(node: exp.Expression, items: list[Item]) -> exp.Expression:
    if isinstance(node, exp.Literal) and not node.is_string and node.this.isdecimal():
        place = int(node.this) if len(node.this) <= len(str(len(items))) else 0
        if not 1 <= place <= len(items):
            raise SyntaxRefused(
                Code.SQL_SYNTAX, f"position {node.this[:5]} is not in the select list"
            )
        return items[place - 1].node
    if isinstance(node, exp.Column) and node.args.get("table") is None:
        found = [item.node for item in items if item.name == fold_name(node.this)]
        return found[0] if found else node
    return node


def _unit_pair(condition: Scalar, mine: dict[str, Field]) -> tuple[str, Scalar]:
    """The unit of the subquery's rows and the unit of the query around that a condition compares."""
    if isinstance(condition, Call) and condition.function == "=":
        for one, other in (condition.parts, condition.parts[::-1]):
            if (
                isinstance(one, Ref)
                and one.field.id in mine
                and one.field.tie is Tie.ALWAYS
                and isinstance(other, Ref)
                and other.field.id not in mine
                and other.field.tie is not Tie.NONE
            ):
                return one.field.id, other
    raise _unrelated()


def _require_one(limit: exp.Expression) -> None:
    count = limit.args.get("count") if isinstance(limit, exp.Fetch) else limit.expression
    options = limit.args.get("limit_options")
    ties = options is not None and bool(options.args.get("with_ties"))
    if isinstance(limit, exp.Fetch) and count is None:
        count = exp.Literal.number(1)
    if ties or not isinstance(count, exp.Literal) or count.is_string or count.this != "1":
        raise _unsupported("LIMIT of anything but 1")


def _unrelated() -> UnsupportedSql:
    return UnsupportedSql(
        Code.CORRELATED,
        "the subquery reads protected rows by more than the person of the outer row",
        "compare the unit keys in its WHERE clause; or, for one aggregate over all persons, other columns by `=` alone; or join"
        " a subquery that groups by the compared columns",
    )


def _unsupported(what: str) -> UnsupportedSql:
    return UnsupportedSql(
        Code.CORRELATED,
        f"{what} in a correlated subquery is not supported",
        "join a subquery that groups by the unit key",
    )
