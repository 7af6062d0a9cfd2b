"""Histograms of norms are bought as queries of their own: once, by whoever needs one, for as long as they serve."""

from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import pytest
from endtoend.reuse.datasets import (
    CLIPPED,
    CLIPPED_MODEST,
    CLIPPED_OPEN,
    CLIPPED_ZCDP,
    Houses,
    Place,
)

from gateway.admin.actions import refresh_data
from gateway.budget.report import standings
from gateway.errors import Code, Refusal
from gateway.frontends.pgwire.explanation import plan_lines
from gateway.requests.request import Accuracy, Answer, CacheUse
from gateway.trail.search import RecordFilter, latest_records

PRICE = Fraction(20)
MORE = Fraction(2)
BOTH = PRICE + MORE
_TITLE = "-- histogram of norms: "
_ALL = "SELECT COUNT(*) AS n FROM visits"
_BY = "SELECT diagnosis, COUNT(*) AS n FROM visits GROUP BY diagnosis"
_SUMS = "SELECT diagnosis, SUM(cost) AS s FROM visits WHERE cost > 100 GROUP BY diagnosis"
_DAYS = "SELECT visit_date, COUNT(*) AS n FROM visits GROUP BY visit_date"
_JOIN = "FROM visits v JOIN patients p ON v.patient_id = p.patient_id"
_JOINED = f"SELECT COUNT(*) AS n {_JOIN}"
_REGIONS = f"SELECT p.region, COUNT(*) AS n {_JOIN} GROUP BY p.region"
_YEARS = f"SELECT p.birth_year, COUNT(*) AS n {_JOIN} GROUP BY p.birth_year"
_PERSONS = "SELECT region, COUNT(*) AS n FROM patients GROUP BY region"


@pytest.fixture(params=[CLIPPED, CLIPPED_ZCDP])
def place(request: pytest.FixtureRequest, houses: Houses) -> Place:
    kind: str = request.param
    return houses.place(kind)


@pytest.fixture
def zcdp(houses: Houses) -> Place:
    return houses.place(CLIPPED_ZCDP)


@pytest.fixture
def open_(houses: Houses) -> Place:
    """Where all answers are reused openly."""
    return houses.place(CLIPPED_OPEN)


@dataclass(frozen=True)
class Bought:
    """The charges of a dataset: of histograms, and of queries."""

    histograms: list[dict[str, Any]]
    queries: list[dict[str, Any]]


def bought(place: Place, who: str | None = None, kind: str = "charged") -> Bought:
    wanted = RecordFilter(dataset=place.dataset, kind=kind, subject=who)
    with place.opened.foundation.engine.connect() as connection:
        found = [dict(one) for one in latest_records(connection, 1_000, wanted)]
    norms = [one for one in found if one["sql"].startswith(_TITLE)]
    return Bought(norms, [one for one in found if one not in norms])


def ledger(place: Place) -> Fraction:
    """What the dataset gave, exactly, as an operator sees it."""
    with place.opened.foundation.engine.connect() as connection:
        found = standings(connection, place.clock, dataset=place.dataset)
    name = f"dataset:{place.dataset}"
    return next((one.epsilon_spent.value for one in found if one.account == name), Fraction(0))


def own_history(place: Place, who: str = "alice") -> list[tuple[str | None, ...]]:
    rows = place.ask("SELECT query_id, sql, outcome, charged_epsilon FROM gateway.queries", who)
    return [tuple(row) for row in rows.rows]


def limit(answer: Answer) -> float:
    [rows] = [one.limit for one in answer.clipped if not one.over.startswith("units of ")]
    return rows


def declared(place: Place, sql: str = _BY) -> float:
    """The clip without a histogram, as somebody is answered who pays too little for one."""
    return limit(place.ask(sql, "carol", epsilon="1"))


def test_first_query_buys_one_histogram_with_a_record_of_its_own(place: Place) -> None:
    """At `clip.price`, charged once; the answer says the sum, and the ledger moved by exactly that."""
    answer = place.ask(_BY)
    assert (answer.price.value, answer.charged.value) == (PRICE, BOTH)
    assert place.spent() == ledger(place) == BOTH
    assert any(
        "epsilon 2 of this was charged for a histogram of norms" in one for one in answer.notices
    )
    told = bought(place)
    [histogram], [query] = told.histograms, told.queries
    assert query["query_id"] == answer.query_id != histogram["query_id"]
    assert histogram["sql"].startswith(f"{_TITLE}visits")
    assert [Fraction(one["price"]) for one in (histogram, query)] == [MORE, PRICE]
    assert [one["query_id"] for one in bought(place, kind="answered").histograms] == [
        histogram["query_id"]
    ]
    if answer.rho is not None:
        taken = [Fraction(one["taken"][0]["amount"]) for one in (histogram, query)]
        assert answer.rho == sum(taken)
    listed = {row[0]: row[1:] for row in own_history(place)}
    for record, price in ((histogram, MORE), (query, PRICE)):
        sql, outcome, charged = listed[record["query_id"]]
        assert (sql, outcome) == (record["sql"], "answered")
        assert Fraction(str(charged)) == price
    assert place.opened.foundation.verify_trail().intact


