"""FROM over rows of persons: a tree of joins becomes a plan.

INVARIANT: every join is made by `Join`, which checks the labels; nothing here decides what may meet.
"""

from dataclasses import replace
from itertools import takewhile

from sqlglot import exp

from gateway.binding.binder import (
    JoinTree,
    LateralRows,
    Leaf,
    ProtectedRows,
    Tree,
    tree_leaves,
)
from gateway.binding.expressions import ScalarBinder
from gateway.binding.join_order import (
    JoinOrder,
    JoinPart,
    common_equalities,
    conjoin,
    conjunct_nodes,
    is_column_equality,
    naming_key,
    refresh_column,
)
from gateway.binding.operands import compare
from gateway.binding.provenance.unions import using_columns
from gateway.binding.scope import (
    FromRelation,
    Scope,
    Visible,
    require_distinct_aliases,
    unknown_column_refusal,
)
from gateway.binding.staging import StageBinder
from gateway.binding.text.dialect import fold_name
from gateway.catalog.tables import Table
from gateway.errors import Code, NotAggregate, Refusal, SyntaxRefused, UnsupportedSql
from gateway.plan.fields import Field
from gateway.plan.joins import Join
from gateway.plan.node import Node
from gateway.plan.scalars import Literal, Ref, Scalar


class JoinBinder:
    """Builds the plan of one FROM; `pending` are the conjuncts of WHERE that joins may take."""

    def __init__(
        self, staging: StageBinder, outer: Scope | None, pending: list[exp.Expression]
    ) -> None:
        self._staging = staging
        self._pending = pending
        self.scope = Scope([], outer)

    def build(self, tree: Tree) -> Node:
        sides = [join.args.get("side") for one in _groups(tree) for join, _ in one.joins]
        require_distinct_aliases(leaf.source for leaf in tree_leaves(tree))
        plan, scope = self._tree(tree, takes=not {"RIGHT", "FULL"} & set(sides))
        self.scope = scope
        return plan

    def _tree(self, tree: Tree, *, takes: bool) -> tuple[Node, Scope]:
        if isinstance(tree, Leaf):
            return self._leaf(tree)
        made = self._tree(tree.first, takes=takes and not tree.brackets)
        left = list(tree.joins)
        while left:
            run = list(takewhile(_may_change_place, left))
            if takes and any(join.args.get("on") is None for join, _ in run):
                made = self._ordered(made, run)
            else:
                run = left[:1]
                [(join, other)] = run
                if isinstance(other, Leaf) and other.lateral is not None:
                    rows = other.lateral(*made)
                    made = self._lateral(join, other.source, rows, made[1])
                    left = left[1:]
                    continue
                right = self._tree(other, takes=False)
                both = self._merged([made[1], right[1]])
                made = self._join(join, made, right, both), both
            left = left[len(run) :]
        return made

    def _merged(self, scopes: list[Scope]) -> Scope:
        sources = [source for scope in scopes for source in scope.sources]
        merged = {name: one for scope in reversed(scopes) for name, one in scope.merged.items()}
        return Scope(sources, self.scope.outer, merged)

    def _ordered(
        self, first: tuple[Node, Scope], joins: list[tuple[exp.Join, Tree]]
    ) -> tuple[Node, Scope]:
        """Inner joins without USING, in an order in which they can be made."""
        made = [first, *(self._tree(one, takes=False) for _, one in joins)]
        scope = self._merged([one for _, one in made])
        on = [one for join, _ in joins for one in conjunct_nodes(join.args.get("on"))]
        common = common_equalities([*on, *self._pending])
        parts = [JoinPart(one, required=True) for one in on]
        parts += [JoinPart(one) for one in self._pending if is_column_equality(one)]
        parts += [JoinPart(one, implied=True) for one in common]
        order = JoinOrder(self._staging.dataset, scope, parts, self._staging.zone)
        plan = order.joined([node for node, _ in made])
        self._pending[:] = [one for one in self._pending if not order.has_taken(one)]
        return plan, scope

    def _leaf(self, leaf: Leaf) -> tuple[Node, Scope]:
        if leaf.scan is not None:
            return leaf.scan, Scope([leaf.source], self.scope.outer)
        if isinstance(leaf.of, ProtectedRows):
            return leaf.of.plan, Scope([leaf.source], self.scope.outer)
        node = self._staging.relation(leaf)
        if isinstance(leaf.of, Table):
            found: list[Field | None] = list(node.fields)
        else:
            by_place = {one.id.rsplit(".", 1)[-1]: one for one in node.fields}
            found = [by_place.get(f"c{place + 1}") for place in range(len(leaf.source.columns))]
        columns = [
            replace(column, field=one)
            for column, one in zip(leaf.source.columns, found, strict=True)
        ]
        source = replace(leaf.source, columns=tuple(columns))
        return node, Scope([source], self.scope.outer)

    def _lateral(
        self, join: exp.Join, source: FromRelation, rows: LateralRows, left: Scope
    ) -> tuple[Node, Scope]:
        """The rows of each person beside those of a subquery that compares the unit key with theirs."""
        side = join.args.get("side") or ""
        if side not in {"", "LEFT"} or join.args.get("method") or join.args.get("using"):
            raise UnsupportedSql(
                Code.CLAUSE_UNSUPPORTED, "this form of a join with LATERAL is not supported"
            )
        names = (*source.renamed, *rows.names[len(source.renamed) :])
        columns = tuple(
            Visible(seen, one.type, one) for seen, one in zip(names, rows.shown, strict=True)
        )
        both = Scope([*left.sources, replace(source, columns=columns, complete=True)], left.outer)
        both.merged = left.merged
        condition: Scalar | None = None
        if join.args.get("on") is not None:
            condition = ScalarBinder(both.find, self._staging.zone).condition(
                join.args["on"], filtering=True
            )
        if isinstance(condition, Literal) and condition.value is True:
            condition = None  # ON true
        return rows.joined(condition, keeps=side == "LEFT"), both

    def _join(
        self,
        join: exp.Join,
        left: tuple[Node, Scope],
        right: tuple[Node, Scope],
        both: Scope,
    ) -> Node:
        side, method = join.args.get("side") or "", join.args.get("method") or ""
        if method or side == "FULL":
            raise UnsupportedSql(
                Code.CLAUSE_UNSUPPORTED,
                f"`{method or side} JOIN` is not supported with protected rows",
                "write JOIN … ON with an equality of columns",
            )
        fields = (*left[0].fields, *right[0].fields)
        scalars = ScalarBinder(
            lambda column: refresh_column(both.find(column), fields), self._staging.zone
        )
        using = [fold_name(name) for name in join.args.get("using") or []]
        parts = [self._using(name, left, right, both, side) for name in using]
        if join.args.get("on") is not None:
            parts.append(scalars.condition(join.args["on"], filtering=True))
            common = common_equalities(conjunct_nodes(join.args["on"]))
            parts += [scalars.condition(one, filtering=True) for one in common]
        condition = conjoin(parts)
        first, second = (right[0], left[0]) if side == "RIGHT" else (left[0], right[0])
        with naming_key(self._staging.dataset, condition, first, second):
            return Join(first, second, condition, outer=side in {"LEFT", "RIGHT"})

    def _using(
        self,
        name: str,
        left: tuple[Node, Scope],
        right: tuple[Node, Scope],
        both: Scope,
        side: str,
    ) -> Scalar:
        column = exp.Column(this=exp.Identifier(this=name, quoted=True))
        mine, theirs = left[1].here(column), right[1].here(column)
        if mine is None or theirs is None:
            raise unknown_column_refusal(column)
        one, other = refresh_column(mine, left[0].fields), refresh_column(theirs, right[0].fields)
        if one.field is None or other.field is None:
            raise UnsupportedSql(
                Code.CLAUSE_UNSUPPORTED, f"USING (`{name[:63]}`) is not supported here"
            )
        both.merged[name] = theirs if side == "RIGHT" else mine
        return compare("=", Ref(one.field), Ref(other.field))


