"""Choices by the exponential mechanism: exactly its distribution, its price, and how far they miss."""

from decimal import localcontext
from fractions import Fraction
from math import exp, log, sqrt

import numpy as np
import pytest
from noise.choices import DIGITS, exponential, flipping, objects, repeated, worst
from noise.exact import decimal
from noise.streams import Stream, Written
from samples import draws

from gateway.noise.enclosure import decay_bounds
from gateway.noise.exponential import (
    BINARY,
    GapWeights,
    PureSelection,
    Scores,
    Selection,
    choose_candidate,
    is_accepted,
    make_proposal,
    selection_for,
    selection_within,
)

MANY = draws(20_000)
SCALES = [Fraction(text) for text in ("1/3", "1", "20", "700", "1234567/3", "1e24")]
# relative to the scale: near, in the middle, far, beyond the table of small words
GAPS = [Fraction(text) for text in ("0", "0", "1/7", "1/2", "1", "9/5", "3", "11/2", "9", "60")]


def _scores(scale: Fraction) -> list[int]:
    return [17 - int(gap * scale) for gap in GAPS]


def _words(scores: list[int]) -> Scores:
    return np.array(scores, dtype=np.int64)


@pytest.mark.parametrize("scale", SCALES, ids=str)
@pytest.mark.parametrize(("binary", "coin", "coarser"), [(BINARY, 63, 0), (4, 3, 6), (1, 1, 1)])
def test_choice_has_the_distribution_of_the_exponential_mechanism(
    scale: Fraction, binary: int, coin: int, coarser: int
) -> None:
    """Each candidate comes up in proportion to e^(score/scale), whatever the table knows."""
    scores = _scores(scale)
    table = make_proposal(scale, binary=binary, coin=coin, coarser=coarser)
    stream = Stream(f"{scale} {binary}")
    drawn = repeated(
        lambda: choose_candidate(table, scores, stream), MANY // (1 if binary > 4 else 2)
    )
    assert not objects(drawn, exponential(scores, scale))


def test_choice_is_the_same_when_scores_come_as_words() -> None:
    """Integers of any size and 64-bit words lead to the same place with the same bits."""
    for scale in SCALES[:-1]:
        table, scores = make_proposal(scale), _scores(scale)
        for name in range(200):
            one = choose_candidate(table, scores, Stream(f"{name}"))
            assert one == choose_candidate(table, _words(scores), Stream(f"{name}"))


def test_choice_among_words_is_right_when_their_differences_exceed_a_word() -> None:
    """The smallest and the largest 64-bit words are not mistaken for neighbours."""
    scores = np.array([-(2**63), 2**63 - 1, -(2**63) + 1], dtype=np.int64)
    table = make_proposal(Fraction(1, 10))
    assert {choose_candidate(table, scores, Stream(f"{name}")) for name in range(100)} == {1}


def test_choice_among_thousands_has_the_distribution_of_the_exponential_mechanism() -> None:
    """A long row of candidates with weights from 1 to 2^-1000 is drawn from as the formula says."""
    scores = [-abs(b - 3_000) * 7 for b in range(10_000)]
    choice = Selection(Fraction(100))
    stream, words = Stream("thousands"), _words(scores)
    drawn = repeated(lambda: choice.choose(words, stream), MANY)
    assert not objects(drawn, exponential(scores, choice.scale))


# a tail of a thousandth is missed by the fifth of a sample
_CUT = pytest.param("cut", marks=pytest.mark.full_samples)


@pytest.mark.parametrize("wrong", ["eta", "score", "unit", "flipped", _CUT])
def test_distribution_test_finds_fault_when_there_is_one(wrong: str) -> None:
    """Negative control: a doubled eta, one score moved, half a unit of scale, other noise, a tail cut off."""
    scores, scale = [0, -1, -2, -4, -6, -12], Fraction(2)
    right, stream = exponential(scores, scale), Stream(wrong)
    tried = {
        "eta": lambda: Selection(scale / 2).choose(scores, stream),
        "score": lambda: Selection(scale).choose([0, -1, -1, -4, -6, -12], stream),
        "unit": lambda: Selection(scale + Fraction(1, 4)).choose(scores, stream),
        "flipped": lambda: PureSelection(scale).choose(scores, stream),
        "cut": lambda: Selection(scale).choose([0, -1, -2, -4, -6, -999], stream),
    }
    drawn = repeated(tried[wrong], 3 * MANY)
    assert objects(drawn, right)
    if wrong == "flipped":
        assert not objects(drawn, flipping(scores, scale))


def _limit(table: GapWeights, gap: int, step: int, bits: int) -> int:
    """e^(-gap/scale)·2^binary/weight, in units of 2^-bits."""
    low, _ = decay_bounds(gap / table.scale, bits + 64)
    return (low << table.binary) // (int(table.weights[step]) << 64)


