"""Rows of several grouping sets from the noisy tables of the parts that were measured."""

from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction
from functools import partial
from itertools import chain
from math import inf, nan

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from noise.mechanisms import mechanisms
from noise.streams import Stream
from privacy.interval_coverage import narrower
from samples import draws
from scipy.stats import binom
from sensitivity.analyses import plan_of

from gateway.columnar.intervals import IntervalEnds
from gateway.exact import ExactTable
from gateway.intervals.cell_intervals import Intervals
from gateway.intervals.digits import round_outward
from gateway.intervals.visible_loss import LossSide, VisibleLoss
from gateway.noise.add_noise import MismatchedDraws, NoisyTable, add_noise
from gateway.noise.allocation import Distribution, cost_of, price_noise
from gateway.noise.convolution import SummedNoise
from gateway.plan.formulas import AggregateRef, Form, Over
from gateway.results.rollup import (
    NoisyLevel,
    NoisyRelease,
    PricedRelease,
    roll_up,
    weighted_totals,
)
from gateway.sensitivity.analysis import EnumeratedGroups
from gateway.sensitivity.analyze import analyze_release
from gateway.sensitivity.formulas import Formula, Linear
from gateway.sensitivity.grouping_sets import analyze_grouping_sets

DRAWS = draws(1_000, fewest=500)
DRAWS_OF_HALF = min(DRAWS, 900)  # with half the noise about a fifth misses: that shows sooner
MANY = 10**14  # in each measurement: people enough that no count may be 0
MISSED = 0.06  # as in tests/privacy/test_interval_coverage.py: at most
ALPHA = 1e-8
_CUBE = "SELECT region, smoker, COUNT(*), SUM(income), AVG(income) FROM patients GROUP BY CUBE (region, smoker)"
_MOMENTS = _CUBE.replace("AVG(income)", "VAR_POP(income), CORR(income, birth_year)")
_MONTH = "extract(month FROM visit_date)"
_MIXED = (
    f"SELECT {_MONTH}, COUNT(*), COUNT(DISTINCT patient_id) FROM visits GROUP BY ROLLUP ({_MONTH})"
)


def _priced(sql: str, noise: Distribution, *, blank: bool = False) -> PricedRelease:
    one_set = partial(
        analyze_release,
        pairs=noise is Distribution.LAPLACE,
        enumerated_groups=10_000,
        min_units=10,
        suppress_small=blank,
    )
    made = analyze_grouping_sets(plan_of(sql), one_set)
    return PricedRelease(made, price_noise(made.parts, noise, Fraction(1, 50), Fraction(1, 10**9)))


def _released(release: PricedRelease, stream: Stream, exact: int = 0) -> NoisyRelease:
    """With the same number everywhere before the noise."""
    tables = []
    for part in release.parts:
        assert isinstance(part.analysis.groups, EnumeratedGroups)
        keys = part.analysis.groups.keys
        columns = tuple((exact,) * len(keys) for _ in part.noises)
        tables.append(add_noise(ExactTable(keys, columns), part, stream))
    return roll_up(release, tables)


def _value(formula: Formula, row: tuple[int, ...]) -> Fraction:
    assert isinstance(formula, Linear)
    return formula.value(row)


def _by_key(level: NoisyLevel, place: int) -> dict[tuple[object, ...], int]:
    return dict(zip(level.table.keys, level.table.measured[place], strict=True))


@settings(deadline=None, max_examples=30)
@given(
    st.sampled_from([_CUBE, _MOMENTS]), st.sampled_from(list(Distribution)), st.integers(0, 2**32)
)
def test_totals_are_the_sums_of_the_rows_above_them_whatever_the_noise(
    sql: str, noise: Distribution, seed: int
) -> None:
    """To the last unit, for every measurement, squares too, and every set of a CUBE; and counts in rows of counts."""
    finest, *others = _released(_priced(sql, noise), Stream(f"totals {seed}"), 40).levels
    for level in others:
        for place in range(len(finest.table.measured)):
            sums: dict[tuple[object, ...], int] = {}
            for key, value in _by_key(finest, place).items():
                shorter = tuple(key[one] for one in level.level.keys)
                sums[shorter] = sums.get(shorter, 0) + value
            assert _by_key(level, place) == sums
    for measure in range(2):
        whole = [
            sum(
                _value(one.level.formulas[measure], row)
                for row in zip(*one.table.measured, strict=True)
            )
            for one in (finest, *others)
        ]
        assert len(set(whole)) == 1


