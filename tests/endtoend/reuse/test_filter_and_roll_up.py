"""Answers from cached ones: filters on a key and roll-ups of listed groups equal the released numbers."""

import pytest
from endtoend.reuse.datasets import PURE, ZCDP, Houses, Place

from gateway.requests.request import Answer, CacheUse

_BOTH = (
    "SELECT region, smoker, COUNT(*) AS n, SUM(income) AS s FROM patients GROUP BY region, smoker"
)
_REGIONS = "SELECT region, COUNT(*) AS n, SUM(income) AS s FROM patients GROUP BY region"


def _numbers(answer: Answer, **where: str | None) -> tuple[int, int]:
    """The columns n and s, added up over the rows with these keys."""
    names = [one.name for one in answer.columns]
    rows = [dict(zip(names, row, strict=True)) for row in answer.rows]
    found = [row for row in rows if all(row[name] == value for name, value in where.items())]
    assert found
    n, s = (sum(int(row[name] or 0) for row in found) for name in "ns")
    return n, s


@pytest.mark.parametrize(
    ("sql", "where"),
    [
        ("SELECT COUNT(*) AS n, SUM(income) AS s FROM patients WHERE region = 'north'", "north"),
        (f"{_REGIONS} HAVING region = 'west'", "west"),
        ("SELECT COUNT(*) AS n, SUM(income) AS s FROM patients WHERE region IS NULL", None),
    ],
)
def test_filter_on_a_key_is_the_group_of_before(place: Place, sql: str, where: str | None) -> None:
    """`WHERE region = 'north'` after `GROUP BY region` is that cell, and free."""
    first = place.ask(_REGIONS)
    spent = place.spent_by_all()
    found = place.ask(sql)
    assert found.reused in {CacheUse.FILTER, CacheUse.SAME}
    assert _numbers(found) == _numbers(first, region=where)
    assert place.spent_by_all() == spent


def test_filter_on_one_of_two_keys_leaves_the_other(place: Place) -> None:
    """Groups of one region, by what is left of their keys."""
    first = place.ask(_BOTH)
    spent = place.spent_by_all()
    found = place.ask(
        "SELECT smoker, COUNT(*) AS n, SUM(income) AS s FROM patients WHERE region = 'east' GROUP BY smoker"
    )
    assert found.reused is CacheUse.FILTER
    for smoker in ("t", "f", None):
        assert _numbers(found, smoker=smoker) == _numbers(first, region="east", smoker=smoker)
    assert place.spent_by_all() == spent


def test_filter_by_several_keys_is_those_groups(place: Place) -> None:
    """IN over the keys of before."""
    first = place.ask(_REGIONS)
    spent = place.spent_by_all()
    found = place.ask(_REGIONS.replace("GROUP", "WHERE region IN ('north', 'south') GROUP"))
    assert found.reused is CacheUse.FILTER
    for region in ("north", "south"):
        assert _numbers(found, region=region) == _numbers(first, region=region)
    assert place.spent_by_all() == spent


def test_roll_up_adds_the_groups_of_before(place: Place) -> None:
    """Fewer keys, or none: sums of the released cells, whose noise adds up as the interval says."""
    first = place.ask(_BOTH)
    spent = place.spent_by_all()
    rolled = place.ask(_REGIONS)
    assert rolled.reused is CacheUse.ROLLUP
    for region in ("north", "east", "south", "west", None):
        assert _numbers(rolled, region=region) == _numbers(first, region=region)
    for wide, narrow in zip(rolled.intervals, first.intervals, strict=False):
        assert wide[1] is not None
        assert narrow[2] is not None
        assert wide[1][1] - wide[1][0] > narrow[2][1] - narrow[2][0]
    total = place.ask("SELECT COUNT(*) AS n, SUM(income) AS s FROM patients")
    assert total.reused is CacheUse.ROLLUP
    assert _numbers(total) == _numbers(first)
    assert place.spent_by_all() == spent


def test_roll_up_by_coarser_steps_adds_the_groups_of_before(place: Place) -> None:
    """Decades of years, and of a part of them."""
    years = "SELECT birth_year AS y, COUNT(*) AS n, SUM(income) AS s FROM patients WHERE birth_year BETWEEN 1950 AND 1959 GROUP BY 1"
    first = place.ask(years)
    spent = place.spent_by_all()
    halves = place.ask(
        "SELECT birth_year / 5 AS y, COUNT(*) AS n, SUM(income) AS s FROM patients WHERE birth_year BETWEEN 1950 AND 1959 GROUP BY 1"
    )
    assert halves.reused is CacheUse.ROLLUP
    assert _numbers(halves, y="390") == tuple(
        sum(_numbers(first, y=str(year))[at] for year in range(1950, 1955)) for at in (0, 1)
    )
    assert place.spent_by_all() == spent


@pytest.mark.parametrize("kind", [PURE, ZCDP])
def test_roll_up_is_measured_when_it_would_be_too_rough(houses: Houses, kind: str) -> None:
    """A hundred cells have more than 16 times the variance of one: the total is measured, at its price."""
    place = houses.place(kind)
    place.ask("SELECT birth_year, COUNT(*) AS n FROM patients GROUP BY birth_year")
    total = place.ask("SELECT COUNT(*) AS n FROM patients")
    assert total.reused is None
    assert total.charged.value > 0


def test_roll_up_at_a_price_is_measured_when_it_would_be_rougher_than_paid_for(
    pure: Place,
) -> None:
    """Who names a price is not given less than it buys."""
    pure.ask(_BOTH)
    named = pure.ask(_REGIONS, epsilon="0.001")
    assert named.reused is None
    assert named.charged.value > 0


def test_persons_that_are_in_several_groups_are_not_added_up(pure: Place) -> None:
    """Somebody with visits in two months is one person: a count of persons is measured anew."""
    pure.ask(
        "SELECT EXTRACT(year FROM visit_date) AS y, COUNT(DISTINCT patient_id) AS n FROM visits GROUP BY 1"
    )
    total = pure.ask("SELECT COUNT(DISTINCT patient_id) AS n FROM visits")
    assert total.reused is None
    assert total.charged.value > 0


def test_chosen_values_are_not_made_of_others(pure: Place) -> None:
    """A median of all is no function of medians of groups."""
    median = "percentile_disc(0.5) WITHIN GROUP (ORDER BY income)"
    pure.ask(f"SELECT region, {median} FROM patients GROUP BY region")
    assert pure.ask(f"SELECT {median} FROM patients").reused is None


def test_answers_that_were_made_of_others_are_free_for_ever(pure: Place) -> None:
    """However often what was bought once is asked in parts, it costs nothing more."""
    pure.ask(_BOTH)
    spent = pure.spent_by_all()
    for region in ("north", "east", "south", "west"):
        for smoker in ("smoker", "NOT smoker", "smoker IS NULL"):
            sql = f"SELECT COUNT(*) AS n FROM patients WHERE region = '{region}' AND {smoker}"
            assert not pure.ask(sql).charged
            assert not pure.ask(sql).charged
    assert pure.spent_by_all() == spent
