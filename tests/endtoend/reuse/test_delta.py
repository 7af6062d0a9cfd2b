"""What groups that are found in the data take of delta: no larger part of it than of epsilon."""

from fractions import Fraction

import pytest
from endtoend.reuse.datasets import PURE, Houses, Place

from gateway.units import Epsilon

_FOUND = "SELECT name, COUNT(*) FROM patients GROUP BY name"
_EPSILON, _DELTA = 10000, Fraction(1, 2_000_000)
"""The dataset's budget, and the half of its delta that is kept for thresholds."""
_LISTED_TOO = (
    "SELECT name, region, COUNT(*) FROM patients GROUP BY GROUPING SETS ((name), (region))"
)


@pytest.fixture
def place(houses: Houses) -> Place:
    return houses.place(PURE)


@pytest.mark.parametrize("epsilon", ["0.001", "1", "9", "10", "2000"])
def test_statement_takes_no_larger_part_of_delta_than_of_epsilon(
    place: Place, epsilon: str
) -> None:
    """Nobody uses up everybody's delta for next to nothing; at usual prices it lasts for 1,024 statements."""
    taken = place.estimate(_FOUND, epsilon=epsilon).delta.value
    part = Epsilon.parse(epsilon).value / _EPSILON
    assert taken / _DELTA == min(part, Fraction(1, 1024))


def test_part_of_a_statement_takes_delta_for_its_part_of_the_price(place: Place) -> None:
    """What else is measured pays for itself, and may be there already."""
    alone = place.estimate(_FOUND, epsilon="1").delta.value
    beside = place.estimate(_LISTED_TOO, epsilon="1").delta.value
    assert 0 < beside < alone


def test_nothing_is_taken_where_all_groups_are_listed(place: Place) -> None:
    """Delta is for keys that nobody knows beforehand."""
    listed = "SELECT region, COUNT(*) FROM patients GROUP BY region"
    assert not place.estimate(listed, epsilon="1").delta.value


def test_charge_takes_what_the_estimate_said(place: Place) -> None:
    """The ledger, too."""
    told = place.estimate(_FOUND, epsilon="1").delta
    assert place.ask(_FOUND, epsilon="1").delta == told
