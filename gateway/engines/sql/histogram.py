"""A histogram of a bounded release as one SELECT: for each group and bucket how many rows of persons it has.

    persons   every row of persons: unit, canonical keys, and the bucket of its value
    counted   for each group and bucket what its units add: weighted, or cut
    then      the groups that are asked for, and of each all of its buckets in one text

Weighted, where a unit may have several rows or groups:

    cells     for each unit, group and bucket: the number of rows; NULL is a bucket
    units     the same of at most G groups of a unit, where groups are found; beside the first cell of a group n, the
              number of the unit's rows in it, beside the others 0
    weighed   cells beside the weights of their units, of which those with a bucket are summed (`clip_weights.py`)

Cut, where a unit is declared to have one row: a unit of more than R rows in a group keeps there, in the order of their
buckets, the rows at which

    place·R div all > (place - 1)·R div all

that is R rows that lie as evenly among its own as whole numbers allow.

INVARIANT: a cell adds the number of its rows times the weight of its unit, which is that of all rows of the unit in the
release, those without a bucket too. n of a group is beside one cell alone, so N and Q are those of the groups.
INVARIANT: nothing overflows: of whoever weighs anything all weighted rows come to 2^30 at most, and sums over units are
cut to 2^59 in every bucket, so that those of all parts are words of 64 bits.
INVARIANT: what one unit adds to a group are whole numbers ≥ 0; cut they are in sum at most R. Where all ≤ R they are its
rows. Else `place·R div all` rises by 0 or 1 from row to row, from 0 to R. Rows of one bucket are alike, so how many of a
bucket are kept does not depend on how the database orders them. Its groups are the first G by its own order of keys
(`own_order`; DENSE_RANK: as many numbers as keys), so what it adds is a function of its own rows alone.

INVARIANT: groups are left out at the end, of a histogram that is complete: of each that is asked for it has what it
would have were all asked for. Which these are says a list of keys that was released before (gateway/noise/add_noise.py), so
leaving out the others is nothing but not looking at them. Were they left out of the rows, before a unit is weighed, or cut
to G of its groups, it would weigh more, or others of its groups would move up: then what is counted is no longer what the
release counted that goes with it, and what a unit adds would depend on what was shown of others.

NULL is in no bucket. Groups of few units are not dropped here: whether a group has enough of them would depend on single
units, and a histogram that comes and goes with one of them moves by more than declared. They are never asked for, as the
release that goes with it does not show them. Both need not see the same snapshot: each is bounded by itself. With a
`part`, over the persons in it: the counts of parts add up, as each person is in one.
"""

from collections.abc import Mapping, Sequence
from typing import Any, Final

from sqlalchemy import (
    CTE,
    BigInteger,
    Numeric,
    Select,
    Subquery,
    case,
    cast,
    func,
    null,
    or_,
    select,
)

from gateway.bounding.bounded_release import BoundedRelease
from gateway.engines.sql.clip_weights import ROWS as NORM_ROWS
from gateway.engines.sql.clip_weights import weigh_units
from gateway.engines.sql.group_limits import is_shown, own_order
from gateway.engines.sql.partial_select import UNIT, Sql
from gateway.engines.sql.per_unit import own_integer
from gateway.engines.sql.pieces import HUGE, Part, infix
from gateway.engines.sql.pieces import WHOLE as BIGINT
from gateway.engines.sql.relations import Relations
from gateway.engines.sql.release import ReleaseSql
from gateway.plan.node import BrokenPlan
from gateway.plan.relations import StagedRows
from gateway.sensitivity.choices import BinnedRows, Histogram
from gateway.sensitivity.clip import Clip
from gateway.sensitivity.measurement import DistanceOrigin, Total

BUCKET: Final = "b"
ROWS: Final = "n"
_CELL: Final = "c"
_MOST_COUNT: Final = 2**59
"""Of a bucket in a part of the persons: eight parts of so many fit a word."""


