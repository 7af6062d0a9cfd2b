"""A repeated query gets the same answer for nothing; a higher price is announced and buys accuracy."""

from collections.abc import Sequence
from fractions import Fraction

import pytest
from endtoend.reuse.clinics import PRICE
from endtoend.reuse.datasets import FOUND, PURE, Houses, Place

from gateway.requests.request import Accuracy, Answer, CacheUse

_PRICE = Fraction(PRICE)
_SUM = "SELECT SUM(income) FROM patients"
_REGIONS = """SELECT region, COUNT(*) AS n, SUM(income) AS s FROM patients
    WHERE birth_year >= 1950 GROUP BY region ORDER BY region"""
_OTHER_WORDS = (
    """select p.region, count(*) as n, sum(p.income) as s from patients as p
        where not (p.birth_year < 1950) group by 1 order by 1""",
    """WITH t AS (SELECT * FROM patients) SELECT region, COUNT(*) AS n, SUM(income) AS s FROM t
        WHERE birth_year > 1949 AND 1 = 1 GROUP BY region ORDER BY region""",
    """SELECT region, COUNT(*) AS n, SUM(income) AS s FROM patients
        WHERE birth_year BETWEEN 1950 AND 3000 GROUP BY region ORDER BY region""",
    """SELECT region, COUNT(*) AS n, SUM(income) AS s
        FROM (SELECT income, region, birth_year / 10 AS decade FROM patients) d
        WHERE decade >= 195 GROUP BY region ORDER BY region""",
    """SELECT region, COUNT(*) AS n, SUM(income) AS s FROM patients
        WHERE 2026 - birth_year <= 76 GROUP BY region ORDER BY region""",
    f"SELECT * FROM ({_REGIONS}) t WHERE n > -1000000000 ORDER BY region",
)


def _width(answer: Answer, column: int = 0) -> float:
    interval = answer.intervals[0][column]
    assert interval is not None
    return interval[1] - interval[0]


def _cells(answer: Answer, *names: str) -> Sequence[tuple[str | None, ...]]:
    places = [[one.name for one in answer.columns].index(name) for name in names]
    return sorted((tuple(row[at] for at in places) for row in answer.rows), key=str)


def test_answer_is_the_same_and_free_when_the_question_is(place: Place) -> None:
    """To the last digit, with its intervals; the answer and its notices say where it comes from."""
    first, again = place.ask(_REGIONS), place.ask(_REGIONS)
    assert (first.reused, again.reused) == (None, CacheUse.SAME)
    assert (again.rows, again.intervals) == (first.rows, first.intervals)
    assert again.columns == first.columns
    assert first.charged.value == _PRICE
    assert not again.charged
    assert not again.delta.value
    assert set(again.notices) - set(first.notices)
    assert again.query_id != first.query_id
    assert place.spent() == place.spent_by_all() == _PRICE


@pytest.mark.parametrize("text", _OTHER_WORDS)
def test_answer_is_the_same_and_free_when_the_question_is_in_other_words(
    pure: Place, text: str
) -> None:
    """What is asked decides, not how it is written."""
    first, again = pure.ask(_REGIONS), pure.ask(text)
    assert again.reused is CacheUse.SAME
    assert again.rows == first.rows
    assert pure.spent_by_all() == _PRICE


@pytest.mark.parametrize(
    "text",
    [
        _REGIONS.replace("1950", "1951"),
        _REGIONS.replace(">=", "<"),
        _REGIONS.replace("SUM(income)", "SUM(birth_year)"),
        _REGIONS.replace("WHERE birth_year", "WHERE smoker AND birth_year"),
        "SELECT smoker, COUNT(*) AS n FROM patients WHERE birth_year >= 1950 GROUP BY smoker",
    ],
)
def test_answer_is_measured_when_the_question_is_another(pure: Place, text: str) -> None:
    """The negative control: other rows, other values and other groups were not measured before."""
    pure.ask(_REGIONS)
    again = pure.ask(text)
    assert again.reused is None
    assert again.charged.value > 0
    assert pure.spent_by_all() > _PRICE


