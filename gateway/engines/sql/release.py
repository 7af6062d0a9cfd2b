"""A bounded release as one SELECT: for each group its key and whole numbers, no row of a person.

    rows      every row of persons: unit, canonical keys, and what is measured of it
    units     for each unit and group: the integers of every measurement, and how many rows it has
    few       at most G groups of each unit, where groups are found in the data
    weighed   what each unit adds, beside its weights (`clip_weights.py`)
    summed    for each group: sums over its units

Where a unit is declared to have one row it has no weight: it is cut to R rows by the integer form, and to G groups.

INVARIANT: what a unit adds to a group is in one row of `units`, and it is weighted or cut there; ROW_NUMBER, never RANK,
chooses its groups, over an order in which no two keys tie. Norms are of the rows of `units`, after that choice: so of all
groups that a unit has in the source, listed or not, under the keys as they are grouped.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from sqlalchemy import (
    Label,
    Numeric,
    Select,
    Subquery,
    cast,
    func,
    nulls_last,
    select,
    union_all,
)

from gateway.bounding.bounded_release import BoundedRelease
from gateway.engines.sql.clip_weights import ROWS, weigh_units
from gateway.engines.sql.contributions import ONE, ZERO, ContributionSql
from gateway.engines.sql.count_norms import count_norms, norm_sum
from gateway.engines.sql.group_limits import cap_groups, own_order
from gateway.engines.sql.partial_select import (
    UNIT,
    Dialect,
    Expressing,
    Expressions,
    Sql,
    StoredColumns,
)
from gateway.engines.sql.per_unit import own_integer
from gateway.engines.sql.pieces import HUGE, Part
from gateway.engines.sql.relations import Relations
from gateway.plan.node import BrokenPlan
from gateway.plan.relations import StagedRows
from gateway.plan.scalars import Ref, Scalar
from gateway.sensitivity.clip import Clips
from gateway.sensitivity.measurement import Different, Measurement, Norms, Units

# who has more rows than that in a group is one of few: a database groups them without sorting
_FEW_ROWS: Final = 64


@dataclass(frozen=True)
class ReleaseSql:
    """What renders the release for one dataset; `salt` is the public key of its hashes."""

    dialect: Dialect
    expressing: Expressing
    salt: str


def can_be_sharded(release: BoundedRelease) -> bool:
    """Whether the integers of parts add up: all of them but counts of different values do."""
    return not any(isinstance(one.quantity, Different) for one in release.measurements)


def select_release(
    release: BoundedRelease,
    staged: Mapping[str, StagedRows],
    dressed: ReleaseSql,
    part: Part | None = None,
) -> Select[Any]:
    """Columns `k1`, `k2`, … and `m1`, `m2`, …

    With a `part`, over the persons in it: the integers of a group are to be added over all parts. Groups of too few
    units are then not dropped here, where not all units are seen: a last column `u` counts those that are, and
    whoever adds drops groups whose `u` is below `least_units`. Releases that are not thresholded have no `u`.
    """
    if part is not None and not can_be_sharded(release):
        raise BrokenPlan("a part of what does not add up")
    return _Rendering(release, staged, dressed, part).select()


class _Rendering:
    def __init__(
        self,
        release: BoundedRelease,
        staged: Mapping[str, StagedRows],
        dressed: ReleaseSql,
        part: Part | None,
    ) -> None:
        self._release = release
        self._dressed = dressed
        self._part = part
        # the one place where rows are left to other parts is the scan of a table of persons
        self._relations = Relations(dressed.dialect, dressed.expressing, staged, part)
        self._rows = self._relations.of(release.rows)
        self._expressions: Expressions = self._relations.expressions(self._rows, release.rows)
        self._measured = ContributionSql(release, self._relations, self._rows, self._expressions)
        self._keys = [
            self._expressions.key(key).label(f"k{place + 1}")
            for place, key in enumerate(release.keys)
        ]
        self._names = [key.name for key in self._keys]

    def select(self) -> Select[Any]:
        norms = [one.quantity for one in self._release.measurements]
        if norms and isinstance(norms[0], Norms):
            return self._norms(norms[0].keys)
        clips = self._release.clips
        if clips is None:
            return self._plain()
        return self._weighted(clips) if self._release.by_unit else self._scaled()

    def _norms(self, keys: tuple[Scalar, ...]) -> Select[Any]:
        """A histogram of norms in one row."""
        unit, wanted = self._rows.owned, self._release.measurements
        divided = [unit, *map(self._expressions.key, keys)]
        rows = self._rows.select(unit.label(UNIT), func.count().label(ROWS)).group_by(*divided)
        squares = any(isinstance(one.quantity, Norms) and one.quantity.spread for one in wanted)
        counted = count_norms(self._dressed.dialect, rows, squares=squares).subquery("counted")
        sums = [
            norm_sum(counted, one.quantity).label(name)
            for name, one in zip(self._measured.names, wanted, strict=True)
        ]
        return select(*sums)

    def _plain(self) -> Select[Any]:
        one = self._by_unit() if self._release.by_unit else self._direct()
        parts = [one, *self._all_differences()]
        if len(parts) == 1 and not self._release.by_unit:
            return one
        many = one if len(parts) == 1 else union_all(*parts)
        return self._summed(many.subquery("few"))

    def _all_differences(self) -> list[Select[Any]]:
        return [
            self._differences(place, one)
            for place, one in enumerate(self._release.measurements)
            if isinstance(one.quantity, Different)
        ]

    def _scaled(self) -> Select[Any]:
        """Where a unit has one row all weigh the same: sums are multiplied, not what is summed."""
        made = self._plain().subquery("summed")
        there = zip(self._measured.names, self._release.measurements, strict=True)
        sums = [self._times(made.c[name], one.whole).label(name) for name, one in there]
        units = [made.c[UNIT]] if UNIT in made.c else []
        return select(*(made.c[name] for name in self._names), *sums, *units)

    def _times(self, sum_: Sql, whole: int) -> Sql:
        """In a type that holds it whatever it is."""
        if whole == 1:
            return sum_
        huge = HUGE if self._dressed.dialect == "duckdb" else Numeric()
        return cast(sum_, huge) * own_integer(whole)

    def _weighted(self, clips: Clips) -> Select[Any]:
        """What each unit adds, times its weights, summed over the units of a group."""
        dressed, most = self._dressed, self._release.weighted_groups
        wanted = [one.quantity for one in self._release.measurements]
        own = any(isinstance(one, Units) for one in wanted)
        of_rows = any(not isinstance(one, Units | Different) for one in wanted)
        names = [*self._names, *self._measured.names]
        few = self._release.rows_per_unit <= _FEW_ROWS and dressed.dialect == "postgresql"
        units = self._units_in_order() if few else self._units()
        if most is not None:
            handed = [*names, UNIT, ROWS]
            units = cap_groups(dressed.dialect, units, handed, self._names, most, salt=dressed.salt)
        rows = clips.rows if of_rows else None
        found = weigh_units(dressed.dialect, units, names, rows, clips.units if own else None)
        sums = []
        for name, one in zip(self._measured.names, self._release.measurements, strict=True):
            if isinstance(one.quantity, Different):
                sums.append(ZERO.label(name))
                continue
            weight = found.units if isinstance(one.quantity, Units) else found.rows
            added = found.columns[name]
            # without keys there is a row of nobody, too
            made = func.coalesce(func.sum(added if weight is None else added * weight), ZERO)
            sums.append((self._times(made, one.whole) if weight is None else made).label(name))
        keys = [found.columns[name] for name in self._names]
        summed = select(*keys, *sums).select_from(found.source).group_by(*keys)
        differences = self._all_differences()
        if not differences:
            return self._with_enough(summed, func.count())
        weighted = summed.add_columns(func.count().label(UNIT))
        return self._summed(union_all(weighted, *differences).subquery("few"))

    def _with_enough(self, summed: Select[Any], units: Sql) -> Select[Any]:
        """Without the groups of too few units; of a part, with how many units of it each has."""
        least = self._release.least_units
        if least is None:
            return summed
        if self._part is not None:
            return summed.add_columns(units.label(UNIT))
        return summed.having(units >= own_integer(least))

    def _summed(self, few: Subquery) -> Select[Any]:
        keys = [few.c[name] for name in self._names]
        measured = [
            func.coalesce(func.sum(few.c[f"m{place + 1}"]), ZERO).label(f"m{place + 1}")
            for place in range(len(self._release.measurements))
        ]
        return self._with_enough(select(*keys, *measured).group_by(*keys), func.sum(few.c[UNIT]))

    def _by_unit(self) -> Select[Any]:
        """One row for each unit and each of its groups, with 1 as its own count."""
        names, most = [*self._names, *self._measured.names], self._release.groups_per_unit
        units = self._units()
        if most is not None:
            dressed, keys = self._dressed, self._names
            units = cap_groups(dressed.dialect, units, names, keys, most, salt=dressed.salt)
        made = units.subquery("units" if most is None else "capped")
        return select(*(made.c[name] for name in names), ONE.label(UNIT))

    def _units(self) -> Select[Any]:
        """The integers of each unit in each of its groups, and how many rows it has there."""
        unit = self._rows.owned
        measured = self._per_unit(self._measured)
        units = self._rows.select(*self._keys, unit.label(UNIT), *measured)
        return units.group_by(unit, *self._key_expressions)

    def _units_in_order(self) -> Select[Any]:
        """The same over sorted rows: PostgreSQL would hash, spill, and sort for its window afterwards."""
        unit, of_rows = self._rows.owned, self._measured.inputs()
        inputs = [one.label(f"d{place + 1}") for place, one in enumerate(of_rows.values())]
        rows = self._rows.select(*self._keys, unit.label(UNIT), *inputs)
        # with an offset it stays a subquery of its own, whatever the planner thinks of it
        ordered = rows.order_by(unit, *self._key_expressions).offset(ZERO).subquery("in_order")
        measured = self._measured.given(
            {quantity: ordered.c[one.name] for quantity, one in zip(of_rows, inputs, strict=True)}
        )
        mine = [ordered.c[UNIT], *(ordered.c[name] for name in self._names)]
        return select(*mine, *self._per_unit(measured)).group_by(*mine)

    def _per_unit(self, measured: ContributionSql) -> list[Label[Any]]:
        rows = [] if self._release.clips is None else [func.count().label(ROWS)]
        return [*measured.cuts(), *rows]

    @property
    def _key_expressions(self) -> list[Sql]:
        return [key.element for key in self._keys]

    def _direct(self) -> Select[Any]:
        """Where a unit has one row at most there is nothing to cut."""
        measured = [
            self._measured.whole(one.quantity).label(f"m{place + 1}")
            for place, one in enumerate(self._release.measurements)
        ]
        alone = not any(isinstance(one.quantity, Different) for one in self._release.measurements)
        if alone and self._release.keys and all(map(self._stored, self._release.keys)):
            return self._clamped_afterwards(measured)
        count = [] if alone else [func.count().label(UNIT)]
        summed = self._rows.select(*self._keys, *measured, *count)
        summed = summed.group_by(*self._key_expressions)
        return self._with_enough(summed, func.count()) if alone else summed

    def _stored(self, key: Scalar) -> StoredColumns | None:
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

    def _differences(self, place: int, counted: Measurement) -> Select[Any]:
        """How many values each group has, of so many of a unit as move it at most; the other measurements are 0."""
        different = counted.quantity
        if not isinstance(different, Different):
            raise BrokenPlan("a count of different values that is none")
        unit = self._rows.owned
        value = self._measured.only(different.where, self._expressions.key(different.value))
        rows = self._rows.select(*self._keys, unit.label(UNIT), value.label("v")).distinct()
        made = rows.subquery(f"values{place + 1}")
        keys = [made.c[name] for name in self._names]
        mine = [made.c[UNIT], *keys]
        nth = func.row_number().over(
            partition_by=mine,
            order_by=[
                nulls_last(made.c.v.is_(None).asc()),
                *own_order(self._dressed.salt, made.c[UNIT], [made.c.v]),
            ],
        )
        ranks = [nth.label("nth")]
        most = self._release.groups_per_unit
        if most is not None:
            # of keys in full: as many numbers as keys, whatever rows there are of each
            order = own_order(self._dressed.salt, made.c[UNIT], keys)
            group = func.dense_rank().over(partition_by=made.c[UNIT], order_by=order)
            ranks.append(group.label("place"))
        ranked = select(*keys, made.c.v, *ranks).subquery(f"ranked{place + 1}")
        kept = [ranked.c.nth <= own_integer(counted.most), ranked.c.v.is_not(None)]
        if most is not None:
            kept.append(ranked.c.place <= own_integer(most))
        there = [ranked.c[name] for name in self._names]
        measured = [
            (func.count(ranked.c.v.distinct()) if at == place else ZERO).label(f"m{at + 1}")
            for at in range(len(self._release.measurements))
        ]
        found = select(*there, *measured, ZERO.label(UNIT)).where(*kept)
        return found.group_by(*there)
