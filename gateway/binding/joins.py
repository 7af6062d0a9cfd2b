"""FROM over rows of persons: a tree of joins becomes a plan.

INVARIANT: every join is made by `Join`, which checks the labels; nothing here decides what may meet.
"""

from dataclasses import replace

from sqlglot import exp

from gateway.binding.binder import JoinTree, Leaf, ProtectedRows, Tree, tree_leaves
from gateway.binding.expressions import ScalarBinder
from gateway.binding.operators import compare
from gateway.binding.scope import Scope, Visible, require_distinct_aliases, unknown_column_refusal
from gateway.binding.staging import StageBinder
from gateway.binding.text.dialect import fold_name
from gateway.catalog.tables import Table
from gateway.errors import Code, NotAggregate, Refusal, SyntaxRefused, UnsupportedSql
from gateway.plan.fields import BOOLEAN, Field
from gateway.plan.joins import Join
from gateway.plan.node import Node
from gateway.plan.scalars import Call, Ref, Scalar, column_ids


class JoinBinder:
    """Builds the plan of one FROM; `pending` are the conjuncts of WHERE that joins may take."""

    def __init__(
        self, staging: StageBinder, outer: Scope | None, pending: list[exp.Expression]
    ) -> None:
        self._staging = staging
        self._pending = pending
        self.scope = Scope([], outer)
        self.plan: Node | None = None

    def build(self, tree: Tree) -> Node:
        sides = [join.args.get("side") for one in _groups(tree) for join, _ in one.joins]
        require_distinct_aliases(leaf.source for leaf in tree_leaves(tree))
        plan, scope = self._tree(tree, takes=not {"RIGHT", "FULL"} & set(sides))
        self.scope = scope
        return plan

    def _tree(self, tree: Tree, *, takes: bool) -> tuple[Node, Scope]:
        if isinstance(tree, Leaf):
            return self._leaf(tree)
        plan, scope = self._tree(tree.first, takes=takes and not tree.brackets)
        for join, other in tree.joins:
            right, seen = self._tree(other, takes=False)
            both = Scope([*scope.sources, *seen.sources], self.scope.outer)
            both.merged = {**seen.merged, **scope.merged}
            plan = self._join(join, (plan, scope), (right, seen), both, takes=takes)
            scope = both
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

    def _join(
        self,
        join: exp.Join,
        left: tuple[Node, Scope],
        right: tuple[Node, Scope],
        both: Scope,
        *,
        takes: bool,
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
        if not parts and not side and takes:
            parts = self._taken(left[0], right[0], both)
        condition = conjoin(parts)
        if side == "RIGHT":
            return Join(right[0], left[0], condition, outer=True)
        return Join(left[0], right[0], condition, outer=side == "LEFT")

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

    def _taken(self, left: Node, right: Node, both: Scope) -> list[Scalar]:
        """Equalities of both sides that stand in WHERE: `FROM a, b WHERE a.x = b.x`."""
        fields = (*left.fields, *right.fields)
        mine, theirs = {one.id for one in left.fields}, {one.id for one in right.fields}
        scalars = ScalarBinder(
            lambda column: refresh_column(both.find(column), fields), self._staging.zone
        )
        taken = []
        for part in list(self._pending):
            if not isinstance(part, exp.EQ):
                continue
            if not isinstance(part.this, exp.Column) or not isinstance(part.expression, exp.Column):
                continue
            try:
                bound = scalars.condition(part)
            except Refusal:
                continue  # it speaks of a table that comes later; WHERE will bind it
            ids = column_ids(bound)
            if ids & mine and ids & theirs:
                self._pending.remove(part)
                taken.append(bound)
        return taken


def conjoin(parts: list[Scalar]) -> Scalar | None:
    """All of the conditions as one."""
    if len(parts) < 2:  # noqa: PLR2004 - nothing to put together
        return parts[0] if parts else None
    flat: list[Scalar] = []
    for part in parts:
        flat += part.parts if isinstance(part, Call) and part.function == "and" else (part,)
    return Call("and", tuple(flat), BOOLEAN, any(one.nullable for one in flat))


def refresh_column(visible: Visible, fields: tuple[Field, ...]) -> Visible:
    """The column as it is in the plan now: joins and filters change what is known of it."""
    if visible.field is None:
        return visible
    for one in fields:
        if one.id == visible.field.id:
            return visible if one is visible.field else replace(visible, field=one)
    return visible


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


def conjunct_nodes(where: exp.Expression | None) -> list[exp.Expression]:
    """The conditions of a WHERE that must all be true, as they were written."""
    if where is None:
        return []
    parts: list[exp.Expression] = []
    stack = [where.this]
    while stack:
        node = stack.pop()
        while isinstance(node, exp.Paren):
            node = node.this
        if isinstance(node, exp.And):
            stack += [node.expression, node.this]
        else:
            parts.append(node)
    return parts


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
