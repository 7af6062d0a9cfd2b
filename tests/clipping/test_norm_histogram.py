"""What a released histogram of norms says of units, norms and rows."""

from fractions import Fraction

import pytest
from clipping.populations import Population, Question, exact_histogram
from laws import for_each
from numpy import array

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


def test_spread_of_a_bucket_that_does_not_stand_out_is_that_of_one_below() -> None:
    """A quotient of noise says nothing."""
    read = NormHistogram(filled({4: 90, 6: -1}), filled({4: 45, 6: 30}), GAUSSIAN)
    assert read.rows_of(6) == pytest.approx(norm_of(6) ** 2)
    assert read.rows_of(40) == pytest.approx(norm_of(40) ** 2)
    assert read.rows_of(3) == pytest.approx(norm_of(3) ** 1.5)


def test_norm_of_a_bucket_lies_inside_of_it() -> None:
    """The square of a norm of bucket b is above 2^(b-1) and at most 2^b; the least is 1."""
    assert norm_of(0) == 1
    for place in range(1, BUCKETS):
        assert 2 ** (place - 1) < norm_of(place) ** 2 <= 2**place * (1 + 1e-12)
