"""Weights of units in SQL: what each unit adds, beside the whole numbers that it is multiplied by.

    units     for each unit and group: its integers, and n, the number of its rows
    norms     for each unit: N and Q of its rows, and k, the number of its groups; DuckDB by an aggregate that is
              joined, which is faster there than a window; PostgreSQL by windows
    guesses   for each norm the weight as doubles have it; with a total 16·Q + N²/G instead of Q
    weighed   the integers of every unit and group beside the weights of that unit

INVARIANT: a weight w is given only where whole numbers say w·w·Q ≤ B, or with a total the same of 16·Q + N²/G and 16·B. The double is a guess, and so is its
predecessor; where both are too large the weight is 0. Laplace's weights are quotients of whole numbers.
INVARIANT: nothing overflows, whatever a unit has: n is cut to 2^31 - 1 before it is squared, N and Q are cut before
they become BIGINTs, and products of a guess are below 2^63. docs/proofs/clipping.md, docs/proofs/levels.md.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from sqlalchemy import BigInteger, Double, FromClause, Label, Select, case, cast, func, select
from sqlalchemy.sql.elements import KeyedColumnElement

from gateway.engines.sql.partial_select import UNIT, Dialect, Sql
from gateway.engines.sql.per_unit import own_integer
from gateway.engines.sql.pieces import WHOLE as BIGINT
from gateway.engines.sql.pieces import infix
from gateway.sensitivity.clip import MOST_ROWS, TOTAL_PARTS, Clip

ROWS: Final = "n"
"""The column of `units` with the number of rows."""
_MOST_NORM: Final = 2**62
_MOST_PARTS: Final = 2**57  # 16 of these are above every limit


@dataclass(frozen=True)
class WeightedUnits:
    """Integers of units in groups, by name, and the weights of each unit: of its rows, and of itself."""

    source: FromClause
    columns: Mapping[str, KeyedColumnElement[Any]]
    rows: Sql | None
    units: Sql | None


@dataclass(frozen=True)
class _Family:
    """A weight that is wanted: its name, and the columns of norms with N and with what is compared to B."""

    clip: Clip
    name: str
    added: str
    squares: str


_ROWS_ADDED, _ROWS_SQUARES, _GROUPS = "n_rows", "q_rows", "n_groups"
_ROWS_WEIGHT, _UNITS_WEIGHT = "w_rows", "w_units"


def weigh_units(
    dialect: Dialect,
    units: Select[Any],
    names: Sequence[str],
    rows: Clip | None,
    own: Clip | None,
) -> WeightedUnits:
    """`names` are the columns of `units` that are handed on; None: no such weight is wanted."""
    families: list[_Family] = []
    source: FromClause
    if rows is not None:
        families.append(_Family(rows, _ROWS_WEIGHT, _ROWS_ADDED, _ROWS_SQUARES))
    if own is not None:
        families.append(_Family(own, _UNITS_WEIGHT, _GROUPS, _GROUPS))
    if not families:
        there = units.subquery("units")
        return WeightedUnits(there, {name: there.c[name] for name in names}, None, None)
    if dialect == "duckdb":
        made = units.cte("contributions").prefix_with("MATERIALIZED")
        norms = select(made.c[UNIT], *_norms(made, families)).group_by(made.c[UNIT])
        weights = _weights(dialect, norms, [UNIT], families)
        source = made.join(weights, made.c[UNIT] == weights.c[UNIT])
        columns, of = {name: made.c[name] for name in names}, weights
    else:
        there = units.subquery("units")
        by_unit = [
            one.element.over(partition_by=there.c[UNIT]).label(one.name)
            for one in _sums(there, families)
        ]
        summed = select(*(there.c[name] for name in names), *by_unit).subquery("summed")
        kept = [summed.c[name] for name in names]
        beside = select(*kept, *(_cut(summed.c[one.name]).label(one.name) for one in by_unit))
        # with an offset each step is computed once for a row, not once for each of its integers
        of = _weights(dialect, beside.offset(own_integer(0)), names, families)
        source, columns = of, {name: of.c[name] for name in names}
    return WeightedUnits(
        source,
        columns,
        None if rows is None else of.c[_ROWS_WEIGHT],
        None if own is None else of.c[_UNITS_WEIGHT],
    )


def _norms(units: FromClause, families: Sequence[_Family]) -> Iterator[Label[Any]]:
    return (_cut(one.element).label(one.name) for one in _sums(units, families))


def _sums(units: FromClause, families: Sequence[_Family]) -> Iterator[Label[Any]]:
    """N and Q of the rows of a unit, and k."""
    wanted = {one.added for one in families}
    wanted |= {one.squares for one in families if one.clip.squares}
    if _GROUPS in wanted:
        yield func.count().label(_GROUPS)
    if _ROWS_ADDED in wanted:
        yield func.sum(units.c[ROWS]).label(_ROWS_ADDED)
    if _ROWS_SQUARES in wanted:
        few = cast(func.least(units.c[ROWS], own_integer(MOST_ROWS)), BigInteger())
        yield func.sum(infix(few, "*", few, BIGINT)).label(_ROWS_SQUARES)


def _cut(norm: Sql) -> Sql:
    """The same number where it matters, and no larger than a BIGINT holds."""
    return cast(func.least(norm, own_integer(_MOST_NORM)), BigInteger())


def _weights(
    dialect: Dialect, norms: Select[Any], names: Sequence[str], families: Sequence[_Family]
) -> FromClause:
    there = norms.subquery("norms")
    kept = [there.c[name] for name in names]
    needed = dict.fromkeys(one for each in families for one in (each.added, each.squares))
    compared = {
        one.name: joint_norm(dialect, one.clip, there.c[one.added], there.c[one.squares])
        for one in families
        if one.clip.squares
    }
    guesses = [
        guess_weight(one.clip, compared[one.name]).label(f"g_{one.name}")
        for one in families
        if one.clip.squares
    ]
    norms_ = [made.label(f"j_{name}") for name, made in compared.items()]
    measured = [there.c[name] for name in needed if name in there.c]
    guessed = select(*kept, *measured, *norms_, *guesses)
    if dialect == "postgresql":
        guessed = guessed.offset(own_integer(0))
    beside = guessed.subquery("guesses")
    weights = [
        (
            proven_weight(
                one.clip, beside.c[one.added], beside.c[f"j_{one.name}"], beside.c[f"g_{one.name}"]
            )
            if one.clip.squares
            else divided_weight(dialect, one.clip, beside.c[one.added])
        ).label(one.name)
        for one in families
    ]
    made = select(*(beside.c[name] for name in names), *weights)
    if dialect == "postgresql":
        made = made.offset(own_integer(0))
    return made.subquery("weights")


def joint_norm(dialect: Dialect, clip: Clip, added: Sql, squares: Sql) -> Sql:
    """Q, or with a total 16·Q + ⌈N²/G⌉, cut where no weight is left: 16·Q to 2^61, and N² is below 2^62."""
    if not clip.total:
        return squares
    few = cast(func.least(added, own_integer(MOST_ROWS)), BigInteger())
    cells = cast(func.least(squares, own_integer(_MOST_PARTS)), BigInteger())
    divided, groups = "//" if dialect == "duckdb" else "/", own_integer(clip.groups)
    up = infix(infix(few, "*", few, BIGINT), "+", own_integer(clip.groups - 1), BIGINT)
    parts = infix(cells, "*", own_integer(TOTAL_PARTS), BIGINT)
    return _cut(infix(parts, "+", infix(up, divided, groups, BIGINT), BIGINT))


def guess_weight(clip: Clip, squares: Sql) -> Sql:
    """The root of B/Q as doubles have it, from 0 to 2^f; with a total of 16·B and its norm."""
    below: Sql = cast(func.greatest(squares, own_integer(1)), Double())
    root = func.floor(func.sqrt(cast(own_integer(clip.limit), Double()) / below))
    return cast(func.least(root, cast(own_integer(clip.whole), Double())), BigInteger())


def proven_weight(clip: Clip, added: Sql, squares: Sql, guess: Sql) -> Sql:
    """The guess, or the number below it, where whole numbers say that it is small enough; else 0."""
    bound, less = own_integer(clip.limit), infix(guess, "-", own_integer(1), BIGINT)
    return case(
        (added > own_integer(MOST_ROWS), own_integer(0)),
        (_times_squares(guess, squares) <= bound, guess),
        (_times_squares(less, squares) <= bound, less),
        else_=own_integer(0),
    )


def _times_squares(weight: Sql, squares: Sql) -> Sql:
    return infix(infix(weight, "*", weight, BIGINT), "*", squares, BIGINT)


def divided_weight(dialect: Dialect, clip: Clip, added: Sql) -> Sql:
    """isqrt(B) div N, at most 2^f: 0 for more than 2^31 - 1 rows, as isqrt(B) is at most 2^30."""
    divided = "//" if dialect == "duckdb" else "/"
    most = func.greatest(added, own_integer(1), type_=BigInteger())
    whole = infix(cast(own_integer(clip.most), BigInteger()), divided, most, BIGINT)
    return func.least(whole, own_integer(clip.whole), type_=BigInteger())
