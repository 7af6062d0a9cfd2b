"""What the parts of the binder give each other: a FROM as a tree, the binder of queries, and the rows of a SELECT.

`gateway.binding.queries.QueryBinder` is the one `Binder`; the parts below it know it by this protocol, since it needs them.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Protocol, TypeAlias

from sqlglot import exp

from gateway.binding.ctes import CteDefinition, Environment
from gateway.binding.cut import CutBuilder
from gateway.binding.expressions import ScalarBinder
from gateway.binding.relation import Relation
from gateway.binding.scope import FromRelation, Scope, Visible
from gateway.catalog.tables import Table
from gateway.plan.node import Node
from gateway.plan.relations import Project, Scan


@dataclass(slots=True)
class Leaf:
    """One relation of a FROM. `of` is what it was bound to; None: the twin alone knows it."""

    source: FromRelation
    node: exp.Expression
    of: Table | Relation | None
    scan: Scan | Project | None = None
    cte: CteDefinition | None = None


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


class SelectRows(Protocol):
    """The rows of a SELECT over persons, and what names mean there."""

    plan: Node
    scope: Scope
    scalars: ScalarBinder
    around: Environment

    @property
    def queries(self) -> Binder: ...

    def lookup(self, column: exp.Column) -> Visible: ...
