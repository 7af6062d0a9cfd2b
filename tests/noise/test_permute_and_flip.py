"""The largest of score + exponential noise: exactly that, and its pure price."""

from fractions import Fraction
from math import log

import numpy as np
import pytest
from laws import for_each
from noise.choices import exponential, flipping, objects, repeated
from noise.streams import Stream

from gateway.noise.exponential import BINARY, PureSelection, make_proposal, permute_and_flip
from gateway.noise.samplers import discrete_laplace

MANY = 12_000
SCALES = [Fraction(text) for text in ("1/3", "1", "20", "700", "1234567/3", "1e24")]
GAPS = [Fraction(text) for text in ("0", "0", "1/7", "1/2", "9/5", "3", "9", "60")]


def _scores(scale: Fraction) -> list[int]:
    return [17 - int(gap * scale) for gap in GAPS]


@for_each("scale", SCALES, ids=str)
@for_each(("binary", "coin", "coarser"), [(BINARY, 63, 0), (4, 3, 6), (1, 1, 1)])
def test_flips_have_the_distribution_of_the_largest_of_score_and_exponential_noise(
    scale: Fraction, binary: int, coin: int, coarser: int
) -> None:
    """Each candidate comes up as often as all outcomes of the coins say, whatever the table knows."""
    scores = _scores(scale)
    table = make_proposal(scale, binary=binary, coin=coin, coarser=coarser)
    stream = Stream(f"{scale} {binary}")
    drawn = repeated(
        lambda: permute_and_flip(table, scores, stream), MANY // (1 if binary > 4 else 3)
    )
    assert not objects(drawn, flipping(scores, scale))


def test_expected_chances_are_those_of_noise_that_is_added() -> None:
    """The sum over coins that the test above trusts is what adding very fine geometric noise gives."""
    scores, scale, fine, stream = [0, -1, -3], Fraction(2), 10**9, Stream("added")
    drawn = []
    for _ in range(MANY):
        noise = [abs(discrete_laplace(scale * fine, stream)) for _ in scores]
        noisy = [score * fine + one for score, one in zip(scores, noise, strict=True)]
        drawn.append(noisy.index(max(noisy)))
    assert not objects(drawn, flipping(scores, scale))
    assert objects(drawn, exponential(scores, scale))


def test_flips_among_thousands_leave_all_the_best_the_same_chance() -> None:
    """Among 5,000 that are equal and 5,000 far below, each equal one comes up as often (and no other)."""
    scores = np.array([0, -(10**9)] * 5_000, dtype=np.int64)
    choice, stream = PureSelection(Fraction(1000)), Stream("equal")
    drawn = repeated(lambda: choice.choose(scores, stream), 2_000)
    assert not [place for place in drawn if place % 2]
    assert not objects([place // 250 for place in drawn], [1 / 40] * 40)


@pytest.mark.parametrize("wrong", ["scale", "score", "exponential"])
def test_distribution_test_finds_fault_with_flips_when_there_is_one(wrong: str) -> None:
    """Negative control: half the scale, one score moved, the other mechanism."""
    scores, scale = [0, -1, -2, -4, -6, -12], Fraction(2)
    stream = Stream(wrong)
    tried = {
        "scale": lambda: PureSelection(scale / 2).choose(scores, stream),
        "score": lambda: PureSelection(scale).choose([0, -1, -1, -4, -6, -12], stream),
        "exponential": lambda: exponential_choice(scores, scale, stream),
    }
    assert objects(repeated(tried[wrong], 3 * MANY), flipping(scores, scale))


def exponential_choice(scores: list[int], scale: Fraction, stream: Stream) -> int:
    """One after the other by a uniform proposal and a coin: the exponential mechanism in its plainest form."""
    while True:
        place = stream.bits(3)
        if place < len(scores) and flips_up((max(scores) - scores[place]) / scale, stream):
            return place


def flips_up(exponent: Fraction, stream: Stream) -> bool:
    """A coin of e^-exponent by the first 53 bits, near enough for a control."""
    return log((stream.bits(53) + 1) / 2**53) < -exponent


@pytest.mark.parametrize("eta", [0.1, 1, 3])
def test_pure_price_holds_for_flips_when_differences_move_by_the_spread(eta: float) -> None:
    """No probability changes by more than e^eta, and nearly that is reached."""
    scale = Fraction(100 / eta).limit_denominator(10**6)  # a spread of 100 costs eta
    most = 0.0
    for start in ([0, 0, 0], [0, -40, -200], [-50, 50, 0], [0, -100, -300]):
        for move in ([0, 100, 0], [-100, 0, 0], [0, 100, 50], [-30, 0, 70], [0, 0, 100]):
            before = flipping(start, scale)
            after = flipping([u + d for u, d in zip(start, move, strict=True)], scale)
            losses = (abs(log(p / q)) for p, q in zip(before, after, strict=True))
            most = max(most, *losses)
    assert eta * 0.99 <= most <= eta * (1 + 1e-9)


def test_flips_miss_less_than_the_exponential_mechanism() -> None:
    """At the same pure price the expected gap is never larger, and often much smaller."""
    for scores in ([0, -1, -2, -4], [0, -3, -3, -3, -3, -3], [0, 0, -9], [0, -20, -40]):
        scale = Fraction(3)
        missed = [
            -sum(chance * score for chance, score in zip(chances, scores, strict=True))
            for chances in (flipping(scores, scale), exponential(scores, scale))
        ]
        assert missed[0] <= missed[1]
