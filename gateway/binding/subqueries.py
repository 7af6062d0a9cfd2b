"""Queries inside the expressions of a SELECT over rows of persons.

EXISTS and IN over rows of persons become a mark: a column that says whether a row of the same person goes
with it. Anything that is free is released or read first and becomes a constant. An aggregate for each value of compared
columns is released by these columns, and its groups are joined.

INVARIANT: a mark is made by `Mark`, which asks for an equality of both unit keys; names of the query
around are seen by the conditions of EXISTS and IN alone, one level out.
"""

from sqlglot import exp

from gateway.binding.binder import (
    Environment,
    FreeRelation,
    Leaf,
    ProtectedRows,
    SelectRows,
    Tree,
)
from gateway.binding.clocks import meet_times
from gateway.binding.expressions import ScalarBinder
from gateway.binding.join_order import (
    common_equalities,
    conjoin,
    conjunct_nodes,
    naming_key,
    refresh_column,
)
from gateway.binding.joins import JoinBinder, is_protected_tree, looks_out, unit_value_refusal
from gateway.binding.operands import compare
from gateway.binding.person_subqueries import Inside, PersonQuery
from gateway.binding.released_subqueries import GroupedSubquery, read_grouped
from gateway.binding.scope import FromRelation, Visible
from gateway.binding.select_list import has_aggregate, has_window, items_of
from gateway.binding.sources import Sources
from gateway.binding.staging import StageBinder
from gateway.binding.text.dialect import fold_name
from gateway.errors import Code, NotAggregate, SyntaxRefused, UnsupportedSql
from gateway.plan.fields import Protected
from gateway.plan.joins import Join, Mark
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
        query = node.args["query"]
        inner = query.this if isinstance(query, exp.Subquery) else query
        listed = node.this.expressions if isinstance(node.this, exp.Tuple) else [node.this]
        what = tuple(self._rows.scalars.bind(one) for one in listed)
        return self._bound(inner, what, filtering=filtering)

    def value(self, node: exp.Subquery) -> Scalar:
        rows, query = self._rows, node.this
        while isinstance(query, exp.Subquery) and len(_used(query)) == 1:
            query = query.this
        if isinstance(query, exp.Select) and query.args.get("from_") is not None:
            known = rows.queries.cutting.aliases()
            tree, around = self._tree(query)
            if is_protected_tree(tree) and looks_out(query, tree, rows.scope):
                if not isinstance(rows.plan.label, Protected):
                    raise _nested()
                grouped = read_grouped(query, tree, rows.scope, rows.queries.cutting.hidden)
                if grouped is not None:
                    return self._of_groups(grouped, tree, known)
                return PersonQuery(rows, query, tree, around, SubqueryBinder).value()
            relation = rows.queries.select(query, rows.around, rows.scope, tree)
            if not isinstance(relation, ProtectedRows):
                rows.queries.cutting.restore(known)
        else:
            relation = rows.queries.query(query, rows.around, rows.scope, "")
        if isinstance(relation, ProtectedRows):
            raise NotAggregate(
                Code.PERSON_AS_VALUE,
                "the subquery would return values of individual persons",
                "aggregate in the subquery",
            )
        return self._staging().value(relation)

    def _of_groups(self, grouped: GroupedSubquery, tree: Tree, known: frozenset[str]) -> Scalar:
        """The value of each row: that of the released group with the values that it is compared with."""
        rows, cutting = self._rows, self._rows.queries.cutting
        relation = rows.queries.select(grouped.query, rows.around, rows.scope, tree)
        cutting.restore(known)
        if not isinstance(relation, FreeRelation):
            raise unit_value_refusal()
        node = exp.Subquery(this=relation.query)
        joined = self._staging().relation(Leaf(FromRelation("groups", ()), node, relation))
        if len(joined.fields) != len(relation.names):
            raise _unknown_type()
        columns = dict(zip(relation.names, joined.fields, strict=True))

        def lookup(column: exp.Column) -> Visible:
            table = column.args.get("table")
            if table is None or fold_name(table) != grouped.alias:
                return rows.lookup(column)
            field = columns[fold_name(column.this)]
            return refresh_column(Visible(field.id, field.type, field), rows.plan.fields)

        scalars = ScalarBinder(lookup, cutting.zone)
        condition = scalars.condition(grouped.condition, filtering=True)
        rows.plan = Join(rows.plan, joined, condition, outer=True)
        return scalars.bind(grouped.value)

    def _bound(
        self, query: exp.Expression, what: tuple[Scalar, ...] | None, *, filtering: bool
    ) -> Scalar:
        rows = self._rows
        while isinstance(query, exp.Subquery) and len(_used(query)) == 1:
            query = query.this
        if isinstance(query, exp.Select) and _is_simple(query):
            known = rows.queries.cutting.aliases()
            tree, around = self._tree(query)
            if is_protected_tree(tree) or looks_out(query, tree, rows.scope):
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
        if len(what) != 1:
            raise UnsupportedSql(
                Code.CLAUSE_UNSUPPORTED,
                "IN with several columns of public or released rows is not supported",
                "join these rows, or use EXISTS",
            )
        constant, field = self._staging().members(relation)
        member, _ = meet_times((what[0], Ref(field)), self._rows.queries.cutting.zone)
        compare("=", member, Ref(field))
        return StagedMember(member, constant)

    def _tree(self, query: exp.Select) -> tuple[Tree, Environment]:
        rows = self._rows
        around = rows.around.inside(query.args.get("with_"))
        first, joins = query.args["from_"].this, list(query.args.get("joins") or [])
        return Sources(rows.queries, around, rows.scope).tree(first, joins), around

    def _mark(
        self,
        query: exp.Select,
        tree: Tree,
        around: Environment,
        what: tuple[Scalar, ...] | None,
        *,
        filtering: bool,
    ) -> Scalar:
        rows = self._rows
        pending = conjunct_nodes(query.args.get("where"))
        joining = JoinBinder(StageBinder(rows.queries.cutting, around), rows.scope, pending)
        inside = Inside(rows, joining.build(tree), joining.scope)
        scalars = ScalarBinder(
            inside.lookup,
            rows.queries.cutting.zone,
            SubqueryBinder(inside) if is_protected_tree(tree) else None,
        )
        inside.scalars = scalars
        conditions = [scalars.condition(part, filtering=True) for part in pending]
        common = [scalars.condition(part, filtering=True) for part in common_equalities(pending)]
        within = {one.id for one in inside.plan.fields}
        # what the arms of an OR have in common compares the rows here with those around
        conditions += [one for one in common if not column_ids(one) <= within]
        if what is not None:
            items = items_of(query, joining.scope)
            _require_columns(what, len(items))
            for one, listed in zip(what, items, strict=True):
                item = scalars.bind(listed.node)
                _check_nulls(one, item, filtering=filtering)
                conditions.append(compare("=", *meet_times((one, item), scalars.zone)))
        mine = {one.id for one in inside.plan.fields}
        own = [one for one in conditions if column_ids(one) <= mine]
        inner = inside.plan
        kept = conjoin(own)
        if kept is not None:
            inner = Filter(inner, kept)
        return self._marked(
            inner, conjoin([one for one in conditions if not column_ids(one) <= mine])
        )

    def _mark_rows(
        self, rows: ProtectedRows, what: tuple[Scalar, ...] | None, *, filtering: bool
    ) -> Scalar:
        if what is None:
            return self._marked(rows.plan, None)
        _require_columns(what, len(rows.names))
        conditions, zone = [], self._rows.queries.cutting.zone
        for one, field in zip(what, rows.plan.fields, strict=False):
            item = Ref(field)
            _check_nulls(one, item, filtering=filtering)
            conditions.append(compare("=", *meet_times((one, item), zone)))
        return self._marked(rows.plan, conjoin(conditions))

    def _marked(self, inner: Node, condition: Scalar | None) -> Scalar:
        rows = self._rows
        # what the outer side looks like may have changed while the inner was bound
        if not isinstance(rows.plan.label, Protected):
            raise _nested()
        name = rows.queries.cutting.alias("mark")
        with naming_key(rows.queries.cutting.dataset, condition, rows.plan, inner):
            rows.plan = Mark(rows.plan, inner, condition, name)
        return Ref(rows.plan.fields[-1])

    def _staging(self) -> StageBinder:
        return StageBinder(self._rows.queries.cutting, self._rows.around)


def _is_simple(query: exp.Select) -> bool:
    """FROM, WHERE and a list: nothing that would change which rows there are."""
    if query.args.get("from_") is None:
        return False
    slots = ("group", "having", "distinct", "order", "limit", "offset", "windows")
    if any(query.args.get(slot) is not None for slot in slots):
        return False
    return not any(has_aggregate(one) or has_window(one) for one in query.expressions)


def _require_columns(what: tuple[Scalar, ...], many: int) -> None:
    if len(what) != many:
        raise SyntaxRefused(
            Code.SQL_SYNTAX,
            f"the subquery of IN must return {'one column' if len(what) == 1 else f'{len(what)} columns'}",
        )


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


def _unknown_type() -> UnsupportedSql:
    return UnsupportedSql(
        Code.CLAUSE_UNSUPPORTED,
        "the type of a column of the correlated subquery is not known",
        "cast the columns that it compares and the value that it returns",
    )


def _nested() -> UnsupportedSql:
    return UnsupportedSql(
        Code.CORRELATED, "a subquery inside a correlated subquery is not supported"
    )


def _used(node: exp.Expression) -> list[str]:
    return [slot for slot, value in node.args.items() if value]
