"""A ROLLUP of many groups in zCDP: its total is measured with them, and it is a release of its own."""

from endtoend.reuse.datasets import ZCDP, Houses

from gateway.requests.request import Answer, CacheUse

_YEARS = "SELECT birth_year, COUNT(*) AS n FROM patients GROUP BY {} ORDER BY birth_year".format
_GROUPS, _ROLLUP = _YEARS("birth_year"), _YEARS("ROLLUP (birth_year)")


def _width(answer: Answer, row: int) -> float:
    found = answer.intervals[row][1]
    assert found is not None
    return found[1] - found[0]


def test_total_of_many_groups_is_their_sum_and_more_exact_than_it_was(houses: Houses) -> None:
    """More exact than the sum of as many groups of a `GROUP BY`, at the same price."""
    place = houses.place(ZCDP)
    groups = place.ask(_GROUPS)
    rolled = place.ask(_ROLLUP)
    years = len(groups.rows)
    assert years >= 50
    assert len(rolled.rows) == years + 1
    group = _width(rolled, 0)
    assert _width(groups, 0) <= group <= 1.2 * _width(groups, 0)
    # the total is the widest: the NULL group and the total both have no year
    total = max(_width(rolled, row) for row in (years - 1, years))
    assert group < total < 0.75 * years**0.5 * group


def test_groups_with_their_total_answer_the_same_question_alone(houses: Houses) -> None:
    """The same again is free and the same; groups alone, or fewer of them, are measured anew and charged."""
    place = houses.place(ZCDP)
    first = place.ask(_ROLLUP)
    spent = place.spent_by_all()
    again = place.ask(_ROLLUP)
    assert again.reused is CacheUse.SAME
    assert again.rows == first.rows
    assert place.spent_by_all() == spent
    assert place.ask(_GROUPS).reused is None
    assert place.spent_by_all() > spent
    # the groups alone, which were measured last, answer a filter
    one = place.ask("SELECT COUNT(*) FROM patients WHERE birth_year = 1960")
    assert one.reused is CacheUse.FILTER


def test_groups_with_their_total_are_measured_anew_for_more_accuracy(houses: Houses) -> None:
    """A higher price is no top-up: it is charged in full, and the answer is that of one measurement."""
    place = houses.place(ZCDP)
    place.ask(_ROLLUP, epsilon="0.5")
    full = place.charged_for(lambda: place.ask(_ROLLUP, epsilon="1"))
    assert full == 1