def test_later_queries_with_the_same_keys_buy_none(place: Place) -> None:
    """Other measures, another WHERE, a fresh answer, another price: one histogram serves them all."""
    place.ask(_BY)
    assert place.ask(_SUMS).charged.value == PRICE
    fresh = place.ask(_BY, fresh=True)
    assert fresh.charged.value == PRICE
    assert place.ask(_SUMS, epsilon="30").charged.value == 30
    again = place.ask(_BY)
    assert (again.reused, again.charged.value) == (CacheUse.SAME, Fraction(0))
    assert limit(again) == limit(fresh)
    assert len(bought(place).histograms) == 1


def test_histogram_changes_the_clip(place: Place) -> None:
    """What is paid for is used: another clip than the declared one, and shares that are known for the whole table."""
    without = declared(place)
    answer = place.ask(_BY)
    assert limit(answer) != without
    [rows] = [one for one in answer.clipped if not one.over.startswith("units of ")]
    filtered = [one for one in place.ask(_SUMS).clipped if not one.over.startswith("units of ")]
    assert rows.units is not None or rows.over.endswith("diagnosis")
    assert [(one.units, one.rows) for one in filtered] == [(None, None)]


def test_other_keys_buy_another_histogram_where_norms_are_over_groups(zcdp: Place) -> None:
    """A norm is over groups. Keys of a person are one group each, so they share the histogram without keys."""
    assert zcdp.ask(_BY).charged.value == BOTH
    assert zcdp.ask(_DAYS).charged.value == BOTH
    assert zcdp.ask(_ALL).charged.value == BOTH
    assert len(bought(zcdp).histograms) == 3
    assert zcdp.ask(_REGIONS).charged.value == BOTH  # other rows: those that are joined
    assert zcdp.ask(_YEARS).charged.value == PRICE
    assert zcdp.ask(_JOINED, fresh=True).charged.value == PRICE
    assert len(bought(zcdp).histograms) == 4


def test_all_keys_share_one_histogram_where_rows_are_counted(houses: Houses) -> None:
    """In a pure ledger a norm is the number of rows, whatever the groups are."""
    place = houses.place(CLIPPED)
    assert place.ask(_BY).charged.value == BOTH
    assert [place.ask(sql).charged.value for sql in (_DAYS, _ALL)] == [PRICE, PRICE]
    assert len(bought(place).histograms) == 1


def test_query_over_persons_buys_none(place: Place) -> None:
    """A person with one row has no norm to find out."""
    assert place.ask(_PERSONS).charged.value == PRICE
    assert place.ask("SELECT COUNT(DISTINCT patient_id) FROM visits").charged.value == PRICE
    assert bought(place).histograms == []


def test_statement_with_several_releases_buys_what_all_of_them_need_once(zcdp: Place) -> None:
    """Two releases over the same rows and keys share one."""
    sql = f"SELECT ({_ALL}) AS n, (SELECT SUM(cost) FROM visits WHERE cost > 100) AS s"
    assert zcdp.ask(sql).charged.value == BOTH
    both = f"SELECT ({_ALL} WHERE cost > 9) AS n, (SELECT COUNT(*) FROM calls) AS c"
    assert zcdp.ask(both).charged.value == BOTH
    names = sorted(one["sql"] for one in bought(zcdp).histograms)
    assert names == [f"{_TITLE}calls", f"{_TITLE}visits"]


def test_grouping_sets_buy_one_histogram_each_where_each_is_measured(zcdp: Place) -> None:
    """Totals of groups that are found in the data are measured by themselves, with weights of their own."""
    sql = "SELECT diagnosis, COUNT(*) FROM visits GROUP BY ROLLUP (diagnosis)"
    answer = zcdp.ask(sql)
    names = sorted(one["sql"] for one in bought(zcdp).histograms)
    assert names == [f"{_TITLE}visits", f"{_TITLE}visits by diagnosis"]
    assert answer.charged.value == PRICE + 2 * MORE
    assert any("for 2 histograms of norms" in one for one in answer.notices)
    assert zcdp.ask(_BY, epsilon="21").charged.value == 21


