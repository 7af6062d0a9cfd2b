"""A histogram of norms that cannot be had is no reason to refuse a query, and is never bought for nothing again and again."""

import threading
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from endtoend.reuse.datasets import CLIPPED_AUDITED, CLIPPED_ZCDP, Opened, Place, opened
from endtoend.reuse.test_norm_histograms import BOTH, MORE, PRICE, bought, declared, ledger, limit
from fix_servers import SharedServers

from gateway.bounding.bounded_release import BoundedRelease
from gateway.cancellation import Computation, SourceEnd
from gateway.engines.source import SourceDatabase
from gateway.errors import BackendUnavailable, Code, Refusal, SourceStopped
from gateway.exact import ExactTable
from gateway.postgres_server import Lease
from gateway.requests.request import CacheUse
from gateway.sensitivity.measurement import Norms

_BY = "SELECT diagnosis, COUNT(*) AS n FROM visits GROUP BY diagnosis"
_DAYS = "SELECT visit_date, COUNT(*) AS n FROM visits GROUP BY visit_date"
_JOIN = "FROM visits v JOIN patients p ON v.patient_id = p.patient_id"


@pytest.fixture(scope="module")
def houses(sample_server: Lease, servers: SharedServers) -> Iterator[Opened]:
    with opened(sample_server, servers, clipped_zcdp=10, clipped_audited=3) as one:
        yield one


@pytest.fixture
def place(houses: Opened) -> Place:
    return houses.place(CLIPPED_ZCDP)


@pytest.fixture
def audited(houses: Opened) -> Place:
    return houses.place(CLIPPED_AUDITED)


def _time_out() -> Refusal:
    return SourceStopped(Code.SOURCE_TIMEOUT, computation=Computation(30.0, 30.0, SourceEnd.LIMIT))


def _breaks() -> Refusal:
    return BackendUnavailable(Code.SOURCE_UNAVAILABLE)


@pytest.fixture
def fail(monkeypatch: pytest.MonkeyPatch) -> Callable[[Callable[[], Refusal]], None]:
    """The source fails to count norms, and answers everything else."""
    run = SourceDatabase.run

    def begin(refusal: Callable[[], Refusal]) -> None:
        def failing(  # as it is called
            self: SourceDatabase,
            release: BoundedRelease,
            *more: Any,  # noqa: ANN401
            **named: Any,  # noqa: ANN401
        ) -> ExactTable:
            if any(isinstance(one.quantity, Norms) for one in release.measurements):
                raise refusal()
            return run(self, release, *more, **named)

        monkeypatch.setattr(SourceDatabase, "run", failing)

    return begin


@pytest.mark.parametrize("refusal", [_time_out, _breaks], ids=["time", "failure"])
def test_query_is_answered_when_its_histogram_fails(
    place: Place, fail: Callable[[Callable[[], Refusal]], None], refusal: Callable[[], Refusal]
) -> None:
    """What was charged for it stays charged and is told; it is tried again after a day, not with the next query."""
    fail(refusal)
    answer = place.ask(_BY)
    assert answer.charged.value == BOTH == ledger(place)
    assert limit(answer) == declared(place)
    assert len(bought(place, "alice", "failed").histograms) == 1
    assert place.ask(_BY).reused is CacheUse.SAME
    assert place.estimate(f"{_BY} HAVING COUNT(*) > 3", fresh=True).price.value == PRICE
    assert place.ask(_BY, fresh=True).charged.value == PRICE
    assert place.ask(_DAYS).charged.value == BOTH  # other keys: another histogram
    place.later(1.1)
    assert place.ask(_BY, fresh=True).charged.value == BOTH


@pytest.mark.parametrize(
    ("norms", "cancels"),
    [(True, True), (False, True), (False, False)],
    ids=["cancelled histogram", "cancelled query", "failed query"],
)
def test_refusal_says_all_that_stays_charged(
    place: Place, monkeypatch: pytest.MonkeyPatch, *, norms: bool, cancels: bool
) -> None:
    """The histogram alone where it is cancelled, and the query too where it is stopped after its own charge."""
    cancelled, run = threading.Event(), SourceDatabase.run

    def failing(self: SourceDatabase, release: BoundedRelease, *more: Any, **named: Any) -> Any:  # noqa: ANN401
        if any(isinstance(one.quantity, Norms) for one in release.measurements) is not norms:
            return run(self, release, *more, **named)
        if cancels:
            cancelled.set()
            raise SourceStopped(Code.SOURCE_CANCELLED)
        raise BackendUnavailable(Code.SOURCE_UNAVAILABLE)

    monkeypatch.setattr(SourceDatabase, "run", failing)
    with pytest.raises(Refusal) as caught:
        place.asking.answer(place.subject("alice"), place.request(_BY), cancelled)
    of_norms = "epsilon 2 was charged for a histogram of norms"
    both = f"{of_norms} and {PRICE} for the query, and both stay charged"
    assert caught.value.detail.endswith(f"{of_norms} and stays charged" if norms else both)
    assert ledger(place) == (MORE if norms else BOTH)


