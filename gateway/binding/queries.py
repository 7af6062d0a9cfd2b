"""Queries of every shape: each is bound to rows of persons or to something free, bottom up."""

from sqlglot import exp

from gateway.binding.binder import (
    CteDefinition,
    Environment,
    FreeRelation,
    ProtectedRows,
    Relation,
    Tree,
    unit_rows_refusal,
)
from gateway.binding.bound import CutBuilder
from gateway.binding.free_select import FreeSelect, bind_values
from gateway.binding.joins import is_protected_tree, unit_value_refusal
from gateway.binding.kept_public_rows import with_kept_rows
from gateway.binding.protected_select import ProtectedSelect
from gateway.binding.scope import Scope
from gateway.binding.set_operations import combine_rows
from gateway.binding.sources import Sources
from gateway.binding.text.dialect import fold_name
from gateway.catalog.types import ColumnType
from gateway.errors import Code, NotAggregate, SyntaxRefused, UnsupportedSql
from gateway.plan.fields import common_type, plain


class QueryBinder:
    """Binds the queries of one statement."""

    def __init__(self, cutting: CutBuilder, root: exp.Expression) -> None:
        self.cutting = cutting
        self._roots: set[int] = set()
        self._listed: list[exp.Expression] = []
        node = root
        while isinstance(node, exp.Subquery):
            node = node.this
        self._roots.add(id(node))

    def is_root(self, node: exp.Expression) -> bool:
        """Whether the query's rows are the answer itself."""
        return id(node) in self._roots

    def must_list(self, node: exp.Expression) -> bool:
        """Whether the groups of this query have to be known, as groups that are missing are shown as empty."""
        return any(one is node for one in self._listed)

    def query(
        self, node: exp.Expression, around: Environment, outer: Scope | None, alias: str
    ) -> Relation:
        known = self.cutting.aliases()
        relation = self._query(node, around, outer, alias)
        if isinstance(relation, FreeRelation):
            # its plans are whole: names in them may be used again, so that equal plans are equal
            self.cutting.restore(known)
        return relation

    def _query(
        self, node: exp.Expression, around: Environment, outer: Scope | None, alias: str
    ) -> Relation:
        match node:
            case exp.Select():
                return self.select(node, around, outer, None, alias)
            case exp.SetOperation():
                return self._set_operation(node, around, outer, alias)
            case exp.Values():
                free = bind_values(node, outer)
                self._free_inside(node, around, outer)
                return free
            case exp.Subquery():
                return self._in_brackets(node, around, outer, alias)
        raise UnsupportedSql(
            Code.CLAUSE_UNSUPPORTED, f"`{type(node).__name__.lower()}` is not supported as a query"
        )

    def select(
        self,
        node: exp.Select,
        around: Environment,
        outer: Scope | None,
        tree: Tree | None,
        alias: str = "",
    ) -> Relation:
        """A SELECT; `tree` is its FROM where that was read already."""
        if tree is None and (
            kept := with_kept_rows(node, around, self.cutting.dataset, self.cutting.hidden)
        ):
            node, released = kept
            self._listed.append(released)
        inside = around.inside(node.args.get("with_"))
        from_ = node.args.get("from_")
        joins = list(node.args.get("joins") or [])
        if tree is None and from_ is not None:
            tree = Sources(self, inside, outer).tree(from_.this, joins)
        relation: Relation
        if tree is not None and is_protected_tree(tree):
            relation = ProtectedSelect(self, node, inside, outer).bind(tree, alias)
        else:
            relation = FreeSelect(self, node, inside, outer).bind(tree)
        return self._with(relation, node, inside)

    def defined(self, cte: CteDefinition) -> Relation:
        """A CTE, bound when it is first used."""
        if cte.bound is None:
            bound = self._recursive(cte) if _names_itself(cte) else None
            if bound is None:
                name = self.cutting.alias(cte.name)
                bound = self.query(cte.node.this, cte.around, None, name)
            cte.bound = _renamed(bound, cte.node)
        return cte.bound

    def _recursive(self, cte: CteDefinition) -> Relation:
        """A query that reads itself: free from the beginning to the end, or refused."""
        node = cte.node.this
        if not isinstance(node, exp.Union):
            raise UnsupportedSql(
                Code.CLAUSE_UNSUPPORTED, "this form of a recursive query is not supported"
            )
        start = self.query(node.this, cte.around, None, "")
        if not isinstance(start, FreeRelation):
            raise _recursion()
        known = _renamed(start, cte.node)
        inside = Environment(dict(cte.around.defined), recursive=True)
        inside.defined[cte.name] = CteDefinition(
            cte.name, cte.node, cte.around, recursive=True, bound=known
        )
        step = self.query(node.expression, inside, None, "")
        if not isinstance(step, FreeRelation):
            raise _recursion()
        node.set("this", start.query)
        node.set("expression", step.query)
        return FreeRelation(node, start.names, start.types, start.complete)

    def _with(self, relation: Relation, node: exp.Select, inside: Environment) -> Relation:
        """Of a WITH, what is free and used stays; rows of persons are in the plans already."""
        with_ = node.args.get("with_")
        if not isinstance(relation, FreeRelation) or with_ is None:
            return relation
        relation.query.set("with_", self._with_of(node, inside))
        return relation

    def _in_brackets(
        self, node: exp.Subquery, around: Environment, outer: Scope | None, alias: str
    ) -> Relation:
        inside = around.inside(node.args.get("with_"))
        if node.args.get("joins"):
            raise UnsupportedSql(
                Code.CLAUSE_UNSUPPORTED, "a parenthesized join of queries is not supported"
            )
        relation = self.query(node.this, inside, outer, alias)
        if isinstance(relation, ProtectedRows):
            if any(node.args.get(slot) for slot in ("order", "limit", "offset")):
                raise UnsupportedSql(
                    Code.ORDER_OF_PERSONS,
                    "ORDER BY and LIMIT are not supported over protected rows",
                )
            return relation
        node.set("this", relation.query)
        whole = FreeRelation(
            node, relation.names, relation.types, relation.complete, relation.claims
        )
        self._free_inside(node, inside, outer)
        kept = self._with_of(node, inside)
        node.set("with_", kept)
        return whole

    def _with_of(self, node: exp.Expression, inside: Environment) -> exp.With | None:
        with_ = node.args.get("with_")
        if with_ is None:
            return None
        kept = []
        for cte in with_.expressions:
            bound = inside.defined[fold_name(cte.args["alias"].this)].bound
            if isinstance(bound, FreeRelation):
                made = cte.copy()
                made.set("this", bound.query)
                kept.append(made)
            else:
                # nobody reads it, or it is rows of persons and in a plan: the twin must not see it
                self.cutting.shortened = True
        return exp.With(expressions=kept, recursive=with_.args.get("recursive")) if kept else None

    def _free_inside(self, node: exp.Expression, around: Environment, outer: Scope | None) -> None:
        """Queries in the ORDER BY and LIMIT of a list of rows, of brackets or of a set operation."""
        for slot in ("order", "limit", "offset"):
            part = node.args.get(slot)
            if part is None:
                continue
            for query in list(part.find_all(exp.Select)):
                if query.find_ancestor(exp.Select) not in {None, node.find_ancestor(exp.Select)}:
                    continue
                relation = self.query(query, around, outer, "")
                if not isinstance(relation, FreeRelation):
                    raise unit_value_refusal()
                query.replace(relation.query)

    def _set_operation(
        self, node: exp.SetOperation, around: Environment, outer: Scope | None, alias: str
    ) -> Relation:
        inside = around.inside(node.args.get("with_"))
        root = self.is_root(node)
        if root:
            self._roots |= {id(_core(node.this)), id(_core(node.expression))}
        cutting = self.cutting
        left = self.query(node.this, inside, outer, cutting.alias("union"))
        right = self.query(node.expression, inside, outer, cutting.alias("union"))
        if isinstance(left, FreeRelation) and isinstance(right, FreeRelation):
            return self._free_union(node, left, right, inside, outer)
        if not isinstance(left, ProtectedRows) or not isinstance(right, ProtectedRows):
            raise UnsupportedSql(
                Code.CLAUSE_UNSUPPORTED,
                "a set operation cannot combine protected rows with other rows",
                "aggregate the protected rows first",
            )
        if root:
            raise unit_rows_refusal(left.plan)
        if any(node.args.get(slot) is not None for slot in ("order", "limit", "offset")):
            raise UnsupportedSql(
                Code.ORDER_OF_PERSONS, "ORDER BY and LIMIT are not supported over protected rows"
            )
        plan = combine_rows(node, (left, right), alias, cutting.alias)
        return ProtectedRows(plan, left.names)

    def _free_union(
        self,
        node: exp.SetOperation,
        left: FreeRelation,
        right: FreeRelation,
        inside: Environment,
        outer: Scope | None,
    ) -> FreeRelation:
        node.set("this", left.query)
        node.set("expression", right.query)
        self._free_inside(node, inside, outer)
        node.set("with_", self._with_of(node, inside))
        types: list[ColumnType | None] = []
        complete = left.complete and right.complete
        if complete and len(left.types) != len(right.types):
            raise SyntaxRefused(
                Code.TYPE_MISMATCH, "each side of UNION must have the same number of columns"
            )
        for place, one in enumerate(left.types):
            other = right.types[place] if place < len(right.types) else None
            known = one is not None and other is not None
            types.append(common_type(plain(one), plain(other)) if known and one and other else None)
        return FreeRelation(node, left.names, tuple(types), complete)


def _core(node: exp.Expression) -> exp.Expression:
    while isinstance(node, exp.Subquery):
        node = node.this
    return node


def _names_itself(cte: CteDefinition) -> bool:
    if not cte.recursive:
        return False
    return any(
        fold_name(table.this) == cte.name and table.args.get("db") is None
        for table in cte.node.this.find_all(exp.Table)
        if isinstance(table.this, exp.Identifier)
    )


def _renamed(relation: Relation, node: exp.CTE) -> Relation:
    given = [fold_name(one) for one in node.args["alias"].args.get("columns") or []]
    if len(given) > len(relation.names):
        raise SyntaxRefused(Code.SQL_SYNTAX, "the CTE has more column names than columns")
    names = (*given, *relation.names[len(given) :])
    if isinstance(relation, ProtectedRows):
        return ProtectedRows(relation.plan, names)
    return FreeRelation(relation.query, names, relation.types, relation.complete, relation.claims)


def _recursion() -> NotAggregate:
    return NotAggregate(
        Code.PERSON_ROWS,
        "a recursive query must not read protected rows",
        "aggregate the protected rows first",
    )
