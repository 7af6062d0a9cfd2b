"""Intervals of cells: exact for one noise, none where nothing can be said, and formed before clamping."""

from fractions import Fraction
from math import isclose

import pytest
from laws import for_each

from gateway.intervals.cell_intervals import Intervals
from gateway.noise.add_noise import NoisyTable
from gateway.noise.mechanism import DiscreteGaussian, DiscreteLaplace, Mechanism
from gateway.plan.formulas import AggregateRef, Form, NumberForm, Over, Plus, Times
from gateway.sensitivity.formulas import Formula, Linear, Quotient

ONE = Fraction(1)
NOISES: list[Mechanism] = [DiscreteLaplace(Fraction(20)), DiscreteGaussian(Fraction(400))]
COUNT = Linear(((0, ONE),), Fraction(0))
MEAN = Quotient(Linear(((1, ONE),)), Linear(((0, ONE),)), Fraction(0), Fraction(10), Fraction(5))
FORMULAS: tuple[Formula, ...] = (COUNT, MEAN, Linear(((1, Fraction(1, 100)),)))


def _interval(form: Form, row: tuple[int, int], noise: Mechanism) -> tuple[float, float] | None:
    table = NoisyTable(((),), tuple((one,) for one in row), (noise, noise))
    return Intervals(table, FORMULAS).interval(form, 0)


def _width(interval: tuple[float, float] | None) -> float:
    assert interval is not None
    return interval[1] - interval[0]


@pytest.mark.parametrize("noise", NOISES)
def test_interval_of_one_measurement_is_the_margin_of_its_noise(noise: Mechanism) -> None:
    """Nothing is approximated where one noise is alone, and weights scale it."""
    margin = noise.margin()
    assert _interval(AggregateRef(0), (500, 0), noise) == (500 - margin, 500 + margin)
    assert _interval(AggregateRef(2), (0, 700), noise) == pytest.approx(
        (7 - margin / 100, 7 + margin / 100)
    )
    twice = Plus(AggregateRef(0), AggregateRef(0))
    assert _interval(twice, (500, 0), noise) == (1000 - 2 * margin, 1000 + 2 * margin)


@pytest.mark.parametrize("noise", NOISES)
def test_interval_has_no_width_when_noise_cancels(noise: Mechanism) -> None:
    """A number less itself is known exactly, and so is a number that nobody measured."""
    nothing = Plus(AggregateRef(0), Times(NumberForm(Fraction(-1)), AggregateRef(0)))
    assert _interval(nothing, (500, 0), noise) == (0, 0)
    assert _interval(NumberForm(Fraction(7, 2)), (500, 0), noise) == (3.5, 3.5)
    assert _interval(Over(AggregateRef(0), AggregateRef(0)), (500, 0), noise) == (1, 1)


@pytest.mark.parametrize("noise", NOISES)
def test_interval_is_formed_before_the_value_is_moved_into_its_domain(noise: Mechanism) -> None:
    """A count of -5 is shown as 0, and the interval is around -5; a mean beyond its domain likewise."""
    margin = noise.margin()
    assert _interval(AggregateRef(0), (-5, 0), noise) == (-5 - margin, -5 + margin)
    around = _interval(AggregateRef(1), (1000, 30_000), noise)
    assert around is not None
    assert isclose(sum(around) / 2, 30)


@for_each("noise", NOISES)
@for_each("below", [0, 1, -1, 30, -30])
def test_quotient_has_no_interval_when_the_number_below_may_be_zero(
    noise: Mechanism, below: int
) -> None:
    """Beside a count that is within its own margin of 0 there is nothing to say."""
    assert _interval(Over(AggregateRef(2), AggregateRef(0)), (below, 100), noise) is None
    assert _interval(AggregateRef(1), (below, 100), noise) is None
    assert _interval(Plus(AggregateRef(0), AggregateRef(1)), (below, 100), noise) is None


def test_mean_over_a_negative_count_has_no_interval() -> None:
    """However far from 0: there are no groups of fewer than nobody."""
    for noise in NOISES:
        assert _interval(AggregateRef(1), (-5000, 100), noise) is None
        assert _interval(Over(AggregateRef(2), AggregateRef(0)), (-5000, 100), noise) is not None


@pytest.mark.parametrize("noise", NOISES)
def test_interval_of_a_quotient_is_the_one_of_its_plane_when_the_count_is_large(
    noise: Mechanism,
) -> None:
    """The mean of 1,000,000 at 5: each noise moves it by 1 and 5 millionths of its size."""
    std = noise.std * (1 + 25) ** 0.5 / 10**6
    width = _width(_interval(AggregateRef(1), (10**6, 5 * 10**6), noise))
    assert 3.9 * std < width < 4.5 * std


def test_interval_widens_when_the_count_below_comes_near_its_margin() -> None:
    """The closer to 0 it may be, the more than the plane says."""
    for noise in NOISES:
        margin = noise.margin()
        widths = [
            _width(_interval(Over(NumberForm(ONE), AggregateRef(0)), (count, 0), noise)) * count**2
            for count in (margin + 2, 2 * margin, 10 * margin, 1000 * margin)
        ]
        assert widths == sorted(widths, reverse=True)
        assert widths[-1] == pytest.approx(2 * margin, rel=1e-4)


def test_interval_is_none_when_floats_end() -> None:
    """Nothing infinite is shown."""
    wide = DiscreteLaplace(Fraction(10) ** 200)
    assert _interval(Times(AggregateRef(0), AggregateRef(0)), (10**200, 0), wide) is None


def test_interval_is_a_point_when_noise_is_none_to_speak_of() -> None:
    """At enormous prices nothing is uncertain, and a count of 1 is away from 0."""
    silent = DiscreteLaplace(Fraction(1, 10**7))
    assert _interval(AggregateRef(1), (1, 3), silent) == (3, 3)