@pytest.mark.parametrize("gap", [0, 1, 63, 64, 200, 500, 2_000])
@pytest.mark.parametrize("coin", [1, 5, 63])
def test_keeping_is_decided_by_later_bits_when_the_first_are_those_of_the_limit(
    gap: int, coin: int
) -> None:
    """A number just below the limit is kept and one just above is not, however few bits are known at first."""
    table = make_proposal(Fraction(50), binary=20, coin=coin, coarser=3)
    step = min(gap >> table.shift, len(table.weights) - 1)
    limit = _limit(table, gap, step, 400)
    for u, kept in ((limit - (1 << 40), True), (limit + (1 << 40), False)):
        if 0 <= u < 1 << 400:
            text = f"{u:0400b}"
            later = Written(text[coin:])
            assert is_accepted(table, gap, step, int(text[:coin], 2), later) is kept


def test_keeping_agrees_with_the_exact_limit_for_any_bits() -> None:
    """For random bits the answer is that of 400 bits."""
    table = make_proposal(Fraction(50), binary=20, coin=2, coarser=3)
    both = set()
    for name in range(300):
        u = Stream(f"{name}").bits(400)
        gap, text = 5 * (name % 60), f"{u:0400b}"
        step = min(gap >> table.shift, len(table.weights) - 1)
        kept = is_accepted(table, gap, step, int(text[:2], 2), Written(text[2:]))
        assert kept is (u < _limit(table, gap, step, 400))
        both.add(kept)
    assert both == {True, False}


def test_choice_falls_on_a_candidate_of_hardly_any_weight_when_the_bits_say_so() -> None:
    """A weight of 2^-144 is not cut off: it takes the right proposal and 104 more bits that are 0."""
    proposed = f"{1 << BINARY:b}"
    select_far = Selection(Fraction(1))
    assert select_far.choose([0, -100], Written(proposed + "0" * 300)) == 1
    assert select_far.choose([0, -100], Written(proposed + "0" * 103 + "1" * 300)) == 0


