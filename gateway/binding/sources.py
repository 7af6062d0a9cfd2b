"""What stands in FROM: tables, CTEs, derived tables, functions - and what each of them is called.

INVARIANT: a relation is one of the catalog, a CTE of the statement, one that every PostgreSQL has, or
refused. Hidden and unknown ones are refused with the same words.
"""

import re
from dataclasses import replace
from difflib import get_close_matches
from typing import Final

from sqlglot import exp

from gateway.binding.binder import (
    Binder,
    CteDefinition,
    Environment,
    FreeRelation,
    JoinTree,
    LateralRows,
    Leaf,
    ProtectedRows,
    Relation,
    Tree,
)
from gateway.binding.joins import is_protected_tree, looks_out
from gateway.binding.person_subqueries import Beside, PersonQuery
from gateway.binding.scope import FromRelation, Scope, Visible
from gateway.binding.text.dialect import fold_name, identifier, name_of_function, quote_name
from gateway.catalog.tables import OWN_TABLES, SCHEMA, Dataset, Table, is_system_table
from gateway.errors import Code, NotPermitted, UnsupportedSql
from gateway.plan.node import Node
from gateway.plan.relations import Project, Scan
from gateway.plan.scalars import Ref

_SYSTEM: Final = frozenset({"pg_catalog", "information_schema"})
_PLAIN: Final = re.compile("[a-z_][a-z0-9_$]*")
_LONGEST_NAME: Final = 130
_CLOSE: Final = 0.7
_SECRET: Final = frozenset(
    {"pg_authid", "pg_shadow", "pg_user_mappings", "pg_db_role_setting"}
    | {"pg_largeobject", "pg_largeobject_metadata", "pg_file_settings", "pg_hba_file_rules"}
    | {"pg_prepared_xacts", "pg_locks", "pg_stat_statements", "pg_statistic", "pg_stats"}
    | {"pg_stat_ssl", "pg_stat_gssapi", "pg_backend_memory_contexts", "pg_cursors"}
    | {"pg_prepared_statements", "pg_ident_file_mappings", "pg_replication_slots"}
)


