"""What is known of sizes never closes a table: empty regions, counts of something else, counts that are all noise."""

import pytest
from endtoend.reuse.places import AUDITED, Opened, Place

from gateway.errors import Code, OverlapRefused

_ALL = "SELECT COUNT(*) FROM patients"
_EMPTY = (
    "SELECT COUNT(*) FROM patients WHERE region = 'nowhere'",
    "SELECT COUNT(*) FROM patients WHERE 1 = 0",
    "SELECT AVG(income) FROM patients WHERE region = 'nowhere' AND income > 100",
    "SELECT COUNT(*), SUM(cost) FROM visits WHERE visit_date >= DATE '2031-01-01'",
    "SELECT region, COUNT(*) FROM patients WHERE birth_year > 3000 GROUP BY region",
)
_NEXT = (
    _ALL,
    "SELECT region, AVG(income) FROM patients GROUP BY region",
    "SELECT COUNT(*) FROM patients WHERE region = 'north'",
    "SELECT COUNT(*), SUM(cost) FROM visits",
)


@pytest.fixture
def place(houses: Opened) -> Place:
    return houses.place(AUDITED)


def test_region_without_rows_is_answered_and_closes_nothing(place: Place) -> None:
    """At once, again at another price, and everything after it - of which what singles out is refused as before."""
    for sql in _EMPTY:
        assert place.ask(sql).charged
        assert place.ask(sql, fresh=True).charged
    for sql in _NEXT:
        assert place.ask(sql).query_id
    with pytest.raises(OverlapRefused) as refused:
        place.ask("SELECT COUNT(*) FROM patients WHERE birth_year <> 1962")
    assert refused.value.code is Code.DIFFERENCING


@pytest.mark.parametrize(
    "counted",
    [
        "SELECT COUNT(CASE WHEN income = 12.34 THEN 1 END) FROM patients",
        "SELECT COUNT(*) FILTER (WHERE income < 1) FROM patients",
        "SELECT COUNT(NULLIF(region, 'north')) FROM patients WHERE region = 'north'",
    ],
)
def test_count_of_something_else_is_no_size_of_the_region(place: Place, counted: str) -> None:
    """What a condition in an aggregate counts says nothing of how many people the region has."""
    place.ask(counted)
    for sql in (
        "SELECT SUM(income) FROM patients",
        "SELECT AVG(income) FROM patients WHERE region = 'north'",
    ):
        assert place.ask(sql).query_id