def test_histogram_is_bought_again_after_its_measurement_was_cancelled(
    place: Place, fail: Callable[[Callable[[], Refusal]], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    """A cancellation is no failure of the source: the next query has its clip, and pays for its histogram."""
    cancelled = threading.Event()

    def cancel() -> Refusal:
        cancelled.set()
        return SourceStopped(Code.SOURCE_CANCELLED)

    with monkeypatch.context():
        fail(cancel)
        with pytest.raises(SourceStopped):
            place.asking.answer(place.subject("alice"), place.request(_BY), cancelled)
    monkeypatch.undo()
    assert place.ask(_BY).charged.value == BOTH
    assert ledger(place) == MORE + BOTH


def test_refusal_says_nothing_of_histograms_that_were_there_before(
    place: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The negative control: a query that fails later has its own charge alone."""
    place.ask(_BY)
    monkeypatch.setattr(SourceDatabase, "run", _raise_broken)
    with pytest.raises(Refusal) as caught:
        place.ask(_BY, fresh=True)
    assert "histogram" not in caught.value.detail
    assert caught.value.detail.endswith(f"epsilon {PRICE} was charged and stays charged")


def _raise_broken(*_: object, **__: object) -> None:
    raise _breaks()


def test_histogram_that_failed_for_one_subject_is_bought_by_another(
    place: Place, fail: Callable[[Callable[[], Refusal]], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    """What happened to one is not told to another."""
    with monkeypatch.context():
        fail(_breaks)
        place.ask(_BY)
    monkeypatch.undo()
    assert place.ask(_BY, "dave").charged.value == BOTH
    assert limit(place.ask(_BY, "dave")) != limit(place.ask(_BY))


def test_histograms_refuse_no_query_and_are_refused_for_none(audited: Place) -> None:
    """Counts of the whole table and of a part are compared with each other; a histogram beside them changes nothing."""
    audited.ask(_BY)
    audited.ask(_DAYS)
    assert len(bought(audited).histograms) == 2
    assert bought(audited, kind="refused").histograms == []
    assert audited.ask("SELECT COUNT(*) FROM visits WHERE cost > 1000").rows
    assert audited.ask("SELECT COUNT(DISTINCT patient_id) FROM visits").rows


def test_auditor_says_the_same_with_and_without_histograms(houses: Opened) -> None:
    """The negative control: what is refused without histograms is refused with them, under the same code."""
    codes = []
    for price in ("2", "0"):
        place = houses.place(CLIPPED_AUDITED)
        if price == "0":
            place.change_policy("clip: {price: 2}", "clip: {price: 0}")
        place.ask(f"SELECT COUNT(DISTINCT p.patient_id) {_JOIN}")
        place.ask(f"SELECT COUNT(*) {_JOIN}")
        with pytest.raises(Refusal) as caught:
            place.ask(f"SELECT COUNT(DISTINCT p.patient_id) {_JOIN} WHERE p.birth_year <> 1962")
        codes.append((caught.value.code, len(bought(place).histograms)))
    assert codes == [(Code.DIFFERENCING, 1), (Code.DIFFERENCING, 0)]


def test_suspended_subject_is_given_earlier_answers_and_no_histogram(
    place: Place, fail: Callable[[Callable[[], Refusal]], None]
) -> None:
    """Time-outs of histograms count like others. An answer that was given before is given again."""
    place.ask(_BY)
    fail(_time_out)
    for sql in (_DAYS, f"SELECT COUNT(*) {_JOIN}", "SELECT COUNT(*) FROM calls"):
        try:
            place.ask(sql)
        except Refusal as refusal:
            assert refusal.code is Code.SUBJECT_SUSPENDED  # noqa: PT017 - the last of them
    before = ledger(place)
    with pytest.raises(Refusal) as caught:
        place.ask("SELECT COUNT(*) FROM visits WHERE cost > 9")
    assert caught.value.code is Code.SUBJECT_SUSPENDED
    assert place.ask(_BY).reused is CacheUse.SAME
    assert ledger(place) == before
    place.later(31)
    with pytest.raises(Refusal) as caught:
        place.ask(_BY)
    assert caught.value.code is Code.SUBJECT_SUSPENDED
