"""A query that has been bound: rows of persons as a plan, or anything free as SQL for the twin.

Rows of persons at the root, as tools ask for them to show what a table holds: refused, with a way on.
"""

import re
from dataclasses import dataclass
from typing import Final, TypeAlias

from sqlglot import exp
from sqlglot.dialects.postgres import Postgres

from gateway.binding.text.identifiers import quote_name
from gateway.catalog.types import ColumnType
from gateway.errors import Code, NotAggregate
from gateway.plan.node import Node, walk_nodes
from gateway.plan.relations import Scan


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


def _written(table: str) -> str:
    """The table's name as SQL has it."""
    return ".".join(
        part if _PLAIN.fullmatch(part) and part not in _WORDS else quote_name(part)
        for part in table.split(".")
    )
