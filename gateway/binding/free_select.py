"""One SELECT, VALUES or set operation with nothing of persons in its FROM: it stays SQL for the twin.

INVARIANT: every table of the source in it is replaced by a constant, at every depth; a query inside it
that would hand on rows of persons is refused.
"""

import re
from collections.abc import Iterator

from sqlglot import exp

from gateway.binding.aggregates import AGGREGATES, is_aggregate
from gateway.binding.binder import Binder, Environment, FreeRelation, Leaf, Tree, tree_leaves
from gateway.binding.extensions import ENDS
from gateway.binding.joined_groups import JoinedGroups
from gateway.binding.known_types import expression_type
from gateway.binding.provenance.unions import using_columns
from gateway.binding.scope import FromRelation, Scope, column_text
from gateway.binding.sources import replace_table
from gateway.binding.text.dialect import fold_name, name_of_function, result_name
from gateway.catalog.tables import Table
from gateway.catalog.types import ColumnType
from gateway.errors import Code, UnsupportedSql
from gateway.functions.table import CALLED
from gateway.plan.fields import common_type, plain

_WHOLE = re.compile(r"[0-9]{1,1000}")
_QUERIES = (exp.Select, exp.SetOperation, exp.Values)


class FreeSelect:
    """Rewrites one SELECT in place."""

    def __init__(
        self, queries: Binder, node: exp.Select, around: Environment, outer: Scope | None
    ) -> None:
        self._queries = queries
        self._node = node
        self._around = around
        self._outer = outer
        self._values: dict[int, ColumnType | None] = {}

    def bind(self, tree: Tree | None) -> FreeRelation:
        found = [] if tree is None else list(tree_leaves(tree))
        sources = [leaf.source for leaf in found]
        scope = Scope(sources, self._outer, using_columns(self._node, sources))
        for leaf in found:
            self._replace(leaf)
            for column in _read_in_from(leaf.node):
                _check_outside(column, scope)
        groups = JoinedGroups(self._queries, self._node, self._around, found)
        for part in list(self._parts()):
            for column in _own_columns(part):
                # constants stand under the bare name of the table they replace
                column.set("db", None)
                if not isinstance(column.this, exp.Star):
                    _check_outside(column, scope)
            for query in _own_queries(part):
                relation = groups.bind(query, scope)
                if relation is None:
                    continue
                if relation.query is not query:
                    query.replace(relation.query)
                if len(relation.types) == 1:
                    self._values[id(relation.query)] = relation.types[0]
        scope.sources += groups.sources
        return self._free(scope, found)

    def _replace(self, leaf: Leaf) -> None:
        if isinstance(leaf.of, Table) and isinstance(leaf.node, exp.Table):
            replace_table(leaf.node, self._queries.cutting.table(leaf.of))

    def _parts(self) -> Iterator[exp.Expression]:
        for slot, value in self._node.args.items():
            if slot in {"with_", "from_"}:
                continue
            for one in value if isinstance(value, list) else (value,):
                if isinstance(one, exp.Join):
                    if one.args.get("on") is not None:
                        yield one
                elif isinstance(one, exp.Expression):
                    yield one

    def _free(self, scope: Scope, found: list[Leaf]) -> FreeRelation:
        node = self._node
        names: list[str] = []
        types: list[ColumnType | None] = []
        complete = True
        merging = any(
            join.args.get("using") or join.args.get("method")
            for join in node.args.get("joins") or []
        )
        for item in node.expressions:
            inner = item.this if isinstance(item, exp.Alias) else item
            star = isinstance(inner, exp.Star)
            if star or (isinstance(inner, exp.Column) and isinstance(inner.this, exp.Star)):
                sources = scope.sources if star else _named(inner, scope)
                complete = complete and not merging and all(one.complete for one in sources)
                for source in sources:
                    names += [column.name for column in source.columns]
                    types += [column.type for column in source.columns]
            else:
                names.append(result_name(item))
                types.append(expression_type(inner, scope, self._values))
        single = [leaf for leaf in found if isinstance(leaf.of, FreeRelation)]
        multiplying = any(may_return_rows(item) for item in node.expressions)
        claims = frozenset[frozenset[int]]()
        plain_copy = len(found) == 1 and len(single) == 1 and _keeps_rows(node)
        if plain_copy and isinstance(single[0].of, FreeRelation):
            claims = _still_claimed(node, single[0], single[0].of)
        if _one_row(node):
            claims = frozenset({frozenset[int]()})
        elif node.args.get("distinct") is not None and node.args["distinct"].args.get("on") is None:
            claims = frozenset({frozenset(range(len(names)))})
        if multiplying:
            claims = frozenset()
        return FreeRelation(node, tuple(names), tuple(types), complete, claims)


