"""What a star in the list of a SELECT stands for."""

from collections import Counter
from typing import TypeAlias

from sqlglot import exp

from gateway.binding.merging import merging_joins
from gateway.binding.names import fold
from gateway.binding.origins import Shown, Source

# a column of a source, or one that a join has made of two
Starred: TypeAlias = tuple[Source | None, Shown]


def is_star(node: exp.Expression) -> bool:
    return isinstance(node, exp.Star) or (
        isinstance(node, exp.Column) and isinstance(node.this, exp.Star)
    )


def all_columns(node: exp.Select, sources: list[Source]) -> list[Starred] | None:
    """The columns of `*`, in PostgreSQL's order; None where they are not known."""
    if any(one.columns is None for one in sources):
        return None
    each: list[list[Starred]] = [[(one, shown) for shown in one.columns or ()] for one in sources]
    if not merging_joins(node):
        return [one for columns in each for one in columns]
    joins = node.args.get("joins") or []
    natural = any(one.args.get("method") for one in joins)
    if natural or len(sources) != len(joins) + 1:  # joins in brackets
        return None
    found = each[0]
    for join, right in zip(joins, each[1:], strict=True):
        names = [fold(one) for one in join.args.get("using") or []]
        found = [
            *(_merged(name, [*found, *right]) for name in names),
            *(one for one in [*found, *right] if one[1].name not in names),
        ]
    return found


def told_apart(columns: list[Starred]) -> bool:
    """Whether each of the columns can be named."""
    whole = Counter(one.name for _, one in columns)
    own = Counter((source.alias, one.name) for source, one in columns if source is not None)
    alone = all(whole[one.name] == 1 for source, one in columns if source is None)
    return alone and max(own.values(), default=1) == 1


def _merged(name: str, columns: list[Starred]) -> Starred:
    both = [one.reads for _, one in columns if one.name == name]
    return None, Shown(name, reads=frozenset().union(*both))
