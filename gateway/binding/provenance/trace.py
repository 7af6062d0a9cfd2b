"""The rows of a finishing followed back to the rows of the releases: where intervals come from.

It works on the SQL over the constants, after the statement was cut: every query in it is read bottom up, and the
calls of `DP_INTERVAL_LOW` and `DP_INTERVAL_HIGH` become columns of the constants.

INVARIANT: following adds columns that nobody sees and changes nothing else: the rows are the same, and so are
the columns that there were.
"""

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Final, NamedTuple

from sqlglot import exp

from gateway.binding.aggregates import is_aggregate
from gateway.binding.bound import CutBuilder, Empty, Fetch, Release, RerunSql
from gateway.binding.describe import written_columns
from gateway.binding.extensions import ENDS, end_calls, find_output, has_end, is_end, null_end
from gateway.binding.provenance.effort import query_effort
from gateway.binding.provenance.origin import (
    CteReading,
    NamedCte,
    Output,
    ReleaseRows,
    Rowset,
    TracedSource,
    Unknown,
)
from gateway.binding.provenance.select import QUERIES, TracedSelect, own_queries
from gateway.binding.provenance.unions import TracedUnion, can_trace_union, using_joins
from gateway.binding.scope import unknown_column_refusal
from gateway.binding.select_list import Item
from gateway.binding.text.dialect import fold_name, identifier, name_of_function, result_name
from gateway.errors import Code, Refusal, SyntaxRefused, UnsupportedSql
from gateway.plan.aggregates import can_be_bounded
from gateway.plan.formulas import Cells, Each, Reading, Readings, aggregate_places

_Environment = Mapping[str, NamedCte | None]
# where a bare name is that of an output column first
_MOST_READ: Final = 8  # releases whose rows are told apart behind one result
_LISTS: Final = frozenset({"expressions", "order", "distinct", "windows"})
_ABOUT: Final = (
    "name a column that is COUNT, SUM or AVG in each row, or a sum, difference, product or quotient of these;"
    " other intervals come with the answer as `intervals` in JSON"
)
# they decide which rows there are, or how many become one
_STEERING: Final = frozenset({"where", "on", "group", "having", "limit", "offset"})


class RowTrace(NamedTuple):
    """A finishing with the numbers of the rows it comes from behind each row: of `others`, then of `cells`.

    Without `cells` its rows come from no rows of a release. `again` is there where its columns are known.
    """

    query: exp.Expression
    cells: Cells | None = None
    others: tuple[Cells, ...] = ()
    again: RerunSql | None = None


def add_interval_ends(query: exp.Expression, cutting: CutBuilder) -> exp.Expression:
    """The query with the ends of intervals as columns of the constants."""
    if not has_end(query):
        return query
    made = query.copy()
    if cutting.empty:
        return _without_ends(made)
    _Tracing(made, cutting).query(made, {})
    left = next((one for one in made.find_all(exp.Anonymous) if is_end(one)), None)
    if left is not None:
        raise _no_cell(left)
    return made


def trace_rows(query: exp.Expression, cutting: CutBuilder) -> RowTrace:
    """The query with the numbers of rows, where its rows come from rows of a release."""
    made = query.copy()
    tracing = _Tracing(made, cutting)
    rows = tracing.query(made, {})
    if rows.columns is None:
        return RowTrace(query)
    shown = rows.columns
    again = RerunSql(
        tuple(one.reads for one in shown),
        frozenset(tracing.steering),
        query_effort(query, {one.name for one in cutting.steps}),
    )
    if not rows.origins:
        return RowTrace(query, again=again)
    counts = {one: sum(each.form_in(one) is not None for each in shown) for one in rows.origins}
    # numbers come behind the columns, that of the release with most cells last
    origins = sorted((one for one in counts if counts[one]), key=lambda one: counts[one])
    read = []
    for origin in (origins or [rows.origins[0]])[-_MOST_READ:]:
        rows.expose(origin, "n")
        forms = tuple(one.form_in(origin) for one in shown)
        read.append(Cells(origin.release, forms, tuple(one.noisy for one in shown)))
    *others, cells = read
    return RowTrace(made, cells, tuple(others), again)