def bind_values(node: exp.Values, outer: Scope | None = None) -> FreeRelation:
    """A list of rows, written out."""
    for read in _read_in_from(node):
        _check_outside(read, Scope([], outer))
    rows = [one.expressions if isinstance(one, exp.Tuple) else [one] for one in node.expressions]
    for row in rows:
        for query in (one for part in row for one in _own_queries(part)):
            raise UnsupportedSql(
                Code.CLAUSE_UNSUPPORTED,
                f"a subquery in VALUES is not supported ({type(query).__name__.lower()})",
            )
    width = len(rows[0])
    empty = Scope([])
    types: list[ColumnType | None] = []
    claims: set[frozenset[int]] = set()
    for place in range(width):
        column = [row[place] for row in rows if len(row) == width]
        kinds = [expression_type(one, empty) for one in column]
        kind = kinds[0]
        for one in kinds[1:]:
            kind = None if kind is None or one is None else common_type(plain(kind), plain(one))
        types.append(kind)
        written = [_written_value(one) for one in column]
        if None not in written and len(set(written)) == len(written):
            claims.add(frozenset({place}))
    names = tuple(f"column{place + 1}" for place in range(width))
    return FreeRelation(node, names, tuple(types), claims=frozenset(claims))


def _written_value(node: exp.Expression) -> tuple[bool, str | int] | None:
    """The value of a text or a whole number, however it is spelled: 30 and 030 are one; None: it is none of these."""
    if isinstance(node, exp.Neg):
        inner = _written_value(node.this)
        return (False, -inner[1]) if inner is not None and isinstance(inner[1], int) else None
    if not isinstance(node, exp.Literal):
        return None
    if node.is_string:
        return True, node.this
    return (False, int(node.this)) if _WHOLE.fullmatch(node.this) else None


def may_return_rows(node: exp.Expression) -> bool:
    """Whether a function in the list could give several rows; those that are known give one."""
    known = CALLED | AGGREGATES | ENDS.keys() | {"to_char", "date_part"}
    return any(name_of_function(one) not in known for one in node.find_all(exp.Anonymous))


def _named(column: exp.Column, scope: Scope) -> list[FromRelation]:
    wanted = fold_name(column.args["table"])
    found = [one for one in scope.sources if one.alias == wanted]
    return found or [FromRelation(wanted, (), complete=False)]


def _one_row(node: exp.Select) -> bool:
    if node.args.get("group") is not None:
        return False
    if node.args.get("from_") is None and node.args.get("where") is None:
        return True
    plain_items = (one.this if isinstance(one, exp.Alias) else one for one in node.expressions)
    return any(is_aggregate(one) for one in plain_items)


def _keeps_rows(node: exp.Select) -> bool:
    return node.args.get("group") is None and node.args.get("joins") in (None, [])


def _still_claimed(node: exp.Select, leaf: Leaf, of: FreeRelation) -> frozenset[frozenset[int]]:
    """Claims of the relation below that the list hands on by name."""
    places: dict[int, int] = {}
    at = 0
    for item in node.expressions:
        inner = item.this if isinstance(item, exp.Alias) else item
        if isinstance(inner, exp.Star):
            for place in range(len(leaf.source.columns)):
                places.setdefault(place, at + place)
            at += len(leaf.source.columns)
            continue
        if isinstance(inner, exp.Column) and not isinstance(inner.this, exp.Star):
            name = fold_name(inner.this)
            seen = [place for place, one in enumerate(leaf.source.columns) if one.name == name]
            if len(seen) == 1:
                places.setdefault(seen[0], at)
        at += 1
    return frozenset(
        frozenset(places[place] for place in key) for key in of.claims if key <= places.keys()
    )


def _read_in_from(node: exp.Expression) -> Iterator[exp.Column]:
    """The columns that a list of rows or a function in FROM reads; queries look after their own."""
    stack: list[exp.Expression] = [node]
    while stack:
        one = stack.pop()
        if isinstance(one, exp.Column) and not isinstance(one.this, exp.Star):
            yield one
        elif one is node or not isinstance(one, (*_QUERIES, exp.Subquery, exp.Join)):
            stack += list(one.iter_expressions())


def _own_columns(part: exp.Expression) -> Iterator[exp.Column]:
    stack = [part]
    while stack:
        node = stack.pop()
        if isinstance(node, _QUERIES):
            continue
        if isinstance(node, exp.Join):
            stack.append(node.args["on"])
            continue
        if isinstance(node, exp.Column):
            yield node
        stack += list(node.iter_expressions())


def _own_queries(part: exp.Expression) -> list[exp.Expression]:
    """The outermost queries in an expression."""
    found: list[exp.Expression] = []
    stack = [part]
    while stack:
        node = stack.pop()
        if isinstance(node, _QUERIES):
            found.append(node)
        elif isinstance(node, exp.Join):
            stack.append(node.args["on"])
        else:
            stack += list(node.iter_expressions())
    return found


def _check_outside(column: exp.Column, scope: Scope) -> None:
    """A free query is asked once, so it cannot depend on rows of persons around it."""
    if scope.may_have(column):
        return
    crossed = False
    for around in scope.around():
        if (around.protected and around.here(column) is not None) or (
            crossed and around.may_have(column)
        ):
            raise UnsupportedSql(
                Code.CORRELATED,
                f"`{column_text(column)}` is a column of the outer query",
                "write a join instead",
            )
        if around.may_have(column):
            return
        crossed = crossed or around.protected
