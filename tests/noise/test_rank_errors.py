"""Scores of buckets: how far one unit moves them, and what they say about ranks."""

from collections.abc import Iterator
from fractions import Fraction
from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from laws import for_each
from samples import draws

from gateway.noise.quantile import bucket_scores
from gateway.sensitivity.choices import (
    Aim,
    BesideQuantile,
    Highest,
    Lowest,
    QuantileLevel,
    score_sensitivity,
)

AIMS: list[Aim] = [
    *(QuantileLevel(Fraction(text)) for text in ("0", "1/10", "1/2", "2/3", "9/10", "1")),
    *(kind(rank) for kind in (Lowest, Highest) for rank in (0, Fraction(1, 2), 1, 2, 5)),
    *(
        BesideQuantile(QuantileLevel(Fraction(text)), away, above)
        for text in ("1/10", "1/2", "2/3")
        for away in (0, 1, 7)
        for above in (False, True)
    ),
]


def _units(buckets: int, rows: int) -> Iterator[tuple[int, ...]]:
    """All that one unit can add."""
    for one in product(range(rows + 1), repeat=buckets):
        if sum(one) <= rows:
            yield one


def _moves(counts: tuple[int, ...], unit: tuple[int, ...], aim: Aim) -> list[int]:
    after = [count + own for count, own in zip(counts, unit, strict=True)]
    return [
        int(new) - int(old)
        for new, old in zip(bucket_scores(after, aim), bucket_scores(counts, aim), strict=True)
    ]


@for_each("rows", [1, 2, 3])
@for_each("aim", AIMS, ids=str)
def test_one_unit_moves_no_score_by_more_than_the_sensitivity(aim: Aim, rows: int) -> None:
    """Of all small tables and all that a unit can add, none moves a score, or a difference of two, further."""
    most = difference = 0
    for counts in product(range(4), repeat=3):
        for unit in _units(3, rows):
            moves = _moves(counts, unit, aim)
            most = max(most, *map(abs, moves))
            difference = max(difference, max(moves) - min(moves))
    assert most <= aim.sensitivity(rows)
    assert difference <= score_sensitivity(aim, rows)
    if isinstance(aim, QuantileLevel) and 0 < aim.share < 1 and rows == 1:
        # negative control: no smaller number would do; for more rows the tables would have to be larger
        assert most == aim.sensitivity(rows)
        assert difference == score_sensitivity(aim, rows)


@settings(max_examples=draws(300), deadline=None, derandomize=True)
@given(st.data())
def test_one_unit_moves_no_score_by_more_than_the_sensitivity_in_large_tables(
    data: st.DataObject,
) -> None:
    """The same for many buckets, large counts and many rows of a unit."""
    size = data.draw(st.integers(1, 12))
    rows = data.draw(st.integers(1, 50))
    counts = data.draw(st.lists(st.integers(0, 10**6), min_size=size, max_size=size))
    unit, left = [], rows
    for _ in range(size):
        unit.append(data.draw(st.integers(0, left)))
        left -= unit[-1]
    rank = data.draw(st.integers(0, 2 * 10**6))
    share = data.draw(st.fractions(0, 1, max_denominator=1000))
    beside = [BesideQuantile(QuantileLevel(share), rank, above) for above in (False, True)]
    aims: list[Aim] = [QuantileLevel(share), Lowest(rank), Highest(rank), *beside]
    for aim in aims:
        moves = _moves(tuple(counts), tuple(unit), aim)
        assert max(map(abs, moves)) <= aim.sensitivity(rows)


def test_sensitivity_test_finds_fault_with_a_target_that_is_clamped_at_zero() -> None:
    """Negative control: a shifted rank that cannot fall below 0 moves scores further than a quantile does."""

    def clamped(counts: tuple[int, ...]) -> list[int]:
        upto = list(np.cumsum(counts))
        t = max(0, sum(counts) - 8)
        return [min(t - 2 * (u - c), 2 * u - t) for c, u in zip(counts, upto, strict=True)]

    most = max(
        abs(new - old)
        for counts in product(range(4), repeat=3)
        for new, old in zip(clamped((counts[0] + 1, *counts[1:])), clamped(counts), strict=True)
    )
    assert most > QuantileLevel(Fraction(1, 2)).sensitivity(1)


@for_each("aim", AIMS, ids=str)
def test_best_score_is_that_of_a_bucket_with_the_rank_in_it(aim: Aim) -> None:
    """A score is not negative exactly where the rank lies within the bucket, and there is always such a one."""
    for counts in product(range(4), repeat=4):
        total, before = sum(counts), 0
        t, d = aim.target(total), aim.per_rank
        assert aim.open_before or t >= 0
        assert aim.open_behind or t <= d * total
        found = [int(one) for one in bucket_scores(counts, aim)]
        assert max(found) >= 0
        for place, (count, score) in enumerate(zip(counts, found, strict=True)):
            first = -(10**9) if aim.open_before and place == 0 else d * before
            last = 10**9 if aim.open_behind and place == len(counts) - 1 else d * (before + count)
            assert (score >= 0) is (first <= t <= last)
            assert min(score, 0) == -max(0, first - t, t - last)
            before += count


def test_scores_are_the_same_in_words_and_in_integers_of_any_size() -> None:
    """Where 64 bits are not enough, Python's integers take over."""
    counts = [3, 0, 10**6, 17, 0, 5]
    for aim in AIMS:
        words = bucket_scores(np.array(counts, dtype=np.int64), aim)
        assert isinstance(words, np.ndarray)
        assert words.tolist() == list(bucket_scores(counts, aim))
    huge = [count << 41 for count in counts]
    fine = QuantileLevel(Fraction(500_001, 1_000_000))
    found = bucket_scores(np.array(huge, dtype=np.int64), fine)
    assert isinstance(found, list)
    assert found == bucket_scores(huge, fine)
    assert found == [int(one) << 41 for one in bucket_scores(counts, fine)]


def test_extremes_aim_beyond_the_rows_when_there_are_few() -> None:
    """Then the bucket at the other end has the rank: nothing is told where too little is known."""
    assert Lowest(10).target(100) == 20
    assert Highest(10).target(100) == 180
    assert Lowest(Fraction(1, 2)).target(100) == 1
    assert Highest(Fraction(1, 2)).target(100) == 199
    for counts in ((0, 0, 0), (1, 0, 0), (0, 0, 9), (2, 3, 4)):
        assert int(np.argmax(bucket_scores(counts, Lowest(10)))) == 2
        assert int(np.argmax(bucket_scores(counts, Highest(10)))) == 0


def test_ranks_refuse_what_is_no_quantile_and_no_bound() -> None:
    """A share above 1 and a unit without rows are mistakes of the caller."""
    with pytest.raises(ValueError, match="between 0 and 1"):
        QuantileLevel(Fraction(11, 10))
    with pytest.raises(ValueError, match="at least one row"):
        QuantileLevel(Fraction(1, 2)).sensitivity(0)
    for kind in (Lowest, Highest):
        for rank in (-1, Fraction(1, 3)):
            with pytest.raises(ValueError, match="whole or a half, and not negative"):
                kind(rank)
