"""Quantiles, MIN and MAX: near the true ranks, in order, and as near as they say."""

from fractions import Fraction

import numpy as np
import opendp.prelude as dp
import pytest
from laws import for_each
from noise.choices import exponential, flipping, objects
from noise.streams import Stream
from noise.test_package_text import NOISE, floats, generators
from numpy.typing import NDArray

from gateway.noise.exponential import Choice, Selection, selection_for, selection_within
from gateway.noise.quantile import (
    Counts,
    RankQuestion,
    bucket_scores,
    draw_buckets,
    order_buckets,
    parts_beside,
    rank_error,
    rank_from_end,
)
from gateway.sensitivity.choices import (
    Aim,
    BesideQuantile,
    Highest,
    Lowest,
    QuantileLevel,
    score_sensitivity,
)

ETA = Fraction(1, 20)
SHARES = [Fraction(text) for text in ("1/20", "1/4", "1/2", "9/10", "99/100")]
BUCKETS = 4_000


def _skewed(rows: int) -> NDArray[np.int64]:
    """Counts that fall like an exponential distribution, with a heavy bucket and many empty ones."""
    shares = np.exp(-np.arange(BUCKETS) / 300)
    shares[40] += shares.sum() / 10
    counts: NDArray[np.int64] = np.floor(shares / shares.sum() * rows).astype(np.int64)
    return counts


def _missed(counts: NDArray[np.int64], aim: Aim, bucket: int) -> Fraction:
    """How many ranks the bucket is away from the aim."""
    upto = int(counts[: bucket + 1].sum())
    t = Fraction(aim.target(int(counts.sum())), aim.per_rank)
    return max(Fraction(0), upto - int(counts[bucket]) - t, t - upto)


def _drawn(counts: Counts, question: RankQuestion, stream: Stream, times: int) -> list[int]:
    return [draw_buckets(counts, [question], stream)[0] for _ in range(times)]


def _choices(aim: Aim, eta: Fraction = ETA) -> list[Choice]:
    wide = score_sensitivity(aim, 1)
    return [selection_for(eta, wide), selection_within(eta**2 / 8, wide)]


@pytest.mark.parametrize("share", SHARES, ids=str)
def test_quantile_misses_no_more_than_it_says(share: Fraction) -> None:
    """Of 400 draws at 95 % hardly any is further away (were it 5 %, more than 60 would come once in 10^10)."""
    counts, aim, stream = _skewed(100_000), QuantileLevel(share), Stream(f"missed {share}")
    for choice in _choices(aim):
        question = RankQuestion(aim, choice)
        error = rank_error(question, BUCKETS, Fraction(1, 20))
        assert error <= 2 * 20 * 12  # (2R/eta)·ln(20·n) at most
        drawn = _drawn(counts, question, stream, 400)
        assert sum(_missed(counts, aim, bucket) > error for bucket in drawn) <= 60


@pytest.mark.parametrize("share", SHARES, ids=str)
def test_quantile_misses_no_more_than_it_says_when_all_other_buckets_are_as_near(
    share: Fraction,
) -> None:
    """The exact probability of a larger miss is within the limit for every number of rows between the ends."""
    for rows in (10, 60, 100, 140, 300, 1_000):
        counts = [rows, *[0] * 98, rows]
        aim = QuantileLevel(share)
        question = RankQuestion(aim, Selection(_choices(aim)[1].scale))
        error = rank_error(question, len(counts), Fraction(1, 20))
        chances = exponential(
            [int(u) for u in bucket_scores(counts, aim)], question.selection.scale
        )
        beyond = [
            chance
            for bucket, chance in enumerate(chances)
            if _missed(np.array(counts), aim, bucket) > error
        ]
        assert sum(beyond) <= 1 / 20


def test_quantile_has_the_distribution_of_its_scores() -> None:
    """From counts to bucket the probabilities are those of the formula, for both kinds of choice."""
    counts = [4, 0, 3, 9, 0, 1, 7, 2]
    aim, stream = QuantileLevel(Fraction(2, 3)), Stream("counts")
    depth = [
        min(2 * 26 - 3 * low, 3 * high - 2 * 26)
        for low, high in zip(
            (0, 4, 4, 7, 16, 16, 17, 24), (4, 4, 7, 16, 16, 17, 24, 26), strict=True
        )
    ]
    for choice, chances in zip(_choices(aim, Fraction(1)), (flipping, exponential), strict=True):
        drawn = _drawn(counts, RankQuestion(aim, choice), stream, 10_000)
        assert choice.scale == 4
        assert not objects(drawn, chances(depth, choice.scale))
        assert objects(drawn, chances(depth, choice.scale / 2))


