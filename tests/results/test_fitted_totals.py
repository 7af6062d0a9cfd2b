"""Totals that are measured with their groups: which are, what they cost, and that rows, intervals and simulations know it."""

from dataclasses import replace
from fractions import Fraction
from functools import partial
from statistics import fmean

import pytest
from noise.streams import Stream
from privacy.interval_coverage import narrower
from scipy.stats import binom
from sensitivity.analyses import plan_of

from gateway.budget.account import Currency
from gateway.exact import ExactTable
from gateway.intervals.cell_intervals import Intervals
from gateway.noise.add_noise import MismatchedDraws, NoisyTable, add_noise
from gateway.noise.allocation import Distribution, PriceExceeded, cost_of, price_noise
from gateway.noise.combined_noise import CombinedNoise
from gateway.noise.least_squares import FittedNoise
from gateway.plan.formulas import AggregateRef
from gateway.regions.scope import scope_of, scopes_beside
from gateway.release_cache.matching import measurement_request
from gateway.results.rollup import NoisyRelease, PricedRelease, roll_up
from gateway.results.simulation import simulate_release
from gateway.sensitivity.analysis import EnumeratedGroups
from gateway.sensitivity.analyze import analyze_release
from gateway.sensitivity.clip import TOTAL_PARTS
from gateway.sensitivity.grouping_sets import AnalyzedRelease, analyze_grouping_sets

_KEYS = "birth_year, smoker"  # 306 groups
_ONE_ROW = "SELECT {keys}, COUNT(*), SUM(income), COUNT(DISTINCT region) FROM patients GROUP BY {by}".format
_MONTHS = "extract(month FROM visit_date)"
_VISITS = f"""
    SELECT {_MONTHS}, birth_year, COUNT(*), SUM(cost), COUNT(DISTINCT v.patient_id)
    FROM visits v JOIN patients p ON v.patient_id = p.patient_id
    GROUP BY ROLLUP ({_MONTHS}, birth_year)
"""
PRICE = Fraction(1, 20)
MISSED = 0.06  # as in tests/privacy/test_interval_coverage.py: at most
ALPHA = 1e-8
ROUNDS = 300
MANY = 10**9


def rolled(sql: str, *, pairs: bool = False) -> AnalyzedRelease:
    one_set = partial(analyze_release, pairs=pairs, enumerated_groups=10_000, min_units=10)
    return analyze_grouping_sets(plan_of(sql), one_set)


def priced(sql: str) -> PricedRelease:
    made = rolled(sql)
    noises = price_noise(made.parts, Distribution.GAUSSIAN, PRICE, Fraction(1, 10**9))
    return PricedRelease(made, noises)


def released(release: PricedRelease, stream: Stream, exact: int = MANY) -> NoisyRelease:
    """With the same number in each group before the noise."""
    tables = []
    for part in release.parts:
        assert isinstance(part.analysis.groups, EnumeratedGroups)
        keys = part.analysis.groups.keys
        columns = tuple((exact * one.whole,) * len(keys) for one in part.analysis.measurements)
        tables.append(add_noise(ExactTable(keys, columns), part, stream))
    return roll_up(release, tables)


ROLLUP = _ONE_ROW(keys=_KEYS, by=f"ROLLUP ({_KEYS})")


def test_total_is_measured_with_many_groups_where_it_is_asked() -> None:
    """Of the set that it is added up from, of what adds up, in zCDP; the multiple of its noise is 16·G."""
    [finest, *others] = rolled(ROLLUP).parts
    assert finest.total == TOTAL_PARTS
    assert [one.total for one in finest.slots] == [16, 16, 16, 0]  # values of regions do not add up
    assert [one.total for one in others] == [0, 0]
    finest, *others = rolled(_VISITS).parts
    assert finest.groups_per_unit == 4
    assert [one.total for one in finest.slots] == [
        64,
        64,
        64,
        0,
    ]  # a person may be in several groups
    assert not any(one.total for one in others)


