"""`policy init`: a first policy from the catalog of a source. It permits nothing until a person completes it.

It takes the catalog and the unit, and gives the text of a policy file. Every table gets the unit by a column of its
own that refers to the unit's key, or by a path along keys. A table that no path leads from is public only where its
owner says so; otherwise it is left out with a marked line.

INVARIANT: no value of a row is read, and no statistics of values. What the catalog does not tell is a marked line.
"""

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

from gateway.admin.proposal.column_lines import (
    ProposedColumn,
    column_lines,
    one_line,
    propose_column,
    public_column,
)
from gateway.admin.proposal.key_graph import Edge, KeyGraph, TableId, is_known
from gateway.admin.proposal.marks import MARK, count_marks, mark
from gateway.admin.proposal.unit_candidates import (
    UnitCandidate,
    columns_about_somebody,
    may_be_public,
    unit_doubts,
)
from gateway.admin.proposal.vocabulary import (
    class_of,
    code_class,
    is_of_a_tool,
    words_of,
)
from gateway.catalog.tables import ColumnClass
from gateway.catalog.types import Family
from gateway.catalog.unused_types import JSON_TYPES, bare_type, cast_of, is_unused
from gateway.engines.catalog.annotations import Annotations
from gateway.engines.catalog.describe import SourceColumn, SourceTable, SourceTables
from gateway.errors import Code, OperatorError

_MOST_NAMED: Final = 3
_HEAD: Final = """\
# A first policy, made from the catalog of the source; no value was read. It permits nothing yet.
# Decide each line with a mark, then remove its mark. `gateway policy check` counts what is left.
# A domain is the smallest and largest value, or the list of values; `gateway policy bounds` finds them for a price.
gateway: 1
dataset: {dataset}
source: {source}
{path}
privacy:
{unit}
{budget}
  per_query: {{default: 0.05, max: 1}}

tables:
"""
_TAIL: Final = """
{mark}
#access:
#  - id: analysts
#    effect: permit
#    when: subject.role == "researcher"
#    tables: [{tables}]
#    use:
#      aggregate: [class:quasi, class:sensitive]
#      group_by: [{groups}]
#      filter: [class:quasi]
{joins}#    budget: {{epsilon: 2}}
"""


@dataclass(frozen=True)
class Proposal:
    """The text of a policy, and what became of the tables of the source.

    `about_nobody` are those left out that seem to be lists of codes, places or things.
    """

    text: str
    unit: UnitCandidate
    guessed: bool
    doubts: tuple[str, ...]
    protected: tuple[str, ...]
    public: tuple[str, ...]
    left_out: tuple[str, ...]
    about_nobody: tuple[str, ...]

    @property
    def undecided(self) -> int:
        """How many lines are marked."""
        return count_marks(self.text)