@pytest.mark.parametrize("kind", [Lowest, Highest])
def test_extremes_lie_within_the_rows_and_near_their_end(kind: type[Lowest | Highest]) -> None:
    """MIN and MAX stay among values that occur, though most of the domain is empty, within the error of their rank."""
    counts = np.zeros(BUCKETS, dtype=np.int64)
    counts[1_000:1_400] = 25
    stream = Stream("extremes")
    for choice in _choices(kind(0)):
        rank = rank_from_end(choice, BUCKETS)
        assert 410 < rank < 460  # 40·ln(80,000), or 40·ln(40,000)
        question = RankQuestion(kind(rank), choice)
        error = rank_error(question, BUCKETS, Fraction(1, 10**6))
        drawn = _drawn(counts, question, stream, 200)
        ranks = [int(counts[:bucket].sum()) for bucket in drawn]
        if kind is Highest:
            ranks = [int(counts.sum()) - own for own in ranks]
        assert max(ranks) <= rank + error + 25
        assert sum(1_000 <= bucket < 1_400 for bucket in drawn) >= 180


def test_extremes_of_a_heavy_end_are_exact() -> None:
    """Where a tenth of all rows has the smallest value, that is the answer but for one draw in thousands."""
    counts = np.zeros(BUCKETS, dtype=np.int64)
    counts[1_500], counts[1_501:2_000] = 1_000, 20
    choice, stream = selection_within(ETA**2 / 8, 4), Stream("heavy")
    question = RankQuestion(Lowest(rank_from_end(choice, BUCKETS)), choice)
    drawn = _drawn(counts, question, stream, 300)
    assert drawn.count(1_500) >= 295


def test_rank_of_extremes_is_that_of_the_formula() -> None:
    """(2R/eta)·ln(20·buckets), to half a rank: 40·ln(200,000) = 488.24 for R = 1, and R times as much for R rows."""
    half = Fraction(1, 2)
    for rows, rank in ((1, 489 - half), (3, 1465 - half)):
        choice = selection_within(ETA**2 / 8, score_sensitivity(Lowest(0), rows))
        assert rank_from_end(choice, 10_000) in {rank, rank + half, rank + 1}
    assert rank_from_end(Selection(Fraction(80)), 10_000) == 489 - half
    assert rank_from_end(Selection(Fraction(80)), 10_000, Fraction(1)) == 369 - half
    assert rank_from_end(Selection(Fraction(80)), 1, Fraction(1)) == 0
    assert rank_from_end(Selection(Fraction(1, 10**30)), 10_000) == half


def test_extremes_are_those_of_the_first_and_the_last_row_where_the_noise_is_nothing() -> None:
    """They aim at the middle of a row, not at the place between two."""
    counts, stream = np.array([0, 0, 1, 1, 0, 1, 1, 0], dtype=np.int64), Stream("ends")
    for choice in (selection_for(Fraction(10**30), 4), selection_within(Fraction(10**30), 4)):
        rank = rank_from_end(choice, len(counts))
        for aim, wanted in ((Lowest(rank), 2), (Highest(rank), 6)):
            assert _drawn(counts, RankQuestion(aim, choice), stream, 30) == [wanted] * 30


