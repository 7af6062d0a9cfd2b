"""What is proven against a claim: never too much where the claim is kept, and enough where it is broken."""

from itertools import product
from math import exp

import numpy as np
import pytest
from privacy.claims import Claim, Concentrated, Pure, delta_of
from privacy.distinguisher import counted_bounds
from privacy.trials import ALPHA, LONG_TRIALS, TRIALS, Trial
from scipy.stats import binom, norm

_REACH = np.arange(-60, 61)


def _laplace(epsilon: float) -> tuple[float, float]:
    """How often a count of 1 and one of 0 are at least 1, with discrete Laplace noise of this price."""
    rest = exp(-epsilon)
    return 1 / (1 + rest), rest / (1 + rest)


def _gaussian(rho: float) -> tuple[float, float]:
    """The same with discrete Gaussian noise."""
    weights = np.exp(-rho * _REACH * _REACH)
    chances = weights / weights.sum()
    return float(chances[_REACH >= 0].sum()), float(chances[_REACH >= 1].sum())


def _missed(claim: Claim, p: float, q: float, size: int, alpha: float) -> float:
    """The chance that events of chances p and q do not accuse: summed over all that can be counted."""
    counts = np.arange(size + 1)
    often, seldom = (each.ravel() for each in np.meshgrid(counts, counts, indexing="ij"))
    bounds = counted_bounds(often, seldom, (size, size), alpha / 2)
    accused = claim.proven(*bounds) > claim.amount
    weights = np.outer(binom.pmf(counts, size, p), binom.pmf(counts, size, q)).ravel()
    return float(weights[~accused].sum())


@pytest.mark.parametrize("rho", [0.01, 0.1, 0.5, 1.0, 3.0])
def test_gaussian_events_prove_no_more_than_rho(rho: float) -> None:
    """Of every threshold event of exact Gaussian noise, on either side, and by a part for the tight ones."""
    cuts = np.linspace(-6, 8, 2_000)
    shift = np.sqrt(2 * rho)
    proven = [Concentrated(rho).proven(one(cuts - shift), one(cuts)) for one in (norm.sf, norm.cdf)]
    assert np.max(proven) <= rho
    assert np.max(proven) >= 0.6 * rho


@pytest.mark.parametrize("epsilon", [0.1, 1.0, 4.0])
def test_laplace_events_prove_no_more_than_epsilon(epsilon: float) -> None:
    """The tight event of discrete Laplace noise proves the whole of epsilon, and no more."""
    p, q = (np.array([one]) for one in _laplace(epsilon))
    assert Pure(epsilon).proven(p, q)[0] == pytest.approx(epsilon)


@pytest.mark.parametrize("rho", [0.05, 0.3, 1.0])
def test_chances_prove_more_than_rho_when_they_break_a_bound_that_follows_from_it(
    rho: float,
) -> None:
    """Whatever epsilon is taken with its delta(rho, epsilon): the divergences find all that it would find."""
    broken = 0
    for q, epsilon in product((1e-6, 1e-3, 0.05, 0.3), (0.2, 0.5, 1.0, 2.0, 4.0)):
        p = exp(epsilon) * q + delta_of(rho, epsilon) * 1.01
        if p < 1:
            broken += 1
            assert Concentrated(rho).proven(np.array([p]), np.array([q]))[0] > rho
    assert broken > 5


@pytest.mark.parametrize("claim", [Pure(1.0), Concentrated(1.0)], ids=str)
def test_more_is_proven_when_p_is_larger_or_q_smaller(claim: Claim) -> None:
    """So bounds of the chances prove a bound of the loss; and equal chances prove nothing."""
    chances = np.linspace(0.01, 0.99, 50)
    table = np.array([claim.proven(np.full(50, p), chances) for p in chances])
    assert np.all(np.diff(table, axis=0) >= -1e-12)
    assert np.all(np.diff(table, axis=1) <= 1e-12)
    assert np.all(np.diag(table) == 0)


@pytest.mark.parametrize("delta", [1e-9, 0.01])
@pytest.mark.parametrize("kind", [Pure, Concentrated])
def test_delta_is_taken_off_what_is_proven(kind: type[Pure | Concentrated], delta: float) -> None:
    """An event that happens with delta on one side and never on the other proves nothing."""
    assert kind(1.0, delta).proven(np.array([delta]), np.array([0.0]))[0] == 0
    assert kind(1.0, delta).proven(np.array([delta * 5]), np.array([0.0]))[0] > 1


@pytest.mark.parametrize(
    "trial",
    [*TRIALS, *(pytest.param(one, marks=pytest.mark.full_samples) for one in LONG_TRIALS)],
    ids=str,
)
def test_trial_over_rest_finds_its_bug_and_leaves_the_honest_alone(trial: Trial) -> None:
    """Exactly summed: a bug is missed with a chance below 10^-6, an honest gateway accused below alpha."""
    gaussian = trial.dataset.endswith("gaussian")
    # rho* of a cap of 10^6 is worth a little less than 1 per epsilon
    amount = 0.99 * trial.epsilon if gaussian else trial.epsilon
    claim: Claim = Concentrated(amount, 1e-9) if gaussian else Pure(amount, 1e-9)
    honest = _gaussian(amount) if gaussian else _laplace(amount)
    # half the noise is four times rho; rows and presence are certain to be seen
    halved = _gaussian(4 * amount) if gaussian else _laplace(2 * amount)
    broken = halved if trial.bug.noise > 1 else (0.99, 0.01)
    if trial.bug.noise > 1 or not gaussian:
        assert _missed(claim, *broken, trial.test, ALPHA) < 1e-6
    else:
        assert _missed(claim, 1.0, 0.0, trial.test, ALPHA) == 0
    assert 1 - _missed(claim, *honest, trial.test, ALPHA) < ALPHA