class _Tracing:
    """Reads the queries of one finishing."""

    def __init__(self, whole: exp.Expression, cutting: CutBuilder) -> None:
        self._cutting = cutting
        self._read = Counter(
            fold_name(one.this)
            for one in whole.find_all(exp.Table)
            if isinstance(one.this, exp.Identifier)
        )
        self._steps = {one.name: one for one in cutting.steps}
        self._reads = {
            one.name: frozenset(Reading(one.name, at) for at in range(len(one.plan.measures)))
            for one in cutting.steps
            if isinstance(one, Release)
        }
        nothing = frozenset({Reading("", None)})  # what is not known counts as noisy
        self._all = frozenset[Reading]().union(*self._reads.values()) or nothing
        self.steering: set[Reading] = set()

    def query(self, node: exp.Expression, around: _Environment) -> Rowset:
        inside = self._defined(node.args.get("with_"), around)
        match node:
            case exp.Select():
                return self._select(node, inside)
            case exp.Subquery():
                return self.query(node.this, inside)
            case exp.SetOperation():
                return self._set_operation(node, inside)
            case exp.Values() if node.expressions:
                first = node.expressions[0]
                width = len(first.expressions) if isinstance(first, exp.Tuple) else 1
                return Unknown(tuple(Output(f"column{place + 1}") for place in range(width)))
        return Unknown()

    def _defined(self, with_: exp.With | None, around: _Environment) -> _Environment:
        inside = dict(around)
        for cte in [] if with_ is None else list(with_.expressions):
            name = fold_name(cte.args["alias"].this)
            if with_ is not None and with_.args.get("recursive") and _reads(cte.this, name):
                self._reads[name] = self._all
                inside[name] = None
                continue
            rows = self.query(cte.this, inside)
            named = NamedCte(
                cte,
                rows,
                _renamed(cte, rows.columns),
                self._cutting.hidden(),
                alone=self._read[name] < 2,  # noqa: PLR2004 - one reader
            )
            self._reads[name] = self._read_in(rows)
            inside[name] = named
        return inside

    def _set_operation(self, node: exp.SetOperation, around: _Environment) -> Rowset:
        left, right = self.query(node.this, around), self.query(node.expression, around)
        if not isinstance(node, exp.Union) or node.args.get("distinct"):
            self.steering |= self._read_in(left) | self._read_in(right)
        if left.columns is None or right.columns is None:
            return Unknown()
        if isinstance(node, exp.Union) and can_trace_union(node):
            return TracedUnion(node, left, right, self._cutting.hidden())
        return Unknown(
            tuple(
                Output(one.name, reads=one.reads | other.reads)
                for one, other in zip(left.columns, right.columns, strict=False)
            )
        )

    def _select(self, node: exp.Select, around: _Environment) -> Rowset:
        selected = TracedSelect(
            node, list(self._from(node, around)), self._cutting.hidden, self._read_by
        )
        parts = list(selected.own_parts())
        for _, part in parts:
            for query in own_queries(part):
                if has_end(query):
                    self.query(query, around)
        for item in list(node.expressions):
            if not isinstance(item, exp.Alias) and has_end(item):
                item.replace(exp.Alias(this=item.copy(), alias=identifier(result_name(item))))
        outputs = [
            Item(result_name(one), one.this if isinstance(one, exp.Alias) else one)
            for one in node.expressions
            if not isinstance(one, exp.Star)
        ]
        for slot, part in list(selected.own_parts()):
            for call in list(end_calls(part)):
                call.replace(self._end(call, slot, selected, outputs))
        self.steering.update(self._steering(node, selected, outputs))
        selected.read(frozenset(self.steering))
        return selected

    def _steering(
        self, node: exp.Select, selected: TracedSelect, outputs: list[Item]
    ) -> Iterator[Reading]:
        """What its rows are chosen by."""
        cut_off = any(node.args.get(slot) is not None for slot in ("limit", "offset", "distinct"))
        for slot, part in selected.own_parts():
            if slot in _STEERING or (slot in {"order", "distinct"} and cut_off):
                yield from selected.reads(part)
                for one in part.find_all(exp.Column, exp.Literal):
                    meant = _meant(one, outputs)
                    yield from () if meant is None else selected.reads(meant)
        if node.args.get("distinct") is not None:
            yield from (each for one in node.expressions for each in selected.reads(one))
        for join in using_joins(node):
            names = [exp.Column(this=one.copy()) for one in join.args.get("using") or []]
            yield from (each for one in names for each in selected.reads(one))
            if not names:
                yield from self._all

    def _end(
        self, call: exp.Expression, slot: str, selected: TracedSelect, outputs: list[Item]
    ) -> exp.Expression:
        name = name_of_function(call) if isinstance(call, exp.Anonymous) else ""
        if len(call.expressions) != 1:
            raise SyntaxRefused(
                Code.TYPE_MISMATCH, f"`{name}` does not accept {len(call.expressions)} arguments"
            )
        if isinstance(call.parent, (exp.Window, exp.Filter, exp.WithinGroup)) and (
            call.parent.this is call
        ):
            raise UnsupportedSql(
                Code.FUNCTION_UNSUPPORTED, f"`{name}` does not accept OVER or FILTER"
            )
        if selected.groups and not _is_of_rows(call, slot):
            raise _no_cell(call)
        what = call.expressions[0]
        if slot in _LISTS:
            what = find_output(what, outputs) or what
        cell = selected.cell(what)
        if cell is None:
            raise _unknown(what, selected) or _no_cell(call)
        form, source, origin = cell
        if isinstance(form, Each) or not can_be_bounded(origin.plan, set(aggregate_places(form))):
            raise _no_cell(call)
        if not selected.wide:
            raise UnsupportedSql(
                Code.FUNCTION_UNSUPPORTED,
                f"`{name}` is not supported with a NATURAL join, a whole row, or `*` over columns of the same name",
                "name the columns one by one",
            )
        return selected.reach(
            source,
            origin,
            f"{ENDS[name]}{self._cutting.bound(origin.release, form, ENDS[name])}",
        )

    def _from(self, node: exp.Select, around: _Environment) -> Iterator[TracedSource]:
        from_ = node.args.get("from_")
        if from_ is None:
            return
        found = list(self._item(from_.this, around))
        for join in node.args.get("joins") or []:
            other = list(self._item(join.this, around))
            side = join.args.get("side") or ""
            if side in {"RIGHT", "FULL"}:
                found = [replace(one, sure=False) for one in found]
            if side in {"LEFT", "FULL"}:
                other = [replace(one, sure=False) for one in other]
            found += other
        yield from found

    def _item(self, node: exp.Expression, around: _Environment) -> Iterator[TracedSource]:
        """The relations of one item of FROM; for joins in brackets it is not known which are sure."""
        joins = [*(node.args.get("joins") or [])]
        if isinstance(node, exp.Subquery) and isinstance(node.this, exp.Table):
            first = list(self._item(node.this, around))
        else:
            first = [self._source(node, around)]
        for join in joins:
            first += self._item(join.this, around)
        yield from (replace(one, sure=False) for one in first) if joins else first

    def _source(self, node: exp.Expression, around: _Environment) -> TracedSource:
        alias = node.args.get("alias")
        name = "" if alias is None or alias.this is None else fold_name(alias.this)
        rows: Rowset = Unknown()
        if isinstance(node, exp.Table) and isinstance(node.this, exp.Identifier):
            name = name or fold_name(node.this)
            rows = self._table(node, name, around)
        elif isinstance(node, exp.Subquery | exp.Values):
            rows = self.query(node, around)
        elif isinstance(node, exp.Lateral) and isinstance(node.this, exp.Subquery):
            # what it reads of the relations beside it is not known
            rows = Unknown(_plainly(self.query(node.this, around).columns, self._all))
        return TracedSource(name, node, rows, _renamed(node, rows.columns))

    def _table(self, node: exp.Table, alias: str, around: _Environment) -> Rowset:
        name = fold_name(node.this)
        if node.args.get("db") is not None:
            return Unknown()
        if name in around:
            cte = around[name]
            return Unknown() if cte is None else CteReading(cte, node, alias)
        step = self._steps.get(name)
        if isinstance(step, Release):
            return ReleaseRows(name, step.plan, len(self._cutting.bounds(name)))
        if isinstance(step, Fetch | Empty) and step.table.columns:
            return Unknown(tuple(Output(one) for one, _ in written_columns(step)))
        return Unknown()

    def _read_by(self, query: exp.Expression | None) -> Readings:
        """The aggregates behind the names in a query; of none, all that there are."""
        if query is None:
            return self._all
        return frozenset[Reading]().union(
            *(
                self._reads.get(fold_name(one.this), frozenset())
                for one in query.find_all(exp.Table)
                if isinstance(one.this, exp.Identifier)
            )
        )

    def _read_in(self, rows: Rowset) -> Readings:
        if rows.columns is None:
            return self._all
        return frozenset[Reading]().union(*(one.reads for one in rows.columns))


