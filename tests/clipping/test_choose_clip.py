"""The chosen clip is nearly as good as the best one in hindsight, and never depends on more than the histogram."""

from collections.abc import Callable, Mapping
from fractions import Fraction
from functools import cache
from math import sqrt

import numpy as np
import pytest
from clipping.populations import LARGEST, POPULATIONS, SQUARES, Population, Question, orders
from laws import for_each
from samples import draws

from gateway.clipping.choose_clip import CellNoise, MeasureNoise, choose_clip, clipped_by
from gateway.clipping.norm_histogram import NormHistogram, norm_of
from gateway.noise.mechanism import DiscreteGaussian
from gateway.sensitivity.norm_buckets import BUCKETS, UNIT, bucket_of

WIDE = DiscreteGaussian(Fraction(5_000**2))
NARROW = DiscreteGaussian(Fraction(1))
CELLS = CellNoise(10, 5.0)


@pytest.fixture(scope="module")
def counted() -> Mapping[str, Population]:
    return {name: make() for name, make in POPULATIONS.items()}


@pytest.fixture(scope="module")
def asked(counted: Mapping[str, Population]) -> Callable[[str, Fraction], Question]:
    """Counts under Gaussian noise: the errors of a question are computed once for all tests."""
    return cache(lambda name, epsilon: Question(counted[name], epsilon, pure=False))


def best(of: NormHistogram, noise: CellNoise = CELLS, largest: int = LARGEST) -> int:
    found = choose_clip(of, noise, largest)
    assert found is not None, "no bucket stands out"
    return found


def chosen(question: Question, seed: object) -> int:
    return best(question.histogram(seed), question.noise)


def regret(question: Question) -> float:
    """The root of the mean squared error over many histograms, relative to the best clip in hindsight."""
    errors = [question.error(chosen(question, seed)) for seed in range(draws(40))]
    return sqrt(float(np.mean(np.square(errors)))) / question.best()


def histogram(
    units: Mapping[int, int], spread: float = 0.5, noise: DiscreteGaussian = NARROW
) -> NormHistogram:
    """So many units in these buckets, with all rows of one in one group (0) or each in its own (1)."""
    held = [UNIT * units.get(place, 0) for place in range(BUCKETS)]
    return NormHistogram(tuple(held), tuple(round(one * (spread - 0.5)) for one in held), noise)


@for_each(
    ("name", "most"),
    [
        ("clinic by diagnosis", 1.4),
        (
            "clinic by year",
            2.3,
        ),  # 12 patients have 2 % of all visits, and no histogram shows so few
        ("clinic by month", 1.4),
        ("zipf by category", 1.45),
        ("zipf by month", 1.4),
        ("retail by category", 1.4),
        ("retail by month", 1.4),
    ],
)
def test_chosen_clip_is_nearly_the_best_in_hindsight(
    asked: Callable[[str, Fraction], Question], name: str, most: float
) -> None:
    """Gaussian noise, at prices from a tenth to one: a factor of √2 is one step of the clips."""
    for epsilon in (Fraction(1, 10), Fraction(1)):
        assert regret(asked(name, epsilon)) <= most, epsilon


@for_each(
    ("name", "most"),
    [
        ("clinic by diagnosis", 1.4),
        ("clinic by year", 2.0),
        ("clinic by month", 1.4),
        ("zipf by category", 1.5),
        ("zipf by month", 1.4),
        ("retail by category", 1.4),
        ("retail by month", 1.4),
    ],
)
def test_chosen_clip_is_nearly_the_best_in_hindsight_under_laplace_noise(
    counted: Mapping[str, Population], name: str, most: float
) -> None:
    """The histogram of a pure ledger is coarser, because its noise has longer tails."""
    for epsilon in (Fraction(1, 2), Fraction(1)):
        question = Question(counted[name], epsilon, pure=True)
        assert regret(question) <= most, epsilon


def unlucky(question: Question, choose: Callable[[NormHistogram, CellNoise], int]) -> float:
    """The error that 95 of 100 histograms stay below, relative to the best clip in hindsight."""
    clips = [choose(question.histogram(seed), question.noise) for seed in range(draws(200))]
    return float(np.percentile([question.error(one) for one in clips], 95)) / question.best()


def plugged_in(released: NormHistogram, noise: CellNoise) -> int:
    """The clip that would be the best one if the released histogram were exact."""
    units = np.maximum([one / released.unit for one in released.units], 0)
    norms = np.array([norm_of(place) for place in range(BUCKETS)])
    rows = np.minimum(
        [released.rows_of(place) for place in range(BUCKETS)], norms * sqrt(noise.cells)
    )
    [measure] = noise.measures

    def error(square: int) -> float:
        lost = units @ (rows * np.maximum(0, 1 - sqrt(square) / norms))
        drawn = measure.weight * noise.std * sqrt(square) * noise.cells
        return float((lost**2 + drawn**2) / (units @ rows) ** 2)

    return int(min(SQUARES, key=error))


