"""Releases as they might have been: made of what was released, by noise of the release's own distributions."""

from dataclasses import replace
from fractions import Fraction
from functools import partial
from inspect import getsource
from statistics import pstdev

import pytest
from noise.mechanisms import mechanisms
from noise.streams import Stream
from sensitivity.analyses import plan_of

import gateway.results.simulation
from gateway.exact import ExactTable
from gateway.noise.add_noise import NoisyTable, add_noise
from gateway.noise.allocation import Distribution, price_noise
from gateway.noise.combined_noise import AnyNoise, combine_draws
from gateway.noise.convolution import SummedNoise
from gateway.results.rollup import NoisyRelease, PricedRelease, roll_up
from gateway.results.simulation import simulate_release, unweighted_release
from gateway.sensitivity.analysis import EnumeratedGroups
from gateway.sensitivity.analyze import analyze_release
from gateway.sensitivity.grouping_sets import analyze_grouping_sets
from gateway.sensitivity.measurement import Units

_MONTH = "extract(month FROM visit_date)"
PLANS = [
    "SELECT region, COUNT(*), AVG(income) FROM patients GROUP BY region",
    "SELECT region, smoker, COUNT(*), SUM(income) FROM patients GROUP BY CUBE (region, smoker)",
    f"SELECT {_MONTH}, COUNT(*), COUNT(DISTINCT patient_id) FROM visits GROUP BY ROLLUP ({_MONTH})",
    "SELECT COUNT(*) FROM patients",
]


def _released(
    sql: str, noise: Distribution, stream: Stream
) -> tuple[NoisyRelease, tuple[NoisyTable, ...]]:
    one_set = partial(
        analyze_release, pairs=noise is Distribution.LAPLACE, enumerated_groups=10_000, min_units=10
    )
    made = analyze_grouping_sets(plan_of(sql), one_set)
    release = PricedRelease(
        made, price_noise(made.parts, noise, Fraction(1, 50), Fraction(1, 10**9))
    )
    tables = []
    for part in release.parts:
        assert isinstance(part.analysis.groups, EnumeratedGroups)
        keys = part.analysis.groups.keys
        columns = tuple((500,) * len(keys) for _ in part.noises)
        tables.append(add_noise(ExactTable(keys, columns), part, stream))
    return roll_up(release, tables), tuple(tables)


@pytest.mark.parametrize("noise", list(Distribution))
def test_groups_that_the_answer_leaves_out_are_in_simulated_totals(noise: Distribution) -> None:
    """Totals have the NULL groups that are not shown, in each simulation too."""
    release, tables = _released(PLANS[1], noise, Stream("hidden"))
    hidden = frozenset(range(len(release.priced.rolled.plan.keys)))
    rolled = replace(release.priced, rolled=replace(release.priced.rolled, hidden=hidden))
    shown = roll_up(rolled, tables)
    assert shown.rows < release.rows
    for one in simulate_release(shown, 3, Stream(f"hidden {noise}")):
        assert [len(level.table.keys) for level in one.levels] == [
            len(level.table.keys) for level in shown.levels
        ]
        assert one.levels[-1].table.measured == tuple(
            (sum(each),) for each in one.tables[0].measured
        )


@pytest.mark.parametrize("noise", list(Distribution))
def test_totals_are_the_sums_of_their_rows_in_every_simulation(noise: Distribution) -> None:
    """What is added up from measured rows is added up from simulated ones, and not drawn anew."""
    release, _ = _released(PLANS[1], noise, Stream("sums"))
    seen = set()
    for one in simulate_release(release, 5, Stream(f"sums {noise}")):
        finest, total = one.levels[0].table, one.levels[-1].table
        assert [len(level.table.keys) for level in one.levels] == [
            len(level.table.keys) for level in release.levels
        ]
        assert [sum(column) for column in finest.measured] == [n for (n,) in total.measured]
        seen.add(finest.measured)
    assert len(seen) == 5


@pytest.mark.parametrize("noise", list(Distribution))
def test_simulations_are_as_far_off_as_the_noise_is_wide(noise: Distribution) -> None:
    """The spread of 4,000 values around what was released is the noise's own, within 10 % (chance below 1e-8)."""
    release, (table,) = _released(PLANS[0], noise, Stream("spread"))
    runs = [one.tables[0] for one in simulate_release(release, 800, Stream(f"spread {noise}"))]
    for place, own in enumerate(table.noises):
        column = table.measured[place]
        moves = [
            one - there
            for each in runs
            for one, there in zip(each.measured[place], column, strict=True)
        ]
        assert 0.9 < pstdev(moves) / own.std < 1.1
        assert abs(sum(moves)) < 6 * own.std * len(moves) ** 0.5


@pytest.mark.parametrize("noise", list(Distribution))
def test_simulations_of_what_was_topped_up_move_by_the_mixed_noise(noise: Distribution) -> None:
    """And totals of earlier groups by theirs: the spread of 4,000 values is within 10 % (chance below 1e-8)."""
    release, (table,) = _released(PLANS[0], noise, Stream("topped"))
    [part] = release.priced.parts
    first, *rest = mechanisms(part)
    mixed: AnyNoise = combine_draws((), first, (), first)[1]
    noises = (mixed, *(SummedNoise(one, 3) for one in rest))
    topped = replace(release.priced, parts=(replace(part, noises=noises),))
    release = roll_up(topped, [replace(table, noises=noises)])
    runs = [one.tables[0] for one in simulate_release(release, 800, Stream(f"topped {noise}"))]
    for place, own in enumerate(noises):
        moves = [
            one - there
            for each in runs
            for one, there in zip(each.measured[place], table.measured[place], strict=True)
        ]
        assert 0.9 < pstdev(moves) / own.std < 1.1


def test_simulating_reads_no_exact_table() -> None:
    """What is drawn from has left: the module does not know what a source says."""
    source = getsource(gateway.results.simulation)
    assert "gateway.exact" not in source
    assert "import add_noise" not in source
    assert ", add_noise" not in source


def test_unweighted_release_has_more_of_what_rows_add_and_no_more_units() -> None:
    """A quarter of the rows is lost, so four thirds of each count and sum; a person who weighs less is one person."""
    sql = f"SELECT {_MONTH}, COUNT(*), SUM(cost), COUNT(DISTINCT patient_id) FROM visits GROUP BY {_MONTH}"
    release, _ = _released(sql, Distribution.GAUSSIAN, Stream("unweighted"))
    assert unweighted_release(release) is None
    losing = replace(release, priced=replace(release.priced, lost=(0.25,)))
    larger = unweighted_release(losing)
    assert larger is not None
    [before], [after] = losing.levels, larger.levels
    [part] = release.priced.parts
    for one, old, new in zip(
        part.analysis.measurements, before.table.measured, after.table.measured, strict=True
    ):
        factor = 1 if isinstance(one.quantity, Units) else 4 / 3
        assert new == tuple(round(number * factor) for number in old)
