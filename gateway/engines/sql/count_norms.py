"""A histogram of norms as one SELECT: how many units each bucket has, and how their rows spread over groups.

    contributions  for each unit and group: n, the number of its rows; it is asked for, not made here
    norms          for each unit: N and Q, cut to what a BIGINT holds
    placed         for each unit: the bucket of Q and that of N²
    counted        for each bucket that has a unit: the units, and the spreads of all of them

`gateway/sensitivity/norm_buckets.py` says what a unit adds. Buckets without units have no row here.

INVARIANT: a bucket is found by comparing whole numbers with constants, so it is the same on every database. Nothing
overflows, whatever a unit has: n is cut to 2^31 - 1 before it is squared, N and Q are cut to 2^62 before they become BIGINTs,
and a number of units times 256 fits a BIGINT. docs/proofs/clip_choice.md.
INVARIANT: what a unit adds depends on its own rows alone, so the histograms of parts of the units add up.
"""

from math import isqrt
from typing import Any, Final

from sqlalchemy import BigInteger, FromClause, Select, case, cast, func, select

from gateway.engines.sql.clip_weights import ROWS
from gateway.engines.sql.partial_select import UNIT, Dialect, Sql
from gateway.engines.sql.per_unit import own_integer
from gateway.engines.sql.pieces import WHOLE as BIGINT
from gateway.engines.sql.pieces import infix
from gateway.plan.node import BrokenPlan
from gateway.sensitivity.clip import MOST_ROWS
from gateway.sensitivity.measurement import Norms, Quantity
from gateway.sensitivity.norm_buckets import BUCKETS, MOST_SPREAD
from gateway.sensitivity.norm_buckets import UNIT as WHOLE_UNIT

BUCKET: Final = "b"
UNITS: Final = "units"
SPREADS: Final = "spreads"
_MOST_NORM: Final = 2 ** (BUCKETS - 1)


def count_norms(dialect: Dialect, contributions: Select[Any], *, squares: bool) -> Select[Any]:
    """Columns `b`, `units` and, where noise is Gaussian (`squares`), `spreads`; units are counted by N² without it."""
    there = contributions.subquery("contributions")
    few = cast(func.least(there.c[ROWS], own_integer(MOST_ROWS)), BigInteger())
    summed = [_cut(func.sum(there.c[ROWS])).label("added")]
    if squares:
        summed.append(_cut(func.sum(infix(few, "*", few, BIGINT))).label("squares"))
    norms = select(*summed).group_by(there.c[UNIT]).subquery("norms")
    added = _bucket(norms.c.added, root=True).label("added")
    if not squares:
        placed = select(added).subquery("placed")
        counted = select(placed.c.added.label(BUCKET), func.count().label(UNITS))
        return counted.group_by(placed.c.added)
    placed = select(added, _bucket(norms.c.squares, root=False).label(BUCKET)).subquery("placed")
    bucket = placed.c[BUCKET]
    counted = select(
        bucket,
        infix(func.count(), "*", own_integer(WHOLE_UNIT), BIGINT).label(UNITS),
        func.sum(_spread(dialect, bucket, placed.c.added)).label(SPREADS),
    )
    return counted.group_by(bucket)


def norm_sum(counted: FromClause, wanted: Quantity) -> Sql:
    """What one bucket has, out of the rows of `count_norms`; 0 where it has no unit."""
    if not isinstance(wanted, Norms):
        raise BrokenPlan("a histogram of norms with something else in it")
    of = counted.c[SPREADS if wanted.spread else UNITS]
    mine = case((counted.c[BUCKET] == own_integer(wanted.bucket), of), else_=own_integer(0))
    return func.coalesce(func.sum(mine), own_integer(0))


def _cut(norm: Sql) -> Sql:
    """The same number, or the end of the last bucket."""
    return cast(func.least(norm, own_integer(_MOST_NORM)), BigInteger())


def _bucket(norm: Sql, *, root: bool) -> Sql:
    """The number b of bits with norm ≤ 2^b; with `root`, with norm² ≤ 2^b."""
    ends = [isqrt(2**bits) if root else 2**bits for bits in range(BUCKETS - 1)]
    steps = [(norm <= own_integer(end), own_integer(bits)) for bits, end in enumerate(ends)]
    return case(*steps, else_=own_integer(BUCKETS - 1))


def _spread(dialect: Dialect, bucket: Sql, added: Sql) -> Sql:
    """How the rows of a unit spread over its groups."""
    divided = "//" if dialect == "duckdb" else "/"
    more = infix(own_integer(WHOLE_UNIT), "*", infix(added, "-", bucket, BIGINT), BIGINT)
    whole = infix(more, divided, func.greatest(bucket, own_integer(1)), BIGINT)
    return infix(whole, "-", own_integer(MOST_SPREAD), BIGINT)
