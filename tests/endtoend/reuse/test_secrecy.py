"""No response reveals whether others sent the same query before: two worlds, one transcript.

The worlds differ in what others asked: the same, in other words, at other prices, more and less of it. The negative
control is the setting under which it is told.
"""

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from fractions import Fraction

import pytest
from endtoend.reuse.clinics import PRICE
from endtoend.reuse.datasets import (
    PURE,
    QUIET,
    QUIET_AUDITED,
    QUIET_ZCDP,
    ZCDP,
    Opened,
    Place,
    opened,
)
from endtoend.reuse.test_concurrency import Held
from endtoend.reuse.two_gateways import World, world
from fix_servers import SharedServers

from gateway.admin.actions import grant
from gateway.budget.account import Limits
from gateway.budget.report import standings
from gateway.cancellation import CancelEvent
from gateway.errors import Refusal
from gateway.postgres_server import Lease
from gateway.requests.request import CacheUse
from gateway.trail.search import RecordFilter, latest_records
from gateway.units import Delta, Epsilon

_PRICE = Fraction(PRICE)
_REGIONS = "SELECT region, COUNT(*) AS n, SUM(income) AS s FROM patients GROUP BY region"
_SUM = "SELECT SUM(income) AS s FROM patients"
_NORTH = "SELECT SUM(income) AS s FROM patients WHERE region = 'north'"
_MEDIAN = "SELECT PERCENTILE_CONT(0.5) WITHIN GROUP (ORDER BY income) AS m FROM patients"
_FOUND = "SELECT diagnosis, COUNT(*) AS n FROM visits GROUP BY diagnosis"
_STAGED = "SELECT COUNT(*) AS n FROM visits WHERE cost > (SELECT AVG(cost) FROM visits)"
_ASKED = (_SUM, _MEDIAN, _FOUND, _STAGED, _REGIONS)


@pytest.fixture(scope="module")
def alone(sample_server: Lease, servers: SharedServers) -> Iterator[Opened]:
    """Where nobody asked before."""
    with opened(
        sample_server, servers, pure=1, zcdp=1, quiet=1, quiet_zcdp=1, quiet_audited=1
    ) as one:
        yield one


@pytest.fixture(scope="module")
def crowd(sample_server: Lease, servers: SharedServers) -> Iterator[Opened]:
    """Where others did."""
    with opened(
        sample_server, servers, pure=1, zcdp=1, quiet=10, quiet_zcdp=4, quiet_audited=1
    ) as one:
        yield one


def _others(there: World) -> None:
    for sql in _ASKED:
        if (
            sql != _STAGED
        ):  # its second draw would begin elsewhere in the stream where the first is a copy
            there.others_ask(sql)
        there.others_ask(sql, epsilon="0.5")
    there.others_ask(f"{_REGIONS} ORDER BY region", "carol")
    there.others_ask("SELECT birth_year, COUNT(*), SUM(income) FROM patients GROUP BY birth_year")
    there.others_ask("SELECT SUM(income), SUM(birth_year) FROM patients", "carol")


def _mine(there: World) -> None:
    for sql in _ASKED:
        there.asks("/v1/estimate", sql)
        there.asks("/v1/estimate", sql, epsilon=0.5)
        answer = there.asks("/v1/query", sql)
        assert answer["privacy"]["reused"] is None
        assert answer["privacy"]["charged_epsilon"] == float(PRICE)
        there.asks("/v1/query", sql, epsilon=0.002)
        there.asks("/v1/estimate", sql)
        again = there.asks("/v1/query", sql)
        assert again["privacy"]["reused"] == "same"
    there.asks("/v1/query", _NORTH, {"Accept": "text/csv"})
    there.asks("/v1/query", "SELECT birth_year / 10, SUM(income) FROM patients GROUP BY 1")
    there.asks("/v1/query", f"{_SUM} WHERE smoker", accuracy={"margin": 1e9})
    for _ in range(2):
        there.asks("/v1/query", f"{_SUM} WHERE NOT smoker", {"Idempotency-Key": "once"})
    there.asks("/v1/query", _REGIONS, fresh=True)
    mine = f"SELECT * FROM gateway.budget WHERE dataset = '{there.place.dataset}' ORDER BY account"
    there.asks("/v1/query", mine)
    there.reads("/v1/queries?limit=20")
    there.reads_budget()
    there.asks_on_the_wire(
        f"EXPLAIN {_SUM} WHERE birth_year > 1960",
        f"{_SUM} WHERE birth_year > 1960",
        f"{_SUM} WHERE birth_year > 1960",
        "SELECT query_id, outcome, charged_epsilon FROM gateway.queries ORDER BY at DESC LIMIT 9",
        mine,
    )