@dataclass(frozen=True)
class Proposer:
    """Proposes the tables of one source for one unit. `public` are the tables that their owner calls public.

    `own_path` is the search path of the source's login, `source` has the one of the policy.
    """

    graph: KeyGraph
    unit: UnitCandidate
    source: SourceTables
    own_path: tuple[str, ...]
    public: frozenset[TableId]
    annotations: Annotations = field(default_factory=Annotations)

    def name(self, place: TableId) -> str:
        """A table as the policy writes it."""
        return self.source.name(self.graph.tables[place])

    def paths(self, place: TableId) -> list[tuple[Edge, ...]]:
        """The paths of a table that pass through protected tables alone."""
        found = self.graph.paths(place, self.unit.table, self.unit.key)
        return [path for path in found if self.public.isdisjoint(edge.parent for edge in path)]

    def protected_table(self, place: TableId, path: Sequence[Edge]) -> Iterator[str]:
        """The lines of a protected table; `path` is empty for the unit's own."""
        table = self.graph.tables[place]
        if said := self.annotations.comments.get((*place, None)):
            yield f"  # {one_line(said)}"
        yield f"  {self.name(place)}:"
        yield from self._unit_lines(place, path)
        yield "    columns:"
        yield from self._columns(place, self._columns_of(place, path))
        yield from _unknown(table)

    def public_table(self, place: TableId) -> Iterator[str]:
        """The lines of a public table."""
        table = self.graph.tables[place]
        told = columns_about_somebody(table)
        doubt = (
            f"everybody may read all of it: is it about nobody ({', '.join(told[:_MOST_NAMED])})?"
        )
        yield f"  {self.name(place)}:"
        yield mark("    public: true", doubt) if told else "    public: true"
        yield "    columns:"
        columns = [public_column(one) for one in table.columns if is_known(table, one.name)]
        yield from self._columns(place, columns)
        yield from _unknown(table)

    def listed(self, paths: Mapping[TableId, list[tuple[Edge, ...]]]) -> Iterator[str]:
        """The sensitive columns with few values, by which answers can be grouped."""
        for place in (self.unit.table, *paths):
            path = paths[place][0] if place in paths else ()
            for one in self._columns_of(place, path):
                if one.is_listed and one.column_class is ColumnClass.SENSITIVE:
                    yield f"{self.name(place)}.{one.name}"

    def codes(self, place: TableId) -> list[str]:
        """The columns of a protected table that refer to a public one, over which both are joined."""
        edges = self.graph.edges.get(place, ())
        there = dict.fromkeys(edge.column for edge in edges if edge.parent in self.public)
        return [f"{self.name(place)}.{column}" for column in there]

    def left_out(self, place: TableId) -> str:
        """The marked line of a table that no path leads from."""
        name = self.name(place)
        if is_of_a_tool(place[1]):
            return f"  # `{name}` is left out: a tool keeps its migrations there"
        return (
            f"  {MARK} `{name}` is left out: no key leads from it to"
            f" {self.name(self.unit.table)}.{self.unit.key}; {self._advice(place, name)}"
        )

    def _advice(self, place: TableId, name: str) -> str:
        told = columns_about_somebody(self.graph.tables[place])
        if told:
            return f"it seems to be about persons ({', '.join(told[:_MOST_NAMED])})"
        if may_be_public(self.graph, place):
            return f"if it is about nobody, add --public {name}"
        key = f"{self.name(self.unit.table)}.{self.unit.key}"
        if soft := self.graph.soft_key(place, self.unit.table, self.unit.key):
            return f"if `{soft}` is one, add --key {name}.{soft}={key}"
        left = [edge for edge in self.graph.edges.get(place, ()) if not self._is_there(edge.parent)]
        if left:
            return f"it refers to `{self.name(left[0].parent)}`, which is left out"
        return "its rows may be about persons"

    def _unit_lines(self, place: TableId, path: Sequence[Edge]) -> Iterator[str]:
        table = self.graph.tables[place]
        key, doubt = self._unit_key(place, path)
        line = f"    unit_key: {key}"
        yield mark(line, doubt) if doubt else line
        if self._is_ambiguous(place, path):
            yield f"    unit_via: {path[0].column}"
        if frozenset({key}) in table.unique:
            yield "    rows_per_unit: 1"
            return
        yield "    groups_per_unit: 12"

    def _is_ambiguous(self, place: TableId, path: Sequence[Edge]) -> bool:
        """Whether another column, too, begins a path of several keys to the same column."""
        if len(path) < 2:  # noqa: PLR2004  # one key is the table's own column
            return False
        end = path[-1].child, path[-1].column
        for edge in self.graph.edges.get(place, ()):
            if edge.column == path[0].column or not self._is_protected(edge.parent):
                continue
            onward = self.paths(edge.parent)
            if edge.parent == end[0] or any(
                (one[-1].child, one[-1].column) == end for one in onward
            ):
                return True
        return False

    def _unit_key(self, place: TableId, path: Sequence[Edge]) -> tuple[str, str]:
        """The unit key of a table as the policy writes it, and why it may be wrong."""
        if not path:
            return self.unit.key, ""
        last = path[-1]
        if last.target != self.unit.key:
            key = f"{self.name(self.unit.table)}.{self.unit.key}"
        elif len(path) == 1:
            key = last.column
        else:
            key = f"{self.name(last.child)}.{last.column}"
        doubts = []
        if inferred := [edge for edge in path if not edge.declared]:
            doubts.append(
                f"`{inferred[0].column}` has no foreign key; its name alone suggests the path"
            )
        same = [one for one in self.paths(place) if len(one) == len(path) and one != tuple(path)]
        if same:
            others = " and ".join(f"`{one[0].column}`" for one in same)
            doubts.append(
                f"rows protect the {self.unit.name} of `{path[0].column}`, and not that of {others}"
            )
        return key, "; ".join(doubts)

    def _columns_of(self, place: TableId, path: Sequence[Edge]) -> list[ProposedColumn]:
        table = self.graph.tables[place]
        joins = {
            edge.column: f"{self.name(edge.parent)}.{edge.target}"
            for edge in self.graph.edges.get(place, ())
            if self._is_there(edge.parent) and (edge.declared or edge in path)
        }
        classes = self._classes(place)
        return [
            propose_column(
                table,
                column,
                suggested=classes.get(column.name) or self._own_class(column),
                joins=joins.get(column.name),
            )
            for column in table.columns
            if is_known(table, column.name)
        ]

    def _classes(self, place: TableId) -> Mapping[str, ColumnClass]:
        """The classes of columns that are keys or refer to keys."""
        classes = {}
        for edge in self.graph.edges.get(place, ()):
            parent = self.graph.tables[edge.parent]
            codes = not self._is_protected(edge.parent) and not columns_about_somebody(parent)
            classes[edge.column] = code_class(edge.column) if codes else ColumnClass.IDENTIFIER
        if place == self.unit.table:
            classes[self.unit.key] = ColumnClass.IDENTIFIER
        return classes

    def _own_class(self, column: SourceColumn) -> ColumnClass | None:
        """An identifier if the unit's own name begins the column's: `customer_number`."""
        of = column.read_type
        begins = words_of(column.name)[:1] == (self.unit.name,) and of.family is Family.TEXT
        plain = begins and class_of(column.name, of) is not ColumnClass.QUASI
        return ColumnClass.IDENTIFIER if plain else None

    def _is_protected(self, place: TableId) -> bool:
        return place not in self.public and (place == self.unit.table or bool(self.paths(place)))

    def _is_there(self, place: TableId) -> bool:
        return place in self.public or self._is_protected(place)

    def _columns(self, place: TableId, columns: Collection[ProposedColumn]) -> Iterator[str]:
        said = {
            one.name: text
            for one in columns
            if (text := self.annotations.comments.get((*place, one.name)))
        }
        yield from column_lines(columns, said)


