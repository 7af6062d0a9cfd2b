"""Cells that are fitted to their total: their noise is as described, cheaper than it was, and their sums hold less of it."""

from collections.abc import Sequence
from fractions import Fraction
from statistics import fmean

import pytest
from hypothesis import given
from hypothesis import strategies as st
from noise.streams import Stream
from scipy.stats import binom

from gateway.noise.combined_noise import (
    CombinedNoise,
    UnreadableNoise,
    combine_draws,
    noise_json,
    noise_of_json,
    sum_noise,
    variance_of,
)
from gateway.noise.least_squares import FittedNoise
from gateway.noise.mechanism import DiscreteGaussian

ROUNDS = 1_500
MISSED = 0.06  # as in tests/privacy/test_interval_coverage.py: at most
ALPHA = 1e-8
Q = 16


def fitted(std: Fraction | int, groups: int, total: int = Q) -> FittedNoise:
    return FittedNoise(DiscreteGaussian(Fraction(std) ** 2), total, groups)


def tables(noise: FittedNoise, seed: str, rounds: int = ROUNDS) -> list[list[int]]:
    drawn = noise.draw(rounds * noise.groups, Stream(seed))
    return [drawn[place : place + noise.groups] for place in range(0, len(drawn), noise.groups)]


def _mean_square(values: Sequence[float]) -> float:
    return fmean(one * one for one in values)


@pytest.mark.parametrize(("std", "groups"), [(3, 50), (20, 50), (Fraction(7, 10), 64)])
def test_sums_of_fitted_cells_have_the_noise_that_is_said(std: Fraction, groups: int) -> None:
    """Of one cell, of every second one, of the first half and of all; within 20 %, which is 6 deviations of 2,000 draws."""
    noise = fitted(std, groups)
    drawn = tables(noise, f"sums {std} {groups}")
    half = groups // 2
    sums: dict[int, list[list[float]]] = {
        1: [[one[0] for one in drawn], [one[-1] for one in drawn]],
        half: [[sum(one[::2][:half]) for one in drawn], [sum(one[:half]) for one in drawn]],
        groups: [[sum(one) for one in drawn]],
    }
    for many, columns in sums.items():
        said = sum_noise(noise, many).std ** 2
        for column in columns:
            found = _mean_square(column)
            assert 0.6 * said < found < 1.2 * said, (
                many
            )  # where noise is small, shares are told wider
            if std >= 20:
                assert 0.8 * said < found


def test_differences_of_fitted_cells_have_no_more_noise_than_two_cells() -> None:
    """Their noises are not independent: what one is above, the others are below."""
    noise = fitted(20, 50)
    drawn = tables(noise, "differences")
    assert _mean_square([one[3] - one[7] for one in drawn]) < 1.2 * 2 * 20**2


def test_total_at_the_same_price_has_a_part_of_the_noise() -> None:
    """Before → after: cells 3 % wider, totals 0.51 and 0.20 of what they were. A unit is in one group."""
    price, ratios = Fraction(1, 100), {}
    for groups in (50, 400):
        before = DiscreteGaussian(1 / (2 * price))
        after = FittedNoise(DiscreteGaussian((1 + Fraction(1, Q)) / (2 * price)), Q, groups)
        assert after.rho_for(1 + Fraction(1, Q), Q) == before.rho_for(1) == price
        rounds = 400
        stream = Stream(f"before {groups}")
        sums = [sum(before.draw(groups, stream)) for _ in range(rounds)]
        drawn = tables(after, f"after {groups}", rounds)
        total = (_mean_square([sum(one) for one in drawn]) / _mean_square(sums)) ** 0.5
        cells = (_mean_square([one[0] for one in drawn]) * 2 * float(price)) ** 0.5
        ratios[groups] = (total, cells)
    assert ratios[50][0] == pytest.approx(0.51, rel=0.2)
    assert ratios[400][0] == pytest.approx(0.202, rel=0.2)
    assert all(0.88 < cells < 1.2 for _, cells in ratios.values())


