"""UNION, INTERSECT and EXCEPT of rows of persons, with the unit key among their columns.

Rows of two persons are never equal then, so each is a matter of one person: DISTINCT is a grouping with the unit key,
INTERSECT and EXCEPT are semi and anti joins on it. NULL is equal to NULL there, as in PostgreSQL.

INVARIANT: the rows of a person in the result depend on that person's rows alone. `PerUnit` and `Mark` check it; a set
operation without the unit key would compare rows of different persons, and is refused.
"""

from collections.abc import Callable

from sqlglot import exp

from gateway.binding.binder import ProtectedRows
from gateway.binding.join_order import conjoin
from gateway.binding.operands import compare
from gateway.errors import Code, SyntaxRefused, UnsupportedSql
from gateway.plan.aggregates import PerUnit
from gateway.plan.fields import BOOLEAN, Field, Tie
from gateway.plan.joins import Mark, UnionAll
from gateway.plan.node import Node
from gateway.plan.relations import Filter
from gateway.plan.scalars import Call, Ref, Scalar


def combine_rows(
    node: exp.SetOperation,
    sides: tuple[ProtectedRows, ProtectedRows],
    alias: str,
    name: Callable[[str], str],
) -> Node:
    """The rows of both sides as the operation combines them; `name` gives names that nobody has."""
    left, right = sides
    word = type(node).__name__.upper()
    distinct = bool(node.args.get("distinct"))
    if isinstance(node, exp.Union) and not distinct:
        return UnionAll(left.plan, right.plan, alias, left.names)
    if not distinct:
        raise UnsupportedSql(
            Code.CLAUSE_UNSUPPORTED,
            f"`{word} ALL` is not supported over protected rows",
            f"use {word}, or EXISTS with an equality of both unit keys",
        )
    if len(left.plan.fields) != len(right.plan.fields):
        raise SyntaxRefused(
            Code.TYPE_MISMATCH, f"each side of {word} must have the same number of columns"
        )
    pairs = list(zip(left.plan.fields, right.plan.fields, strict=True))
    if not any(one.tie is Tie.ALWAYS and other.tie is Tie.ALWAYS for one, other in pairs):
        raise UnsupportedSql(
            Code.CLAUSE_UNSUPPORTED,
            f"`{word}` over protected rows needs the unit key in the same place of both lists",
            "add the unit key to both lists, or use UNION ALL",
        )
    if isinstance(node, exp.Union):
        return _distinct(UnionAll(left.plan, right.plan, name("union"), left.names), left, alias)
    same = conjoin([_same(one, other) for one, other in pairs])
    marked = Mark(left.plan, right.plan, same, name("mark"))
    found: Scalar = Ref(marked.fields[-1])
    if isinstance(node, exp.Except):
        found = Call("not", (found,), BOOLEAN, nullable=False)
    return _distinct(Filter(marked, found), left, alias)


def _distinct(rows: Node, like: ProtectedRows, alias: str) -> PerUnit:
    """Each row once; what a filter added to the columns is left out."""
    columns = rows.fields[: len(like.names)]
    keys = tuple((name, Ref(one)) for name, one in zip(like.names, columns, strict=True))
    return PerUnit(rows, alias, keys, ())


def _same(one: Field, other: Field) -> Scalar:
    """NULL is the same as NULL; where one side has none, that is an equality."""
    word = "is not distinct from" if one.nullable and other.nullable else "="
    return compare(word, Ref(one), Ref(other))
