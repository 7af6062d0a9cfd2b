"""One SELECT over rows of persons: it stays rows of persons, or it is released.

INVARIANT: which of the two is decided by the plan alone. With the unit among the keys the rows stay protected;
without it they go through `Aggregate`, which is the only node that makes Released rows of Protected ones.
"""

from dataclasses import replace

from sqlglot import exp

from gateway.binding.aggregates import Measures
from gateway.binding.binder import (
    Binder,
    Environment,
    FreeRelation,
    Key,
    ProtectedRows,
    Relation,
    Tree,
    lone_groups_refusal,
    person_groups_refusal,
    unit_rows_refusal,
)
from gateway.binding.expressions import ScalarBinder
from gateway.binding.finishing import FinishingBinder
from gateway.binding.formatted_keys import format_bucket
from gateway.binding.join_order import conjoin, conjunct_nodes, refresh_column
from gateway.binding.joins import JoinBinder, ungrouped_column_refusal, whole_row_refusal
from gateway.binding.person_subqueries import by_names, first_of_each, resolve_names
from gateway.binding.scope import Scope, Visible, expression_key
from gateway.binding.select_list import (
    Item,
    add_moment,
    add_zone,
    group_keys,
    has_aggregate,
    has_window,
    is_zoned,
    items_of,
    local_period,
)
from gateway.binding.staging import StageBinder
from gateway.binding.subqueries import SubqueryBinder
from gateway.binding.tiles import bind_tile, is_tile
from gateway.binding.top_k import is_row_count, ordering_count, requested_top_k, select_top
from gateway.binding.unit_aggregates import PerUnitGrouping
from gateway.binding.windows import bind_order, bind_window
from gateway.errors import Code, NotAggregate, Refusal, SyntaxRefused, UnsupportedSql
from gateway.plan.aggregates import Aggregate, PerUnit
from gateway.plan.fields import Tie
from gateway.plan.joins import Join
from gateway.plan.node import Node, is_unit, walk_nodes
from gateway.plan.relations import Filter, Project, Window
from gateway.plan.scalars import Literal, Ref, Scalar


