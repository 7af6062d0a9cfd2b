"""What the parts of the binder give each other: a FROM as a tree, the binder of queries, the result of a query, and
CTEs.

`gateway.binding.queries.QueryBinder` is the one `Binder`; the parts below it know it by this protocol, since it
needs them.

A bound query is rows of persons as a plan, or anything free as SQL for the twin. Rows of persons at the root, as
tools ask for them to show what a table holds, are refused.

A CTE is bound when it is first used, where it was defined: one that no query uses costs nothing.
"""

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Final, Protocol, TypeAlias

from sqlglot import exp
from sqlglot.dialects.postgres import Postgres

from gateway.binding.bound import CutBuilder
from gateway.binding.expressions import ScalarBinder
from gateway.binding.scope import FromRelation, Scope, Visible
from gateway.binding.text.dialect import fold_name, quote_name
from gateway.catalog.tables import ColumnRef, Table
from gateway.catalog.types import ColumnType
from gateway.errors import Code, NotAggregate, SyntaxRefused, UnsupportedSql
from gateway.plan.fields import Field
from gateway.plan.node import Node, walk_nodes
from gateway.plan.relations import Project, Scan
from gateway.plan.scalars import Scalar


@dataclass(frozen=True, slots=True)
class ProtectedRows:
    """Rows of persons. `names` go with the plan's fields, one by one."""

    plan: Node
    names: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class FreeRelation:
    """Public or released: `query` is what remains of it for the twin.

    `types` are those that are known; `claims` are sets of places of columns on which no two rows agree, as the text
    reads. They prove nothing: see `gateway.plan.node.Claims`.
    """

    query: exp.Expression
    names: tuple[str, ...]
    types: tuple[ColumnType | None, ...]
    complete: bool = True
    claims: frozenset[frozenset[int]] = frozenset()


Relation: TypeAlias = ProtectedRows | FreeRelation


_PLAIN: Final = re.compile("[a-z_][a-z0-9_]*")
_WORDS: Final = frozenset(
    {word.lower() for words in Postgres.tokenizer_class.KEYWORDS for word in words.split()}
    | {"analyse", "analyze", "user"}
)


def unit_rows_refusal(plan: Node) -> NotAggregate:
    """The refusal, with an aggregate that is answered: one over a table that the statement names."""
    tables = [one.table.name for one in walk_nodes(plan) if isinstance(one, Scan)]
    example = f"FROM {_written(tables[0])}" if tables else "…"
    return NotAggregate(
        Code.PERSON_ROWS,
        "the query would return one row for each protected row",
        f"use an aggregate, such as SELECT COUNT(*) {example}",
    )


def person_groups_refusal(unit: ColumnRef) -> NotAggregate:
    """The refusal of groups by the unit key as a result, with what may be asked of such groups."""
    key, table = _written(unit.column), _written(unit.table)
    return NotAggregate(
        Code.PERSON_ROWS,
        f"the query would return one row for each person: `{unit.column}` is in its GROUP BY",
        f"group by other columns, or aggregate over these groups, such as SELECT COUNT(*), AVG(n) FROM"  # noqa: S608 - a hint
        f" (SELECT {key}, COUNT(*) AS n FROM {table} GROUP BY {key}) v",
    )


def lone_groups_refusal(key: ColumnRef) -> NotAggregate:
    """The refusal of groups by a key whose values each belong to one person: none of them could be shown."""
    return NotAggregate(
        Code.PERSON_ROWS,
        f"each value of `{key.column}` belongs to one person, so no group could be shown",
        f"group by other columns; to ask of each `{key.column}`, group by it and the unit key, and aggregate over"
        " these groups",
    )


def _written(table: str) -> str:
    """The table's name as SQL has it."""
    return ".".join(
        part if _PLAIN.fullmatch(part) and part not in _WORDS else quote_name(part)
        for part in table.split(".")
    )


@dataclass(slots=True)
class CteDefinition:
    """A CTE. `around` is what it sees: the ones before it, and not itself."""

    name: str
    node: exp.CTE
    around: "Environment"
    recursive: bool
    bound: Relation | None = None