@for_each(("groups", "measure"), [(3, "count"), (3, "sum"), (40, "count"), (40, "sum")])
def test_one_unlucky_histogram_hardly_moves_the_choice(groups: int, measure: str) -> None:
    """A histogram serves for 30 days, so the choice is good for nearly all draws of its noise; taken as it is, it is not."""
    question = Question(orders(groups), Fraction(3, 100), pure=False, measure=measure)
    assert unlucky(question, best) <= 1.6
    assert unlucky(question, plugged_in) > 2


@for_each(
    ("name", "pure", "most"),
    [
        ("clinic by diagnosis", False, 1.4),
        ("clinic by year", False, 1.2),
        ("clinic by month", False, 1.2),
        (
            "zipf by category",
            False,
            2.4,
        ),  # values have nothing to do with rows, so the best clip is 1
        ("retail by category", False, 1.9),  # here, too
        ("retail by month", True, 1.8),
    ],
)
def test_chosen_clip_of_a_mean_is_not_far_from_the_best_in_hindsight(
    counted: Mapping[str, Population], name: str, *, pure: bool, most: float
) -> None:
    """What a mean loses with its rows is assumed, between nothing and all of the share."""
    for epsilon in (Fraction(1, 10), Fraction(1)):
        question = Question(counted[name], epsilon, pure=pure, measure="mean")
        assert regret(question) <= most, epsilon


@for_each("fixed", [1, 4**2, 1024**2])
def test_fixed_clip_is_far_from_the_best_for_some_population(
    asked: Callable[[str, Fraction], Question], fixed: int
) -> None:
    """The negative control: no clip that is chosen without looking is near the best everywhere."""
    worst = 0.0
    for name in POPULATIONS:
        for epsilon in (Fraction(1, 10), Fraction(1)):
            question = asked(name, epsilon)
            worst = max(worst, question.error(fixed) / question.best())
    assert worst > 2


def test_nothing_is_chosen_when_nothing_stands_out_of_the_noise() -> None:
    """Noise alone, negative counts, and an empty table tell nothing of anybody."""
    question = Question(Population.of(np.array([[1]])), Fraction(1, 10), pure=False)
    for one in (question.histogram("one unit"), histogram({}), histogram({3: -50, 7: -9})):
        assert one.visible == 0
        assert choose_clip(one, CELLS, LARGEST) is None
        assert clipped_by(one, 16) is None


def test_one_unit_with_very_many_rows_does_not_raise_the_clip() -> None:
    """A unit with 2^30 rows is one unit: it must not decide how much noise all others have."""
    others = {0: 5_000, 2: 3_000, 4: 500}
    one = histogram({**others, 60: 1}, noise=WIDE)
    assert best(one) == best(histogram(others, noise=WIDE))
    assert best(one) <= 64


def test_clip_follows_units_with_many_rows_when_they_are_many() -> None:
    """The same bucket with many units stands out, and the clip rises as far as it may."""
    many = histogram({0: 5_000, 20: 2_000}, spread=0.0, noise=WIDE)
    assert best(many) == 2**20
    assert best(many, largest=64) == 64**2


def test_clip_is_one_when_every_unit_has_one_row() -> None:
    """Nothing is lost under the smallest clip, and it has the least noise."""
    assert best(histogram({0: 5_000})) == 1


@for_each(("cells", "std"), [(1, 1.0), (100, 1.0), (10_000, 1.0), (100, 100.0)])
def test_clip_falls_with_more_cells_and_with_more_noise(cells: int, std: float) -> None:
    """The same rows are lost in more cells, each of which has the whole noise."""
    one = histogram({0: 4_000, 4: 3_000, 8: 1_500, 10: 400, 12: 100})
    here = best(one, CellNoise(cells, std))
    assert best(one, CellNoise(10 * cells, std)) <= here
    assert best(one, CellNoise(cells, 10 * std)) <= here


def test_clip_of_several_measures_lies_between_those_of_each() -> None:
    """One weight for all: a sum with much noise wants a smaller clip than a count, a mean the smallest."""
    one = histogram({0: 4_000, 4: 3_000, 8: 1_500, 10: 400, 12: 100})
    count, wide, mean = MeasureNoise(), MeasureNoise(6.0), MeasureNoise(4.0, share=True)

    def found(*measures: MeasureNoise) -> int:
        return best(one, CellNoise(50, 2.0, measures))

    assert found(mean) < found(wide) < found(count)
    assert found(wide) <= found(count, wide) <= found(count)
    assert found(mean) <= found(count, wide, mean) <= found(count)


