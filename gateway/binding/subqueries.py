"""Queries inside the expressions of a SELECT over rows of persons.

EXISTS and IN over rows of persons become a mark: a column that says whether a row of the same person goes
with it. Anything that is free is released or read first and becomes a constant.

INVARIANT: a mark is made by `Mark`, which asks for an equality of both unit keys; names of the query
around are seen by the conditions of EXISTS and IN alone, one level out.
"""

from sqlglot import exp

from gateway.binding.binder import (
    Binder,
    Environment,
    Leaf,
    ProtectedRows,
    SelectRows,
    Tree,
    tree_leaves,
)
from gateway.binding.clocks import meet_times
from gateway.binding.expressions import ScalarBinder
from gateway.binding.joins import (
    JoinBinder,
    conjoin,
    conjunct_nodes,
    is_protected_tree,
    refresh_column,
    whole_row_refusal,
)
from gateway.binding.operators import compare
from gateway.binding.provenance.unions import using_columns
from gateway.binding.scope import Scope, Visible, unknown_column_refusal
from gateway.binding.select_list import has_aggregate, has_window, items_of
from gateway.binding.sources import Sources
from gateway.binding.staging import StageBinder
from gateway.errors import Code, NotAggregate, SyntaxRefused, UnsupportedSql
from gateway.plan.fields import Protected
from gateway.plan.joins import Mark
from gateway.plan.node import Node, is_unit
from gateway.plan.relations import Filter
from gateway.plan.scalars import Ref, Scalar, StagedMember, column_ids


class SubqueryBinder:
    """Binds the subqueries of one SELECT."""

    def __init__(self, rows: SelectRows) -> None:
        self._rows = rows

    def exists(self, node: exp.Exists) -> Scalar:
        return self._bound(node.this, None, filtering=True)

    def member(self, node: exp.In, *, filtering: bool) -> Scalar:
        if isinstance(node.this, exp.Tuple):
            raise UnsupportedSql(
                Code.CLAUSE_UNSUPPORTED, "IN with several columns is not supported", "use EXISTS"
            )
        query = node.args["query"]
        inner = query.this if isinstance(query, exp.Subquery) else query
        return self._bound(inner, self._rows.scalars.bind(node.this), filtering=filtering)

    def value(self, node: exp.Subquery) -> Scalar:
        relation = self._rows.queries.query(node.this, self._rows.around, self._rows.scope, "")
        if isinstance(relation, ProtectedRows):
            raise NotAggregate(
                Code.PERSON_AS_VALUE,
                "the subquery would return values of individual persons",
                "aggregate in the subquery",
            )
        return self._staging().value(relation)

    def _bound(self, query: exp.Expression, what: Scalar | None, *, filtering: bool) -> Scalar:
        rows = self._rows
        while isinstance(query, exp.Subquery) and len(_used(query)) == 1:
            query = query.this
        if isinstance(query, exp.Select) and _is_simple(query):
            known = rows.queries.cutting.aliases()
            around = rows.around.inside(query.args.get("with_"))
            first, joins = query.args["from_"].this, list(query.args.get("joins") or [])
            tree = Sources(rows.queries, around, rows.scope).tree(first, joins)
            if is_protected_tree(tree) or _looks_out(query, tree, rows.scope):
                return self._mark(query, tree, around, what, filtering=filtering)
            relation = rows.queries.select(query, rows.around, rows.scope, tree)
            rows.queries.cutting.restore(known)
        else:
            relation = rows.queries.query(
                query, rows.around, rows.scope, rows.queries.cutting.alias("inner")
            )
        if isinstance(relation, ProtectedRows):
            return self._mark_rows(relation, what, filtering=filtering)
        if what is None:
            return self._staging().exists(relation)
        constant, field = self._staging().members(relation)
        what, _ = meet_times((what, Ref(field)), self._rows.queries.cutting.zone)
        compare("=", what, Ref(field))
        return StagedMember(what, constant)

    def _mark(
        self,
        query: exp.Select,
        tree: Tree,
        around: Environment,
        what: Scalar | None,
        *,
        filtering: bool,
    ) -> Scalar:
        rows = self._rows
        pending = conjunct_nodes(query.args.get("where"))
        joining = JoinBinder(StageBinder(rows.queries.cutting, around), rows.scope, pending)
        inside = _Inside(rows, joining.build(tree), joining.scope)
        scalars = ScalarBinder(
            inside.lookup,
            rows.queries.cutting.zone,
            SubqueryBinder(inside) if is_protected_tree(tree) else None,
        )
        inside.scalars = scalars
        conditions = [scalars.condition(part, filtering=True) for part in pending]
        if what is not None:
            items = items_of(query, joining.scope)
            if len(items) != 1:
                raise SyntaxRefused(Code.SQL_SYNTAX, "the subquery of IN must return one column")
            item = scalars.bind(items[0].node)
            _check_nulls(what, item, filtering=filtering)
            conditions.append(compare("=", *meet_times((what, item), scalars.zone)))
        mine = {one.id for one in inside.plan.fields}
        own = [one for one in conditions if column_ids(one) <= mine]
        inner = inside.plan
        kept = conjoin(own)
        if kept is not None:
            inner = Filter(inner, kept)
        return self._marked(
            inner, conjoin([one for one in conditions if not column_ids(one) <= mine])
        )

    def _mark_rows(self, rows: ProtectedRows, what: Scalar | None, *, filtering: bool) -> Scalar:
        if what is None:
            return self._marked(rows.plan, None)
        if len(rows.names) != 1:
            raise SyntaxRefused(Code.SQL_SYNTAX, "the subquery of IN must return one column")
        item = Ref(rows.plan.fields[0])
        _check_nulls(what, item, filtering=filtering)
        zone = self._rows.queries.cutting.zone
        return self._marked(rows.plan, compare("=", *meet_times((what, item), zone)))

    def _marked(self, inner: Node, condition: Scalar | None) -> Scalar:
        rows = self._rows
        # what the outer side looks like may have changed while the inner was bound
        if not isinstance(rows.plan.label, Protected):
            raise UnsupportedSql(
                Code.CORRELATED, "a subquery inside a correlated subquery is not supported"
            )
        name = rows.queries.cutting.alias("mark")
        rows.plan = Mark(rows.plan, inner, condition, name)
        return Ref(rows.plan.fields[-1])

    def _staging(self) -> StageBinder:
        return StageBinder(self._rows.queries.cutting, self._rows.around)