def test_query_that_is_cheaper_than_the_histogram_does_not_buy_it(place: Place) -> None:
    """What costs less than the histogram is answered without."""
    for epsilon in ("1", "1.999"):
        assert place.ask(_BY, epsilon=epsilon).charged.value == Fraction(epsilon)
    assert bought(place).histograms == []
    assert place.ask(_BY, epsilon="2").charged.value == 4


def test_account_that_cannot_pay_both_is_answered_with_the_declared_clip(houses: Houses) -> None:
    """The histogram is no reason to refuse what the account can pay."""
    place = houses.place(CLIPPED_MODEST)
    estimate = place.estimate(_BY)
    assert estimate.price.value == PRICE
    answer = place.ask(_BY)
    assert answer.charged.value == PRICE == place.spent()
    assert bought(place).histograms == []
    assert limit(answer) == declared(place)
    assert place.ask(_BY).reused is CacheUse.SAME


def test_query_that_is_refused_buys_no_histogram(houses: Houses) -> None:
    """Prices and accuracies out of reach, and a budget that is spent, are refused before anything is bought."""
    place = houses.place(CLIPPED_MODEST)
    accuracy = Accuracy(margin=Fraction(1, 10**9))
    for more in ({"accuracy": accuracy}, {"accuracy": accuracy, "epsilon": "3"}):
        with pytest.raises(Refusal):
            place.ask(_DAYS, **more)
    short = "your account has epsilon 21 left now, so the query would be refused"
    assert short in place.estimate(_BY, epsilon="22").notices
    assert short not in place.estimate(_BY, epsilon="21").notices
    with pytest.raises(Refusal) as caught:
        place.ask(_BY, epsilon="22")
    assert caught.value.code is Code.BUDGET_EXHAUSTED
    assert ledger(place) == 0
    assert bought(place).histograms == bought(place, kind="refused").histograms == []


def test_idempotency_key_charges_the_histogram_once(place: Place) -> None:
    """A retry gets the first answer for nothing, and buys nothing."""
    key = (f"once on {place.dataset}", "digest")
    first = place.ask(_BY, idempotency=key)
    again = place.ask(_BY, idempotency=key)
    assert (first.charged.value, again.charged.value) == (BOTH, Fraction(0))
    assert again.rows == first.rows
    assert place.spent() == BOTH


def test_accuracy_is_priced_at_the_clip_at_hand(place: Place) -> None:
    """It buys no histogram, and uses one that is there; the estimate tells the price in both cases."""
    accuracy = Accuracy(margin=Fraction(40))
    for held in (False, True):
        if held:
            place.ask(_ALL)
        many = len(bought(place).histograms)
        before = place.estimate(_ALL, accuracy=accuracy)
        answer = place.ask(_ALL, accuracy=accuracy)
        assert answer.charged == before.price
        assert len(bought(place).histograms) == many
        assert place.ask(_ALL, accuracy=accuracy).charged.value == 0


def test_estimate_tells_the_histogram_before_it_is_bought_and_not_after(place: Place) -> None:
    """It charges nothing, and what it tells is what is then charged."""
    before = place.estimate(_BY)
    assert before.price.value == BOTH
    assert any(
        "epsilon 2 of the price is for a histogram of norms" in one for one in before.notices
    )
    assert [one.before_histogram for one in before.columns] == [False, True]
    assert "n: 95 % within" in (line := plan_lines(before)[2])
    assert line.endswith("before its histogram of norms: after it the margin may be much larger")
    assert ledger(place) == 0
    assert place.ask(_BY).charged.value == BOTH
    after = place.estimate(_SUMS)
    assert not any(one.before_histogram for one in after.columns)
    assert after.price.value == PRICE
    assert not any("histogram of norms" in one for one in after.notices)
    assert place.estimate(_BY).price.value == 0
    assert ledger(place) == BOTH


@pytest.mark.parametrize("what", ["refreshed", "old", "domain"])
def test_histogram_is_bought_again_when_it_does_not_speak_of_the_data_any_more(
    zcdp: Place, what: str
) -> None:
    """After `gateway data refreshed`, after 30 days, and under other domains."""
    zcdp.ask(_BY)
    zcdp.later(29)
    assert zcdp.ask(_SUMS).charged.value == PRICE
    match what:
        case "refreshed":
            foundation = zcdp.opened.foundation
            refresh_data(
                foundation.journal, foundation.trail, zcdp.dataset, actor="dave", now=zcdp.clock
            )
        case "old":
            zcdp.later(1.1)
        case _:
            zcdp.change_policy("between: [0, 5000]", "between: [0, 4000]")
    assert zcdp.ask(_SUMS, epsilon="30").charged.value == 30 + MORE
    assert len(bought(zcdp).histograms) == 2