class Sources:
    """Reads one FROM."""

    def __init__(self, queries: Binder, around: Environment, outer: Scope | None) -> None:
        self._queries = queries
        self._around = around
        self._outer = outer
        self._scope = Scope([], outer)

    def tree(self, first: exp.Expression, joins: list[exp.Join], *, brackets: bool = False) -> Tree:
        root = self._item(first)
        own = list(first.args.get("joins") or []) if isinstance(first, exp.Table) else []
        rest = [(join, self._item(join.this)) for join in (*own, *joins)]
        return JoinTree(root, rest, brackets) if rest or brackets else root

    def _item(self, node: exp.Expression) -> Tree:
        if isinstance(node, exp.Subquery) and isinstance(node.this, exp.Table):
            if node.args.get("alias") is not None:
                raise UnsupportedSql(
                    Code.CLAUSE_UNSUPPORTED, "an alias for a parenthesized join is not supported"
                )
            return self.tree(node.this, list(node.args.get("joins") or []), brackets=True)
        leaf = self._leaf(node)
        self._scope.sources.append(leaf.source)
        if isinstance(node, exp.Subquery) and node.args.get("joins"):
            rest = [(join, self._item(join.this)) for join in node.args["joins"]]
            return JoinTree(leaf, rest, brackets=True)
        return leaf

    def _leaf(self, node: exp.Expression) -> Leaf:
        match node:
            case exp.Table() if isinstance(node.this, exp.Identifier):
                return self._table(node)
            case exp.Subquery():
                return self._derived(node)
            case exp.Lateral():
                return self._lateral(node)
            case exp.Values():
                return _free_leaf(node, self._queries.query(node, self._around, None, ""))
            case exp.Table() | exp.Unnest():
                return self._function(node)
        raise UnsupportedSql(Code.CLAUSE_UNSUPPORTED, "this item in FROM is not supported")

    def _table(self, node: exp.Table) -> Leaf:
        name, schema = fold_name(node.this), node.args.get("db")
        if schema is None:
            cte = self._around.find(name)
            if cte is not None:
                return self._cte(node, cte)
        wanted = None if schema is None else fold_name(schema)
        table = self._of_catalog(name, wanted)
        if table is not None:
            return self._of_source(node, table, wanted)
        if (wanted in _SYSTEM or (wanted is None and name.startswith("pg_"))) and (
            name not in _SECRET
        ):
            alias = _alias(node) or name
            return Leaf(FromRelation(alias, (), complete=False, db=wanted), node, None)
        if wanted == SCHEMA and name in OWN_TABLES:
            return self._of_source(node, OWN_TABLES[name], wanted)
        shown = name if wanted is None else f"{wanted}.{name}"
        hint = close_relation(self._queries.cutting.dataset, shown)
        raise NotPermitted(Code.RELATION_UNKNOWN, f"`{shown[:130]}`", hint)

    def _of_catalog(self, name: str, schema: str | None) -> Table | None:
        # `pg_` is PostgreSQL's own prefix: such a name always means the system's relation
        if name.startswith("pg_") and schema in {None, "pg_catalog"}:
            return None
        cutting = self._queries.cutting
        return cutting.dataset.resolve(name, schema, cutting.search_path)

    def _of_source(self, node: exp.Table, table: Table, schema: str | None) -> Leaf:
        cutting = self._queries.cutting
        if not is_system_table(table):
            cutting.touched.add(table.name)
        name = _alias(node) or table.bare_name
        own = [column.name for column in table.columns]
        # of an empty relation nothing is read: it has what the twin shows
        own += [column.name for column in table.unused] if cutting.empty else []
        names = _renamed(node, tuple(own))
        if table.public or cutting.empty:
            columns = tuple(
                Visible(seen, column.type)
                for seen, column in zip(names, table.columns, strict=False)
            )
            columns += tuple(map(Visible, names[len(columns) :]))
            # a public table may have columns that only the source knows, until it was read
            source = FromRelation(
                name, columns, complete=bool(table.columns), db=schema, unread=table.unused
            )
            return Leaf(source, node, table)
        scan = Scan(table, cutting.alias(name), cutting.dataset.unit)
        columns = tuple(
            Visible(seen, one.type, one) for seen, one in zip(names, scan.fields, strict=True)
        )
        shown = schema if _alias(node) is None else None
        shown_documents = {one.name for one in table.unused}
        paths = tuple(
            Visible(str(column.json), one.type, one)
            for column, one in zip(table.columns, scan.fields, strict=True)
            if column.json is not None and column.json.document in shown_documents
        )
        source = FromRelation(
            name, columns, protected=True, db=shown, paths=paths, unread=table.unused
        )
        return Leaf(source, node, table, scan)

    def _cte(self, node: exp.Table, cte: CteDefinition) -> Leaf:
        relation = self._queries.defined(cte)
        name = _alias(node) or cte.name
        if isinstance(relation, ProtectedRows):
            return self._rows(node, relation, name)
        leaf = _free_leaf(node, relation, name)
        return replace(leaf, cte=cte)

    def _derived(self, node: exp.Subquery) -> Leaf:
        name = _alias(node) or ""
        cutting = self._queries.cutting
        outside = self._outer if self._outer is not None else None
        relation = self._queries.query(node.this, self._around, outside, cutting.alias(name))
        if any(node.args.get(slot) for slot in ("with_", "order", "limit", "offset")):
            raise UnsupportedSql(
                Code.CLAUSE_UNSUPPORTED,
                "ORDER BY and LIMIT are not supported after a parenthesized query in FROM",
            )
        if isinstance(relation, ProtectedRows):
            names = _renamed(node, relation.names)
            fields = relation.plan.fields
            columns = tuple(
                Visible(seen, one.type, one) for seen, one in zip(names, fields, strict=True)
            )
            return Leaf(FromRelation(name, columns, protected=True), node, relation)
        node.set("this", relation.query)
        return _free_leaf(node, relation, name)

    def _rows(self, node: exp.Expression, rows: ProtectedRows, name: str) -> Leaf:
        """Another reference to rows that are bound: under a name of its own."""
        alias = self._queries.cutting.alias(name)
        items = tuple(
            (column, Ref(one)) for column, one in zip(rows.names, rows.plan.fields, strict=True)
        )
        plan = Project(rows.plan, alias, items)
        names = _renamed(node, rows.names)
        columns = tuple(
            Visible(seen, one.type, one) for seen, one in zip(names, plan.fields, strict=True)
        )
        return Leaf(
            FromRelation(name, columns, protected=True), node, ProtectedRows(plan, names), plan
        )

    def _lateral(self, node: exp.Lateral) -> Leaf:
        name = _alias(node) or ""
        inner = node.this
        if isinstance(inner, exp.Subquery):
            query = inner.this
            tree: Tree | None = None
            if isinstance(query, exp.Select) and query.args.get("from_") is not None:
                around = self._around.inside(query.args.get("with_"))
                first, joins = query.args["from_"].this, list(query.args.get("joins") or [])
                tree = Sources(self._queries, around, self._scope).tree(first, joins)
                if is_protected_tree(tree) and looks_out(query, tree, self._scope):
                    return self._of_persons(node, query, tree, around)
                relation = self._queries.select(query, self._around, self._scope, tree)
            else:
                relation = self._queries.query(query, self._around, self._scope, "")
            if isinstance(relation, ProtectedRows):
                raise UnsupportedSql(
                    Code.CORRELATED,
                    "this form of LATERAL is not supported over protected rows",
                    "compare the unit keys in its WHERE clause, or join on the unit key",
                )
            inner.set("this", relation.query)
            leaf = _free_leaf(node, relation, name)
            return replace(leaf, of=None)  # it depends on the rows beside it: never a constant
        return self._function(node)

    def _of_persons(
        self, node: exp.Lateral, query: exp.Select, tree: Tree, around: Environment
    ) -> Leaf:
        """Rows of persons that are bound when the rows before them are known."""
        queries = self._queries

        def beside(plan: Node, scope: Scope) -> LateralRows:
            rows = Beside(queries, around, plan, scope)
            return PersonQuery(rows, query, tree, around, None).relation(single=False)

        renamed = _column_aliases(node)
        source = FromRelation(
            _alias(node) or "", (), protected=True, complete=False, renamed=renamed
        )
        return Leaf(source, node, None, lateral=beside)

    def _function(self, node: exp.Expression) -> Leaf:
        """A function in FROM: it reads constants or the rows beside it, and stays on the twin."""
        for query in node.find_all(exp.Select, exp.SetOperation):
            if query.find_ancestor(exp.Select, exp.SetOperation) is node.find_ancestor(exp.Select):
                raise UnsupportedSql(
                    Code.CLAUSE_UNSUPPORTED,
                    "a subquery as an argument of a function in FROM is not supported",
                )
        alias = _alias(node)
        call = node.this
        own = name_of_function(call) if isinstance(call, exp.Anonymous) else "unnest"
        names = _column_aliases(node)
        one_column = own in {"generate_series", "unnest"} and not names
        columns = tuple(Visible(name) for name in names or ((alias or own,) if one_column else ()))
        return Leaf(FromRelation(alias or own, columns, complete=bool(columns)), node, None)