class _Inside:
    """The rows of an EXISTS: names are sought here first, then one level out."""

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
        found = self.scope.here(column)
        if found is not None:
            return refresh_column(found, self.plan.fields)
        row = whole_row_refusal(self.scope, column)
        if row is not None:
            raise row
        if self._rows.scope.here(column) is None:
            for scope in self._rows.scope.around():
                if scope.here(column) is not None:
                    raise UnsupportedSql(
                        Code.CORRELATED,
                        f"`{column.name[:63]}` is a column of a query two levels out",
                    )
            raise unknown_column_refusal(column)
        return self._rows.lookup(column)


def _is_simple(query: exp.Select) -> bool:
    """FROM, WHERE and a list: nothing that would change which rows there are."""
    if query.args.get("from_") is None:
        return False
    slots = ("group", "having", "distinct", "order", "limit", "offset", "windows")
    if any(query.args.get(slot) is not None for slot in slots):
        return False
    return not any(has_aggregate(one) or has_window(one) for one in query.expressions)


def _looks_out(query: exp.Select, tree: Tree, outer: Scope) -> bool:
    """Whether a condition of the query reads the rows around it."""
    sources = [leaf.source for leaf in _leaves(tree)]
    scope = Scope(sources, None, using_columns(query, sources))
    for part in (*query.expressions, *conjunct_nodes(query.args.get("where"))):
        for column in part.find_all(exp.Column):
            if isinstance(column.this, exp.Star) or scope.may_have(column):
                continue
            if outer.here(column) is not None:
                return True
    return False


def _leaves(tree: Tree) -> list[Leaf]:
    return list(tree_leaves(tree))


def _check_nulls(what: Scalar, item: Scalar, *, filtering: bool) -> None:
    """IN is NULL where NULLs meet; a mark is not. Where that can be told, only values may meet."""
    if filtering or (is_unit(what) and is_unit(item)):
        return
    if what.nullable or item.nullable:
        raise UnsupportedSql(
            Code.CLAUSE_UNSUPPORTED,
            "NOT IN and computed IN are not supported over columns that may be NULL",
            "use EXISTS or NOT EXISTS",
        )


def _used(node: exp.Expression) -> list[str]:
    return [slot for slot, value in node.args.items() if value]
