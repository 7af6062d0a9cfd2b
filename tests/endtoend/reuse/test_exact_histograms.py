"""`clip.exact`: histograms of norms of the rows that a statement selects, so that shares of what is cut are known for them."""

from fractions import Fraction

import pytest
from endtoend.reuse.datasets import CLIPPED, CLIPPED_AUDITED, CLIPPED_ZCDP, Houses, Place
from endtoend.reuse.test_norm_histograms import BOTH, MORE, PRICE, bought, declared, limit

from gateway.errors import Code, Refusal
from gateway.requests.request import Accuracy, Answer, ClippedScope

_YEARS = "SELECT extract(year FROM visit_date) AS y, COUNT(*) AS n FROM visits {} GROUP BY 1"
_ALL = _YEARS.format("")
_DEAR = _YEARS.format("WHERE cost > 2000")
_TITLE = "-- histogram of norms: visits"


@pytest.fixture(params=[CLIPPED, CLIPPED_ZCDP])
def exact(request: pytest.FixtureRequest, houses: Houses) -> Place:
    place = houses.place(request.param)
    place.change_policy("clip: {price: 2}", "clip: {price: 2, exact: true}")
    return place


def scope(answer: Answer) -> ClippedScope:
    [found] = [one for one in answer.clipped if not one.over.startswith("units of ")]
    return found


def test_filtered_statement_buys_the_histogram_of_its_rows(exact: Place) -> None:
    """One for each filter; what is cut is known then, and the estimate told the price."""
    assert exact.ask(_ALL).charged.value == BOTH
    assert exact.estimate(_DEAR).price.value == BOTH
    answer = exact.ask(_DEAR)
    assert answer.charged.value == BOTH
    assert scope(answer).units_at_most is not None
    assert exact.ask(_DEAR, fresh=True).charged.value == PRICE
    assert exact.ask(_DEAR.replace("2000", "3000")).charged.value == BOTH
    names = [one["sql"] for one in bought(exact).histograms]
    assert sum(one.endswith(", filtered") for one in names) == 2
    assert all(one.startswith(_TITLE) for one in names)


@pytest.mark.parametrize("kind", [CLIPPED, CLIPPED_ZCDP])
def test_filtered_statement_shares_the_histogram_of_all_rows_otherwise(
    houses: Houses, kind: str
) -> None:
    """The negative control: nothing more is bought, and how much is cut is not known."""
    place = houses.place(kind)
    assert place.ask(_ALL).charged.value == BOTH
    answer = place.ask(_DEAR)
    assert answer.charged.value == PRICE
    assert (scope(answer).units, scope(answer).rows) == (None, None)


def test_histogram_of_all_rows_serves_where_that_of_the_filter_is_not_for_sale(
    exact: Place,
) -> None:
    """With `accuracy`, which buys none, and after it failed for this subject; others may buy it."""
    exact.ask(_ALL)
    answer = exact.ask(_DEAR, accuracy=Accuracy(margin=Fraction(9)))
    assert scope(answer).rows is None
    failures = exact.opened.asking.served.all()[exact.dataset].failures
    whole = [one["sql"].removeprefix("-- histogram of norms: ") for one in bought(exact).histograms]
    failures.note("alice", f"{whole[0]}, filtered", exact.clock)
    told, answer = exact.estimate(_DEAR, fresh=True), exact.ask(_DEAR, fresh=True)
    assert told.price.value == answer.charged.value == PRICE
    assert scope(answer).rows is None
    assert limit(answer) != declared(exact, _DEAR.replace("2000", "1000"))
    exact.later(1.1)
    assert exact.ask(_DEAR, fresh=True).charged.value == BOTH


def test_no_histogram_is_bought_of_rows_that_may_not_be_asked_about(houses: Houses) -> None:
    """The query is audited before it buys one; the filter that is far enough away, the negative control, buys its own."""
    place = houses.place(CLIPPED_AUDITED)
    place.change_policy("clip: {price: 2}", "clip: {price: 2, exact: true}")
    sql = _YEARS.format("WHERE cost > {}")
    assert place.ask(sql.format(1000)).charged.value == BOTH
    with pytest.raises(Refusal) as caught:
        place.ask(sql.format("1000.01"))
    assert caught.value.code is Code.DIFFERENCING
    assert len(bought(place).histograms) == 1
    assert place.ask(sql.format(2500)).charged.value == BOTH
    assert len(bought(place).histograms) == 2


def test_clip_of_a_filter_is_that_of_its_rows(exact: Place) -> None:
    """Few rows of a person are left, so that a smaller clip is best."""
    exact.ask(_ALL)
    few = exact.ask(_YEARS.format("WHERE cost > 4000"))
    assert limit(few) < limit(exact.ask(_ALL))
    assert len(bought(exact).histograms) == 2
    assert exact.spent() == MORE * 2 + PRICE * 2
