"""A bounded release as one SELECT: for each group its key and whole numbers, no row of a person.

    rows      every row of persons: unit, canonical keys, and what is measured of it
    units     for each unit and group: the integers of every measurement, cut to R rows
    few       at most G groups of each unit
    summed    for each group: sums over its units

INVARIANT: what a unit adds to a group is in one row of `units`, cut by the integer form; ROW_NUMBER, never RANK,
chooses its groups, over an order in which no two keys tie.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from sqlalchemy import (
    BigInteger,
    Integer,
    Label,
    Select,
    Subquery,
    and_,
    case,
    cast,
    func,
    literal_column,
    null,
    nulls_last,
    select,
    union_all,
)

from gateway.bounding.bounded import BoundedRelease
from gateway.engines.capped import RANK, can_be_ranked, capped, rank_keys, with_ranks
from gateway.engines.derived import hashed, integer
from gateway.engines.expressing import Dialect, Expressing, Expressions, Sql
from gateway.engines.related import UNIT, Stored
from gateway.engines.relations import Relations
from gateway.engines.staged import StagedRows
from gateway.plan.scalars import Ref, Scalar
from gateway.sensitivity.measurement import Different, Origin, Quantity, Rows, Total, Units

_ZERO: Sql = literal_column("0")
_ONE: Sql = literal_column("1")


@dataclass(frozen=True)
class Dressed:
    """What renders the release for one dataset; `salt` is the public key of its hashes."""

    dialect: Dialect
    expressing: Expressing
    salt: str


def select_release(
    release: BoundedRelease, staged: Mapping[str, StagedRows], dressed: Dressed
) -> Select[Any]:
    """Columns `k1`, `k2`, … and `m1`, `m2`, …"""
    return _Rendering(release, staged, dressed).select()


class _Rendering:
    def __init__(
        self, release: BoundedRelease, staged: Mapping[str, StagedRows], dressed: Dressed
    ) -> None:
        self._release = release
        self._dressed = dressed
        self._relations = Relations(dressed.dialect, dressed.expressing, staged)
        self._rows = self._relations.of(release.rows)
        self._expressions: Expressions = self._relations.expressions(self._rows, release.rows)
        self._keys = [
            self._expressions.key(key).label(f"k{place + 1}")
            for place, key in enumerate(release.keys)
        ]
        self._names = [key.name for key in self._keys]

    def select(self) -> Select[Any]:
        release, most = self._release, self._release.groups_per_unit
        different = any(isinstance(one.quantity, Different) for one in release.measurements)
        can = can_be_ranked(self._dressed.dialect, self._rows, release.keys)
        if release.by_unit and most is not None and can and not different:
            return self._ranked(most)
        parts = [self._by_unit() if self._release.by_unit else self._direct()]
        parts += [
            self._differences(place, one.quantity)
            for place, one in enumerate(self._release.measurements)
            if isinstance(one.quantity, Different)
        ]
        if len(parts) == 1 and not self._release.by_unit:
            return parts[0]
        many = parts[0] if len(parts) == 1 else union_all(*parts)
        return self._summed(many.subquery("few"))

    def _ranked(self, most: int) -> Select[Any]:
        """The whole release with the ranks of keys in the place of keys, until the end."""
        dialect, unit = self._dressed.dialect, self._rows.owned
        columns: list[Sql] = [literal_column(name) for name in self._names]
        ranks = rank_keys(self._rows, self._keys, self._order(columns))
        pairs = zip(self._key_expressions, self._names, self._release.keys, strict=True)
        source = with_ranks(dialect, self._rows, ranks, list(pairs))
        measured = [
            self._cut(one.quantity).label(f"m{place + 1}")
            for place, one in enumerate(self._release.measurements)
        ]
        rows = replace(self._rows, source=source)
        units = rows.select(ranks.c[RANK], unit.label(UNIT), *measured)
        units = units.group_by(unit, ranks.c[RANK])
        few = capped(dialect, units, [one.name for one in measured], most).subquery("few")
        rank = few.c[RANK]
        sums = [func.sum(few.c[one.name]).label(one.name) for one in measured]
        summed = select(rank, *sums).group_by(rank)
        if self._release.least_units is not None:
            summed = summed.having(func.count() >= integer(self._release.least_units))
        made = summed.subquery("summed")
        both = made.join(ranks, made.c[RANK] == ranks.c[RANK])
        keys = [ranks.c[name] for name in self._names]
        return select(*keys, *(made.c[one.name] for one in measured)).select_from(both)

    def _summed(self, few: Subquery) -> Select[Any]:
        keys = [few.c[name] for name in self._names]
        measured = [
            func.coalesce(func.sum(few.c[f"m{place + 1}"]), _ZERO).label(f"m{place + 1}")
            for place in range(len(self._release.measurements))
        ]
        summed = select(*keys, *measured).group_by(*keys)
        if self._release.least_units is not None:
            summed = summed.having(func.sum(few.c[UNIT]) >= integer(self._release.least_units))
        return summed

    def _by_unit(self) -> Select[Any]:
        """One row for each unit and each of its groups, with 1 as its own count."""
        unit = self._rows.owned
        measured = [
            self._cut(one.quantity).label(f"m{place + 1}")
            for place, one in enumerate(self._release.measurements)
        ]
        units = self._rows.select(*self._keys, unit.label(UNIT), *measured)
        units = units.group_by(unit, *self._key_expressions)
        most = self._release.groups_per_unit
        made: Subquery = units.subquery("units")
        names = [*self._names, *(one.name for one in measured)]
        if most is None:
            return select(*(made.c[name] for name in names), _ONE.label(UNIT))
        place = func.row_number().over(
            partition_by=made.c[UNIT], order_by=self._order([made.c[one] for one in self._names])
        )
        ranked = select(*(made.c[name] for name in names), place.label("place")).subquery("ranked")
        kept = select(*(ranked.c[name] for name in names), _ONE.label(UNIT))
        return kept.where(ranked.c.place <= integer(most))

    @property
    def _key_expressions(self) -> list[Sql]:
        return [key.element for key in self._keys]

    def _order(self, keys: Sequence[Sql]) -> list[Sql]:
        """A hash of the key, then the key itself: no two keys tie."""
        return [hashed(self._dressed.salt, list(keys)), *(nulls_last(one.asc()) for one in keys)]

    def _direct(self) -> Select[Any]:
        """Where a unit has one row at most there is nothing to cut."""
        measured = [
            self._whole(one.quantity).label(f"m{place + 1}")
            for place, one in enumerate(self._release.measurements)
        ]
        alone = not any(isinstance(one.quantity, Different) for one in self._release.measurements)
        if alone and self._release.keys and all(map(self._stored, self._release.keys)):
            return self._clamped_afterwards(measured)
        count = [] if alone else [func.count().label(UNIT)]
        summed = self._rows.select(*self._keys, *measured, *count)
        summed = summed.group_by(*self._key_expressions)
        if alone and self._release.least_units is not None:
            summed = summed.having(func.count() >= integer(self._release.least_units))
        return summed

    def _stored(self, key: Scalar) -> Stored | None:
        return self._rows.stored.get(key.field.id) if isinstance(key, Ref) else None

    def _clamped_afterwards(self, measured: list[Label[Any]]) -> Select[Any]:
        """Grouped by whole numbers as they are stored, then by their clamps: once for a key, not for a row."""
        keys = [found for one in self._release.keys if (found := self._stored(one)) is not None]
        items = [one.sql.label(name) for one, name in zip(keys, self._names, strict=True)]
        finer = self._rows.select(*items, *measured, func.count().label(UNIT))
        there = finer.group_by(*(one.sql for one in keys)).subquery("finer")
        clamped = [
            one.clamped(there.c[name]).label(name)
            for one, name in zip(keys, self._names, strict=True)
        ]
        sums = [func.sum(there.c[one.name]).label(one.name) for one in measured]
        summed = select(*clamped, *sums).group_by(*(one.element for one in clamped))
        if self._release.least_units is not None:
            summed = summed.having(func.sum(there.c[UNIT]) >= integer(self._release.least_units))
        return summed

    def _whole(self, quantity: Quantity) -> Sql:
        match quantity:
            case Total():
                return func.coalesce(func.sum(self._moved(quantity)), _ZERO)
            case Different():
                return _ZERO
            case Rows() | Units():
                return self._count(quantity)

    def _cut(self, quantity: Quantity) -> Sql:
        """What the rows of one unit in one group come to, cut to R rows."""
        most = integer(self._release.rows_per_unit)
        match quantity:
            case Units(where=None):
                return _ONE
            case Units():
                return func.least(self._count(quantity), _ONE)
            case Rows():
                return func.least(self._count(quantity), most)
            case Different():
                return _ZERO
            case Total():
                moved = self._moved(quantity)
                # counts more than the distances only where a column that cannot be NULL is: |s| <= n·d holds
                every = quantity.where is None and not quantity.value.nullable
                n = func.count() if every else func.count(moved)
                return self._shortened(cast(func.sum(moved), BigInteger()), n, most)

    def _shortened(self, s: Sql, n: Sql, most: Sql) -> Sql:
        whole = "//" if self._dressed.dialect == "duckdb" else "/"
        size = func.abs(s, type_=BigInteger())

        def divided(one: Sql) -> Sql:
            made: Sql = one.op(whole, precedence=8, return_type=BigInteger())(n)
            return made

        rest = (size % n).self_group() * most
        short = divided(size).self_group() * most + divided(rest.self_group()).self_group()
        sign = case((s < _ZERO, literal_column("-1")), else_=_ONE)
        return case((n > most, sign * short.self_group()), else_=func.coalesce(s, _ZERO))

    def _moved(self, total: Total) -> Sql:
        """How far a row's whole number is from the origin, NULL where it does not count.

        Below 2^31 in size, so it is an INTEGER, and a sum of 2^32 of them is a BIGINT in both databases.
        """
        number = self._relations.lattice(self._rows, self._expressions, total)
        distance = cast(_distance(total, number), Integer())
        return self._only(total.where, distance)

    def _count(self, quantity: Rows | Units) -> Sql:
        conditions = [] if quantity.where is None else [self._expressions.sql(quantity.where)]
        if isinstance(quantity, Rows):
            conditions += [self._expressions.sql(one).is_not(None) for one in quantity.present]
        if not conditions:
            return func.count()
        return func.count(case((and_(*conditions), _ONE), else_=null()))

    def _only(self, where: Scalar | None, value: Sql) -> Sql:
        if where is None:
            return value
        return case((self._expressions.sql(where), value), else_=null())

    def _differences(self, place: int, different: Different) -> Select[Any]:
        """How many values each group has, of at most R of a unit in it; the other measurements are 0."""
        unit = self._rows.owned
        value = self._only(different.where, self._expressions.key(different.value))
        rows = self._rows.select(*self._keys, unit.label(UNIT), value.label("v")).distinct()
        made = rows.subquery(f"values{place + 1}")
        keys = [made.c[name] for name in self._names]
        mine = [made.c[UNIT], *keys]
        nth = func.row_number().over(
            partition_by=mine,
            order_by=[nulls_last(made.c.v.is_(None).asc()), *self._order([made.c.v])],
        )
        ranks = [nth.label("nth")]
        most = self._release.groups_per_unit
        if most is not None:
            # of keys in full: as many numbers as keys, whatever rows there are of each
            group = func.dense_rank().over(partition_by=made.c[UNIT], order_by=self._order(keys))
            ranks.append(group.label("place"))
        ranked = select(*keys, made.c.v, *ranks).subquery(f"ranked{place + 1}")
        kept = [ranked.c.nth <= integer(self._release.rows_per_unit), ranked.c.v.is_not(None)]
        if most is not None:
            kept.append(ranked.c.place <= integer(most))
        there = [ranked.c[name] for name in self._names]
        measured = [
            (func.count(ranked.c.v.distinct()) if at == place else _ZERO).label(f"m{at + 1}")
            for at in range(len(self._release.measurements))
        ]
        counted = select(*there, *measured, _ZERO.label(UNIT)).where(*kept)
        return counted.group_by(*there)


def _distance(total: Total, number: Sql) -> Sql:
    lattice = total.lattice
    match total.origin:
        case Origin.MIDDLE:
            return number - integer(lattice.middle)
        case Origin.LOW:
            return number - integer(lattice.low)
        case Origin.HIGH:
            return integer(lattice.high) - number