@dataclass(slots=True)
class Environment:
    """The CTEs that can be seen from a query."""

    defined: dict[str, CteDefinition] = field(default_factory=dict)
    recursive: bool = False

    def find(self, name: str) -> CteDefinition | None:
        return self.defined.get(name)

    def inside(self, with_: exp.With | None) -> "Environment":
        """What the query below this WITH sees."""
        if with_ is None:
            return self
        recursive = bool(with_.args.get("recursive"))
        inner = Environment(dict(self.defined), recursive=recursive or self.recursive)
        own: set[str] = set()
        for node in with_.expressions:
            name = fold_name(node.args["alias"].this)
            if name in own:
                raise SyntaxRefused(
                    Code.NAME_AMBIGUOUS, f"WITH query name `{name[:63]}` is used more than once"
                )
            if name in self.defined:
                raise UnsupportedSql(
                    Code.CLAUSE_UNSUPPORTED,
                    f"the CTE `{name[:63]}` hides another CTE of the same name",
                    "give each CTE its own name",
                )
            own.add(name)
            before = Environment(dict(inner.defined), recursive=inner.recursive)
            inner.defined[name] = CteDefinition(name, node, before, recursive)
        return inner

    def free(self) -> Iterator[CteDefinition]:
        """The CTEs that are SQL for the twin, in the order they were defined."""
        for one in self.defined.values():
            if isinstance(one.bound, FreeRelation):
                yield one


@dataclass(frozen=True, slots=True)
class Key:
    """A grouping key: what the source groups by, and how the expression is known again."""

    name: str
    scalar: Scalar
    identity: tuple[object, ...]
    show: Callable[[exp.Expression], exp.Expression] | None = None


class LateralRows(Protocol):
    """The rows of persons of a LATERAL subquery, beside the rows that stand before it."""

    @property
    def names(self) -> tuple[str, ...]: ...

    @property
    def shown(self) -> tuple[Field, ...]: ...

    def joined(self, beyond: Scalar | None = None, *, keeps: bool) -> Node:
        """The rows before it, each with the rows of its own person; `keeps`: with those that have none."""
        ...


@dataclass(slots=True)
class Leaf:
    """One relation of a FROM. `of` is what it was bound to; None: the twin alone knows it.

    `lateral` binds rows of persons that depend on the rows before them, when these are known.
    """

    source: FromRelation
    node: exp.Expression
    of: Table | Relation | None
    scan: Scan | Project | None = None
    cte: CteDefinition | None = None
    lateral: Callable[[Node, Scope], LateralRows] | None = None


@dataclass(slots=True)
class JoinTree:
    """Relations that are joined from left to right; `brackets` where they stand in brackets."""

    first: "Tree"
    joins: list[tuple[exp.Join, "Tree"]]
    brackets: bool = False


Tree: TypeAlias = Leaf | JoinTree


def tree_leaves(tree: Tree) -> Iterator[Leaf]:
    """The relations of a FROM, from left to right."""
    if isinstance(tree, Leaf):
        yield tree
        return
    yield from tree_leaves(tree.first)
    for _, one in tree.joins:
        yield from tree_leaves(one)


class Binder(Protocol):
    """Binds the queries of one statement, each inside those around it."""

    cutting: CutBuilder

    def query(
        self, node: exp.Expression, around: Environment, outer: Scope | None, alias: str
    ) -> Relation:
        """A query of any shape."""
        ...

    def select(
        self, node: exp.Select, around: Environment, outer: Scope | None, tree: Tree | None
    ) -> Relation:
        """A SELECT; `tree` is its FROM where that was read already."""
        ...

    def defined(self, cte: CteDefinition) -> Relation:
        """A CTE, bound when it is first used."""
        ...

    def is_root(self, node: exp.Expression) -> bool:
        """Whether the query's rows are the answer itself."""
        ...

    def must_list(self, node: exp.Expression) -> bool:
        """Whether the groups of this query have to be known."""
        ...


class SelectRows(Protocol):
    """The rows of a SELECT over persons, and what names mean there."""

    plan: Node
    scope: Scope
    scalars: ScalarBinder
    around: Environment

    @property
    def queries(self) -> Binder: ...

    def lookup(self, column: exp.Column) -> Visible: ...
