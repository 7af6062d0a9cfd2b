"""How long a choice among candidates takes, beside OpenDP's mechanisms: the same scores, scale and distribution.

A quantile per group: each of 50 groups has 6,000 buckets with a score each, and one is chosen in every group. `Selection`
is OpenDP's noisy maximum in zCDP (Gumbel noise), `PureSelection` its noisy maximum in the pure currency (exponential
noise). The first ten of 6,000 are chosen one after the other here, and by `make_noisy_top_k` there.

Goal: OpenDP takes more than 3 times as long; where it does not, there is no reason for mechanisms of our own.
"""

import statistics
import time
from collections.abc import Callable
from fractions import Fraction

import numpy as np
import opendp.prelude as dp
from numpy.typing import NDArray

from gateway.noise.entropy import SYSTEM_ENTROPY
from gateway.noise.exponential import PureSelection, Selection

GROUPS = 50
CANDIDATES = 6_000
FIRST = 10
THEIRS = 5  # of the groups: OpenDP takes seconds
SCALES = (Fraction(2), Fraction(40), Fraction(800))
_ROUNDS = 3
_SEED = 2026

Scores = NDArray[np.int64]


def main() -> None:
    dp.enable_features("contrib")
    scores = _scores()
    listed = [one.tolist() for one in scores[:THEIRS]]
    print(
        f"{GROUPS} groups of {CANDIDATES:,} candidates, median of {_ROUNDS}; milliseconds for all groups"
    )
    print(f"{'':10}{'chosen':>8}{'scale':>8}{'gateway':>12}{'OpenDP':>12}{'ratio':>10}")
    for name, kind, measure in (
        ("zCDP", Selection, dp.zero_concentrated_divergence()),
        ("pure", PureSelection, dp.max_divergence()),
    ):
        for scale in SCALES:
            choice = kind(scale)
            for count in (1, FIRST):
                ours = _median(lambda: _ours(choice, scores, count))  # noqa: B023 - called at once
                theirs = GROUPS / THEIRS * _median(_theirs(measure, listed, scale, count))
                print(
                    f"{name:10}{count:8}{float(scale):8.0f}{ours * 1e3:12.1f}{theirs * 1e3:12.1f}{theirs / ours:10.1f}"
                )


def _ours(choice: Selection | PureSelection, scores: list[Scores], count: int) -> None:
    for one in scores:
        left = one
        for _ in range(count):
            left = np.delete(left, choice.choose(left, SYSTEM_ENTROPY))


def _theirs(
    measure: dp.Measure, scores: list[list[int]], scale: Fraction, count: int
) -> Callable[[], None]:
    space = dp.vector_domain(dp.atom_domain(T=int)), dp.linf_distance(T=int)
    if count == 1:
        choose = dp.m.make_noisy_max(*space, measure, float(scale))
    else:
        choose = dp.m.make_noisy_top_k(*space, measure, count, float(scale))

    def run() -> None:
        for one in scores:
            choose(one)

    return run


def _median(run: Callable[[], None]) -> float:
    run()  # tables are made and remembered
    taken = []
    for _ in range(_ROUNDS):
        began = time.process_time()
        run()
        taken.append(time.process_time() - began)
    return statistics.median(taken)


def _scores() -> list[Scores]:
    """Scores of a median: how far the rows up to a bucket are from half of a group's rows."""
    random = np.random.default_rng(_SEED)
    found = []
    for _ in range(GROUPS):
        values = random.lognormal(6, 1, 20_000).astype(np.int64)
        counts = np.bincount(np.minimum(values, CANDIDATES - 1), minlength=CANDIDATES)
        upto = np.cumsum(counts, dtype=np.int64)
        found.append(-np.abs(2 * upto - upto[-1]))
    return found


if __name__ == "__main__":
    main()
