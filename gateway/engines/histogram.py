"""A histogram of a bounded release as one SELECT: for each group and bucket how many rows of persons it has.

    rows      every row of persons that counts: unit, canonical keys, and the bucket of its value
    units     for each unit, group and bucket: n rows, up to it `upto`, and `total` in all buckets of the group
    few       at most G groups of each unit, its rows cut to R in each
    counted   for each group and bucket: sums over its units

A unit of more than R rows in a group counts in its buckets, in their order, with

    upto·R div total - (upto - n)·R div total

rows: as R rows that lie as evenly among its own as whole numbers allow.

INVARIANT: what one unit adds to a group are whole numbers ≥ 0, in sum at most R. Where total ≤ R they are its rows.
Else `upto` rises from bucket to bucket, so no difference is negative, and from 0 to total, so all differences together
come to total·R div total = R. Its groups are the first G by a fixed order of keys in full (DENSE_RANK: as many numbers
as keys), so what it adds is a function of its own rows alone, whatever others have.

NULL is in no bucket. Groups of few units are not dropped here: whether a group has enough of them would depend on single
units, and a histogram that comes and goes with one of them moves by more than R. They are never drawn for, as the
release that goes with it does not show them. Both need not see the same snapshot: each is bounded by itself.
"""

from collections.abc import Mapping, Sequence
from typing import Any

from sqlalchemy import (
    BigInteger,
    Row,
    Select,
    Subquery,
    case,
    cast,
    func,
    null,
    nulls_last,
    select,
)

from gateway.bounding.bounded import BoundedRelease
from gateway.catalog.values import Value
from gateway.engines.derived import hashed, integer
from gateway.engines.expressing import Sql
from gateway.engines.reading_values import value_of
from gateway.engines.related import UNIT
from gateway.engines.relations import Relations
from gateway.engines.release import Dressed
from gateway.engines.staged import StagedRows
from gateway.exact import ExactHistogram
from gateway.plan.node import BrokenPlan
from gateway.sensitivity.choices import Binned, Histogram
from gateway.sensitivity.measurement import Origin, Total

BUCKET = "b"
ROWS = "n"


def select_histogram(
    release: BoundedRelease,
    histogram: Histogram,
    staged: Mapping[str, StagedRows],
    dressed: Dressed,
) -> Select[Any]:
    """Columns `k1`, `k2`, …, `b` and `n`: the bucket's number, or the value itself where values are listed."""
    rows = _rows(release, histogram, staged, dressed)
    names = [f"k{place + 1}" for place in range(len(release.keys))]
    keys = [rows.c[name] for name in names]
    there = rows.c[BUCKET].is_not(None)
    if not release.by_unit:  # a unit has one row at most, and R is 1
        found = select(*keys, rows.c[BUCKET], func.count().label(ROWS)).where(there)
        return found.group_by(*keys, rows.c[BUCKET])
    mine = [*keys, rows.c[UNIT], rows.c[BUCKET]]
    units = select(*mine, func.count().label(ROWS)).where(there).group_by(*mine).subquery("units")
    few = _cut(release, units, names, dressed).subquery("few")
    shown = [few.c[name] for name in (*names, BUCKET)]
    counted = select(*shown, func.sum(few.c[ROWS]).label(ROWS))
    if release.groups_per_unit is not None:
        counted = counted.where(few.c.place <= integer(release.groups_per_unit))
    return counted.group_by(*shown)


def histogram_of(
    release: BoundedRelease, histogram: Histogram, rows: Sequence[Row[Any]]
) -> ExactHistogram:
    """What the rows of such a SELECT say. Values that are not listed are dropped: domains leave none."""
    kinds = [key.type for key in release.keys]
    places = (
        None
        if isinstance(histogram, Binned)
        else {value: place for place, value in enumerate(histogram.values)}
    )
    counts: dict[tuple[Value | None, ...], tuple[list[int], list[int]]] = {}
    for row in rows:
        *key, bucket, many = tuple(row)
        if places is None:
            place = int(bucket)
            if not 0 <= place < histogram.candidates:
                raise BrokenPlan("a bucket that is none of them")
        else:
            value = value_of(bucket, histogram.value.type)
            if value is None or value not in places:
                continue
            place = places[value]
        group = tuple(value_of(one, kind) for one, kind in zip(key, kinds, strict=True))
        mine = counts.setdefault(group, ([], []))
        mine[0].append(place)
        mine[1].append(int(many))
    return ExactHistogram(counts)


def _rows(
    release: BoundedRelease,
    histogram: Histogram,
    staged: Mapping[str, StagedRows],
    dressed: Dressed,
) -> Subquery:
    relations = Relations(dressed.dialect, dressed.expressing, staged)
    rows = relations.of(release.rows)
    expressions = relations.expressions(rows, release.rows)
    keys = [expressions.key(key).label(f"k{place + 1}") for place, key in enumerate(release.keys)]
    bucket: Sql
    if isinstance(histogram, Binned):
        buckets = histogram.buckets
        total = Total(histogram.value, buckets.lattice, Origin.LOW)
        number = relations.lattice(rows, expressions, total)
        away: Sql = cast(number, BigInteger()) - integer(buckets.lattice.low)
        width = integer(buckets.width)
        bucket = away if buckets.width == 1 else _divided(dressed, away.self_group(), width)
    else:
        bucket = expressions.key(histogram.value)
    if histogram.where is not None:
        bucket = case((expressions.sql(histogram.where), bucket), else_=null())
    return rows.select(*keys, rows.owned.label(UNIT), bucket.label(BUCKET)).subquery("persons")


def _cut(
    release: BoundedRelease, units: Subquery, names: Sequence[str], dressed: Dressed
) -> Select[Any]:
    """Each unit's rows by group and bucket, cut to R; `place` is the number of the group among its own."""
    keys = [units.c[name] for name in names]
    n, most = units.c[ROWS], integer(release.rows_per_unit)
    mine = [units.c[UNIT], *keys]
    all_ = cast(func.sum(n).over(partition_by=mine), BigInteger())
    upto = cast(
        func.sum(n).over(
            partition_by=mine, order_by=nulls_last(units.c[BUCKET].asc()), rows=(None, 0)
        ),
        BigInteger(),
    )
    items: list[Sql] = [*keys, units.c[BUCKET], n, all_.label("total"), upto.label("upto")]
    if release.groups_per_unit is not None:
        order = [hashed(dressed.salt, list(keys)), *(nulls_last(one.asc()) for one in keys)]
        group = func.dense_rank().over(partition_by=units.c[UNIT], order_by=order)
        items.append(group.label("place"))
    made = select(*items).subquery("ordered")
    reached = _divided(dressed, (made.c.upto * most).self_group(), made.c.total)
    before = (made.c.upto - made.c[ROWS]).self_group()
    passed = _divided(dressed, (before * most).self_group(), made.c.total)
    cut = case((made.c.total > most, reached - passed), else_=made.c[ROWS])
    shown = [made.c[name] for name in (*names, BUCKET)]
    place = [] if release.groups_per_unit is None else [made.c.place]
    return select(*shown, cut.label(ROWS), *place)


def _divided(dressed: Dressed, above: Sql, below: Sql) -> Sql:
    whole = "//" if dressed.dialect == "duckdb" else "/"
    made: Sql = above.op(whole, precedence=8, return_type=BigInteger())(below)
    return made.self_group()
