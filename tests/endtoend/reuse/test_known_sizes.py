"""Known sizes never close a table: empty regions, counts of something else, counts that are only noise."""

from collections.abc import Iterator

import pytest
from endtoend.reuse.datasets import AUDITED, Opened, Place, opened
from fix_servers import SharedServers

from gateway.errors import Code, OverlapRefused, SyntaxRefused
from gateway.postgres_server import Lease

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


@pytest.fixture(scope="module")
def audited(sample_server: Lease, servers: SharedServers) -> Iterator[Opened]:
    """A few datasets: tests change policies, and each change reads all of them again."""
    with opened(sample_server, servers, audited=10) as one:
        yield one


@pytest.fixture
def place(audited: Opened) -> Place:
    return audited.place(AUDITED)


def test_region_without_rows_is_answered_and_closes_nothing(place: Place) -> None:
    """At once, again at another price, and everything after it - of which what singles out is refused as before."""
    for sql in _EMPTY:
        assert place.ask(sql).query_id
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


def test_constant_of_the_text_is_read_before_anything_is_charged(place: Place) -> None:
    """`<> (SELECT 1962)` is `<> 1962`, and so is an anti-join with VALUES: refused for nothing."""
    place.ask(_ALL)
    spent = place.spent_by_all()
    for sql in (
        "SELECT COUNT(*) FROM patients WHERE birth_year <> (SELECT 1962)",
        "SELECT COUNT(*) FROM patients p LEFT JOIN (VALUES (1962)) v(x) ON v.x = p.birth_year WHERE v.x IS NULL",
    ):
        with pytest.raises(OverlapRefused) as refused:
            place.ask(sql)
        assert refused.value.code is Code.DIFFERENCING
    assert place.spent_by_all() == spent


def test_constant_that_is_released_on_the_way_is_audited_when_it_is_there(place: Place) -> None:
    """Before the statement that compares with it reaches the source; what was charged stays charged."""
    place.change_policy("opaque_predicates: refuse", "opaque_predicates: count_as_unknown")
    place.ask(_ALL)
    spent = place.spent_by_all()
    with pytest.raises(OverlapRefused) as refused:
        place.ask(
            "SELECT COUNT(*) FROM patients"
            " WHERE birth_year <> (SELECT 1962 + 0 * COUNT(*) FROM patients WHERE region = 'north')"
        )
    assert refused.value.code is Code.DIFFERENCING
    assert place.spent_by_all() > spent


def test_price_below_the_least_is_refused_and_costs_nothing(place: Place) -> None:
    """As one above the highest is."""
    place.change_policy("min: 1e-9", "min: 0.5")
    spent = place.spent_by_all()
    with pytest.raises(SyntaxRefused) as refused:
        place.ask(_ALL, epsilon="0.4999")
    assert refused.value.code is Code.BAD_REQUEST
    assert place.spent_by_all() == spent
    assert place.ask(_ALL, epsilon="0.5").charged


def test_one_new_aggregate_beside_cached_ones_costs_the_least_too(place: Place) -> None:
    """Each statement that reaches the source is paid for; a twentieth of the least price is not."""
    place.change_policy("min: 1e-9", "min: 0.5")
    cached = ", ".join(f"SUM(birth_year + {one})" for one in range(100, 120))
    place.ask(f"SELECT {cached} FROM patients", epsilon="0.5")
    spent = place.spent_by_all()
    with pytest.raises(SyntaxRefused) as refused:
        place.ask(f"SELECT {cached}, SUM(birth_year - 200) FROM patients", epsilon="0.5")
    assert refused.value.code is Code.BAD_REQUEST
    assert place.spent_by_all() == spent
    assert place.ask("SELECT SUM(birth_year - 200) FROM patients", epsilon="0.5").charged


def test_answer_is_not_topped_up_by_less_than_the_least(place: Place) -> None:
    """An increment is a price as well."""
    place.change_policy("min: 1e-9", "min: 0.5")
    place.ask(_ALL, epsilon="1")
    spent = place.spent_by_all()
    with pytest.raises(SyntaxRefused) as refused:
        place.ask(_ALL, epsilon="1.1")
    assert refused.value.code is Code.BAD_REQUEST
    assert place.spent_by_all() == spent
    assert place.ask(_ALL, epsilon="3").charged