def _may_change_place(one: tuple[exp.Join, Tree]) -> bool:
    """Whether it is an inner join without LATERAL and without USING, which says in which order columns are found."""
    join, other = one
    if isinstance(other, Leaf) and other.lateral is not None:
        return False
    return not any(join.args.get(slot) for slot in ("side", "method", "using"))


def whole_row_refusal(scope: Scope, column: exp.Column) -> Refusal | None:
    """The refusal of a table's name where a column is expected: it would be the whole row."""
    if column.args.get("table") is not None or isinstance(column.this, exp.Star):
        return None
    if any(source.alias == fold_name(column.this) for source in scope.sources):
        return NotAggregate(
            Code.PERSON_AS_VALUE,
            "a whole row cannot be used as a value",
            "name its columns one by one",
        )
    return None


def _groups(tree: Tree) -> list[JoinTree]:
    if isinstance(tree, Leaf):
        return []
    inner = [one for _, each in tree.joins for one in _groups(each)]
    return [tree, *_groups(tree.first), *inner]


def is_protected_tree(tree: Tree | None) -> bool:
    return tree is not None and any(leaf.source.protected for leaf in tree_leaves(tree))


def looks_out(query: exp.Select, tree: Tree, outer: Scope) -> bool:
    """Whether a condition of the query, or its list, reads the rows around it."""
    sources = [leaf.source for leaf in tree_leaves(tree)]
    scope = Scope(sources, None, using_columns(query, sources))
    for part in (*query.expressions, *conjunct_nodes(query.args.get("where"))):
        for column in part.find_all(exp.Column):
            if isinstance(column.this, exp.Star) or scope.may_have(column):
                continue
            if outer.here(column) is not None:
                return True
    return False


def ungrouped_column_refusal(column: exp.Column) -> SyntaxRefused:
    return SyntaxRefused(
        Code.NOT_GROUPED,
        f"column `{column.name[:63]}` must appear in GROUP BY or in an aggregate",
    )


def unit_value_refusal() -> NotAggregate:
    return NotAggregate(
        Code.PERSON_AS_VALUE,
        "a subquery would return protected rows",
        "aggregate in the subquery",
    )