def test_measures_come_free_when_they_are_among_those_of_before(place: Place) -> None:
    """Some of the columns, and what is made of them: a mean of a count and a sum."""
    first = place.ask(
        "SELECT region, COUNT(*) AS n, SUM(income) AS s, AVG(income) AS y FROM patients GROUP BY region"
    )
    for sql, column in (
        ("SELECT region, COUNT(*) AS n FROM patients GROUP BY region", "n"),
        ("SELECT region, SUM(income) AS s FROM patients GROUP BY region", "s"),
        ("SELECT region, AVG(income) AS y FROM patients GROUP BY region", "y"),
    ):
        found = place.ask(sql)
        assert found.reused is CacheUse.SAME
        assert _cells(found, "region", column) == _cells(first, "region", column)
    others = place.ask(
        "SELECT region, COUNT(income) AS c, SUM(income) / COUNT(*) FROM patients GROUP BY 1"
    )
    assert others.reused is CacheUse.SAME
    assert place.spent_by_all() == _PRICE


def test_only_what_is_new_is_bought_when_some_of_the_measures_are_there(place: Place) -> None:
    """A question about more than before costs less than all of it, and shows what was there as it was."""
    first = place.ask("SELECT region, SUM(income) AS s FROM patients GROUP BY region")
    more = place.ask(
        "SELECT region, SUM(income) AS s, SUM(birth_year) AS y FROM patients GROUP BY region",
        epsilon=PRICE,
    )
    assert more.reused is None
    assert 0 < more.charged.value <= _PRICE
    assert place.spent_by_all() <= 2 * _PRICE
    less = place.ask("SELECT region, SUM(birth_year) AS y FROM patients GROUP BY region")
    assert _cells(less, "region", "y") == _cells(more, "region", "y")
    assert len(first.rows) == len(more.rows)


def test_difference_is_paid_when_a_higher_price_is_named(place: Place) -> None:
    """Twice the price costs the rest of it, and the interval is narrower; afterwards both prices are paid."""
    first = place.ask(_SUM)
    dearer = place.ask(_SUM, epsilon="0.002")
    if first.rho is None:
        # the least e with 0.001² + e² >= 0.002²
        assert 3 * _PRICE**2 <= dearer.charged.value**2 < 3 * _PRICE**2 * Fraction(1001, 1000)
    else:
        assert dearer.charged.value == _PRICE
        assert place.spent_by_all() == 2 * _PRICE
    assert _width(dearer) < 0.8 * _width(first)
    assert dearer.rows != first.rows
    for price in (None, "0.002", PRICE):
        again = place.ask(_SUM, epsilon=price)
        assert not again.charged
        assert again.rows == dearer.rows


def test_nothing_is_paid_when_a_lower_price_is_named(place: Place) -> None:
    """Whoever would be content with less gets what there is."""
    first = place.ask(_SUM)
    assert place.ask(_SUM, epsilon="0.0005").rows == first.rows
    assert place.spent_by_all() == _PRICE


def test_accuracy_that_was_bought_before_is_not_bought_again(place: Place) -> None:
    """What is near enough comes free, what is not costs something."""
    first = place.ask("SELECT COUNT(*) FROM patients")
    wide = Accuracy.parse({"margin": str(int(_width(first)))})
    near = Accuracy.parse({"margin": str(int(_width(first) / 8))})
    told = place.ask("SELECT COUNT(*) FROM patients", accuracy=wide)
    assert told.rows == first.rows
    assert not told.charged
    better = place.ask("SELECT COUNT(*) FROM patients", accuracy=near)
    assert better.charged.value > 0
    assert _width(better) <= 2 * float(near.target) + 2


def test_noise_is_drawn_anew_when_fresh_is_asked_for(place: Place) -> None:
    """`fresh` pays the whole price again; what comes then, without it, costs nothing."""
    first, fresh = place.ask(_SUM), place.ask(_SUM, fresh=True)
    assert fresh.reused is None
    assert fresh.charged.value == _PRICE
    assert fresh.rows != first.rows
    assert place.spent_by_all() == 2 * _PRICE
    again = place.ask(_SUM)
    assert again.reused is CacheUse.SAME
    assert place.spent_by_all() == 2 * _PRICE


