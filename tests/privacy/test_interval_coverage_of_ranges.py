"""Intervals of results in ranges hold the value at least as often as they say.

Streams are reproducible, so nothing fails by chance; what a failure would mean is said in `test_interval_coverage`.
"""

from fractions import Fraction

import pytest
from privacy.interval_coverage import Trial, coverage
from scipy.stats import binom

from gateway.noise.allocation import Distribution
from gateway.plan.formulas import AggregateRef, Form, NumberForm, Over, Plus, Times

ALPHA = 1e-8
DRAWS = 600  # fewer do not find noise that is three times as wide in a sum of two counts
MISSED = 0.05
SQL = "SELECT COUNT(*), SUM(income), AVG(income), COUNT(smoker) FROM patients"
COUNT, SUM, AVG, SMOKERS = (AggregateRef(place) for place in range(4))
FORMS: dict[str, Form] = {
    "count": COUNT,
    "average": AVG,
    "count and a half": Plus(COUNT, NumberForm(Fraction(1, 2))),
    "sum of two counts": Plus(COUNT, SMOKERS),
    "ratio of a sum and a count": Over(SUM, COUNT),
    "product of a count and an average": Times(COUNT, AVG),
}
# narrow beside the noise, where widening hardly helps, and wide
RANGES = {"narrow": (Fraction(2), Fraction(10)), "wide": (Fraction(100), Fraction(10_000))}


def _missed_too_often(formed: int, held: int) -> bool:
    return float(binom.sf(formed - held - 1, DRAWS, MISSED)) < ALPHA


def _trial(name: str, noise: Distribution, ranges: str, people: int = 2_000) -> Trial:
    count, amount = RANGES[ranges]
    widths = (count, amount, amount, count)
    return Trial(SQL, FORMS[name], people, noise, ranges=widths)


@pytest.mark.parametrize("noise", list(Distribution))
@pytest.mark.parametrize("ranges", RANGES)
@pytest.mark.parametrize("name", FORMS)
def test_interval_in_ranges_holds_the_value_in_95_of_100_answers(
    noise: Distribution, ranges: str, name: str
) -> None:
    """However wide the ranges are, and from however many results a cell is computed."""
    for people in (1_000, 20_000):
        found = coverage(_trial(name, noise, ranges, people), DRAWS, "ranges")
        assert found.formed > 0.9 * DRAWS
        assert not _missed_too_often(found.formed, found.held), (people, found)


@pytest.mark.parametrize("name", ["count", "sum of two counts"])
def test_interval_in_ranges_is_found_fault_with_when_the_noise_is_wider(name: str) -> None:
    """The negative control: told of a third of the noise, intervals in narrow ranges miss too often."""
    trial = _trial(name, Distribution.GAUSSIAN, "narrow")
    found = coverage(trial, DRAWS, "ranges", claimed=3)
    assert _missed_too_often(found.formed, found.held)