def _too_often(misses: int, many: int) -> bool:
    return float(binom.sf(misses - 1, many, MISSED)) < ALPHA


def _misses(drawn: Sequence[Sequence[int]], told: FittedNoise, many: int) -> int:
    """How often the noise of so many cells is outside of the margin that is told for it."""
    margin = sum_noise(told, many).margin()
    return sum(abs(sum(one[:many])) > margin for one in drawn)


@pytest.mark.parametrize("std", [Fraction(1, 3), 1, 3, 40])
def test_margins_of_fitted_cells_hold(std: Fraction) -> None:
    """For one cell, some and all, of noise below and above the steps; margins for half the noise are found to miss."""
    noise = fitted(std, 50)
    drawn = tables(noise, f"margins {std}")
    for many in (1, 2, 25, 49, 50):
        assert not _too_often(_misses(drawn, noise, many), ROUNDS)
        if std * many**0.5 >= 8:
            assert _too_often(_misses(drawn, fitted(Fraction(std) / 2, 50), many), ROUNDS)


@given(st.lists(st.integers(-(2**40), 2**40), min_size=50, max_size=60), st.integers(0, 2**32))
def test_noise_of_fitted_cells_does_not_depend_on_the_cells(exact: list[int], seed: int) -> None:
    """INVARIANT: exact cells plus the noise that the same bits give without them."""
    noise = fitted(4, len(exact))
    for _ in range(2):  # tables are made by the second draw, and take other bits
        noise.released(exact, Stream("first"))
    released = noise.released(exact, Stream(f"{seed}"))
    alone = noise.released([0] * len(exact), Stream(f"{seed}"))
    moved = [one - there for one, there in zip(released, exact, strict=True)]
    assert moved == alone


def test_all_cells_together_are_the_mean_of_both_measurements() -> None:
    """By the inverse of their variances, which is the least that any mean has."""
    noise = fitted(10, 84)
    whole = sum_noise(noise, 84)
    assert isinstance(whole, CombinedNoise)
    assert sum_noise(sum_noise(noise, 12), 7) == whole
    of_cells, of_total = 84 * Fraction(100), Fraction(1600)
    assert variance_of(whole) == of_cells * of_total / (of_cells + of_total)
    assert variance_of(whole) < variance_of(sum_noise(noise, 42))


def test_more_cells_than_were_fitted_are_refused() -> None:
    """Nothing is known of other cells."""
    noise = fitted(10, 84)
    with pytest.raises(ValueError, match="more cells"):
        sum_noise(noise, 85)
    with pytest.raises(ValueError, match="not topped up"):
        combine_draws((), noise, (), DiscreteGaussian(Fraction(4)))
    with pytest.raises(ValueError, match="another number of cells"):
        noise.released([0] * 83, Stream("few"))


def test_price_of_fitted_cells_is_that_of_the_finer_of_both_measurements() -> None:
    """A total of less noise than was declared costs what it shows; and one that no price was computed for is refused."""
    noise = fitted(10, 84)
    assert noise.rho_for(3, Q) == Fraction(3, 200)
    assert noise.rho_for(3, 2 * Q) == Fraction(3, 100)
    with pytest.raises(ValueError, match="no price"):
        noise.rho_for(3, 0)


def test_fitted_noise_is_written_and_read_back() -> None:
    """What is stored with an entry is the same noise; and what is none is not read."""
    for noise in (fitted(Fraction(7, 3), 50), fitted(3, 50, 160), sum_noise(fitted(3, 50), 7)):
        assert noise_of_json(noise_json(noise)) == noise
    written = noise_json(fitted(3, 50))
    assert isinstance(written, dict)
    for wrong in ({"count": 50}, {"total": 0}, {"fitted": {"laplace": "3/1"}}, {"more": 1}):
        with pytest.raises(UnreadableNoise):
            noise_of_json({**written, **wrong})
