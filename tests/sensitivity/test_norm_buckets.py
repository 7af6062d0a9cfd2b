"""How far one unit moves a histogram of norms."""

from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st
from laws import for_each

from gateway.sensitivity.norm_buckets import (
    BUCKETS,
    DELTA2_SQUARED,
    MOST_SPREAD,
    UNIT,
    bucket_of,
    spread_of,
)

MOST = 2**31 - 1
ROWS = st.lists(st.integers(1, 20) | st.integers(1, MOST), min_size=1, max_size=40)


def placed(rows: Sequence[int]) -> tuple[int, int]:
    """The buckets of Q and of N², with rows and sums cut as the source cuts them."""
    squares = sum(min(one, MOST) ** 2 for one in rows)
    return bucket_of(squares), bucket_of(sum(rows) ** 2)


@given(ROWS)
def test_one_unit_moves_the_whole_vector_by_no_more_than_declared(rows: list[int]) -> None:
    """It adds to one bucket of units and to one of spreads, whatever rows it has."""
    bucket, added = placed(rows)
    assert 0 <= bucket <= added <= 2 * bucket or bucket == BUCKETS - 1 == added
    spread = spread_of(bucket, added)
    assert abs(spread) <= MOST_SPREAD
    assert UNIT**2 + spread**2 <= DELTA2_SQUARED


@for_each(
    ("rows", "bucket", "spread"),
    [
        ([1], 0, -128),
        ([2], 2, -128),
        ([1, 1], 1, 128),
        ([1] * 10_000, 14, 109),
        ([2**30], 60, -128),
        ([2**31], 62, -128),
        ([2**40] * 3, 62, -128),
        ([3, 1], 4, -128),
    ],
)
def test_extreme_units_are_in_a_bucket_like_any_other(
    rows: list[int], bucket: int, spread: int
) -> None:
    """One row, one group, ten thousand groups, and more rows than are counted."""
    place, added = placed(rows)
    assert place == bucket
    assert spread_of(place, added) == spread


def test_buckets_are_those_of_comparing_whole_numbers() -> None:
    """Bucket b holds squares above 2^(b-1) and up to 2^b."""
    for bucket in range(1, BUCKETS):
        assert bucket_of(2**bucket) == bucket
        assert bucket_of(2 ** (bucket - 1) + 1) == bucket
    assert bucket_of(2**63 + 1) == BUCKETS - 1
    with pytest.raises(ValueError, match="has a row"):
        bucket_of(0)


def test_spread_would_move_more_where_rows_were_not_bounded_by_norms() -> None:
    """The negative control: the bound rests on b' ≤ 2b, which every unit keeps."""
    assert spread_of(4, 9) > MOST_SPREAD
