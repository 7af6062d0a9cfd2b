"""Intervals of 95 % hold the value as often as they say, in draws of the noise that is really drawn.

Streams are reproducible, so nothing fails by chance. Alpha says what a failure would mean: a miss rate of
exactly what is allowed is found fault with in 1e-8 of all runs for each trial, 1e-6 for all of them together.
"""

from fractions import Fraction

import pytest
from privacy.interval_coverage import Covered, Trial, coverage
from samples import draws
from scipy.stats import binom

from gateway.noise.allocation import Distribution
from gateway.plan.formulas import AggregateRef, Form, NumberForm, Over, Plus, Times

ALPHA = 1e-8
DRAWS = draws(1_000)
WIDTHS = 1_000  # to hold all of fewer is no sign of intervals that are too wide
MISSED = 0.06  # at most; 0.05 is what intervals say of themselves
OVERCOVERED = 0.975  # where noise is wide and nothing is divided by something small
SQL = "SELECT COUNT(*), SUM(income), AVG(income), COUNT(smoker) FROM patients"
COUNT, SUM, AVG, SMOKERS = (AggregateRef(place) for place in range(4))
MINUS = NumberForm(Fraction(-1))

FORMS: dict[str, Form] = {
    "count": COUNT,
    "sum": SUM,
    "average": AVG,
    "sum of two counts": Plus(COUNT, SMOKERS),
    "difference of two counts": Plus(COUNT, Times(MINUS, SMOKERS)),
    "ratio of a sum and a count": Over(SUM, SMOKERS),
    "percentage": Over(Times(NumberForm(Fraction(100)), SMOKERS), COUNT),
    "product of a count and an average": Times(COUNT, AVG),
    "a sum in thousands and an average": Plus(Over(SUM, NumberForm(Fraction(1000))), AVG),
}
PEOPLE = [3, 60, 1_000, 20_000]


def _misses(found: Covered) -> int:
    return found.formed - found.held


def _missed_too_often(found: Covered) -> bool:
    """So many misses are below alpha even when as many are missed as may be."""
    return float(binom.sf(_misses(found) - 1, DRAWS, MISSED)) < ALPHA


def _held_too_often(found: Covered) -> bool:
    return float(binom.sf(found.held - 1, found.formed, OVERCOVERED)) < ALPHA


@pytest.mark.parametrize("noise", list(Distribution))
@pytest.mark.parametrize("name", FORMS)
def test_interval_holds_the_value_in_94_of_100_answers_whatever_is_computed(
    noise: Distribution, name: str
) -> None:
    """From a handful of people to many, at most 6 of 100 answers have an interval that misses the value."""
    for people in PEOPLE:
        found = coverage(Trial(SQL, FORMS[name], people, noise), DRAWS, "coverage")
        assert not _missed_too_often(found), (people, found)


@pytest.mark.parametrize("noise", list(Distribution))
@pytest.mark.parametrize("name", FORMS)
def test_interval_is_there_and_no_wider_than_it_must_be_when_many_are_asked_about(
    noise: Distribution, name: str
) -> None:
    """Of 20,000 people every answer has an interval, and it holds the value in 97.5 of 100 at most."""
    found = coverage(Trial(SQL, FORMS[name], 20_000, noise), WIDTHS, "width")
    assert found.formed == WIDTHS
    assert not _held_too_often(found), found


@pytest.mark.parametrize("noise", list(Distribution))
def test_interval_holds_the_value_when_noise_is_a_few_whole_numbers(noise: Distribution) -> None:
    """At a high price noise is 0 or 1 most of the time: intervals may hold it more often, never less."""
    for price in (Fraction(1), Fraction(3), Fraction(20)):
        for name in ("count", "sum of two counts", "average"):
            trial = Trial(SQL, FORMS[name], 100, noise, price)
            assert not _missed_too_often(coverage(trial, DRAWS, "small")), (price, name)


@pytest.mark.parametrize("noise", list(Distribution))
@pytest.mark.parametrize("name", FORMS)
def test_intervals_of_half_the_noise_are_found_to_miss(noise: Distribution, name: str) -> None:
    """The checks above can fail: what is told of half the noise misses far more than 6 of 100."""
    trial = Trial(SQL, FORMS[name], 20_000, noise)
    assert _missed_too_often(coverage(trial, DRAWS, "half", claimed=2))


def test_percentages_of_handfuls_have_no_interval_when_the_count_may_be_zero() -> None:
    """An interval beside a count that is all noise would be one of anything."""
    found = coverage(Trial(SQL, FORMS["percentage"], 3, Distribution.LAPLACE), DRAWS, "none")
    assert found.formed < DRAWS / 10