class ProtectedSelect:
    """Binds one SELECT whose FROM has rows of persons in it."""

    def __init__(
        self, queries: Binder, node: exp.Select, around: Environment, outer: Scope | None
    ) -> None:
        self.queries = queries
        self.around = around
        self._node = node
        self._outer = outer
        self.scope = Scope([], outer)
        self.plan: Node
        self._inner = SubqueryBinder(self)
        self.scalars = ScalarBinder(self.lookup, queries.cutting.zone, self._inner, self._window)

    def bind(self, tree: Tree, alias: str) -> Relation:
        """The whole SELECT."""
        self.rows(tree)
        node = self._node
        items = items_of(node, self.scope)
        order = node.args.get("order")
        having = node.args.get("having")
        parts = [item.node for item in items]
        if order is not None:
            parts += [one.this for one in order.expressions]
        grouped = node.args.get("group") is not None or having is not None
        if grouped or any(has_aggregate(part) for part in parts):
            return self._grouped(items, alias)
        distinct = node.args.get("distinct")
        if distinct is not None:
            return self._distinct(items, distinct, alias)
        return self._plain(items, alias)

    def rows(self, tree: Tree) -> None:
        """FROM and WHERE."""
        pending = conjunct_nodes(self._node.args.get("where"))
        joining = JoinBinder(StageBinder(self.queries.cutting, self.around), self._outer, pending)
        self.plan = joining.build(tree)
        self.scope = joining.scope
        self.filter(pending)

    def filter(self, conjuncts: list[exp.Expression]) -> None:
        parts = []
        for part in conjuncts:
            if has_aggregate(part):
                raise where_aggregate_refusal()
            parts.append(self.scalars.condition(part, filtering=True))
        condition = conjoin(parts)
        if condition is not None:
            self.plan = Filter(self.plan, condition)

    def lookup(self, column: exp.Column) -> Visible:
        """What a name means among the rows."""
        try:
            return refresh_column(self.scope.find(column), self.plan.fields)
        except Refusal as refusal:
            row = whole_row_refusal(self.scope, column)
            if row is not None and refusal.code is Code.COLUMN_UNKNOWN:
                raise row from refusal
            raise

    def _plain(self, items: list[Item], alias: str) -> Relation:
        if self.queries.is_root(self._node):
            raise unit_rows_refusal(self.plan)
        self._no_order()
        bound = tuple((item.name, self.scalars.bind(item.node)) for item in items)
        plan = Project(self.plan, alias, bound)
        return ProtectedRows(plan, tuple(item.name for item in items))

    def _distinct(self, items: list[Item], distinct: exp.Distinct, alias: str) -> Relation:
        if distinct.args.get("on") is not None:
            return self._first_rows(items, distinct.args["on"].expressions, alias)
        found = [self._key(place, item.node) for place, item in enumerate(items)]
        if any(_is_person(key.scalar) and not is_unit(key.scalar) for key in found):
            raise unit_rows_refusal(self.plan)
        names = tuple(item.name for item in items)
        if any(is_unit(key.scalar) for key in found):
            if self.queries.is_root(self._node):
                raise unit_rows_refusal(self.plan)
            self._no_order()
            if any(key.show is not None for key in found):
                raise UnsupportedSql(
                    Code.CLAUSE_UNSUPPORTED,
                    "formatted keys are not supported in a GROUP BY with the unit key",
                )
            bound = tuple((name, key.scalar) for name, key in zip(names, found, strict=True))
            return ProtectedRows(PerUnit(self.plan, alias, bound, ()), names)
        keys: list[Key] = []
        for key in found:
            if all(key.identity != known.identity for known in keys):
                keys.append(replace(key, name=f"k{len(keys) + 1}"))
        return self._release(items, keys, [tuple(range(len(keys)))])

    def _first_rows(self, items: list[Item], on: list[exp.Expression], alias: str) -> ProtectedRows:
        """DISTINCT ON: the first row of each part of the rows of a person."""
        order = by_names(self._node.args.get("order"), items)
        parts = resolve_names(on, items)
        partition = tuple(self.scalars.bind(one) for one in parts)
        if not any(is_unit(one) for one in partition):
            raise UnsupportedSql(
                Code.ORDER_OF_PERSONS,
                "DISTINCT ON without the unit key would choose among rows of different persons",
                "add the unit key to DISTINCT ON, or use GROUP BY and an aggregate",
            )
        if self.queries.is_root(self._node):
            raise unit_rows_refusal(self.plan)
        self._no_order("limit", "offset")
        bound = tuple((item.name, self.scalars.bind(item.node)) for item in items)
        keys = tuple(
            (key, down) for key, down in bind_order(order, self.scalars) if key not in partition
        )
        name = self.queries.cutting.alias("place")
        plan = Project(first_of_each(self.plan, partition, keys, name), alias, bound)
        return ProtectedRows(plan, tuple(item.name for item in items))

    def _grouped(self, items: list[Item], alias: str) -> Relation:
        nodes, sets = group_keys(self._node, items, self.scope)
        keys = [self._key(place, node) for place, node in enumerate(nodes)]
        if any(_is_person(key.scalar) and not is_unit(key.scalar) for key in keys):
            # the unit of an outer join's far side: still one group a person
            raise unit_rows_refusal(self.plan)
        if any(is_unit(key.scalar) for key in keys):
            if sets != [tuple(range(len(keys)))]:
                raise UnsupportedSql(
                    Code.CLAUSE_UNSUPPORTED, "grouping sets must not contain the unit key"
                )
            if self.queries.is_root(self._node):
                raise self._person_groups_refusal(keys)
            return self._per_unit(items, keys, alias)
        if len(sets) == 1:
            self._require_groups_of_several(keys)
        if self.queries.cutting.selecting and sets == [(0,)] and len(items) == 1:
            selection = self._selection(items[0], keys[0])
            if selection is not None:
                return selection
        return self._release(items, keys, sets)

    def _require_groups_of_several(self, keys: list[Key]) -> None:
        """A key of a unit path groups the rows of one person, which are never enough to be shown.

        The groups of NULL that an outer join makes are of many.
        """
        if any(isinstance(one, Join) and one.outer for one in walk_nodes(self.plan)):
            return
        for key in keys:
            if isinstance(key.scalar, Ref) and key.scalar.field.keys and key.scalar.field.origins:
                raise lone_groups_refusal(min(key.scalar.field.origins, key=str))

    def _person_groups_refusal(self, keys: list[Key]) -> NotAggregate:
        for key in keys:
            if isinstance(key.scalar, Ref) and is_unit(key.scalar) and key.scalar.field.origins:
                return person_groups_refusal(min(key.scalar.field.origins, key=str))
        return unit_rows_refusal(self.plan)

    def _selection(self, item: Item, key: Key) -> FreeRelation | None:
        """The most frequent values of the key, where the SELECT asks for nothing else."""
        node = self._node
        many, count = requested_top_k(node, key.scalar), ordering_count(node)
        if many is None or count is None or expression_key(item.node, self.lookup) != key.identity:
            return None
        if not is_row_count(Measures(self.scalars).measure(count)):
            return None
        self.queries.cutting.selected = True
        select, shown = select_top(item, many, key.scalar.type)
        free = self._release([shown], [], [()], select)
        # of one row nothing more can be said, of several that their values differ
        claims = free.claims or frozenset({frozenset({0})})
        return replace(free, types=(key.scalar.type,), claims=claims)

    def _key(self, place: int, node: exp.Expression) -> Key:
        name = f"k{place + 1}"
        formatted = format_bucket(node, self.scalars)
        if formatted is not None:
            return Key(name, formatted.scalar, self._identity(node), formatted.show)
        return Key(name, self.scalars.bind(node), self._identity(node))

    def _identity(self, node: exp.Expression) -> tuple[object, ...]:
        known = expression_key(node, self.lookup)
        if known is None:
            raise where_aggregate_refusal()
        return known

    def _per_unit(self, items: list[Item], keys: list[Key], alias: str) -> Relation:
        self._no_order()
        node = self._node
        if node.args.get("distinct") is not None or any(key.show is not None for key in keys):
            raise UnsupportedSql(
                Code.CLAUSE_UNSUPPORTED,
                "DISTINCT and formatted keys are not supported in a GROUP BY with the unit key",
                "move the GROUP BY into a subquery",
            )
        if any(has_window(item.node) for item in items):
            raise UnsupportedSql(
                Code.CLAUSE_UNSUPPORTED,
                "a window function is not supported in a GROUP BY with the unit key",
                "move the GROUP BY into a subquery",
            )
        having = node.args.get("having")
        grouping = PerUnitGrouping(
            self.lookup, self.scalars.zone, self._inner, self._ungrouped, keys
        )
        grouping.collect([item.node for item in items])
        if having is not None:
            grouping.collect([having.this])
        inner = self.queries.cutting.alias(f"{alias}_by_unit" if alias else "by_unit")
        plan: Node = grouping.plan(self.plan, inner)
        if having is not None:
            plan = Filter(plan, grouping.above(plan.fields).condition(having.this, filtering=True))
        above = grouping.above(plan.fields)
        bound = tuple((item.name, above.bind(item.node)) for item in items)
        return ProtectedRows(Project(plan, alias, bound), tuple(item.name for item in items))

    def _ungrouped(self, column: exp.Column) -> Visible:
        self.lookup(column)
        raise ungrouped_column_refusal(column)

    def _release(
        self,
        items: list[Item],
        keys: list[Key],
        sets: list[tuple[int, ...]],
        node: exp.Select | None = None,
    ) -> FreeRelation:
        keys = [self._without_zone(key) for key in keys]
        if len(sets) > 1 and any(isinstance(key.scalar, Literal) for key in keys):
            raise UnsupportedSql(
                Code.CLAUSE_UNSUPPORTED, "constants are not supported in grouping sets"
            )
        finishing = FinishingBinder(self, keys, node or self._node, several=len(sets) > 1)
        query = finishing.query(items)
        if not keys and not finishing.measures:
            raise UnsupportedSql(
                Code.CLAUSE_UNSUPPORTED, "GROUP BY needs at least one key or aggregate"
            )
        plan = Aggregate(
            self.plan,
            tuple((key.name, key.scalar) for key in keys),
            tuple((f"m{place + 1}", one) for place, one in enumerate(finishing.measures)),
            tuple(sets),
        )
        return finishing.finished(query, items, plan)

    def _without_zone(self, key: Key) -> Key:
        """The key as a local time, whose zone the finishing adds again, where both tell the same rows apart."""
        if key.show is not None:
            return key
        shown = local_period(key.scalar, self.scalars.zone)
        if shown is not None:
            return replace(key, scalar=shown, show=add_moment)
        return replace(key, show=add_zone) if is_zoned(key.scalar, self.plan) else key

    def _window(self, node: exp.Expression) -> Scalar | None:
        if not isinstance(node, exp.Window):
            return None
        inside = ScalarBinder(self.lookup, self.scalars.zone, self._inner)
        if is_tile(node):
            staging = StageBinder(self.queries.cutting, self.around)
            return bind_tile(node, self.plan, inside, self.queries.cutting, staging.value)
        call = bind_window(node, inside)
        name = self.queries.cutting.alias("window")
        self.plan = Window(self.plan, ((name, call),))
        return Ref(self.plan.fields[-1])

    def _no_order(self, *slots: str) -> None:
        for slot in slots or ("order", "limit", "offset"):
            if self._node.args.get(slot) is not None:
                raise UnsupportedSql(
                    Code.ORDER_OF_PERSONS,
                    f"{'ORDER BY' if slot == 'order' else slot.upper()} is not supported over protected rows",
                    "aggregate first; ORDER BY and LIMIT are allowed on the aggregated result",
                )


def _is_person(scalar: Scalar) -> bool:
    return isinstance(scalar, Ref) and scalar.field.tie is not Tie.NONE


def where_aggregate_refusal() -> Refusal:
    return SyntaxRefused(
        Code.NOT_GROUPED,
        "aggregates are not allowed in WHERE",
        "use HAVING, or aggregate in a subquery",
    )
