"""Which FROM is `Public LEFT JOIN Protected`, and which side its columns are of.

INVARIANT: a table of persons is known by the catalog, and public rows by reading every table in them. What is not
understood has another form.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

from sqlglot import exp

from gateway.binding.binder import Environment
from gateway.binding.text.dialect import fold_name, identifier, result_name
from gateway.catalog.tables import Dataset, Table

_ALLOWED: Final = frozenset(
    {"expressions", "from_", "joins", "where", "group", "having", "order", "limit", "offset"}
    | {"distinct", "with_"}
)


@dataclass(frozen=True, slots=True)
class FromItem:
    """One item of a FROM. `columns` are None where they are not known here."""

    node: exp.Expression
    alias: str
    protected: bool
    columns: frozenset[str] | None


@dataclass(slots=True)
class OuterJoinForm:
    """The parts of such a statement."""

    select: exp.Select
    free: list[FromItem]
    protected: list[FromItem]
    joins: list[exp.Join]
    using: frozenset[str]

    def qualified(self) -> "OuterJoinForm":
        """The same with every column under the name of its table, where that can be told."""
        select = self.select
        order = select.args.get("order")
        names = {result_name(one) for one in select.expressions}
        for column in list(_own_columns(select)):
            shown = order is not None and any(one.this is column for one in order.expressions)
            table, own = column.args.get("table"), fold_name(column.this)
            if table is not None:
                column.set("table", identifier(fold_name(table)))
            elif not (shown and own in names):
                holders = self._holders(own)
                if len(holders) == 1:
                    column.set("table", identifier(holders[0].alias))
            column.set("this", identifier(own))
        return self

    def _holders(self, name: str) -> list[FromItem]:
        found = [one for one in self._all if one.columns is None or name in one.columns]
        return [one for one in found if not one.protected] if name in self.using else found

    def is_protected(self, column: exp.Column) -> bool | None:
        """Whether the column is one of the protected side; None where that cannot be told."""
        table, name = column.args.get("table"), fold_name(column.this)
        if table is not None:
            found = [one for one in self._all if one.alias == fold_name(table)]
            return found[0].protected if len(found) == 1 else None
        sides = {one.protected for one in self._holders(name)}
        return sides.pop() if len(sides) == 1 else None

    @property
    def _all(self) -> list[FromItem]:
        return [*self.free, *self.protected]


def _own_columns(select: exp.Select) -> Iterator[exp.Column]:
    """The columns of the SELECT itself; queries in it have their own."""
    stack: list[exp.Expression] = list(select.iter_expressions())
    while stack:
        node = stack.pop()
        if isinstance(node, exp.Column):
            if not isinstance(node.this, exp.Star):
                yield node
        elif not isinstance(node, (exp.Select, exp.SetOperation, exp.With)):
            stack += list(node.iter_expressions())


def read_form(select: exp.Select, around: Environment, dataset: Dataset) -> OuterJoinForm | None:
    """The parts of the statement, with its columns under the names of their tables; None: it has another form."""
    from_, joins = select.args.get("from_"), list(select.args.get("joins") or [])
    if from_ is None or any(value and slot not in _ALLOWED for slot, value in select.args.items()):
        return None
    reader = _Reader(around, dataset)
    items = [reader.item(one) for one in (from_.this, *(one.this for one in joins))]
    known = [one for one in items if one is not None]
    if len(known) != len(items) or len({one.alias for one in known}) != len(known):
        return None
    place = next((at for at, one in enumerate(known) if one.protected), len(known))
    if place in {0, len(known)} or not all(one.protected for one in known[place:]):
        return None
    kept = joins[place - 1 :]
    for join in kept:
        if join.args.get("side") != "LEFT" or join.args.get("method"):
            return None
    if any(one.args.get("on") is None for one in kept[1:]) or any(
        one.args.get("using") for one in joins[: place - 1]
    ):
        return None
    using = [fold_name(one) for one in kept[0].args.get("using") or []]
    return OuterJoinForm(select, known[:place], known[place:], kept, frozenset(using)).qualified()


class _Reader:
    """Tells public items of a FROM from tables of persons."""

    def __init__(self, around: Environment, dataset: Dataset) -> None:
        self._around = around
        self._dataset = dataset

    def item(self, node: exp.Expression) -> FromItem | None:
        """The item, where it is surely public or surely a table of persons."""
        if node.args.get("joins"):
            return None
        alias = node.args.get("alias")
        name = "" if alias is None or alias.this is None else fold_name(alias.this)
        given = [] if alias is None else [fold_name(one) for one in alias.args.get("columns") or []]
        columns = frozenset(given) or None
        if isinstance(node, exp.Table) and isinstance(node.this, exp.Identifier):
            name = name or fold_name(node.this)
            table = self._table(node)
            if table is not None:
                named = frozenset(one.name for one in table.columns)
                renamed = given and not table.public
                known = columns or named or None
                return None if renamed else FromItem(node, name, not table.public, known)
        elif not isinstance(node, (exp.Table, exp.Unnest, exp.Values, exp.Subquery)):
            return None
        if not self.is_free(node):
            return None
        return FromItem(node, name, protected=False, columns=columns or self._listed(node))

    def _listed(self, node: exp.Expression) -> frozenset[str] | None:
        """The columns that a query lists by name."""
        query = node.this
        if isinstance(node, exp.Table):
            cte = self._around.find(fold_name(query)) if isinstance(query, exp.Identifier) else None
            if cte is None:
                return None
            given = cte.node.args["alias"].args.get("columns") or []
            if given:
                return frozenset(fold_name(one) for one in given)
            query = cte.node.this
        if not isinstance(query, exp.Select) or any(one.is_star for one in query.expressions):
            return None
        return frozenset(result_name(one) for one in query.expressions)

    def _table(self, node: exp.Table) -> Table | None:
        own, schema = fold_name(node.this), node.args.get("db")
        if schema is None:
            return None if self._around.find(own) is not None else self._dataset.table(own)
        found = self._dataset.table(f"{fold_name(schema)}.{own}")
        public = fold_name(schema) == "public"
        return self._dataset.table(own) if found is None and public else found

    def is_free(self, node: exp.Expression, within: frozenset[str] = frozenset()) -> bool:
        """Whether every table that is read in it is public, in CTEs too."""
        for one in node.find_all(exp.Table):
            if not isinstance(one.this, exp.Identifier):
                continue
            table, own = self._table(one), fold_name(one.this)
            if table is not None:
                if not table.public:
                    return False
                continue
            cte = self._around.find(own) if one.args.get("db") is None else None
            if cte is None or own in within or not self.is_free(cte.node, within | {own}):
                return False
        return True