@pytest.mark.parametrize("scale", SCALES, ids=str)
def test_table_is_never_below_the_weights_and_never_too_sure(scale: Fraction) -> None:
    """The weight of a step is above that of its first gap, and `sure` below that of its last."""
    for table in (make_proposal(scale), make_proposal(scale, binary=9, coin=7, coarser=2)):
        last = len(table.weights) - 1
        for step in {*range(0, last, max(last // 40, 1)), last - 1}:
            first, end = step << table.shift, (step + 1 << table.shift) - 1
            weight, sure = int(table.weights[step]), int(table.sure[step])
            assert weight << 100 >= decay_bounds(first / scale, table.binary + 100)[0]
            kept = decay_bounds(end / scale, table.binary + table.coin + 100)[1]
            assert sure * weight << 100 <= kept
        assert table.weights[last] == 1
        assert table.sure[last] == 0
        assert decay_bounds(table.beyond / scale, table.binary + 8)[1] <= 1 << 8


def test_choice_is_quickly_sure_with_the_usual_table() -> None:
    """Nearly all proposals of near candidates are kept without a further look: tables are not idle."""
    table = make_proposal(Fraction(12_345_678))
    sure = [int(one) / 2**63 for one in table.sure[:500]]
    assert min(sure) > 0.99


@pytest.mark.parametrize("spread", [1, 2, 18, 7 * 2**40])
@pytest.mark.parametrize("price", ["1/10", "1", "1/3", "123456789/987654321", "1e-9", "1e7"])
def test_choice_costs_its_price_and_hardly_less(price: str, spread: int) -> None:
    """Rounding goes to the safe side in both currencies."""
    paid = Fraction(price)
    for cost in (
        selection_for(paid, spread).eta_for(spread),
        selection_within(paid, spread).rho_for(spread),
    ):
        assert paid * (1 - Fraction(1, 2**44)) <= cost <= paid


def test_choice_in_zcdp_is_wider_than_rho_alone_would_tell() -> None:
    """Eta is the root of 8·rho: at rho = 1/8 it is 1, and the scale is the spread."""
    assert selection_within(Fraction(1, 8), 6).scale == 6
    assert selection_within(Fraction(1, 32), 6).scale == 12


@pytest.mark.parametrize("order", [1.01, 1.5, 2, 5, 30])
@pytest.mark.parametrize("eta", [0.1, 1, 3])
def test_range_bounded_price_holds_for_the_exponential_mechanism_alone(
    order: float, eta: float
) -> None:
    """Rényi's divergence is at most order·eta²/8 when score differences move by the spread; flips exceed it."""
    scale = Fraction(100 / eta).limit_denominator(10**6)  # a spread of 100 costs eta
    moves = [[0, 100], [-100, 0], [0, 100, 50], [30, -20, 80], [0, 0, 0, 100]]
    starts = [[0, 0, 0, 0], [0, -40, -200, 10], [-50, 50, 0, 3], [0, -100, -300, -900]]
    most, flipped = 0.0, 0.0
    for start in starts:
        for move in moves:
            before = start[: len(move)]
            after = [u + d for u, d in zip(before, move, strict=True)]
            most = max(most, worst(order, exponential(before, scale), exponential(after, scale)))
            flipped = max(flipped, worst(order, flipping(before, scale), flipping(after, scale)))
    assert most <= order * eta**2 / 8 * (1 + 1e-9)
    assert flipped <= eta * (1 + 1e-9)
    if order <= 2 and eta <= 1:
        assert flipped > order * eta**2 / 8


@pytest.mark.parametrize("scale", ["1/5", "1", "37/2", "1e6", "1e15"])
@pytest.mark.parametrize("candidates", [1, 2, 100, 10_000])
def test_shortfall_is_the_smallest_that_the_bound_allows(scale: str, candidates: int) -> None:
    """n·e^(-k/scale) ≤ limit for k, and not for k - 1."""
    wide = Fraction(scale)
    for limit in (Fraction(1), Fraction(1, 20), Fraction(1, 10**9)):
        k = Selection(wide).shortfall(candidates, limit)
        with localcontext() as context:
            context.prec = DIGITS
            weighs = [candidates * (-decimal(j / wide)).exp() for j in (k, k - 1)]
            assert weighs[0] <= decimal(limit)
            assert k == 0 or weighs[1] > decimal(limit)


def test_shortfall_is_not_exceeded_more_often_than_it_says() -> None:
    """In the worst of cases, all others equal and k below, the bound is nearly reached and never exceeded."""
    for choice, chances in (
        (Selection(Fraction(7)), exponential),
        (PureSelection(Fraction(7)), flipping),
    ):
        k = choice.shortfall(10, Fraction(1, 20))
        for gap in (k, k + 1):
            missed = sum(chances([0, *[-gap] * 9], choice.scale)[1:])
            assert missed <= 1 / 20
        assert sum(chances([0, *[-(k - 2)] * 9], choice.scale)[1:]) > 1 / 30


def test_shortfall_is_never_0_when_it_would_count_the_best_as_missed() -> None:
    """That the best score is not exceeded is no news: a limit below 1 needs a k of 1 at least."""
    for choice in (Selection(Fraction(1, 100)), PureSelection(Fraction(1, 100))):
        for limit in (Fraction(1, 10), Fraction(1, 2), Fraction(99, 100)):
            assert choice.shortfall(1, limit) == choice.shortfall(2, limit) == 1


def test_exponential_is_what_eta_and_sensitivity_say() -> None:
    """e^(eta·u/(2·sensitivity)): for eta = 1 two candidates a sensitivity apart stand e^(1/2) to 1."""
    stream = Stream("two")
    choice = Selection(Fraction(12))
    drawn = [choice.choose([0, -6], stream) for _ in range(MANY)]
    share = 1 / (1 + exp(0.5))
    assert abs(sum(drawn) - MANY * share) < 6.2 * sqrt(MANY * share * (1 - share))


@pytest.mark.parametrize("made", [Selection, PureSelection])
def test_choices_refuse_what_is_no_scale_no_price_and_no_candidates(
    made: type[Selection | PureSelection],
) -> None:
    """Nothing is drawn without a scale above 0, scores that are whole numbers, and one candidate."""
    with pytest.raises(ValueError, match="above 0"):
        made(Fraction(0))
    with pytest.raises(TypeError, match="Fraction"):
        made(0.5)  # type: ignore[arg-type]
    choice = made(Fraction(1))
    with pytest.raises(ValueError, match="candidates"):
        choice.choose([], Stream("none"))
    with pytest.raises(TypeError, match="64-bit"):
        choice.choose(np.array([1, 2], dtype=np.int32), Stream("short"))
    for wrong in (lambda: selection_for(Fraction(0), 1), lambda: selection_within(Fraction(1), 0)):
        with pytest.raises(ValueError, match="above 0"):
            wrong()
    with pytest.raises(ValueError, match="limit"):
        choice.shortfall(10, Fraction(0))


def test_only_candidate_is_chosen() -> None:
    """Among one there is no question."""
    assert Selection(Fraction(3)).choose([-5], Stream("one")) == 0
    assert PureSelection(Fraction(3)).choose([-5], Stream("one")) == 0
    assert log(1) == Selection(Fraction(3)).shortfall(1, Fraction(1))