def _renamed(node: exp.Expression, columns: tuple[Output, ...] | None) -> tuple[Output, ...] | None:
    """The columns by the names that an alias gives them."""
    alias = node.args.get("alias")
    given = [] if alias is None else [fold_name(one) for one in alias.args.get("columns") or []]
    if columns is None or not given:
        return columns
    names = [*given, *(one.name for one in columns[len(given) :])]
    return tuple(replace(one, name=name) for one, name in zip(columns, names, strict=False))


def _plainly(columns: tuple[Output, ...] | None, more: Readings) -> tuple[Output, ...] | None:
    if columns is None:
        return None
    return tuple(Output(one.name, reads=one.reads | more) for one in columns)


def _meant(node: exp.Expression, outputs: list[Item]) -> exp.Expression | None:
    """The item of a list that a name or a number in ORDER BY, GROUP BY or DISTINCT ON may mean."""
    if isinstance(node, exp.Literal):
        at = int(node.this) if not node.is_string and node.this.isdigit() else 0
        return outputs[at - 1].node if 0 < at <= len(outputs) else None
    if not isinstance(node, exp.Column) or isinstance(node.this, exp.Star):
        return None
    found = [one.node for one in outputs if one.name == fold_name(node.this)]
    return found[0] if found else None


def _reads(query: exp.Expression, name: str) -> bool:
    return any(
        isinstance(one.this, exp.Identifier) and fold_name(one.this) == name
        for one in query.find_all(exp.Table)
    )


