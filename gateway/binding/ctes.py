"""Common table expressions: which names mean one, and what each was bound to.

A CTE is bound when it is first used, where it was defined: one that nobody uses costs nothing.
"""

from collections.abc import Iterator
from dataclasses import dataclass, field

from sqlglot import exp

from gateway.binding.relation import FreeRelation, Relation
from gateway.binding.text.identifiers import fold_name
from gateway.errors import Code, SyntaxRefused, UnsupportedSql


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