def select_histogram(
    release: BoundedRelease,
    histogram: Histogram,
    staged: Mapping[str, StagedRows],
    dressed: ReleaseSql,
    part: Part | None = None,
    *,
    among: bool = True,
) -> Select[Any]:
    """Columns `k1`, `k2`, …, and what is in the buckets of the group; `among`: of the groups that are bound alone.

    That is `n`, the number of each bucket and how many rows it has, one after the other, as one text for a group; where
    values are listed it is `b` and `n`, the value itself and how many rows have it, in a row for each.
    """
    persons = _persons(release, histogram, staged, dressed, part)
    found = _counted(release, persons, dressed).subquery("found")
    keys = [found.c[name] for name in _names(release)]
    if isinstance(histogram, BinnedRows):
        cell = func.concat_ws(" ", found.c[BUCKET], found.c[ROWS])
        made = select(*keys, func.string_agg(cell, " ").label(ROWS)).group_by(*keys)
    else:
        made = select(*keys, found.c[BUCKET], found.c[ROWS])
    return made.where(is_shown(dressed.dialect, found, release.keys)) if among and keys else made


def _names(release: BoundedRelease) -> list[str]:
    return [f"k{place + 1}" for place in range(len(release.keys))]


def _persons(
    release: BoundedRelease,
    histogram: Histogram,
    staged: Mapping[str, StagedRows],
    dressed: ReleaseSql,
    part: Part | None,
) -> CTE:
    relations = Relations(dressed.dialect, dressed.expressing, staged, part)
    rows = relations.of(release.rows)
    expressions = relations.expressions(rows, release.rows)
    named = zip(_names(release), release.keys, strict=True)
    keys = [expressions.key(key).label(name) for name, key in named]
    bucket: Sql
    if isinstance(histogram, BinnedRows):
        buckets = histogram.buckets
        total = Total(histogram.value, buckets.lattice, DistanceOrigin.LOW)
        number = relations.lattice(rows, expressions, total)
        away: Sql = cast(number, BigInteger()) - own_integer(buckets.lattice.low)
        width = own_integer(buckets.width)
        bucket = away if buckets.width == 1 else _divided(dressed, away.self_group(), width)
    else:
        bucket = expressions.key(histogram.value)
    if histogram.where is not None:
        bucket = case((expressions.sql(histogram.where), bucket), else_=null())
    made = rows.select(*keys, rows.owned.label(UNIT), bucket.label(BUCKET)).cte("persons")
    return made.prefix_with("NOT MATERIALIZED")


def _counted(release: BoundedRelease, persons: CTE, dressed: ReleaseSql) -> Select[Any]:
    """For each group and bucket what is counted of every unit."""
    if release.clips is None:
        return _cut(release, persons, dressed) if release.by_unit else _direct(release, persons)
    rows = release.clips.rows
    if release.by_unit:
        return _weighted(release, rows, persons, dressed)
    made = _direct(release, persons).subquery("rows_of")
    kept = [made.c[name] for name in (*_names(release), BUCKET)]
    wide = cast(made.c[ROWS], HUGE if dressed.dialect == "duckdb" else Numeric())
    return select(*kept, _narrow(wide * own_integer(rows.whole)).label(ROWS))


def _direct(release: BoundedRelease, persons: CTE) -> Select[Any]:
    """Where a unit has one row at most every row counts."""
    kept = [persons.c[name] for name in (*_names(release), BUCKET)]
    counted = select(*kept, func.count().label(ROWS))
    return counted.where(persons.c[BUCKET].is_not(None)).group_by(*kept)


def _weighted(
    release: BoundedRelease, clip: Clip, persons: CTE, dressed: ReleaseSql
) -> Select[Any]:
    """What every unit has in a bucket, times its weight."""
    units = _cells(release, persons, dressed)
    names = [*_names(release), BUCKET, _CELL]
    found = weigh_units(dressed.dialect, units, names, clip, None)
    weight, there = found.rows, found.columns
    if weight is None:
        raise BrokenPlan("a histogram with weights that has none")
    shown = [there[name] for name in (*_names(release), BUCKET)]
    summed = func.sum(infix(there[_CELL], "*", weight, BIGINT))
    counted = select(*shown, _narrow(summed).label(ROWS)).select_from(found.source)
    return counted.where(there[BUCKET].is_not(None)).group_by(*shown)


