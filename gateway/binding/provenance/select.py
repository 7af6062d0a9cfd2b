"""One SELECT of a finishing: from which rows its rows come, and how its columns follow from them.

What a star in the list of a SELECT stands for.
"""

from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Final, TypeAlias

from sqlglot import exp

from gateway.binding.provenance.origin import (
    Origin,
    Output,
    TracedSource,
    form_of,
    has_whole_type,
    move_column,
)
from gateway.binding.provenance.unions import using_joins
from gateway.binding.select_list import has_aggregate
from gateway.binding.text.dialect import fold_name, identifier, result_name
from gateway.plan.formulas import Form, Reading, Readings

# a column of a source, or one that a join has made of two
Starred: TypeAlias = tuple[TracedSource | None, Output]


def is_star(node: exp.Expression) -> bool:
    return isinstance(node, exp.Star) or (
        isinstance(node, exp.Column) and isinstance(node.this, exp.Star)
    )


def expand_star(node: exp.Select, sources: list[TracedSource]) -> list[Starred] | None:
    """The columns of `*`, in PostgreSQL's order; None where they are not known."""
    if any(one.columns is None for one in sources):
        return None
    each: list[list[Starred]] = [[(one, shown) for shown in one.columns or ()] for one in sources]
    if not using_joins(node):
        return [one for columns in each for one in columns]
    joins = node.args.get("joins") or []
    natural = any(one.args.get("method") for one in joins)
    if natural or len(sources) != len(joins) + 1:  # joins in brackets
        return None
    found = each[0]
    for join, right in zip(joins, each[1:], strict=True):
        names = [fold_name(one) for one in join.args.get("using") or []]
        found = [
            *(_merged(name, [*found, *right]) for name in names),
            *(one for one in [*found, *right] if one[1].name not in names),
        ]
    return found


def can_be_named(columns: list[Starred]) -> bool:
    """Whether each of the columns can be named."""
    whole = Counter(one.name for _, one in columns)
    own = Counter((source.alias, one.name) for source, one in columns if source is not None)
    alone = all(whole[one.name] == 1 for source, one in columns if source is None)
    return alone and max(own.values(), default=1) == 1


def _merged(name: str, columns: list[Starred]) -> Starred:
    both = [one.reads for _, one in columns if one.name == name]
    return None, Output(name, reads=frozenset().union(*both))


QUERIES = (exp.Select, exp.SetOperation, exp.Values)
# rows of releases behind one row; a query that reads itself twice doubles them, so beyond that none is followed
_MOST_BEHIND: Final = 64