def _is_of_rows(call: exp.Expression, slot: str) -> bool:
    """Whether a call in a SELECT that aggregates is computed row by row all the same."""
    if slot in {"where", "on"}:
        return True
    node = call.parent
    while isinstance(node, exp.Expression) and not isinstance(node, QUERIES):
        if is_aggregate(node):
            return True
        node = node.parent
    return False


def _unknown(what: exp.Expression, selected: TracedSelect) -> Refusal | None:
    if not isinstance(what, exp.Column) or isinstance(what.this, exp.Star):
        return None
    if any(one.columns is None for one in selected.sources):
        return None
    names = {each.name for one in selected.sources for each in one.columns or ()}
    return None if fold_name(what.this) in names else unknown_column_refusal(what)


def _no_cell(call: exp.Expression) -> Refusal:
    name = name_of_function(call) if isinstance(call, exp.Anonymous) else ""
    return UnsupportedSql(
        Code.FUNCTION_UNSUPPORTED, f"the argument of `{name}` has no interval", _ABOUT
    )


def _without_ends(query: exp.Expression) -> exp.Expression:
    """The query of a statement that gives no rows, which has no intervals either."""
    for select in list(query.find_all(exp.Select)):
        for item in list(select.expressions):
            if not isinstance(item, exp.Alias) and has_end(item):
                item.replace(exp.Alias(this=item.copy(), alias=identifier(result_name(item))))
    for call in [one for one in query.find_all(exp.Anonymous) if is_end(one)]:
        call.replace(null_end())
    return query