def _cells(release: BoundedRelease, persons: CTE, dressed: ReleaseSql) -> Select[Any]:
    """The rows of every unit in every group and bucket; n is beside the first cell of a group."""
    names, most = _names(release), release.weighted_groups
    mine = [UNIT, *names, BUCKET]
    of_persons = [persons.c[name] for name in mine]
    cells = select(*of_persons, func.count().label(_CELL)).group_by(*of_persons).subquery("cells")
    unit, keys = cells.c[UNIT], [cells.c[name] for name in names]
    group = [unit, *keys]
    first = func.row_number().over(partition_by=group, order_by=cells.c[BUCKET].asc())
    rows = cast(func.sum(cells.c[_CELL]).over(partition_by=group), BigInteger())
    ranks = [first.label("nth"), rows.label("group_rows")]
    if most is not None:
        order = own_order(dressed.salt, unit, keys)
        ranks.append(func.dense_rank().over(partition_by=unit, order_by=order).label("place"))
    ranked = select(*cells.c, *ranks).subquery("ranked")
    added = case((ranked.c.nth == own_integer(1), ranked.c.group_rows), else_=own_integer(0))
    kept = [ranked.c[name] for name in (*mine, _CELL)]
    units = select(*kept, cast(added, BigInteger()).label(NORM_ROWS))
    return units if most is None else units.where(ranked.c.place <= own_integer(most))


def _narrow(many: Sql) -> Sql:
    return cast(func.least(many, own_integer(_MOST_COUNT)), BigInteger())


def _cut(release: BoundedRelease, persons: CTE, dressed: ReleaseSql) -> Select[Any]:
    """For each group and bucket the rows that are kept of every unit."""
    there = persons.c[BUCKET].is_not(None)
    names, most = _names(release), release.groups_per_unit
    keys: list[Sql] = [persons.c[name] for name in names]
    groups: list[Sql] = []
    if most is not None:
        order = own_order(dressed.salt, persons.c[UNIT], keys)
        group = func.dense_rank().over(partition_by=persons.c[UNIT], order_by=order)
        groups.append(group.label("group"))
    ordered = _ordered(persons, keys, groups).where(there).subquery("ordered")
    shown = [ordered.c[name] for name in (*names, BUCKET)]
    counted = select(*shown, func.count().label(ROWS)).where(_kept(release, ordered, dressed))
    if most is not None:
        counted = counted.where(ordered.c.group <= own_integer(most))
    return counted.group_by(*shown)


def _ordered(persons: CTE, groups: Sequence[Sql], more: Sequence[Sql]) -> Select[Any]:
    """Rows with their places among those of their unit in their group."""
    mine = [persons.c[UNIT], *groups]
    bucket = persons.c[BUCKET]
    all_ = func.count().over(partition_by=mine).label("all")
    place = func.row_number().over(partition_by=mine, order_by=bucket.asc()).label("place")
    return select(*groups, bucket, all_, place, *more)


def _kept(release: BoundedRelease, ordered: Subquery, dressed: ReleaseSql) -> Sql:
    """Whether a row is one of R."""
    most, place, all_ = own_integer(release.rows_per_unit), ordered.c.place, ordered.c["all"]
    reached = _divided(dressed, (place * most).self_group(), all_)
    passed = _divided(dressed, ((place - own_integer(1)).self_group() * most).self_group(), all_)
    return or_(all_ <= most, reached > passed)


def _divided(dressed: ReleaseSql, above: Sql, below: Sql) -> Sql:
    whole = "//" if dressed.dialect == "duckdb" else "/"
    made: Sql = above.op(whole, precedence=8, return_type=BigInteger())(below)
    return made.self_group()