class TracedSelect:
    """Reads a SELECT; columns that are made of it are written into it."""

    def __init__(
        self,
        node: exp.Select,
        sources: list[TracedSource],
        hidden: Callable[[], str],
        read_by: Callable[[exp.Expression | None], Readings],
    ) -> None:
        """`read_by` says which aggregates a query reads; of none, all that there are."""
        self.node = node
        self.sources = sources
        self._hidden = hidden
        self._read_by = read_by
        self._steering: Readings = frozenset()
        self._made: dict[tuple[Origin, str], str] = {}
        self._written_out = False
        self._below: dict[Origin, tuple[TracedSource, Origin]] = {}
        self._merging = using_joins(node)
        self.wide = self._can_be_wider()
        self.groups = self._groups()
        self.origins: tuple[Origin, ...] = ()
        self.columns: tuple[Output, ...] | None = None

    def read(self, steering: Readings = frozenset()) -> None:
        """Its columns and origins, when all that is special in it has been put into place.

        `steering` are the aggregates that decide which rows it has.
        """
        self._steering = steering
        behind = sum(len(source.rows.origins) for source in self.sources)
        if self.wide and not self.groups and behind <= _MOST_BEHIND:
            for source in self.sources:
                for one in source.rows.origins:
                    mine = replace(one, sure=one.sure and source.sure)
                    self._below[mine] = (source, one)
        self.columns = self._columns()
        distinct = self.node.args.get("distinct")
        kept = tuple(self._below)
        if distinct is not None and distinct.args.get("on") is None:
            # a row that stands for several must not become several
            kept = tuple(one for one in kept if one.told_apart_by(self.columns or ()))
        self.origins = kept
        if self.columns is not None:
            above = {one: one for one in kept}
            self.columns = tuple(move_column(one, above) for one in self.columns)

    def expose(self, origin: Origin, column: str) -> str:
        """The name under which a column of the origin's row is among those of this SELECT."""
        known = self._made.get((origin, column))
        if known is not None:
            return known
        source, below = self._below[origin]
        name = self._hidden()
        self.node.append(
            "expressions", exp.Alias(this=self.reach(source, below, column), alias=identifier(name))
        )
        self._made[origin, column] = name
        return name

    def reach(self, source: TracedSource, origin: Origin, column: str) -> exp.Column:
        """A column of the row that a source comes from, to be read here."""
        self._write_out()
        name = source.rows.expose(origin, column)
        return exp.Column(this=identifier(name), table=self._named(source))

    def cell(self, node: exp.Expression) -> tuple[Form, TracedSource, Origin] | None:
        """How an expression follows from one row of one source."""
        used: dict[Origin, TracedSource] = {}

        def lookup(column: exp.Column) -> Output | None:
            source, shown = self.find(column)
            if source is None or shown is None or shown.form is None or shown.of is None:
                return None
            used[shown.of] = source
            return shown

        form = form_of(node, lookup)
        if form is None or len(used) != 1:
            return None
        [(origin, source)] = used.items()
        return form, source, origin

    def find(self, column: exp.Column) -> tuple[TracedSource | None, Output | None]:
        """The column of a source that a name means; None if that is not known."""
        if isinstance(column.this, exp.Star):
            return None, None
        name, table = fold_name(column.this), column.args.get("table")
        alias = None if table is None else fold_name(table)
        found = [
            (source, one)
            for source in self.sources
            if alias is None or source.alias == alias
            for one in source.columns or ()
            if one.name == name
        ]
        return found[0] if len(found) == 1 else (None, None)

    def reads(self, node: exp.Expression) -> Readings:
        """The aggregates in an expression; all of them if they cannot be distinguished."""
        found: set[Reading] = set()
        for column in node.find_all(exp.Column):
            if isinstance(column.this, exp.Star):
                for source in self.sources:
                    found |= self.read_in(source)
                continue
            name = fold_name(column.this)
            for source in self.sources:
                for one in source.columns or ():
                    if name in {one.name, source.alias}:
                        found |= one.reads
        for query in own_queries(node):
            found |= self._read_by(query)
        return frozenset(found)

    def read_in(self, source: TracedSource) -> Readings:
        """Which aggregates are in a source; of what is not known, all."""
        if source.columns is None:
            return self._read_by(None)
        return frozenset().union(*(one.reads for one in source.columns))

    def own_parts(self) -> Iterator[tuple[str, exp.Expression]]:
        """Its parts beside FROM and WITH, by the slots they stand in."""
        for slot, value in self.node.args.items():
            if slot in {"with_", "from_"}:
                continue
            for one in value if isinstance(value, list) else (value,):
                if isinstance(one, exp.Join):
                    if one.args.get("on") is not None:
                        yield "on", one.args["on"]
                elif isinstance(one, exp.Expression):
                    yield slot, one

    def _columns(self) -> tuple[Output, ...] | None:
        above = {below: mine for mine, (_, below) in self._below.items()}
        shown: list[Output] = []
        for item in self.node.expressions:
            inner = item.this if isinstance(item, exp.Alias) else item
            if not is_star(inner):
                shown.append(self._item(item, inner, above))
                continue
            starred = self._starred(inner)
            if starred is None:
                return None
            shown += [move_column(one, above) for _, one in starred]
        return tuple(shown)

    def _item(
        self, item: exp.Expression, inner: exp.Expression, above: dict[Origin, Origin]
    ) -> Output:
        name = result_name(item)
        if isinstance(inner, exp.Column):
            _, found = self.find(inner)
            if found is not None:
                return move_column(found, above, name)
        cell = self.cell(inner)
        reads = self.reads(inner)
        if has_aggregate(inner) or inner.find(exp.Window) is not None:
            reads |= self._steering  # a count of rows has no name in it
        if cell is None or cell[2] not in above:
            return Output(name, reads=reads)
        whole = has_whole_type(inner, lambda column: self.find(column)[1])
        return Output(name, cell[0], above[cell[2]], reads=reads, whole=whole)

    def _starred(self, star: exp.Expression) -> list[Starred] | None:
        """The columns that a star stands for, where all of them are known."""
        if isinstance(star, exp.Star):
            return expand_star(self.node, self.sources)
        found = [one for one in self.sources if one.alias == fold_name(star.args["table"])]
        if any(one.columns is None for one in found):
            return None
        return [(source, one) for source in found for one in source.columns or ()]

    def _write_out(self) -> None:
        """Name the columns that stars stand for: they do not stand for those that are made."""
        if self._written_out:
            return
        self._written_out = True
        items: list[exp.Expression] = []
        for item in self.node.expressions:
            starred = self._starred(item) if is_star(item) else None
            if starred is None:
                items.append(item)
                continue
            for source, one in starred:
                column = exp.Column(this=identifier(one.name))
                if source is not None:
                    column.set("table", self._named(source))
                items.append(column)
        self.node.set("expressions", items)

    def _named(self, source: TracedSource) -> exp.Identifier:
        """The name of a source, made where it has none."""
        if not source.alias:
            source.alias = self._hidden()
            source.node.set("alias", exp.TableAlias(this=identifier(source.alias)))
        return identifier(source.alias)

    def _can_be_wider(self) -> bool:
        """Whether its sources can have more columns without anybody seeing them."""
        if any(str(one.args.get("method") or "").upper() == "NATURAL" for one in self._merging):
            return False
        for item in self.node.expressions:
            if not is_star(item):
                continue
            starred = self._starred(item)
            if starred is None or not can_be_named(starred):
                return False
        return not any(self._is_whole_row(one) for one in self.node.find_all(exp.Column))

    def _is_whole_row(self, column: exp.Column) -> bool:
        """Whether it means all columns of a source at once, and so those that are made as well."""
        if isinstance(column.this, exp.Star):
            return not isinstance(column.parent, exp.Select)
        name = fold_name(column.this)
        if column.args.get("table") is not None:
            return False
        if all(one.alias != name or not one.rows.origins for one in self.sources):
            return False
        return all(name != each.name for one in self.sources for each in one.columns or ())

    def _groups(self) -> bool:
        node = self.node
        if node.args.get("group") is not None or node.args.get("having") is not None:
            return True
        order = node.args.get("order")
        parts = [*node.expressions, *(() if order is None else order.expressions)]
        return any(has_aggregate(one) for one in parts)


def own_queries(part: exp.Expression) -> list[exp.Expression]:
    """The outermost queries in an expression."""
    found: list[exp.Expression] = []
    stack = [part]
    while stack:
        node = stack.pop()
        if isinstance(node, QUERIES):
            found.append(node)
        else:
            stack += list(node.iter_expressions())
    return found
