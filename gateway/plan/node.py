"""What all nodes of a plan share, and what none of them may do.

INVARIANT: a combination that `labels.py` and the nodes' own checks do not allow cannot be constructed:
it raises the refusal. The unit of a protected row is not one of `fields`: it rides along beside them,
from the scan to the release, and nothing an analyst writes can drop it or put another in its place.
"""

from collections.abc import Iterator
from dataclasses import replace
from typing import ClassVar, Final, Protocol, TypeAlias

from gateway.catalog.types import Family
from gateway.errors import Code, LimitExceeded, SyntaxRefused
from gateway.plan.fields import Field, Label, PathKey, Tie
from gateway.plan.scalars import Ref, Scalar, scalar_origins, walk_scalar

Claims: TypeAlias = frozenset[frozenset[str]]
"""Sets of columns on which no two rows of a relation agree, as its text reads; the empty set: there is one row.

INVARIANT: a claim is read from a statement, so it proves nothing. It says which joins are meant to multiply rows and are
refused for that; what a join of rows of persons keeps is enforced where it runs, whatever was claimed.
"""

NO_CLAIMS: Claims = frozenset()
MOST_NODES: Final = 128
MOST_TEXTS: Final = 64


class BrokenPlan(Exception):
    """A bug of ours: a plan that no statement can mean. The pipeline makes an incident of it."""


class Node(Protocol):
    """A relation."""

    @property
    def fields(self) -> tuple[Field, ...]: ...

    @property
    def label(self) -> Label: ...

    @property
    def claims(self) -> Claims: ...

    @property
    def below(self) -> tuple["Node", ...]: ...

    @property
    def scalars(self) -> tuple[Scalar, ...]:
        """Its own expressions, which read the columns below; see `gateway.plan.rewrite.map_node`."""
        ...

    @property
    def size(self) -> int: ...


class OverOne:
    """A node that reads one relation."""

    child: Node

    @property
    def below(self) -> tuple[Node, ...]:
        return (self.child,)


class SameRows(OverOne):
    """A node that has rows of its child as they are: their label and their claims hold."""

    @property
    def label(self) -> Label:
        return self.child.label

    @property
    def claims(self) -> Claims:
        return self.child.claims


class OverTwo:
    """A node that puts two relations together; nothing is claimed of its rows."""

    left: Node
    right: Node
    claims: ClassVar[Claims] = NO_CLAIMS

    @property
    def below(self) -> tuple[Node, ...]:
        return (self.left, self.right)


def walk_nodes(plan: Node) -> Iterator[Node]:
    """The node and all below it."""
    yield plan
    for one in plan.below:
        yield from walk_nodes(one)


def plan_size(below: tuple[Node, ...]) -> int:
    """How many nodes a relation has, counted as often as they are used.

    A CTE that joins itself, used by one that joins itself, and so on: the text grows by a line and the
    plan by a factor of two.
    """
    size = 1 + sum(one.size for one in below)
    if size > MOST_NODES:
        raise LimitExceeded(
            Code.SQL_TOO_LARGE, "the statement joins or nests too many protected tables"
        )
    return size


def is_unit(scalar: Scalar) -> bool:
    """Whether it is the unit of every row, and nothing else."""
    return isinstance(scalar, Ref) and scalar.field.tie is Tie.ALWAYS


def make_field(name: str, scalar: Scalar) -> Field:
    """The column that an expression becomes."""
    tie = scalar.field.tie if isinstance(scalar, Ref) else Tie.NONE
    keys = scalar.field.keys if isinstance(scalar, Ref) else frozenset[PathKey]()
    texts = 1
    if scalar.type.family is Family.TEXT:
        inside = [one.field.texts for one in walk_scalar(scalar) if isinstance(one, Ref)]
        texts = max(1, sum(inside))
        if texts > MOST_TEXTS:
            raise LimitExceeded(Code.SQL_TOO_LARGE, "the statement builds a text in too many steps")
    tells = scalar_origins(scalar)
    made = Field(name, scalar.type, scalar.domain, scalar.nullable, tells, tie, texts, keys)
    hides_nulls = isinstance(scalar, Ref) and scalar.field.hides_nulls
    return replace(made, hides_nulls=True) if hides_nulls else made


def require_boolean(condition: Scalar) -> None:
    if condition.type.family is not Family.BOOLEAN:
        raise SyntaxRefused(
            Code.TYPE_MISMATCH, f"a condition must be boolean, not {condition.type}"
        )


def require_columns(node: Node) -> None:
    """A plan reads what is below it and nothing else."""
    there = {one.id: one for child in node.below for one in child.fields}
    for scalar in node.scalars:
        for one in walk_scalar(scalar):
            if not isinstance(one, Ref):
                continue
            column = there.get(one.field.id)
            # another tie than the column has would be a unit from nowhere; other origins, a use unseen
            if column is None or _provenance(column) != _provenance(one.field):
                raise BrokenPlan("an expression reads a column that is not there")


def _provenance(one: Field) -> tuple[object, ...]:
    return one.tie, one.keys, one.origins


def with_own_ids(fields: tuple[Field, ...]) -> tuple[Field, ...]:
    seen: set[str] = set()
    out = []
    for one in fields:
        own = one.id
        while own in seen:
            own += "'"  # no id ends like that, so this is nobody else's
        seen.add(own)
        out.append(one if own == one.id else replace(one, id=own))
    return tuple(out)