def test_estimate_tells_that_an_answer_is_there(place: Place) -> None:
    """Nothing is charged for asking; the price is what the question would take now."""
    before = place.estimate(_SUM)
    assert (before.reused, before.price.value) == (None, _PRICE)
    place.ask(_SUM)
    after = place.estimate(_SUM)
    assert after.reused is CacheUse.SAME
    assert not after.price
    assert place.spent_by_all() == _PRICE


def test_quantiles_come_free_when_they_are_the_same(place: Place) -> None:
    """What was chosen is shown again; another quantile of the same values is chosen anew."""
    median = "SELECT region, percentile_disc(0.5) WITHIN GROUP (ORDER BY income) AS m FROM patients GROUP BY region"
    first, again = place.ask(median), place.ask(median)
    assert again.reused is CacheUse.SAME
    assert (again.rows, again.intervals) == (first.rows, first.intervals)
    assert place.spent_by_all() == _PRICE
    other = place.ask(median.replace("0.5", "0.9"))
    assert (other.reused, other.charged.value) == (None, _PRICE)


def test_groups_that_were_found_come_free_when_the_question_is_the_same(houses: Houses) -> None:
    """Groups whose keys are released are given again as they are, and are no part of another answer."""
    place = houses.place(FOUND)
    grouped = "SELECT diagnosis, COUNT(*) AS n, SUM(cost) AS s FROM visits GROUP BY diagnosis"
    first = place.ask(grouped)
    assert len(first.rows) > 1
    price = place.spent_by_all()
    again = place.ask(grouped)
    assert again.reused is CacheUse.SAME
    assert _cells(again, "diagnosis", "n", "s") == _cells(first, "diagnosis", "n", "s")
    assert place.spent_by_all() == price
    for other in (
        "SELECT COUNT(*) AS n FROM visits WHERE diagnosis = 'flu'",
        "SELECT COUNT(*) AS n FROM visits",
    ):
        assert place.ask(other).reused is None


_STAGED = "SELECT {} FROM visits WHERE cost > (SELECT AVG(cost) FROM visits)"


def test_question_in_stages_is_free_when_all_of_its_stages_are_there(place: Place) -> None:
    """The same inner answer makes the same question of what is outside."""
    first = place.ask(_STAGED.format("SUM(cost)"))
    again = place.ask(_STAGED.format("SUM(cost)"))
    assert again.reused is CacheUse.SAME
    assert again.rows == first.rows
    assert place.spent_by_all() == _PRICE


def test_question_in_stages_costs_less_when_its_inner_stage_is_there(place: Place) -> None:
    """What is inside was answered before: only what is outside is bought."""
    place.ask("SELECT AVG(cost) FROM visits")
    outer = place.ask(_STAGED.format("SUM(cost)"))
    assert outer.reused is None
    assert 0 < outer.charged.value < _PRICE


def test_question_in_stages_is_another_when_its_inner_answer_is(pure: Place) -> None:
    """Fresh noise inside is another limit outside; nobody is given what belongs to the old one."""
    first = pure.ask(_STAGED.format("SUM(cost)"))
    pure.ask("SELECT AVG(cost) FROM visits", fresh=True)
    again = pure.ask(_STAGED.format("SUM(cost)"))
    assert (again.rows == first.rows) is (again.reused is CacheUse.SAME)
    assert (again.charged.value > 0) is (again.reused is None)


def test_reuse_survives_what_is_done_with_the_answer(houses: Houses) -> None:
    """HAVING, ORDER BY, LIMIT, windows and arithmetic see the same released numbers."""
    place = houses.place(PURE)
    place.ask("SELECT region, SUM(income) AS s FROM patients GROUP BY region")
    for sql in (
        "SELECT region FROM patients GROUP BY region ORDER BY SUM(income) DESC LIMIT 2",
        "SELECT region, SUM(income) / 1000 AS s FROM patients GROUP BY region HAVING SUM(income) > 0",
        "SELECT region, SUM(SUM(income)) OVER (ORDER BY region) AS s FROM patients GROUP BY region",
    ):
        assert place.ask(sql).reused is CacheUse.SAME, sql
    assert place.spent_by_all() == _PRICE
