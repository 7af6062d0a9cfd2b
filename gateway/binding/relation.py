"""A query that has been bound: rows of persons as a plan, or anything free as SQL for the twin."""

from dataclasses import dataclass
from typing import TypeAlias

from sqlglot import exp

from gateway.catalog.types import ColumnType
from gateway.plan.node import Node


@dataclass(frozen=True, slots=True)
class Rows:
    """Rows of persons. `names` go with the plan's fields, one by one."""

    plan: Node
    names: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Free:
    """Public or released: `query` is what remains of it for the twin.

    `types` are those that are known; `claims` are sets of places of columns on which no two rows agree, as the text
    reads. They prove nothing: see `gateway.plan.node.Claims`.
    """

    query: exp.Expression
    names: tuple[str, ...]
    types: tuple[ColumnType | None, ...]
    complete: bool = True
    claims: frozenset[frozenset[int]] = frozenset()


Relation: TypeAlias = Rows | Free