@pytest.mark.parametrize(
    "sql",
    [
        _ONE_ROW(keys=_KEYS, by=_KEYS),
        _ONE_ROW(keys=_KEYS, by=f"GROUPING SETS (({_KEYS}), (smoker))"),
        _ONE_ROW(keys="region, smoker", by="ROLLUP (region, smoker)"),
        "SELECT region, diagnosis, COUNT(*) FROM visits JOIN patients USING (patient_id) GROUP BY ROLLUP (region, diagnosis)",
        "SELECT birth_year, COUNT(DISTINCT region) FROM patients GROUP BY ROLLUP (birth_year)",
    ],
    ids=["no total", "not the grand total", "15 groups", "found groups", "nothing adds up"],
)
def test_total_is_not_measured_with_groups_otherwise(sql: str) -> None:
    """Few groups gain too little, and a total that nobody asked for is not paid."""
    assert not any(part.total for part in rolled(sql).parts)


def test_total_is_not_measured_with_groups_under_laplace_noise() -> None:
    """There the same part of the price buys a total of twice the deviation, and weights bound another norm."""
    assert not any(part.total for part in rolled(ROLLUP, pairs=True).parts)


@pytest.mark.parametrize("sql", [ROLLUP, _VISITS], ids=["one row", "weighted"])
def test_price_is_the_same_and_groups_have_a_little_more_noise(sql: str) -> None:
    """A sixteenth more variance in each group, and a part of it in the total."""
    release = priced(sql)
    assert PRICE * (1 - Fraction(1, 2**40)) <= cost_of(release.parts) <= PRICE
    finest, total = release.rolled.levels[0], release.rolled.levels[-1]
    alone = rolled(sql.replace("ROLLUP ", "")).parts[0]
    slots = sum(len(part.slots) for part in release.rolled.parts)
    share = [PRICE * len(alone.slots) / slots]
    [before] = price_noise([alone], Distribution.GAUSSIAN, share[0], Fraction(1, 10**9))
    noise, old = release.noises(finest)[0], before.drawn[0]
    assert isinstance(noise, FittedNoise)
    assert (
        float(
            noise.noise.variance / old.noise.variance
            if isinstance(old, FittedNoise)
            else noise.noise.variance
        )
        > 0
    )
    assert noise.noise.std / old.std == pytest.approx((17 / 16) ** 0.5, rel=1e-3)
    of_total = release.noises(total)[0]
    assert isinstance(of_total, CombinedNoise)
    many = noise.groups
    expected = (17 / 16) / (1 + many / noise.total)
    assert of_total.std**2 / (many * old.std**2) == pytest.approx(expected, rel=1e-2)


def test_missing_price_of_a_total_is_found() -> None:
    """Cells that were priced alone, with a total drawn for nothing, are an internal error before anything is drawn."""
    [part, *_] = priced(ROLLUP).parts
    slots = tuple(replace(one, total=0) for one in part.analysis.slots)
    with pytest.raises((ValueError, PriceExceeded)):
        cost_of([replace(part, analysis=replace(part.analysis, slots=slots))])
    closer = tuple(
        replace(one, total=4) if isinstance(one, FittedNoise) else one for one in part.noises
    )
    assert cost_of([replace(part, noises=closer)]) > cost_of([part])


def test_total_of_other_groups_than_are_listed_is_found() -> None:
    """A table with a group too few gets no noise."""
    [part, *_] = priced(ROLLUP).parts
    assert isinstance(part.analysis.groups, EnumeratedGroups)
    fewer = replace(part.analysis.groups, keys=part.analysis.groups.keys[1:])
    broken = replace(part, analysis=replace(part.analysis, groups=fewer))
    with pytest.raises(MismatchedDraws):
        add_noise(ExactTable((), tuple(() for _ in part.noises)), broken, Stream("fewer"))


@pytest.mark.parametrize("sql", [ROLLUP, _VISITS], ids=["one row", "weighted"])
def test_totals_are_the_sums_of_the_rows_that_are_shown(sql: str) -> None:
    """In integers of the release, and in the whole numbers of each row, in every set."""
    release = released(priced(sql), Stream("sums"), 40)
    finest, *others = release.levels
    count = release.priced.rolled.plan.measures[0][1].type
    shown = [int(one or 0) for one in finest.texts(0, count, clamp=False)]
    for level in others:
        for column, whole in zip(finest.table.measured[:2], level.table.measured, strict=False):
            assert sum(column) == sum(whole)
        assert sum(int(one or 0) for one in level.texts(0, count, clamp=False)) == sum(shown)
    # each row is less than 1 from its own number, the total half of it
    parts = release.priced.rolled.parts[0].measurements[0].whole
    for row, number in enumerate(finest.table.measured[0]):
        assert abs(shown[row] - Fraction(number, parts)) < 1
    [total] = others[-1].texts(0, count, clamp=False)
    assert abs(int(total or 0) - Fraction(sum(finest.table.measured[0]), parts)) <= Fraction(1, 2)


