"""Scalar subqueries over rows of persons in a SELECT over public and released rows, as groups that are joined to its FROM.

`SELECT p_name, (SELECT sum(l_quantity) FROM lineitem WHERE l_partkey = p_partkey) FROM part` becomes
`SELECT p_name, q.v FROM part LEFT JOIN (the released groups) q ON q.k = p_partkey`: the twin joins by hashing, where it would
look through all groups for each row.

INVARIANT: each row of the FROM meets one group at most, as all keys of the groups are compared: no row is lost or doubled.
What names meant before, they mean after: the columns that are added have names that stand nowhere in the text, and `*` is
written out.
"""

from collections.abc import Iterator, Sequence
from typing import Final

from sqlglot import exp

from gateway.binding.aggregates import is_aggregate
from gateway.binding.binder import Binder, Environment, FreeRelation, Leaf
from gateway.binding.joins import is_protected_tree, unit_value_refusal
from gateway.binding.released_subqueries import GroupedSubquery, read_grouped
from gateway.binding.scope import FromRelation, Scope, Visible
from gateway.binding.select_list import has_aggregate
from gateway.binding.sources import Sources
from gateway.binding.text.dialect import identifier, result_name
from gateway.errors import Code, UnsupportedSql

_AROUND_VALUE: Final = (
    *(exp.Alias, exp.Anonymous, exp.Between, exp.Binary, exp.Case, exp.Cast, exp.If, exp.Ordered),
    *(exp.Select, exp.Unary, exp.Where),
)


class JoinedGroups:
    """Takes such subqueries out of one SELECT, one by one; `leaves` are the relations of its FROM."""

    def __init__(
        self, queries: Binder, node: exp.Select, around: Environment, leaves: Sequence[Leaf]
    ) -> None:
        self._queries = queries
        self._node = node
        self._around = around
        self._leaves = leaves
        self._joined: dict[exp.Expression, exp.Expression] = {}
        self.sources: list[FromRelation] = []

    def bind(self, query: exp.Expression, scope: Scope) -> FreeRelation | None:
        """The query inside the SELECT as a relation; None: it was a value of groups, and a column of these stands in its place."""
        if not isinstance(query, exp.Select) or not _may_be_grouped(query):
            return _free(self._queries.query(query, self._around, scope, ""))
        known = self._joined.get(query)
        if known is not None:
            _around(query).replace(known.copy())
            return None
        cutting = self._queries.cutting
        aliases, written = cutting.aliases(), query.copy()
        around = self._around.inside(query.args.get("with_"))
        first, joins = query.args["from_"].this, list(query.args.get("joins") or [])
        tree = Sources(self._queries, around, scope).tree(first, joins)
        grouped = (
            read_grouped(query, tree, scope, cutting.hidden) if is_protected_tree(tree) else None
        )
        taken = query if grouped is None else grouped.query
        if grouped is not None:
            self._check_place(query)
            self._make_room()
        relation = _free(self._queries.select(taken, self._around, scope, tree))
        cutting.restore(aliases)
        if grouped is None:
            return relation
        self._join(grouped, relation)
        self._joined[written] = grouped.value
        _around(query).replace(grouped.value.copy())
        return None

    def _join(self, grouped: GroupedSubquery, relation: FreeRelation) -> None:
        for column in grouped.condition.find_all(exp.Column):
            # constants stand under the bare name of the table they replace
            column.set("db", None)
        alias = exp.TableAlias(this=identifier(grouped.alias))
        inner = exp.Subquery(this=relation.query, alias=alias)
        self._node.append("joins", exp.Join(this=inner, side="LEFT", on=grouped.condition))
        columns = tuple(map(Visible, relation.names, relation.types))
        self.sources.append(FromRelation(grouped.alias, columns))

    def _check_place(self, query: exp.Select) -> None:
        """The value is one of each row of the FROM: it cannot stand beside groups of these rows, or in a join of them."""
        part: exp.Expression = query
        aggregated = False
        for one in _up(query, self._node):
            part, aggregated = one, aggregated or is_aggregate(one)
        slot = part.arg_key
        if slot == "joins":
            raise _refusal("it stands in the ON of a join", "move the condition to WHERE")
        args = self._node.args
        parts = [*self._node.expressions, args.get("order"), args.get("having")]
        groups = args.get("group") is not None or any(
            one is not None and has_aggregate(one) for one in parts
        )
        if groups and slot != "where" and not aggregated:
            raise _refusal(
                "it stands beside groups of the rows that it is compared with",
                "compute it in a subquery in FROM, and group the rows of that",
            )

    def _make_room(self) -> None:
        """Write the FROM and the list so that one more relation changes nothing of what they mean."""
        if self._joined:
            return
        node = self._node
        joins = node.args.get("joins") or []
        commas = [
            one
            for one in joins
            if not any(one.args.get(slot) for slot in ("kind", "side", "method", "on", "using"))
        ]
        merging = any(one.args.get("method") or one.args.get("using") for one in joins)
        sides = {one.args.get("side") for one in joins}
        if commas and (merging or sides & {"RIGHT", "FULL"}):
            raise _refusal(
                "the FROM around it has commas beside other joins", "write JOIN … ON for the commas"
            )
        for one in commas:
            one.set("kind", "CROSS")
        items: list[exp.Expression] = []
        for item in node.expressions:
            if isinstance(item, exp.Star):
                items += self._all(merging=merging)
            elif isinstance(item, (exp.Alias, exp.Column)):
                items.append(item)
            else:
                items.append(exp.Alias(this=item, alias=identifier(result_name(item))))
        node.set("expressions", items)

    def _all(self, *, merging: bool) -> list[exp.Expression]:
        """What `*` stands for: all columns of each relation."""
        aliases = [leaf.source.alias for leaf in self._leaves]
        if merging or not all(aliases):
            raise _refusal("`*` stands beside it", "name the columns in place of `*`")
        return [exp.Column(this=exp.Star(), table=identifier(one)) for one in aliases]


def _may_be_grouped(query: exp.Select) -> bool:
    """Whether it is one value of an expression, by its form, and a FROM that could be read as groups."""
    if query.args.get("from_") is None or not isinstance(query.parent, exp.Subquery):
        return False
    if any(one.args.get("side") for one in query.args.get("joins") or []):
        return False  # public rows may be kept beside rows of persons, which is a form of its own
    around = _around(query)
    parent = around.parent
    if isinstance(parent, exp.In):
        return around.arg_key == "this"
    return isinstance(parent, _AROUND_VALUE)


def _up(node: exp.Expression, top: exp.Expression) -> Iterator[exp.Expression]:
    """What is around the node, up to the part of `top` that it stands in."""
    while isinstance(node.parent, exp.Expression) and node.parent is not top:
        node = node.parent
        yield node


def _around(query: exp.Expression) -> exp.Expression:
    """The outermost brackets of a subquery."""
    node = query
    while isinstance(node.parent, exp.Subquery) and len(_used(node.parent)) == 1:
        node = node.parent
    return node


def _used(node: exp.Expression) -> list[str]:
    return [slot for slot, value in node.args.items() if value]


def _free(relation: object) -> FreeRelation:
    if not isinstance(relation, FreeRelation):
        raise unit_value_refusal()
    return relation


def _refusal(detail: str, hint: str) -> UnsupportedSql:
    return UnsupportedSql(
        Code.CORRELATED, f"the subquery cannot be joined to the rows around: {detail}", hint
    )