def _transcripts(kind: str, alone: Opened, crowd: Opened) -> tuple[list[str], list[str]]:
    """Of alice, who asks five days after the others; and a week after that her own answers are as old as they look."""
    found = []
    for opened_, others in ((alone, False), (crowd, True)):
        with world(opened_, kind) as there:
            if others:
                _others(there)
                there.others_ask(f"{_SUM} WHERE birth_year > 1960")
            there.place.later(5)
            _mine(there)
            for days in (3, 3.9, 0.2):
                there.place.later(days)
                _later(there)
            found.append(there.said)
            assert (_copied(there.place) >= 3) is others
    return found[0], found[1]


def _copied(place: Place) -> int:
    """How many of alice's answers were draws of somebody else."""
    wanted = RecordFilter(subject="alice", dataset=place.dataset, kind="charged")
    with place.opened.foundation.engine.connect() as connection:
        return sum("copied" in one for one in latest_records(connection, 1_000, wanted))


def _later(there: World) -> None:
    for sql in _ASKED:
        there.asks("/v1/estimate", sql)
        there.asks("/v1/query", sql)


@pytest.mark.parametrize("kind", [QUIET, QUIET_ZCDP])
def test_asker_reads_the_same_whether_others_asked_before(
    alone: Opened, crowd: Opened, kind: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Answers, estimates, plans, budgets, history, headers, notices: byte for byte, at the same noise."""
    # which of two equal samplers draws hangs on what this process drew before, and both worlds are in one
    monkeypatch.setattr("gateway.noise.mechanism._asked_again", lambda _: False)
    one, other = _transcripts(kind, alone, crowd)
    assert len(one) == len(other) > 70
    for first, second in zip(one, other, strict=True):
        assert first == second


@pytest.mark.parametrize("kind", [PURE, ZCDP])
def test_asker_reads_whether_others_asked_before_where_it_is_told(
    alone: Opened, crowd: Opened, kind: str
) -> None:
    """The negative control: with `tell: everyone` the first estimate says it."""
    one: list[str] = []
    other: list[str] = []
    for opened_, found in ((alone, one), (crowd, other)):
        with world(opened_, kind) as there:
            if found is other:
                there.others_ask(_SUM)
            there.asks("/v1/estimate", _SUM)
            there.asks("/v1/query", _SUM)
            found.extend(there.said)
    assert all(first != second for first, second in zip(one, other, strict=True))


@pytest.mark.parametrize("kind", [QUIET, QUIET_ZCDP])
def test_ledger_gives_nothing_for_what_was_drawn_before(crowd: Opened, kind: str) -> None:
    """The same numbers, paid in full by the asker's account, once; the auditor reads whose draw it was."""
    place = crowd.place(kind)
    theirs, mine = place.ask(_REGIONS, "dave"), place.ask(_REGIONS)
    assert (mine.rows, mine.intervals, mine.columns) == (
        theirs.rows,
        theirs.intervals,
        theirs.columns,
    )
    assert (mine.reused, mine.notices, mine.charged.value) == (None, theirs.notices, _PRICE)
    assert (mine.rho, mine.delta, mine.price) == (theirs.rho, theirs.delta, theirs.price)
    assert _gave(place, "dataset") == _PRICE
    assert place.ask(_REGIONS).reused is CacheUse.SAME
    # what follows from it is free, as if it had been bought
    assert place.ask(_NORTH).reused is CacheUse.FILTER
    assert _gave(place, "analyst:alice") == _gave(place, "dataset") == _PRICE
    with crowd.foundation.engine.connect() as connection:
        (record,) = latest_records(
            connection, 9, RecordFilter(query_id=mine.query_id, kind="charged")
        )
    assert record["copied"] == [f"{theirs.query_id}.r1.1"]
    assert [one["account"] for one in record["taken"]] == [f"analyst:alice@{place.dataset}"]
    assert crowd.foundation.verify_trail().intact


@pytest.mark.parametrize(
    ("theirs", "mine", "epsilon"),
    [
        (_REGIONS, _NORTH, None),
        (_REGIONS, _SUM, None),
        ("SELECT SUM(income) AS s, COUNT(*) AS n FROM patients", _SUM, None),
        (_SUM, _SUM, "0.0011"),
        (_SUM, _SUM, "0.0009"),
    ],
    ids=["filter", "roll-up", "some of the measures", "dearer", "cheaper"],
)
def test_answer_is_measured_where_it_would_differ_from_a_fresh_one(
    crowd: Opened, theirs: str, mine: str, epsilon: str | None
) -> None:
    """Only what is equal in every way is taken from others: for all else the ledger gives its full price."""
    place = crowd.place(QUIET)
    place.ask(theirs, "dave")
    answer = place.ask(mine, epsilon=epsilon)
    assert answer.reused is None
    price = _PRICE if epsilon is None else Fraction(epsilon)
    assert answer.charged.value == price
    assert _gave(place, "dataset") == _PRICE + price


def test_draw_is_never_given_to_one_asker_twice(crowd: Opened) -> None:
    """Who asks anew is answered anew, though somebody else's draw of the same is there."""
    place = crowd.place(QUIET_ZCDP)
    place.ask(_SUM, "dave")
    answers = [place.ask(_SUM), *(place.ask(_SUM, fresh=True) for _ in range(2))]
    assert len({str(one.rows[0]) for one in answers}) == len(answers)
    place.ask(_SUM, "carol", fresh=True)
    place.later(8)
    assert place.ask(_SUM).charged.value == _PRICE
    assert _gave(place, "dataset") == 5 * _PRICE


def test_nobody_waits_for_what_somebody_else_buys_at_this_moment(crowd: Opened) -> None:
    """Waiting would tell that it is asked: it is measured twice instead."""
    place = crowd.place(QUIET)
    held = Held()
    slow = replace(place.asking, services=replace(place.asking.services, entropy=held))
    with ThreadPoolExecutor(1) as pool:
        theirs = pool.submit(slow.answer, place.subject("dave"), place.request(_SUM), CancelEvent())
        try:
            assert held.wanted.wait(60)
            mine = place.ask(_SUM)
        finally:
            held.go.set()
        assert theirs.result(60).rows != mine.rows
    assert _gave(place, "dataset") == 2 * _PRICE


def test_question_has_to_fit_as_if_nothing_had_been_there(crowd: Opened) -> None:
    """An account that cannot give for a fresh answer is refused, though the ledger would give nothing."""
    place = crowd.place(QUIET)
    foundation, all_ = crowd.foundation, f"dataset:{place.dataset}"
    place.ask(_SUM, "dave")
    limits = Limits(Epsilon(_PRICE * 3 / 2), Delta.parse("1e-6"))
    grant(foundation.journal, foundation.trail, all_, limits, actor="dave", now=place.clock)
    refused = []
    for sql in (_SUM, f"{_SUM} WHERE smoker"):
        with pytest.raises(Refusal) as caught:
            place.ask(sql)
        refused.append((caught.value.code, caught.value.detail, caught.value.hint))
    assert refused[0] == refused[1]
    # needs and what is left stay exact
    assert "epsilon 0.0005 left for its lifetime, the query needs 0.001" in str(refused[0][1])


def _gave(place: Place, account: str) -> Fraction:
    """What an account gave, exactly, as an operator sees it."""
    with place.opened.foundation.engine.connect() as connection:
        found = standings(connection, place.clock, dataset=place.dataset)
    name = f"{account}:{place.dataset}" if account == "dataset" else f"{account}@{place.dataset}"
    return next((one.epsilon_spent.value for one in found if one.account == name), Fraction(0))


def test_refusal_names_the_asker_own_question_where_others_asked_it_too(
    alone: Opened, crowd: Opened
) -> None:
    """Differencing is held against what the asker was given, under the asker's own numbers."""
    said = []
    for opened_ in (alone, crowd):
        with world(opened_, QUIET_AUDITED) as there:
            if opened_ is crowd:
                there.others_ask("SELECT COUNT(*) FROM patients")
                there.others_ask(_SUM, "bob")
            there.place.later(1)
            there.asks("/v1/query", "SELECT COUNT(*) FROM patients")
            problem = there.asks(
                "/v1/query", "SELECT COUNT(*) FROM patients WHERE birth_year <> 1962"
            )
            assert problem["code"] == "GW401"
            there.reads("/v1/queries?limit=2")
            said.append(there.said)
    assert said[0] == said[1]