def propose_policy(proposer: Proposer, dataset: str, source: str, *, guessed: bool) -> Proposal:
    """The policy of this source, whose URL is `source` in it."""
    unit, graph = proposer.unit, proposer.graph
    order = sorted(graph.tables, key=lambda place: place != unit.table)
    paths = {
        place: found
        for place in order
        if place not in proposer.public and place != unit.table and (found := proposer.paths(place))
    }
    protected = [unit.table, *paths]
    public = [place for place in order if place in proposer.public]
    left_out = [place for place in order if place not in protected and place not in public]
    lines = [line for place in protected for line in _with_gap(proposer, place, paths)]
    for place in public:
        lines += ["", *proposer.public_table(place)]
    if left_out:
        lines += ["", *(proposer.left_out(place) for place in left_out)]
    doubts = tuple(unit_doubts(graph, unit))
    names = [proposer.name(place) for place in protected]
    codes = [one for place in protected for one in proposer.codes(place)]
    text = (
        _HEAD.format(
            dataset=dataset,
            source=source,
            path=_path_line(proposer),
            unit=_unit_line(proposer, doubts, guessed=guessed),
            budget=mark("  budget: {epsilon: 10, delta: 1e-7}", "for everyone together, for ever"),
        )
        + "\n".join(lines).lstrip("\n")
        + "\n"
        + _TAIL.format(
            mark=f"{MARK} nobody may ask anything yet: remove the `#`s of this rule, or write others",
            tables=", ".join(names),
            groups=", ".join(["class:quasi", *proposer.listed(paths)]),
            joins="".join(f"#      join: [{', '.join(one)}]\n" for one in [codes] if one),
        )
    )
    return Proposal(
        text,
        unit,
        guessed,
        doubts,
        tuple(names),
        tuple(map(proposer.name, public)),
        tuple(map(proposer.name, left_out)),
        tuple(proposer.name(place) for place in left_out if may_be_public(graph, place)),
    )


def public_tables(
    graph: KeyGraph, source: SourceTables, named: Sequence[str]
) -> frozenset[TableId]:
    """The tables that the owner calls public, by their names."""
    found = set()
    for written in named:
        table = source.find(written)
        if table is None or (table.schema, table.name) not in graph.tables:
            known = ", ".join(sorted(map(source.name, graph.tables.values())))
            raise OperatorError(
                Code.ARGUMENT_INVALID,
                f"--public: the source has no table `{written}`",
                f"its tables are {known}",
            )
        found.add((table.schema, table.name))
    return frozenset(found)


def search_path(graph: KeyGraph, source: SourceTables) -> tuple[str, ...]:
    """The schemas of all tables, those of the source's own search path first."""
    schemas = [schema for schema, _ in graph.tables]
    return tuple(dict.fromkeys([*(one for one in source.search_path if one in schemas), *schemas]))


def _with_gap(
    proposer: Proposer, place: TableId, paths: Mapping[TableId, list[tuple[Edge, ...]]]
) -> Iterator[str]:
    yield ""
    yield from proposer.protected_table(place, paths[place][0] if place in paths else ())


def _path_line(proposer: Proposer) -> str:
    """The search path, where tables lie in other schemas than those of the source's login."""
    path = proposer.source.search_path
    there = set(path) <= set(proposer.own_path)
    return "" if there else f"search_path: [{', '.join(path)}]\n"


def _unit_line(proposer: Proposer, doubts: Sequence[str], *, guessed: bool) -> str:
    unit = proposer.unit
    line = f"  unit: {{name: {unit.name}, table: {proposer.name(unit.table)}, key: {unit.key}}}"
    questions = [
        *(["is this whose privacy is protected? It can never be changed"] if guessed else []),
        *doubts,
    ]
    return mark(line, "; ".join(questions)) if questions else line


def _unknown(table: SourceTable) -> Iterator[str]:
    """A comment for each column that is not proposed: what it is, and what can be had of it."""
    for column in table.columns:
        if is_known(table, column.name):
            continue
        name, of = one_line(column.name), one_line(column.type)
        bare, cast = bare_type(column.type), one_line(cast_of(column.type, column.name))
        if bare in JSON_TYPES:
            yield f"      # {name}: {{type: {bare}, class: sensitive}}   # no query reads it; a value of it is a column:"
            yield f"      # {name}_key: {{type: text, class: sensitive, from: \"{name} ->> 'key'\"}}"
        elif cast and is_unused(column.type):
            yield f"      # {name}: no query reads this type ({of}); a view of the table can have {cast} instead"
        else:
            yield f"      # {name}: the gateway has no use for this name or type ({of})"
