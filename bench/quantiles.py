"""By how many ranks quantiles, MIN and MAX miss, beside those of OpenDP: the same rows, candidates and price.

A million skewed rows (log-normal) in 10,000 buckets. What is missed is told in ranks: how many rows lie between the
bucket that was chosen and the rank that was aimed at. OpenDP's `make_private_quantile` counts scores of all candidates
from the rows and takes the noisy maximum; here the scores are counted once and the maximum is taken many times, which
draws from the same distribution. Its price is what its own maps say.

OpenDP has no MIN: its quantile is given the very rank that MIN aims at, which takes the number of rows for known. It
reads shares to four digits, so both aim at the next hundred of ranks. How many draws lie beyond all rows is told of
both, and of OpenDP's quantile at 0 and at 1.

Goal: ratios of at most 1, up to their standard errors.
"""

import math
import statistics
import sys
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import partial

import numpy as np
import opendp.prelude as dp
from numpy.typing import NDArray

from gateway.noise.entropy import SYSTEM_ENTROPY
from gateway.noise.exponential import Choice, selection_for, selection_within
from gateway.noise.quantile import RankQuestion, draw_buckets, rank_from_end
from gateway.sensitivity.choices import Aim, Highest, Lowest, QuantileLevel, score_sensitivity

ROWS = 1_000_000
BUCKETS = 10_000
PRICES = (Fraction(1, 100), Fraction(1, 20), Fraction(1, 5))
SHARES = {"median": Fraction(1, 2), "p90": Fraction(9, 10), "p99": Fraction(99, 100)}
REPETITIONS = int(sys.argv[1]) if len(sys.argv) > 1 else 400
_SEED = 2026
_FINEST = ROWS // 10_000

Counts = NDArray[np.int64]
Draw = Callable[[], int]
Scored = tuple[dp.Transformation, Sequence[int]]


@dataclass(frozen=True)
class Table:
    """Rows in buckets, and how many lie before each and up to it."""

    counts: Counts
    before: Counts
    upto: Counts

    def missed(self, bucket: int, rank: Fraction) -> float:
        """How many rows lie between the bucket and the rank."""
        return max(0.0, float(self.before[bucket] - rank), float(rank - self.upto[bucket]))

    def beyond(self, bucket: int) -> bool:
        """Whether the bucket lies before all rows or behind them."""
        return bool(self.upto[bucket] == 0 or self.before[bucket] == ROWS)


@dataclass(frozen=True)
class Missed:
    """What a number of draws missed."""

    mean: float
    error: float
    beyond: float


def main() -> None:
    dp.enable_features("contrib")
    table = _table()
    rows = np.repeat(np.arange(BUCKETS), table.counts).tolist()
    counted: dict[float, Scored] = {}
    print(
        f"{ROWS:,} log-normal rows in {BUCKETS:,} buckets, {REPETITIONS} draws each; mean miss in ranks ± standard error"
    )
    print(
        f"{'':10}{'epsilon':>8}{'aim':>8}{'gateway':>20}{'OpenDP':>20}{'ratio':>16}{'beyond':>10}{'OpenDP':>9}{'at 0, 1':>9}"
    )
    for zcdp in (False, True):
        print("zCDP, rho = epsilon²/8" if zcdp else "pure")
        for epsilon in PRICES:
            for name, aim, choice in _asked(epsilon, zcdp=zcdp):
                rank = Fraction(aim.target(ROWS), aim.per_rank)
                question = RankQuestion(aim, choice)
                ours = _missed(table, rank, partial(_ours, table.counts, question))
                theirs = _missed(
                    table, rank, _theirs(counted, rows, rank / ROWS, epsilon, zcdp=zcdp)
                )
                end = ""
                if not isinstance(aim, QuantileLevel):
                    draw = _theirs(
                        counted, rows, Fraction(isinstance(aim, Highest)), epsilon, zcdp=zcdp
                    )
                    end = f"{_missed(table, rank, draw).beyond:9.0%}"
                _print(name, epsilon, rank, ours, theirs, end)


def _asked(epsilon: Fraction, *, zcdp: bool) -> Iterable[tuple[str, Aim, Choice]]:
    def bought(aim: Aim) -> Choice:
        wide = score_sensitivity(aim, 1)
        return selection_within(epsilon**2 / 8, wide) if zcdp else selection_for(epsilon, wide)

    for name, share in SHARES.items():
        yield name, QuantileLevel(share), bought(QuantileLevel(share))
    for name, kind in (("MIN", Lowest), ("MAX", Highest)):
        choice = bought(kind(0))
        yield name, kind(_FINEST * math.ceil(rank_from_end(choice, BUCKETS) / _FINEST)), choice


def _ours(counts: Counts, question: RankQuestion) -> int:
    return draw_buckets(counts, [question], SYSTEM_ENTROPY)[0]


def _theirs(
    counted: dict[float, Scored],
    rows: list[int],
    share: Fraction,
    epsilon: Fraction,
    *,
    zcdp: bool,
) -> Draw:
    """A noisy maximum of OpenDP's scores, at the price."""
    alpha = float(share)
    space = dp.vector_domain(dp.atom_domain(T=int)), dp.symmetric_distance()
    if alpha not in counted:
        scored = dp.t.make_quantile_score_candidates(*space, list(range(BUCKETS)), alpha)
        counted[alpha] = scored, scored(rows)
    scored, scores = counted[alpha]
    measure = dp.zero_concentrated_divergence() if zcdp else dp.max_divergence()
    price = float(epsilon**2 / 8) if zcdp else float(epsilon)

    def made(scale: float) -> dp.Measurement:
        space_of_scores = scored.output_domain, scored.output_metric
        return dp.m.make_noisy_max(*space_of_scores, measure, scale, negate=True)

    moved = scored.map(1)  # type: ignore[no-untyped-call]
    scale = dp.binary_search_param(made, d_in=moved, d_out=price, T=float, bounds=(0.0, 1e18))
    return partial(made(scale), scores)


def _missed(table: Table, rank: Fraction, draw: Draw) -> Missed:
    drawn = [int(draw()) for _ in range(REPETITIONS)]
    missed = [table.missed(bucket, rank) for bucket in drawn]
    beyond = sum(table.beyond(bucket) for bucket in drawn) / REPETITIONS
    return Missed(
        statistics.fmean(missed), statistics.stdev(missed) / math.sqrt(REPETITIONS), beyond
    )


def _print(  # noqa: PLR0917 - a row
    name: str, epsilon: Fraction, rank: Fraction, ours: Missed, theirs: Missed, end: str
) -> None:
    ratio = f"{'-':>16}"
    if theirs.mean and ours.mean:
        found = ours.mean / theirs.mean
        error = found * math.hypot(ours.error / ours.mean, theirs.error / theirs.mean)
        ratio = f"{found:9.2f} ± {error:4.2f}"
    print(
        f"{name:10}{float(epsilon):8.2f}{float(rank):8.0f}"
        f"{ours.mean:11.2f} ± {ours.error:6.2f}{theirs.mean:11.2f} ± {theirs.error:6.2f}"
        f"{ratio}{ours.beyond:10.1%}{theirs.beyond:9.1%}{end}"
    )


def _table() -> Table:
    values = np.random.default_rng(_SEED).lognormal(6, 1, ROWS)
    counts = np.bincount(np.minimum(values.astype(np.int64), BUCKETS - 1), minlength=BUCKETS)
    counts = counts.astype(np.int64)
    upto = np.cumsum(counts)
    return Table(counts, upto - counts, upto)


if __name__ == "__main__":
    main()
