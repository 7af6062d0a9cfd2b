"""Nothing that an asker reads tells whether others bought a histogram of norms before: two worlds, one transcript."""

from collections.abc import Iterator

import pytest
from endtoend.reuse.datasets import CLIPPED, CLIPPED_OPEN, CLIPPED_ZCDP, Opened, opened
from endtoend.reuse.test_norm_histograms import BOTH, MORE, PRICE, bought, ledger
from endtoend.reuse.two_gateways import Chance, World, world
from fix_servers import SharedServers

from gateway.noise.add_noise import NoisyTable
from gateway.noise.entropy import Entropy
from gateway.postgres_server import Lease
from gateway.stages.execute import measure_histogram
from gateway.stages.prepare import SourceAccess
from gateway.stages.purchase import Bill
from gateway.stages.record import QueryRecord

# listed groups: others get their noise in the order in which the source finds them, which is its own
_BY = "SELECT extract(year FROM visit_date) AS y, COUNT(*) AS n, SUM(cost) AS s FROM visits GROUP BY 1"
_FILTERED = f"{_BY.partition(' GROUP')[0]} WHERE cost > 500 GROUP BY 1"
_DAYS = "SELECT visit_date, AVG(cost) AS a FROM visits GROUP BY visit_date"
_ALL = "SELECT COUNT(*) AS n FROM visits"


@pytest.fixture(scope="module")
def alone(sample_server: Lease, servers: SharedServers) -> Iterator[Opened]:
    """Where nobody asked before."""
    with opened(sample_server, servers, clipped=1, clipped_zcdp=1, clipped_open=1) as one:
        yield one


@pytest.fixture(scope="module")
def crowd(sample_server: Lease, servers: SharedServers) -> Iterator[Opened]:
    """Where others did."""
    with opened(sample_server, servers, clipped=2, clipped_zcdp=2, clipped_open=1) as one:
        yield one


@pytest.fixture(autouse=True)
def _chance(monkeypatch: pytest.MonkeyPatch) -> None:
    """The noise of a query begins at one place of the stream, whether its histogram was drawn before it or copied."""
    monkeypatch.setattr("gateway.noise.mechanism._asked_again", lambda _: False)

    def measured(
        bill: Bill, source: SourceAccess, record: QueryRecord, entropy: Entropy
    ) -> NoisyTable:
        table = measure_histogram(bill, source, record, entropy)
        if isinstance(entropy, Chance):
            entropy.begin("the query")
        return table

    monkeypatch.setattr("gateway.pipeline.measure_histogram", measured)


def _others(there: World) -> None:
    for sql in (_BY, _FILTERED, _ALL):
        there.others_ask(sql)
    there.others_ask(_BY, "carol", epsilon="30")
    there.others_ask(_BY, "carol", epsilon="60")
    there.others_ask(_DAYS, "carol")


def _mine(there: World) -> None:
    """Estimates before and after, queries, a prepared statement, a cursor, history and budget."""
    own = f"SELECT * FROM gateway.budget WHERE dataset = '{there.place.dataset}' ORDER BY account"
    for sql in (_BY, _DAYS):
        there.asks("/v1/estimate", sql)
        there.asks("/v1/estimate", sql, accuracy={"margin": 100, "rows": 5})
        answer = there.asks("/v1/query", sql)
        assert answer["privacy"]["reused"] is None
        there.asks("/v1/estimate", sql)
        there.asks("/v1/query", sql)
        for epsilon in (10, 28, 60):  # the clip that is held, and the best one
            there.asks("/v1/estimate", sql, epsilon=epsilon)
            there.asks("/v1/query", sql, epsilon=epsilon)
    for _ in range(2):
        once = there.asks(
            "/v1/query", _FILTERED, {"Idempotency-Key": f"once-{there.place.dataset}"}
        )
        assert once["rows"]
    there.asks("/v1/query", _ALL, fresh=True)
    there.asks("/v1/query", own)
    there.reads("/v1/queries?limit=6")
    there.reads_budget()
    there.asks_on_the_wire(
        f"EXPLAIN {_ALL} WHERE cost > 7",
        "SET gateway.notices = full",
        f"PREPARE one AS {_ALL} WHERE cost > 7",
        "EXECUTE one",
        "EXECUTE one",
        "BEGIN",
        f"DECLARE c CURSOR FOR {_FILTERED}",
        "FETCH ALL FROM c",
        "COMMIT",
        "SELECT sql, outcome, charged_epsilon, clipped FROM gateway.queries"
        " ORDER BY at DESC, sql, outcome, charged_epsilon LIMIT 6",
        own,
    )


def _transcript(opened_: Opened, kind: str, *, others: bool) -> list[str]:
    with world(opened_, kind) as there:
        if others:
            _others(there)
        there.place.later(2)
        _mine(there)
        there.place.later(29)
        for sql in (_BY, _DAYS):
            there.asks("/v1/estimate", sql)
            there.asks("/v1/query", sql)
        assert len(bought(there.place, "alice").histograms) >= 1
        return there.said


@pytest.mark.parametrize("kind", [CLIPPED, CLIPPED_ZCDP])
def test_asker_reads_the_same_whether_others_bought_histograms(
    alone: Opened, crowd: Opened, kind: str
) -> None:
    """Answers, clips, prices, notices, estimates, plans, history and budgets: byte for byte, at the same noise."""
    one = _transcript(alone, kind, others=False)
    other = _transcript(crowd, kind, others=True)
    assert len(one) == len(other) > 25
    for first, second in zip(one, other, strict=True):
        assert first == second
    assert any("for a histogram of norms" in said for said in one)


def test_asker_reads_whether_others_bought_histograms_where_it_is_told(
    alone: Opened, crowd: Opened
) -> None:
    """The negative control: with `tell: everyone` answers say it."""
    found = []
    for opened_, others in ((alone, False), (crowd, True)):
        with world(opened_, CLIPPED_OPEN) as there:
            if others:
                there.others_ask(_BY)
            answer = there.asks("/v1/query", _BY)
            found.append(answer["privacy"]["reused"])
    assert found == [None, "same"]


@pytest.mark.parametrize("kind", [CLIPPED, CLIPPED_ZCDP])
def test_account_pays_in_full_for_a_histogram_that_another_bought(crowd: Opened, kind: str) -> None:
    """Once. The ledger gives nothing for what was drawn before, and estimates do not use it before it is paid."""
    place = crowd.place(kind)
    place.ask(_ALL, "dave")
    assert place.estimate(_ALL).price.value == BOTH
    theirs, mine = place.estimate(_ALL, "dave"), place.estimate(_ALL)
    assert theirs.notices != mine.notices  # what dave bought, alice is not told
    assert place.ask(f"{_ALL} WHERE cost > 9").charged.value == BOTH
    assert ledger(place) == 2 * PRICE + MORE
    assert place.spent() == BOTH
    assert place.ask(f"{_ALL} WHERE cost > 10").charged.value == PRICE