def test_extremes_fall_outside_of_the_rows_no_more_often_than_asked() -> None:
    """The exact probability of all empty buckets beyond the rows is within the limit, and above it for a lower rank."""
    choice = Selection(Fraction(80))
    for rows in (1, 10, 500, 1_000, 10**5):
        counts = [0] * 500 + [rows] + [0] * 499
        rank = rank_from_end(choice, len(counts))
        for aimed, within in ((rank, True), (Fraction(rank // 4), False)):
            lowest, highest = (
                exponential([int(u) for u in bucket_scores(counts, aim)], choice.scale)
                for aim in (Lowest(aimed), Highest(aimed))
            )
            assert (sum(lowest[:500]) <= 1 / 20) is within or rows < aimed
            assert (sum(highest[501:]) <= 1 / 20) is within or rows < aimed
            if within:
                assert max(sum(lowest[:500]), sum(highest[501:])) <= 1 / 20


def test_several_quantiles_come_in_order() -> None:
    """However much noise there is, a larger quantile is not smaller, and MIN and MAX enclose all."""
    aims: list[Aim] = [
        QuantileLevel(Fraction(9, 10)),
        Highest(3),
        QuantileLevel(Fraction(1, 2)),
        Lowest(3),
    ]
    questions = [
        RankQuestion(aim, selection_for(Fraction(1, 500), score_sensitivity(aim, 1)))
        for aim in aims
    ]
    counts, stream, swapped = _skewed(1_000), Stream("order"), 0
    for _ in range(200):
        drawn = draw_buckets(counts, questions, stream)
        ninety, highest, half, lowest = order_buckets(aims, drawn)
        assert lowest <= half <= ninety <= highest
        swapped += drawn != [ninety, highest, half, lowest]
    assert swapped  # negative control: the draws themselves are not in order


def test_ends_of_an_interval_stay_as_they_were_drawn_when_quantiles_are_put_in_order() -> None:
    """How far they are from each other in shares is not known, and they promise something each by itself."""
    half = QuantileLevel(Fraction(1, 2))
    aims: list[Aim] = [
        BesideQuantile(half, 9, above=True),
        QuantileLevel(Fraction(1, 4)),
        half,
        BesideQuantile(half, 9, above=False),
    ]
    assert order_buckets(aims, [3, 7, 5, 9]) == [3, 5, 7, 9]


@for_each("side", ["below", "above"])
@for_each("share", SHARES, ids=str)
def test_end_of_an_interval_lies_beyond_the_quantile_but_for_its_part_of_the_misses(
    share: Fraction, side: str
) -> None:
    """The exact probability of the wrong side is within 1/40, however few rows there are; aimed at the quantile, it is not."""
    above = side == "above"
    level, missing, worst = QuantileLevel(share), Fraction(1, 40), 0.0
    choice = Selection(_choices(level)[1].scale)
    for rows in (1, 2, 10, 59, 60, 100, 1_000, 5_000):
        # all rows in one bucket, of 1,000 that are empty; and half of them each in two
        for counts in (
            [0] * 500 + [rows] + [0] * 499,
            [0] * 333 + [rows - rows // 2] + [0] * 332 + [rows // 2] + [0] * 333,
        ):
            upto = np.cumsum(counts)
            # the rows between which the interpolated quantile lies; at a row, the quantile is one of them
            first = int(share * (rows - 1)) + 1
            last = -int(-share * (rows - 1) // 1) + 1
            away = parts_beside(choice, level, len(counts), missing, above=above)
            wrong = upto < last if above else upto - np.array(counts) >= first
            for aim in (BesideQuantile(level, away, above), level):
                chances = exponential([int(u) for u in bucket_scores(counts, aim)], choice.scale)
                found = sum(
                    chance for chance, is_wrong in zip(chances, wrong, strict=True) if is_wrong
                )
                if aim == level:
                    worst = max(worst, found)
                else:
                    assert found <= missing
    assert worst > missing


def test_quantiles_are_answered_when_there_are_no_rows() -> None:
    """Without rows every bucket is as likely as any other, but for the one that bounds nothing: the ends tend to it."""
    counts, stream = np.zeros(10, dtype=np.int64), Stream("empty")
    for aim, likely in ((QuantileLevel(Fraction(1, 2)), None), (Lowest(7), 9), (Highest(7), 0)):
        gaps = [0 if place == likely else -28 * (likely is not None) for place in range(10)]
        pure, zcdp = _choices(aim)
        assert not objects(
            _drawn(counts, RankQuestion(aim, zcdp), stream, 3_000), exponential(gaps, zcdp.scale)
        )
        assert not objects(
            _drawn(counts, RankQuestion(aim, pure), stream, 3_000), flipping(gaps, pure.scale)
        )


def test_quantiles_refuse_counts_that_are_none() -> None:
    """No bucket at all, and words of another width, are mistakes of the caller."""
    with pytest.raises(ValueError, match="at least one bucket"):
        bucket_scores([], QuantileLevel(Fraction(1, 2)))
    with pytest.raises(TypeError, match="64-bit"):
        bucket_scores(np.array([1, 2], dtype=np.uint64), QuantileLevel(Fraction(1, 2)))


def _expected_miss(
    counts: NDArray[np.int64], share: float, scores_: NDArray[np.float64], scale: float
) -> float:
    """The mean miss in ranks by the exponential mechanism with such scores."""
    upto = np.cumsum(counts)
    t = share * int(counts.sum())
    missed = np.maximum(0, np.maximum(upto - counts - t, t - upto))
    chances = np.exp((scores_ - scores_.max()) / scale)
    return float((missed * chances).sum() / chances.sum())


def test_quantile_misses_less_than_that_of_opendp_at_the_same_price() -> None:
    """On skewed rows, for the scores of both at eta-bounded range, the mean miss is smaller at every price."""
    dp.enable_features("contrib")
    counts = _skewed(20_000)
    rows = np.repeat(np.arange(BUCKETS), counts).tolist()
    space = dp.vector_domain(dp.atom_domain(T=int)), dp.symmetric_distance()
    ours, theirs = 0.0, 0.0
    for share in SHARES:
        aim = QuantileLevel(share)
        scored = dp.t.make_quantile_score_candidates(*space, list(range(BUCKETS)), float(share))
        moved = float(scored.map(1))  # type: ignore[no-untyped-call]
        their_scores = -np.array(scored(rows), dtype=np.float64)
        our_scores = np.array(bucket_scores(counts, aim), dtype=np.float64)
        for eta in (0.01, 0.05, 0.2):
            ours += (
                _expected_miss(counts, float(share), our_scores, score_sensitivity(aim, 1) / eta)
                * eta
            )
            theirs += _expected_miss(counts, float(share), their_scores, 2 * moved / eta) * eta
    assert ours < 0.9 * theirs


@pytest.mark.parametrize("module", ["exponential", "quantile"])
def test_choices_are_decided_without_floats(module: str) -> None:
    """Whole numbers and fractions decide, and randomness comes from `entropy` alone."""
    text = (NOISE / f"{module}.py").read_text()
    assert list(floats(text)) == []
    assert list(generators(text)) == []