@pytest.mark.parametrize("noise", list(Distribution))
def test_totals_cost_nothing_when_they_are_added_up(noise: Distribution) -> None:
    """What a CUBE costs is what its finest set costs, and the noise is as little."""
    cube = _priced(_CUBE, noise)
    finest = _priced(_CUBE.replace("CUBE (region, smoker)", "region, smoker"), noise)
    assert [part.noises for part in cube.parts] == [part.noises for part in finest.parts]
    assert cost_of(cube.parts) == cost_of(finest.parts)


def test_noise_of_a_total_is_that_of_as_many_cells() -> None:
    """And that of what is measured in the set itself is its own."""
    release = _priced(_MIXED, Distribution.LAPLACE)
    months, total = release.rolled.levels
    assert release.noises(months) == release.parts[0].noises
    rows, added_units, own = release.noises(total)
    of_rows, of_units = mechanisms(release.parts[0])
    assert rows == SummedNoise(of_rows, 13)
    assert added_units == SummedNoise(of_units, 13)
    assert own == release.parts[1].noises[0]


@pytest.mark.parametrize("noise", list(Distribution))
def test_total_loses_the_share_of_the_part_that_it_is_added_up_from(noise: Distribution) -> None:
    """Its weights are those of that part. What counts persons in the set itself loses nothing that is known."""
    loss = VisibleLoss(0.25, LossSide.ABOVE)
    release = replace(_priced(_MIXED, noise), lost=(0.25, 0.5))
    months, total = release.rolled.levels
    assert release.losses(months) == (loss, None)
    assert release.losses(total) == (loss, None)
    assert release.loss(AggregateRef(0)) == 0.25
    assert release.loss(AggregateRef(1)) is None
    assert replace(release, lost=()).losses(months) == ()
    released = _released(release, Stream("loses"), 1_000)
    [extended], [plain] = (
        one.intervals(AggregateRef(0)) for one in (released, weighted_totals(released))
    )
    for one, other in zip(extended, plain, strict=True):
        assert one is not None
        assert other is not None
        assert one[0] == other[0]
        assert (one[1] > other[1]) is (other[1] > 0)


def test_rows_of_all_sets_are_numbered_one_after_the_other() -> None:
    """Intervals, and which rows are small, are told by these numbers."""
    release = _released(_priced(_CUBE, Distribution.GAUSSIAN, blank=True), Stream("numbers"), 0)
    assert [len(one.table.keys) for one in release.levels] == [15, 5, 3, 1]
    assert release.rows == 24
    forms: tuple[Form, ...] = (AggregateRef(0), Over(AggregateRef(1), AggregateRef(0)))
    columns = release.intervals(*forms)
    each = [Intervals(one.table, one.level.formulas) for one in release.levels]
    for form, column in zip(forms, columns, strict=True):
        parts = (round_outward(IntervalEnds.of(one.column(form))) for one in each)
        assert column == list(chain.from_iterable(parts))


def _small(counts: Sequence[int]) -> frozenset[int]:
    """The small rows of the cube if its 15 groups have these noisy counts of persons."""
    priced_ = _priced(_CUBE, Distribution.GAUSSIAN, blank=True)
    [part] = priced_.parts
    whole = part.analysis.measurements[0].whole
    assert isinstance(part.analysis.groups, EnumeratedGroups)
    column = tuple(count * whole for count in counts)
    table = NoisyTable(part.analysis.groups.keys, tuple(column for _ in part.noises), part.noises)
    return roll_up(priced_, [table]).small


def test_small_groups_are_found_in_every_set() -> None:
    """With 8 persons in each of 15 groups, no group of two keys reaches 10; every total does."""
    assert _small([8] * 15) == frozenset(range(15))