def test_histogram_that_was_bought_for_less_serves_until_it_is_too_old(place: Place) -> None:
    """Also where it is less exact than one at the price of now; then the new price is estimated and charged."""
    place.ask(_BY)
    place.change_policy("clip: {price: 2}", "clip: {price: 4}")
    told = place.estimate(_SUMS)
    assert place.ask(_SUMS).charged.value == told.price.value == PRICE
    assert len(bought(place).histograms) == 1
    place.later(30.1)
    told = place.estimate(_SUMS)
    assert place.ask(_SUMS).charged.value == told.price.value == PRICE + 4
    assert len(bought(place).histograms) == 2
    assert place.opened.foundation.verify_trail().intact


@pytest.mark.parametrize("price", [1, 2, 4])
def test_histogram_of_a_group_is_charged_as_it_is_estimated(houses: Houses, price: int) -> None:
    """Whoever else bought it, and at whatever price: the estimate comes from the quote that is charged."""
    place = houses.place(CLIPPED_OPEN)
    place.ask(_BY, "carol")
    if price != MORE:
        place.change_policy("clip: {price: 2}", f"clip: {{price: {price}}}")
    told, answer = place.estimate(_SUMS), place.ask(_SUMS)
    assert answer.charged == told.price
    assert PRICE < told.price.value <= PRICE + price
    assert place.ask(_SUMS).charged.value == place.estimate(_SUMS).price.value == 0


def test_subjects_with_other_rows_never_share_a_histogram(open_: Place) -> None:
    """A row rule is a part of what is counted, also where all answers are shared openly."""
    assert open_.charged_for(lambda: open_.ask(_YEARS)) == BOTH
    assert open_.charged_for(lambda: open_.ask(_YEARS, "bob")) == BOTH
    assert open_.charged_for(lambda: open_.ask(_YEARS, "frank")) == BOTH
    assert len(bought(open_).histograms) == 3
    assert [len(bought(open_, who).histograms) for who in ("alice", "bob", "frank")] == [1, 1, 1]


def test_subjects_with_the_same_rows_share_a_histogram_where_answers_are_shared(
    open_: Place,
) -> None:
    """The negative control: the ledger gives for it once, and each account once."""
    open_.ask(_REGIONS)
    assert open_.charged_for(lambda: open_.ask(f"{_JOINED} WHERE cost > 9", "carol")) == PRICE
    assert open_.spent("carol") == BOTH
    assert len(bought(open_).histograms) <= 2


def test_two_queries_at_the_same_moment_buy_one_histogram(zcdp: Place) -> None:
    """The second one waits for the first, or finds what it bought: nobody pays twice."""
    several = [_BY, *(_SUMS.replace("100", str(least)) for least in (100, 200, 300))]
    with ThreadPoolExecutor(4) as pool:
        answers = list(pool.map(zcdp.ask, several))
    assert sum(one.charged.value for one in answers) == 4 * PRICE + MORE == zcdp.spent()
    assert len(bought(zcdp).histograms) == 1


def test_two_subjects_at_the_same_moment_pay_once_each(zcdp: Place) -> None:
    """Neither waits for what the other buys."""
    with ThreadPoolExecutor(2) as pool:
        answers = list(pool.map(lambda who: zcdp.ask(_BY, who), ["alice", "dave"]))
    assert [one.charged.value for one in answers] == [BOTH, BOTH]
    assert [zcdp.spent(who) for who in ("alice", "dave")] == [BOTH, BOTH]


def test_histogram_serves_where_answers_are_never_reused(zcdp: Place) -> None:
    """`reuse: {max_age: 0d}` is about answers; a histogram has an age of its own."""
    zcdp.change_policy("max_age: 7d", "max_age: 0d")
    charged = [zcdp.ask(_BY).charged.value for _ in range(3)]
    assert charged == [BOTH, PRICE, PRICE]
    with ThreadPoolExecutor(2) as pool:
        answers = list(pool.map(zcdp.ask, [_DAYS, _DAYS]))
    assert sum(one.charged.value for one in answers) == 2 * PRICE + MORE


def test_no_histogram_is_sold_at_a_price_of_zero(zcdp: Place) -> None:
    """The negative control of all of these."""
    zcdp.change_policy("clip: {price: 2}", "clip: {price: 0}")
    assert zcdp.estimate(_BY).price.value == PRICE
    assert zcdp.ask(_BY).charged.value == PRICE
    assert bought(zcdp).histograms == []