def test_clip_of_cells_and_their_total_is_between_those_of_each() -> None:
    """Thousands of cells of noise would take away most of a total that is exact enough for a large clip."""
    one = histogram({0: 5_000, 6: 2_000, 12: 200})
    cells, total = CellNoise(2_500, 30.0), CellNoise(1, 60.0)
    alone, whole = choose_clip(one, cells, LARGEST), choose_clip(one, total, LARGEST)
    both = choose_clip(one, cells, LARGEST, total)
    assert alone is not None
    assert both is not None
    assert whole is not None
    assert alone < both < whole


def test_choice_is_a_function_of_the_released_histogram_alone() -> None:
    """Two databases with one released histogram have one clip: it is post-processing."""
    first, second = (
        Question(Population.of(np.array(rows)), Fraction(1), pure=False)
        for rows in ([[1, 1]] * 900, [[5, 0]] * 900)
    )
    released = first.histogram("the same")
    copied = NormHistogram(released.units, released.spreads, released.noise)
    assert second.histogram("the same") != released
    assert best(copied) == best(released)


def test_clipped_shares_are_those_of_the_rows_that_weights_take() -> None:
    """Without noise, and with one norm in each bucket, shares are exact."""
    one = histogram({0: 300, 1: 100}, spread=1.0)
    told = clipped_by(one, 1)
    assert told is not None
    assert told.units == pytest.approx(100 / 400)
    assert told.lost == pytest.approx(100 * 2 * (1 - 1 / sqrt(2)))
    assert told.rows == pytest.approx(told.lost / (300 + 200))
    untouched = clipped_by(one, 2)
    assert untouched is not None
    assert (untouched.units, untouched.rows, untouched.lost) == (0, 0, 0)


@for_each(
    ("rows", "square", "units"),
    [
        (11, 100, 1.0),
        (9, 100, 1.0),
        (8, 100, 0.0),
        (12, 100, 1.0),
        (2, 3, 1.0),
        (11, 128, 0.0),
        (11, 64, 1.0),
    ],
)
def test_bucket_around_the_clip_counts_as_above_it(rows: int, square: int, units: float) -> None:
    """Where c² is no power of two, units with the rows of one bucket are on both sides of it: no share is too small."""
    told = clipped_by(histogram({bucket_of(rows**2): 3_000}, noise=NARROW), square)
    assert told is not None
    assert told.units == units
    assert told.rows >= max(0.0, 1 - sqrt(square) / rows) or told.apart
    assert told.apart == (square & (square - 1) == 0 or units == 0)


def test_middle_of_a_bucket_tells_nothing_of_a_clip_inside_of_it() -> None:
    """All units have 11 rows, and 10 count in full: 9 % of the rows are cut, though the middle of the bucket is 9.5."""
    one = histogram({bucket_of(11**2): 3_000})
    assert norm_of(bucket_of(11**2)) < 10
    told = clipped_by(one, 100)
    assert told is not None
    assert 1 / 11 < told.rows < 0.12
    # the negative control: a clip at the end of the bucket cuts nobody
    whole = clipped_by(one, 128)
    assert whole is not None
    assert (whole.units, whole.rows, whole.apart) == (0, 0, True)


def test_clipped_shares_stay_between_nothing_and_all_under_noise(
    counted: Mapping[str, Population],
) -> None:
    """A share is a number that a person can read, whatever the noise does."""
    few = Population.of(counted["retail by month"].counts[:300])
    question = Question(few, Fraction(1, 10), pure=True)
    for seed in range(draws(200)):
        for square in SQUARES[::4]:
            told = clipped_by(question.histogram(seed), square)
            if told is not None:
                assert 0 <= told.units <= 1
                assert 0 <= told.rows <= 1
                assert told.lost >= 0


@for_each(("cells", "std"), [(0, 1.0), (10, 0.0), (10, -1.0), (10, float("nan"))])
def test_noise_of_cells_is_refused_when_there_is_none(cells: int, std: float) -> None:
    """Without noise every clip would be too small."""
    with pytest.raises(ValueError, match="a release has"):
        CellNoise(cells, std)


def test_clip_follows_the_histogram_when_there_is_hardly_any_noise() -> None:
    """Of a huge price noise is nearly nothing, and nothing is guessed behind what is there."""
    exact = histogram({0: 900, 4: 50, 9: 3}, noise=DiscreteGaussian(Fraction(1, 10**40)))
    assert best(exact, CellNoise(10, 1e-9)) == 2**9
