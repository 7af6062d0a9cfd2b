"""What a released histogram of norms says of units, norms and rows."""

from fractions import Fraction

import numpy as np
import pytest
from clipping.populations import Population, Question, exact_histogram
from laws import for_each
from numpy import array
from samples import draws

from gateway.clipping.norm_histogram import NormHistogram, norm_of
from gateway.noise.mechanism import DiscreteGaussian, DiscreteLaplace, Mechanism
from gateway.sensitivity.norm_buckets import BUCKETS, UNIT

GAUSSIAN = DiscreteGaussian(Fraction(UNIT**2))
LAPLACE = DiscreteLaplace(Fraction(1))


def filled(at: dict[int, int], unit: int = UNIT) -> tuple[int, ...]:
    return tuple(unit * at.get(place, 0) for place in range(BUCKETS))


@for_each(
    ("units", "spreads", "noise"),
    [
        ((0,) * 62, (0,) * 62, GAUSSIAN),
        ((0,) * BUCKETS, (0,) * 62, GAUSSIAN),
        ((0,) * BUCKETS, None, GAUSSIAN),
        ((0,) * BUCKETS, (0,) * BUCKETS, LAPLACE),
    ],
)
def test_histogram_is_refused_when_its_parts_do_not_fit(
    units: tuple[int, ...], spreads: tuple[int, ...] | None, noise: Mechanism
) -> None:
    """Each currency has its own form."""
    with pytest.raises(ValueError, match=r"histogram|spreads"):
        NormHistogram(units, spreads, noise)


@for_each(
    ("at", "visible"),
    [
        ({0: 2}, 0),
        ({0: 4}, 1),
        ({0: 50, 2: 4}, 3),
        ({0: 50, 9: 3}, 1),
        ({0: 50, 9: 5}, 10),
        ({0: 50, 1: -50, 2: 4}, 3),
    ],
)
def test_buckets_are_visible_up_to_the_last_that_stands_out(
    at: dict[int, int], visible: int
) -> None:
    """Three standard deviations beside others, four behind a gap; here one is a unit."""
    assert NormHistogram(filled(at), filled({}), GAUSSIAN).visible == visible


def test_noise_alone_is_hardly_ever_visible() -> None:
    """63 buckets of noise: less than one histogram in a hundred shows a bucket behind a gap."""
    nobody = Question(Population.of(array([[1]])), Fraction(1, 100), pure=False)
    far = [seed for seed in range(300) if nobody.histogram(seed).visible > 2]
    assert len(far) <= 3


def test_rows_of_a_unit_follow_from_its_norm_and_spread() -> None:
    """The norm where all rows are in one group, its square where each has its own."""
    together, apart = array([[4, 0, 0, 0]] * 90), array([[1, 1, 1, 1]] * 90)
    for counts, rows in ((together, norm_of(4)), (apart, norm_of(2) ** 2)):
        units, spreads = exact_histogram(counts, pure=False)
        read = NormHistogram(tuple(units), tuple(spreads), GAUSSIAN)
        assert read.buckets[-1].units == pytest.approx(90)
        assert read.buckets[-1].rows == pytest.approx(rows)


def test_rows_of_a_unit_are_its_norm_under_laplace_noise() -> None:
    """There the norm is the number of rows, whatever groups they are in."""
    units, _ = exact_histogram(array([[1, 1, 0, 0]] * 90), pure=True)
    read = NormHistogram(tuple(units), None, LAPLACE)
    assert read.visible == 3
    assert read.buckets[2].units == 90
    assert read.buckets[2].rows == read.buckets[2].norm


def test_spread_of_a_bucket_is_that_of_those_around_it_when_it_does_not_stand_out() -> None:
    """A quotient of noise says nothing."""
    read = NormHistogram(filled({4: 90, 6: -1}), filled({4: 45, 6: 30}), GAUSSIAN)
    for place in (3, 6, 40):
        assert read.rows_of(place) == pytest.approx(norm_of(place) ** 2)


def test_spread_of_a_bucket_leans_on_its_neighbours_by_their_units() -> None:
    """A bucket beside it counts half: many units there say more than a few here, and few say little."""
    read = NormHistogram(filled({4: 1_000, 5: 10}), filled({4: 250, 5: -5}), GAUSSIAN)
    assert read.rows_of(4) == pytest.approx(norm_of(4) ** (1 + 0.5 + 247.5 / 1_005))
    assert read.rows_of(5) == pytest.approx(norm_of(5) ** (1 + 0.5 + 120 / 510))


def test_spreads_of_far_buckets_vary_little_with_the_noise() -> None:
    """The last visible bucket alone would say anything between one group and all of them."""
    rng = np.random.default_rng(4)
    noise = DiscreteGaussian(Fraction((30 * UNIT) ** 2))
    exact = {0: 2_000, 2: 1_500, 4: 1_000, 6: 500, 8: 150}
    around, alone = [], []
    for _ in range(draws(100)):
        units, spreads = (
            tuple(
                round(UNIT * (scale * exact.get(place, 0) + 30 * rng.standard_normal()))
                for place in range(BUCKETS)
            )
            for scale in (1.0, 0.1)
        )
        read = NormHistogram(units, spreads, noise)
        around.append(np.log(read.rows_of(8)) / np.log(norm_of(8)) - 1.5)
        alone.append(spreads[8] / units[8])
    assert np.std(around) < 0.6 * np.std(alone)
    assert np.mean(around) == pytest.approx(0.1, abs=0.04)


def test_norm_of_a_bucket_lies_inside_of_it() -> None:
    """The square of a norm of bucket b is above 2^(b-1) and at most 2^b; the least is 1."""
    assert norm_of(0) == 1
    for place in range(1, BUCKETS):
        assert 2 ** (place - 1) < norm_of(place) ** 2 <= 2**place * (1 + 1e-12)
