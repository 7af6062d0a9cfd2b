"""Rows of persons at the root, as tools ask for them to show what a table holds: refused, with a way on."""

import re
from typing import Final

from sqlglot.dialects.postgres import Postgres

from gateway.binding.names import in_quotes
from gateway.errors import Code, NotAggregate
from gateway.plan.node import Node, nodes
from gateway.plan.relations import Scan

_PLAIN: Final = re.compile("[a-z_][a-z0-9_]*")
_WORDS: Final = frozenset(
    {word.lower() for words in Postgres.tokenizer_class.KEYWORDS for word in words.split()}
    | {"analyse", "analyze", "user"}
)


def person_rows(plan: Node) -> NotAggregate:
    """The refusal, with an aggregate that is answered: one over a table that the statement names."""
    tables = [one.table.name for one in nodes(plan) if isinstance(one, Scan)]
    example = f"FROM {_written(tables[0])}" if tables else "…"
    return NotAggregate(
        Code.PERSON_ROWS,
        "the result would have a row for each person",
        f"ask for an aggregate, such as SELECT COUNT(*) {example}",
    )


def _written(table: str) -> str:
    """The table's name as SQL has it."""
    return ".".join(
        part if _PLAIN.fullmatch(part) and part not in _WORDS else in_quotes(part)
        for part in table.split(".")
    )
