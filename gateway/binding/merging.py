"""Columns that a join by names makes one of two: `JOIN … USING`, `NATURAL JOIN`.

For relations without persons alone, where PostgreSQL binds the same text again: a name that has two meanings
all the same is refused there.
"""

from collections.abc import Iterator, Sequence

from sqlglot import exp

from gateway.binding.names import fold
from gateway.binding.scope import Source, Visible
from gateway.catalog.types import ColumnType
from gateway.plan.types import common


def merged_columns(node: exp.Select, sources: Sequence[Source]) -> dict[str, Visible]:
    """The columns of this FROM that are one, by name."""
    merged: dict[str, Visible] = {}
    for join in _joins(node):
        for name in _names(join, sources):
            found = [one.type for source in sources for one in source.named(name)]
            if len(found) > 1:
                merged[name] = Visible(name, _one_type(found))
    return merged


def merging_joins(node: exp.Select) -> list[exp.Join]:
    """The joins of this FROM that may make one column of two."""
    return [one for one in _joins(node) if one.args.get("method") or one.args.get("using")]


def _names(join: exp.Join, sources: Sequence[Source]) -> list[str]:
    if str(join.args.get("method") or "").upper() == "NATURAL":
        return [column.name for source in sources for column in source.columns]
    return [fold(name) for name in join.args.get("using") or []]


def _joins(node: exp.Select) -> Iterator[exp.Join]:
    """The joins of this FROM, those in brackets too; what a query within joins is its own affair."""
    start = [node.args.get("from_"), *(node.args.get("joins") or [])]
    waiting = [one for one in start if isinstance(one, exp.Expression)]
    while waiting:
        one = waiting.pop()
        if isinstance(one, exp.Join):
            yield one
        if not isinstance(one, exp.Select | exp.SetOperation):
            waiting += one.iter_expressions()


def _one_type(types: Sequence[ColumnType | None]) -> ColumnType | None:
    result = types[0]
    for one in types[1:]:
        result = None if result is None or one is None else common(result, one)
    return result
