"""Buckets of norms: what one unit adds to a histogram of norms, and how far it moves the whole histogram.

n is the number of a unit's rows in a group, N their sum over its groups, and Q the sum of their squares. A unit is in
one bucket: the number b of bits with Q ≤ 2^b, or N² ≤ 2^b where noise is Laplace's. It adds

    256 to the units of its bucket           where noise is Gaussian, and 1 where it is Laplace's;
    a   to the spreads of its bucket         where noise is Gaussian: how its rows spread over its groups.

With b' the bits of N², b ≤ b' ≤ 2b, because Q ≤ N² and N ≤ Q. So (b' - b)/b is from 0 (all rows in one group) to 1 (one
row in each), and a = (256·(b' - b)) div b - 128 is from -128 to 128. Spreads tell rows from norms: N² ≈ Q^(1 + e),
where e is the mean of (b' - b)/b.

INVARIANT: one unit moves the vector of all units and spreads by at most 256² + 128² in its sum of squares, and units
alone by 1 where they are counted alone: it adds to one bucket of each, and nowhere else. docs/proofs/clip_choice.md.
"""

from typing import Final

BUCKETS: Final = 63
"""Norms are cut to 2^31 - 1 rows, so no square is above 2^62."""
UNIT: Final = 256
"""What a unit adds to the units of its bucket, beside a spread."""
MOST_SPREAD: Final = 128
DELTA2_SQUARED: Final = UNIT**2 + MOST_SPREAD**2
DELTA1: Final = 1


def bucket_of(square: int) -> int:
    """The number b of bits with square ≤ 2^b; the last bucket takes all that is larger."""
    if square < 1:
        raise ValueError("a unit that is counted has a row")
    return min((square - 1).bit_length(), BUCKETS - 1)


def spread_of(bucket: int, added: int) -> int:
    """a, of a unit in the bucket of its Q, where `added` is the bucket of its N²."""
    if bucket == 0:
        return -MOST_SPREAD
    return UNIT * (added - bucket) // bucket - MOST_SPREAD
