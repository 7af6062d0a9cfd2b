"""Distributions that come back are drawn from a table, and nobody can tell by what is drawn."""

from fractions import Fraction

from gateway.noise.enclosure import Decay, TableCache


def _decay(number: int) -> Decay:
    return Decay(Fraction(1, number), 1)


def test_a_distribution_is_known_when_it_comes_again() -> None:
    """The first time it is new, ever after it is not."""
    asked_again = TableCache()
    assert [asked_again(_decay(7)), asked_again(_decay(7)), asked_again(_decay(8))] == [
        False,
        True,
        False,
    ]
    assert asked_again(_decay(7))


def test_distributions_that_nobody_asks_for_are_forgotten() -> None:
    """So prices that never come again take no more memory than a thousand of them."""
    asked_again = TableCache(2)
    for number in (1, 2, 1, 3):
        asked_again(_decay(number))
    assert asked_again(_decay(1))
    assert not asked_again(_decay(2))