def test_group_is_shown_when_its_count_is_exactly_the_minimum() -> None:
    """`min_units: 10` shows a group of 10 and blanks one of 9, also among the totals."""
    assert _small([10] * 15) == frozenset()
    assert _small([9, *([10] * 14)]) == frozenset({0})
    # the last row is the total: 10 persons in all are shown, 9 are not
    assert 23 not in _small([10, *([0] * 14)])
    assert 23 in _small([9, *([0] * 14)])


def _misses(
    release: PricedRelease, told: PricedRelease, stream: Stream, many: int = DRAWS
) -> dict[tuple[int, Form], int]:
    """How many intervals miss, in each set, of which `told` says how much noise there is."""
    count = len(release.rolled.plan.measures)
    forms: list[Form] = [*map(AggregateRef, range(count)), Over(AggregateRef(1), AggregateRef(0))]
    truth = [
        Intervals(level.table, level.level.formulas) for level in _released_exactly(release).levels
    ]
    values = {
        (place, form): sum(there.interval(form, -1) or (nan,)) / 2
        for place, there in enumerate(truth)
        for form in forms
    }
    missed = dict.fromkeys(values, 0)
    for _ in range(many):
        found = _released(release, stream, MANY)
        for place, noisy in enumerate(found.levels):
            table = replace(noisy.table, noises=told.noises(noisy.level))
            here = Intervals(table, noisy.level.formulas)
            for form in forms:  # in the last group of each set: all have the same noise
                low, high = here.interval(form, -1) or (-inf, inf)
                value = values[place, form]
                slack = 1e-14 * abs(value)  # floats
                missed[place, form] += not low - slack <= value <= high + slack
    return missed


def _too_often(misses: int, many: int = DRAWS) -> bool:
    return float(binom.sf(misses - 1, many, MISSED)) < ALPHA


@pytest.mark.parametrize("noise", list(Distribution))
@pytest.mark.parametrize("sql", [_CUBE, _MIXED])
def test_interval_of_a_total_holds_the_value_in_94_of_100_answers(
    noise: Distribution, sql: str
) -> None:
    """For counts, sums, means and quotients, in each set; a miss rate of 6 % is blamed once in 1e8."""
    release = _priced(sql, noise)
    misses = _misses(release, release, Stream(f"coverage of totals {noise} {sql}"))
    assert not any(map(_too_often, misses.values())), misses
    assert any(misses.values())


@pytest.mark.parametrize("noise", list(Distribution))
def test_intervals_of_totals_are_found_to_miss_when_they_know_of_half_the_noise(
    noise: Distribution,
) -> None:
    """The check above can fail: in every set, for every form."""
    release = _priced(_CUBE, noise)
    parts = tuple(
        replace(part, noises=tuple(narrower(one, 2) for one in part.drawn))
        for part in release.parts
    )
    told = replace(release, parts=parts)
    misses = _misses(release, told, Stream(f"half {noise}"), DRAWS_OF_HALF)
    assert all(_too_often(one, DRAWS_OF_HALF) for one in misses.values()), misses


def _released_exactly(release: PricedRelease, exact: int = MANY) -> NoisyRelease:
    tables = []
    for part in release.parts:
        assert isinstance(part.analysis.groups, EnumeratedGroups)
        keys = part.analysis.groups.keys
        tables.append(
            NoisyTable(keys, tuple((exact,) * len(keys) for _ in part.noises), part.noises)
        )
    return roll_up(release, tables)


def test_groups_that_do_not_fit_are_found() -> None:
    """A table with a group too few, or parts with other groups, never leave."""
    release = _priced(_MIXED, Distribution.LAPLACE)
    tables = [one.table for one in _released_exactly(release).levels[:1]]
    [months] = tables
    total = NoisyTable(((),), ((1,),), release.parts[1].noises)
    roll_up(release, [months, total])
    with pytest.raises(MismatchedDraws):
        roll_up(release, [_without_last(months), total])
    with pytest.raises(MismatchedDraws):
        roll_up(release, [months, NoisyTable((), ((),), release.parts[1].noises)])


def _without_last(table: NoisyTable) -> NoisyTable:
    columns: Sequence[tuple[int, ...]] = [column[:-1] for column in table.measured]
    return NoisyTable(table.keys[:-1], tuple(columns), table.noises)
