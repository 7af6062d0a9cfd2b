"""Roll-up: the rows of a release, one grouping set after the other, from the noisy tables of its parts.

This is post-processing of noisy tables: rows of a summed set are sums of rows that are released as they are.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TypeAlias, TypeVar

from gateway.catalog.types import ColumnType, Family
from gateway.catalog.values import Value
from gateway.columnar.intervals import Interval, IntervalEnds
from gateway.intervals.visible_loss import VisibleLoss, form_loss, formula_losses
from gateway.noise.add_noise import MismatchedDraws, NoisyTable, sort_key
from gateway.noise.allocation import ReleaseNoise
from gateway.noise.combined_noise import AnyNoise, sum_noise
from gateway.noise.drawn_choices import PricedChoice
from gateway.plan.formulas import AggregateRef, Each, Form
from gateway.results.rounding import RoundedColumn
from gateway.results.value_texts import column_texts, whole_numbers, whole_texts
from gateway.sensitivity.choices import Chosen
from gateway.sensitivity.formulas import Linear
from gateway.sensitivity.grouping_sets import AnalyzedRelease, GroupingSet, PartMeasurements

Key: TypeAlias = tuple[Value | None, ...]
Groups: TypeAlias = Mapping[Key, Sequence[int]]
_Cell = TypeVar("_Cell")


@dataclass(frozen=True, slots=True)
class PricedRelease:
    """A release with the noise of each of its parts. `lost` says of each part which share of its rows weights take, as far
    as a histogram of norms tells it: 0 where none does.
    """

    rolled: AnalyzedRelease
    parts: tuple[ReleaseNoise, ...]
    lost: tuple[float, ...] = ()

    def noises(self, level: GroupingSet) -> tuple[AnyNoise, ...]:
        """The noises of all measurements behind the rows of a grouping set."""
        return tuple(
            sum_noise(noise, drawn.together)
            for drawn in level.drawn
            for noise in self.parts[drawn.part].noises
        )

    def losses(self, level: GroupingSet) -> tuple[VisibleLoss | None, ...]:
        """The visible loss of each formula of a grouping set; nothing at all where none is visible."""
        if not any(self.lost):
            return ()
        found = [
            (one, self.lost[drawn.part])
            for drawn in level.drawn
            for one in self.parts[drawn.part].analysis.measurements
        ]
        return formula_losses(
            level.formulas, [one for one, _ in found], [lost for _, lost in found]
        )

    def loss(self, form: Form) -> float | None:
        """The share of its rows that the total loses where that is most; None where none is known, or it is no total."""
        losses = (form_loss(form, self.losses(level)) for level in self.rolled.levels)
        return max((one.share for one in losses if one is not None), default=None)

    def bought(self, form: Form | None) -> tuple[PricedChoice, ...]:
        """The choices of a formula, in each grouping set; empty if it is no choice."""
        if isinstance(form, Each):
            return tuple(one for part in form.forms for one in self.bought(part))
        if not isinstance(form, AggregateRef):
            return ()
        return tuple(
            self.parts[level.drawn[-1].part].choices[formula.place]
            for level in self.rolled.levels
            if isinstance(formula := level.formulas[form.place], Chosen)
        )

    def rank_error(self, form: Form | None) -> int | None:
        """The largest number of rows by which 95 of 100 choices miss their aim, over all grouping sets."""
        return max((one.rank_error for one in self.bought(form)), default=None)


@dataclass(frozen=True, slots=True)
class NoisyLevel:
    """The rows of one grouping set.

    `wholes` has aggregates by their places among the measures: whole numbers that are summed as they are shown,
    because the sum of rounded numbers is not always the rounded sum.
    """

    level: GroupingSet
    table: NoisyTable
    wholes: Mapping[int, Sequence[int]]

    def texts(self, place: int, of: ColumnType, *, clamp: bool) -> Sequence[str | None]:
        """An aggregate of every row; `clamp` moves it into its domain."""
        formula = self.level.formulas[place]
        if place in self.wholes and isinstance(formula, Linear):
            return whole_texts(self.wholes[place], formula, of, clamp=clamp)
        return column_texts(self.table, formula, of, clamp=clamp)

    @property
    def small(self) -> frozenset[int]:
        """The rows of groups that are too small to be shown; none if the policy shows all."""
        if self.level.units is None:
            return frozenset()
        counts = self.table.measured[self.level.units]
        return frozenset(row for row, count in enumerate(counts) if count < self.level.least)


@dataclass(frozen=True, slots=True)
class NoisyRelease:
    """A released table: the grouping sets in their order. A row's number is its place among all rows.

    `tables` are those of its parts, with the groups that the answer leaves out.
    """

    priced: PricedRelease
    levels: tuple[NoisyLevel, ...]
    tables: tuple[NoisyTable, ...] = ()

    @property
    def rows(self) -> int:
        return sum(len(one.table.keys) for one in self.levels)

    @property
    def small(self) -> frozenset[int]:
        """The numbers of the rows whose aggregates are blank."""
        found: set[int] = set()
        before = 0
        for one in self.levels:
            found.update(before + row for row in one.small)
            before += len(one.table.keys)
        return frozenset(found)

    def intervals(self, *forms: Form) -> list[Sequence[Interval]]:
        """A column of intervals for each formula, over all rows: extended by what weights are seen to take."""
        widths, priced = self.priced.rolled.ranges, self.priced
        each = [
            RoundedColumn(one.table, one.level.formulas, widths, priced.losses(one.level))
            for one in self.levels
        ]
        if len(each) == 1:
            return [each[0].column(form) for form in forms]
        return [IntervalEnds.joined(one.column(form) for one in each) for form in forms]


def weighted_totals(release: NoisyRelease) -> NoisyRelease:
    """The release as one of weighted totals, whose intervals are those of the noise."""
    return replace(release, priced=replace(release.priced, lost=()))


def roll_up(priced: PricedRelease, tables: Sequence[NoisyTable]) -> NoisyRelease:
    """The released table, from the noisy tables of its parts."""
    made = {level: _level(level, priced, tables) for level in priced.rolled.levels}
    return NoisyRelease(priced, tuple(made[level] for level in priced.rolled.levels), tuple(tables))


def _level(level: GroupingSet, priced: PricedRelease, tables: Sequence[NoisyTable]) -> NoisyLevel:
    drawn = level.drawn[0]
    part = tables[drawn.part]
    groups = _put_together(drawn, part)
    first = part if groups is None else _sums(part, groups)
    others = [tables[one.part] for one in level.drawn[1:]]
    if any(one.keys != first.keys for one in others):
        raise MismatchedDraws("the parts of a grouping set have different groups")
    measured = tuple(column for one in (first, *others) for column in one.measured)
    # choices do not add up: those of a grouping set belong to the part with its own keys, which comes last
    last = (first, *others)[-1]
    table = NoisyTable(first.keys, measured, priced.noises(level), last.chosen, last.spans)
    fitted = bool(priced.parts[drawn.part].analysis.total)
    wholes = {}
    if groups is not None or fitted:
        wholes = _wholes(level, priced, part, groups, fitted=fitted)
    return _as_written(_without_hidden(NoisyLevel(level, table, wholes), priced.rolled.hidden))


def _without_hidden(made: NoisyLevel, hidden: frozenset[int]) -> NoisyLevel:
    """The rows without those whose key is NULL where the policy says that no group is shown for it."""
    places = [place for place, key in enumerate(made.level.keys) if key in hidden]
    keys = made.table.keys
    rows = [row for row, key in enumerate(keys) if all(key[one] is not None for one in places)]
    return made if len(rows) == len(keys) else _with_rows(made, rows)


def _as_written(made: NoisyLevel) -> NoisyLevel:
    """The rows sorted by the keys in the order of the statement, where the part has another."""
    order = sorted(range(len(made.level.keys)), key=made.level.keys.__getitem__)
    if order == list(range(len(order))):
        return made
    found = [tuple(key[place] for place in order) for key in made.table.keys]
    return _with_rows(made, sorted(range(len(found)), key=lambda row: sort_key(found[row])))


def _with_rows(made: NoisyLevel, rows: Sequence[int]) -> NoisyLevel:
    """These rows, in this order."""

    def kept(column: Sequence[_Cell]) -> tuple[_Cell, ...]:
        return tuple(map(column.__getitem__, rows))

    table = replace(
        made.table,
        keys=kept(made.table.keys),
        measured=tuple(map(kept, made.table.measured)),
        chosen=tuple(map(kept, made.table.chosen)),
        spans=tuple(map(kept, made.table.spans)),
    )
    return replace(made, table=table, wholes={at: kept(one) for at, one in made.wholes.items()})


def _put_together(drawn: PartMeasurements, table: NoisyTable) -> Groups | None:
    """The group that each row of a part belongs to; None if all rows stay as they are."""
    if not table.keys or len(drawn.keys) == len(table.keys[0]):
        return None
    groups: dict[Key, list[int]] = {}
    for row, key in enumerate(table.keys):
        groups.setdefault(tuple(key[place] for place in drawn.keys), []).append(row)
    if any(len(rows) != drawn.together for rows in groups.values()):
        raise MismatchedDraws("another number of groups than are added up")
    return groups


def _sums(table: NoisyTable, groups: Groups) -> NoisyTable:
    columns = tuple(tuple(_added_up(column, groups)) for column in table.measured)
    return NoisyTable(tuple(groups), columns, table.noises)


def _wholes(
    level: GroupingSet,
    priced: PricedRelease,
    part: NoisyTable,
    groups: Groups | None,
    *,
    fitted: bool,
) -> dict[int, Sequence[int]]:
    """The whole-number aggregates, summed as they are shown.

    Where groups are fitted to their total, they are rounded one after the other so that their sum is the rounded total.
    """
    found: dict[int, Sequence[int]] = {}
    for place, (_, measure) in enumerate(priced.rolled.plan.measures):
        formula = level.formulas[place]
        if measure.type.family is not Family.WHOLE or not isinstance(formula, Linear):
            continue
        if all(one < len(part.measured) for one, _ in formula.weights):  # else it is measured here
            shown = whole_numbers(part, formula, in_sums=fitted)
            found[place] = shown if groups is None else _added_up(shown, groups)
    return found


def _added_up(column: Sequence[int], groups: Groups) -> list[int]:
    return [sum(map(column.__getitem__, rows)) for rows in groups.values()]