def close_relation(dataset: Dataset, wanted: str) -> str:
    """A hint for a relation that does not exist: a table with a similar name, or nothing.

    INVARIANT: the hint is a function of the text and of the tables that the asker may see.
    """
    found: dict[str, str] = {}
    for table in dataset.tables:
        own = table.schema in dataset.searched
        written = [table.bare_name] if own else [table.schema, table.bare_name]
        shown = ".".join(one if _PLAIN.fullmatch(one) else quote_name(one) for one in written)
        found.setdefault(table.bare_name.lower(), shown)
        found[f"{table.schema}.{table.bare_name}".lower()] = shown
    for name in (wanted, wanted.rpartition(".")[2]):
        close = get_close_matches(name.lower()[:_LONGEST_NAME], found, n=1, cutoff=_CLOSE)
        if close:
            return f"did you mean `{found[close[0]]}`?"
    return ""


def _free_leaf(node: exp.Expression, relation: Relation, name: str | None = None) -> Leaf:
    if not isinstance(relation, FreeRelation):
        raise UnsupportedSql(
            Code.CLAUSE_UNSUPPORTED, "protected rows are not supported in this place"
        )
    alias = name if name is not None else (_alias(node) or "")
    names = _renamed(node, relation.names)
    columns = tuple(Visible(seen, kind) for seen, kind in zip(names, relation.types, strict=True))
    return Leaf(FromRelation(alias, columns, complete=relation.complete), node, relation)


def _alias(node: exp.Expression) -> str | None:
    alias = node.args.get("alias")
    return None if alias is None or alias.this is None else fold_name(alias.this)


def _column_aliases(node: exp.Expression) -> tuple[str, ...]:
    alias = node.args.get("alias")
    return () if alias is None else tuple(fold_name(one) for one in alias.args.get("columns") or [])


def _renamed(node: exp.Expression, names: tuple[str, ...]) -> tuple[str, ...]:
    given = _column_aliases(node)
    if len(given) > len(names):
        raise UnsupportedSql(
            Code.CLAUSE_UNSUPPORTED, "the alias has more column names than the table has columns"
        )
    return (*given, *names[len(given) :])


def replace_table(node: exp.Table, constant: str) -> None:
    """Put a constant relation in the place of a table, under the name the table had."""
    if node.args.get("alias") is None:
        node.set("alias", exp.TableAlias(this=identifier(fold_name(node.this))))
    node.set("this", identifier(constant))
    node.set("db", None)