def _misses(
    release: PricedRelease, told: PricedRelease, stream: Stream
) -> dict[tuple[int, int], int]:
    """How many intervals miss, by set and aggregate: of the last row, and for sets of several rows of the first."""
    levels = release.rolled.levels
    missed = {(at, place): 0 for at in range(len(levels)) for place in range(2)}
    exact = roll_up(
        release,
        [
            NoisyTable(
                part.analysis.groups.keys
                if isinstance(part.analysis.groups, EnumeratedGroups)
                else (),
                tuple(
                    (MANY * one.whole,) * len(getattr(part.analysis.groups, "keys", ()))
                    for one in part.analysis.measurements
                ),
                part.noises,
            )
            for part in release.parts
        ],
    )
    for _ in range(ROUNDS):
        found = released(release, stream)
        for at, (noisy, truth) in enumerate(zip(found.levels, exact.levels, strict=True)):
            table = replace(noisy.table, noises=told.noises(noisy.level))
            here = Intervals(table, noisy.level.formulas)
            there = Intervals(truth.table, noisy.level.formulas)
            for place in range(2):
                low, high = here.interval(AggregateRef(place), -1) or (0.0, 0.0)
                value = sum(there.interval(AggregateRef(place), -1) or (0.0, 0.0)) / 2
                slack = 1e-12 * abs(value)
                missed[at, place] += not low - slack <= value <= high + slack
    return missed


def _too_often(misses: int) -> bool:
    return float(binom.sf(misses - 1, ROUNDS, MISSED)) < ALPHA


@pytest.mark.parametrize(
    "sql",
    [
        pytest.param(ROLLUP, id="one row"),
        # the same fit beside weights of persons, in which a draw takes three times as long
        pytest.param(_VISITS, id="weighted", marks=pytest.mark.full_samples),
    ],
)
def test_intervals_of_groups_and_totals_hold_in_94_of_100_answers(sql: str) -> None:
    """Of a group, of a subtotal and of the total; those that are told of half the noise are found to miss."""
    release = priced(sql)
    misses = _misses(release, release, Stream("coverage"))
    assert not any(map(_too_often, misses.values())), misses
    parts = tuple(
        replace(part, noises=tuple(narrower(one, 2) for one in part.drawn))
        for part in release.parts
    )
    half = _misses(release, replace(release, parts=parts), Stream("half"))
    assert all(map(_too_often, half.values())), half


def test_simulated_totals_move_as_measured_totals_do() -> None:
    """Simulations draw groups and total anew, so cells of several rows know that totals have less noise."""
    release = released(priced(ROLLUP), Stream("released"))
    total = release.levels[-1]
    moved = [
        one.levels[-1].table.measured[0][0] - total.table.measured[0][0]
        for one in simulate_release(release, ROUNDS, Stream("simulated"))
    ]
    said = total.table.noises[0].std
    assert 0.8 * said < fmean(one**2 for one in moved) ** 0.5 < 1.2 * said


def test_groups_with_their_total_are_another_release_than_groups_alone() -> None:
    """Neither answers the other, nor a filter or a total of it: the noises of its groups are not independent."""
    requests = []
    for by in (_KEYS, f"ROLLUP ({_KEYS})"):
        analysis = rolled(_ONE_ROW(keys=_KEYS, by=by)).parts[0]
        assert isinstance(analysis.groups, EnumeratedGroups)
        scope = scope_of(analysis.plan, analysis.groups, {})
        beside = scopes_beside(analysis, scope, {})
        requests.append(
            measurement_request(
                analysis, scope, currency=Currency.ZCDP, declarations="", constants={}
            )
        )
        # the auditor hears of the total as of one more release
        assert any(not one.keys and one.region == scope.region for one in beside) is bool(
            analysis.total
        )
    alone, fitted = requests
    assert alone.bounding != fitted.bounding
    assert (alone.plain, alone.additive) == (True, True)
    assert (fitted.plain, fitted.additive) == (False, False)
