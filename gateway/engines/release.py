"""A bounded release as one SELECT: for each group its key and whole numbers, no row of a person.

    rows      every row of persons: unit, canonical keys, and what is measured of it
    units     for each unit and group: the integers of every measurement, cut to R rows
    few       at most G groups of each unit; or all of them, multiplied by the weight of their number
    summed    for each group: sums over its units

INVARIANT: what a unit adds to a group is in one row of `units`, cut by the integer form; ROW_NUMBER, never RANK,
chooses its groups, over an order in which no two keys tie. Weights count the rows of `units`, so all groups that a
unit has in the source, listed or not.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final, TypeVar

from sqlalchemy import (
    BigInteger,
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
from gateway.bounding.replacing import of_quantity
from gateway.engines.capped import RANK, can_be_ranked, capped, rank_keys, with_ranks
from gateway.engines.derived import hashed, integer
from gateway.engines.expressing import Dialect, Expressing, Expressions, Sql
from gateway.engines.parted import Part
from gateway.engines.related import UNIT, Stored
from gateway.engines.relations import Relations
from gateway.engines.shortened import shortened
from gateway.engines.staged import StagedRows
from gateway.engines.terms import Summed, term
from gateway.engines.weighed import times_whole, weighed
from gateway.plan.node import BrokenPlan
from gateway.plan.scalars import Ref, Scalar
from gateway.sensitivity.measurement import (
    Different,
    Origin,
    Products,
    Quantity,
    Rows,
    Squares,
    Total,
    Units,
)
from gateway.sensitivity.weights import Weights

_ZERO: Sql = literal_column("0")
_ONE: Sql = literal_column("1")
# who has more rows than that in a group is one of few: a database groups them without sorting
_FEW_ROWS: Final = 64
_Summed = TypeVar("_Summed", bound=Quantity)


@dataclass(frozen=True)
class Dressed:
    """What renders the release for one dataset; `salt` is the public key of its hashes."""

    dialect: Dialect
    expressing: Expressing
    salt: str


def can_be_parted(release: BoundedRelease) -> bool:
    """Whether the integers of parts add up: all of them but counts of different values do."""
    return not any(isinstance(one.quantity, Different) for one in release.measurements)


def select_release(
    release: BoundedRelease,
    staged: Mapping[str, StagedRows],
    dressed: Dressed,
    part: Part | None = None,
) -> Select[Any]:
    """Columns `k1`, `k2`, … and `m1`, `m2`, …

    With a `part`, over the persons in it: the integers of a group are to be added over all parts. Groups of too few
    units are then not dropped here, where not all units are seen: a last column `u` counts those that are, and
    whoever adds drops groups whose `u` is below `least_units`. Releases that are not thresholded have no `u`.
    """
    if part is not None and not can_be_parted(release):
        raise BrokenPlan("a part of what does not add up")
    return _Rendering(release, staged, dressed, part).select()


class _Rendering:
    def __init__(
        self,
        release: BoundedRelease,
        staged: Mapping[str, StagedRows],
        dressed: Dressed,
        part: Part | None,
    ) -> None:
        self._release = release
        self._dressed = dressed
        self._part = part
        # what rows give to measurements, where that was computed below
        self._given: dict[Quantity, Sql] = {}
        # the one place where rows are left to other parts is the scan of a table of persons
        self._relations = Relations(dressed.dialect, dressed.expressing, staged, part)
        self._rows = self._relations.of(release.rows)
        self._expressions: Expressions = self._relations.expressions(self._rows, release.rows)
        self._keys = [
            self._expressions.key(key).label(f"k{place + 1}")
            for place, key in enumerate(release.keys)
        ]
        self._names = [key.name for key in self._keys]

    def select(self) -> Select[Any]:
        weights = self._release.weights
        if weights is None:
            return self._plain()
        if self._release.groups_per_unit is None:
            return self._whole_weight(weights)
        return self._weighted(weights)

    def _plain(self) -> Select[Any]:
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

    def _whole_weight(self, weights: Weights) -> Select[Any]:
        """Where no unit is in too many groups all weigh the same: sums are multiplied, not what is summed."""
        made, dialect = self._plain().subquery("summed"), self._dressed.dialect
        keys = [made.c[name] for name in self._names]
        sums = [
            times_whole(dialect, made.c[name], weights).label(name) for name in self._measured_names
        ]
        return select(*keys, *sums)

    def _weighted(self, weights: Weights) -> Select[Any]:
        """All groups of a unit, each by the weight of their number."""
        names = [*self._names, *self._measured_names]
        dialect, few = self._dressed.dialect, self._release.rows_per_unit <= _FEW_ROWS
        units = self._units_in_order() if few and dialect == "postgresql" else self._units()
        found = weighed(dialect, units, names, weights)
        keys = [found.columns[name] for name in self._names]
        sums = [
            func.sum(found.columns[name] * found.weight).label(name)
            for name in self._measured_names
        ]
        return select(*keys, *sums).select_from(found.source).group_by(*keys)

    @property
    def _measured_names(self) -> list[str]:
        return [f"m{place + 1}" for place in range(len(self._release.measurements))]

    def _ranked(self, most: int) -> Select[Any]:
        """The whole release with the ranks of keys in the place of keys, until the end."""
        dialect, unit = self._dressed.dialect, self._rows.owned
        columns: list[Sql] = [literal_column(name) for name in self._names]
        ranks = rank_keys(self._rows, self._keys, self._order(columns))
        pairs = zip(self._key_expressions, self._names, self._release.keys, strict=True)
        source = with_ranks(dialect, self._rows, ranks, list(pairs))
        measured = self._cuts()
        rows = replace(self._rows, source=source)
        units = rows.select(ranks.c[RANK], unit.label(UNIT), *measured)
        units = units.group_by(unit, ranks.c[RANK])
        few = capped(dialect, units, [one.name for one in measured], most).subquery("few")
        rank = few.c[RANK]
        sums = [func.sum(few.c[one.name]).label(one.name) for one in measured]
        summed = self._with_enough(select(rank, *sums).group_by(rank), func.count())
        made = summed.subquery("summed")
        both = made.join(ranks, made.c[RANK] == ranks.c[RANK])
        keys = [ranks.c[name] for name in self._names]
        rest = [one for one in made.c if one.name != RANK]
        return select(*keys, *rest).select_from(both)

    def _with_enough(self, summed: Select[Any], units: Sql) -> Select[Any]:
        """Without the groups of too few units; of a part, with how many units of it each has."""
        least = self._release.least_units
        if least is None:
            return summed
        if self._part is not None:
            return summed.add_columns(units.label(UNIT))
        return summed.having(units >= integer(least))

    def _summed(self, few: Subquery) -> Select[Any]:
        keys = [few.c[name] for name in self._names]
        measured = [
            func.coalesce(func.sum(few.c[f"m{place + 1}"]), _ZERO).label(f"m{place + 1}")
            for place in range(len(self._release.measurements))
        ]
        return self._with_enough(select(*keys, *measured).group_by(*keys), func.sum(few.c[UNIT]))

    def _by_unit(self) -> Select[Any]:
        """One row for each unit and each of its groups, with 1 as its own count."""
        most = self._release.groups_per_unit
        made: Subquery = self._units().subquery("units")
        names = [one.name for one in made.c if one.name != UNIT]
        if most is None:
            return select(*(made.c[name] for name in names), _ONE.label(UNIT))
        place = func.row_number().over(
            partition_by=made.c[UNIT], order_by=self._order([made.c[one] for one in self._names])
        )
        ranked = select(*(made.c[name] for name in names), place.label("place")).subquery("ranked")
        kept = select(*(ranked.c[name] for name in names), _ONE.label(UNIT))
        return kept.where(ranked.c.place <= integer(most))

    def _units(self) -> Select[Any]:
        """The integers of each unit in each of its groups, cut to R rows."""
        unit = self._rows.owned
        measured = self._cuts()
        units = self._rows.select(*self._keys, unit.label(UNIT), *measured)
        return units.group_by(unit, *self._key_expressions)

    def _units_in_order(self) -> Select[Any]:
        """The same over sorted rows: PostgreSQL would hash, spill, and sort for its window afterwards."""
        unit, of_rows = self._rows.owned, dict[Quantity, Sql]()
        for quantity in (_from_low(one.quantity) for one in self._release.measurements):
            if (of_row := self._of_row(quantity)) is not None:
                of_rows[quantity] = of_row
        inputs = [one.label(f"d{place + 1}") for place, one in enumerate(of_rows.values())]
        rows = self._rows.select(*self._keys, unit.label(UNIT), *inputs)
        # with an offset it stays a subquery of its own, whatever the planner thinks of it
        ordered = rows.order_by(unit, *self._key_expressions).offset(_ZERO).subquery("in_order")
        self._given = {
            quantity: ordered.c[one.name] for quantity, one in zip(of_rows, inputs, strict=True)
        }
        measured = self._cuts()
        mine = [ordered.c[UNIT], *(ordered.c[name] for name in self._names)]
        return select(*mine, *measured).group_by(*mine)

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
        return self._with_enough(summed, func.count()) if alone else summed

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
        return self._with_enough(summed, func.sum(there.c[UNIT]))

    def _whole(self, quantity: Quantity) -> Sql:
        match quantity:
            case Total() | Squares() | Products():
                return func.coalesce(func.sum(self._moved(quantity)), _ZERO)
            case Different():
                return _ZERO
            case Rows() | Units():
                return self._count(quantity)

    def _cuts(self) -> list[Label[Any]]:
        many = zip(self._measured_names, self._release.measurements, strict=True)
        return [self._cut(one.quantity).label(name) for name, one in many]

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
            case Total() | Squares() | Products():
                moved = self._moved(_from_low(quantity))
                # counts more than the distances only where a column that cannot be NULL is: |s| <= n·d holds
                every = quantity.where is None and not any(
                    one.nullable for one in of_quantity(quantity)
                )
                n = func.count() if every else func.count(moved)
                s = self._distances(quantity, n)
                return shortened(self._dressed.dialect, s, n, most)

    def _distances(self, summed: Summed, n: Sql) -> Sql:
        """The sum of what n rows add. Distances from both ends of a domain come from one sum."""
        added: Sql = cast(func.sum(self._moved(_from_low(summed))), BigInteger())
        if isinstance(summed, Total) and summed.origin is Origin.HIGH:
            return n * integer(summed.lattice.width) - added
        return added

    def _moved(self, summed: Summed) -> Sql:
        """What a row adds, NULL where it does not count."""
        if summed in self._given:
            return self._given[summed]
        added = term(self._dressed.dialect, summed, self._whole_number)
        return self._only(summed.where, added)

    def _whole_number(self, total: Total) -> Sql:
        return self._relations.lattice(self._rows, self._expressions, total)

    def _count(self, quantity: Rows | Units) -> Sql:
        of_row = self._one_where(quantity)
        return func.count() if of_row is None else func.count(of_row)

    def _one_where(self, quantity: Rows | Units) -> Sql | None:
        """1 for a row that counts, else NULL; None where every row does."""
        if quantity in self._given:
            return self._given[quantity]
        conditions = [] if quantity.where is None else [self._expressions.sql(quantity.where)]
        if isinstance(quantity, Rows):
            conditions += [self._expressions.sql(one).is_not(None) for one in quantity.present]
        return case((and_(*conditions), _ONE), else_=null()) if conditions else None

    def _of_row(self, quantity: Quantity) -> Sql | None:
        match quantity:
            case Total() | Squares() | Products():
                return self._moved(quantity)
            case Rows() | Units():
                return self._one_where(quantity)
            case Different():
                return None

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


def _from_low(quantity: _Summed) -> _Summed:
    """Where a sum from the upper end is asked, the one it is computed from."""
    if isinstance(quantity, Total) and quantity.origin is Origin.HIGH:
        return replace(quantity, origin=Origin.LOW)
    return quantity
