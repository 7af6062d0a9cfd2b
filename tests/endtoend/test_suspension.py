"""A subject with too many stopped queries, on a whole gateway: what is refused, and what is still answered."""

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from types import MappingProxyType

import pytest
from endtoend.changing_source import DATASET, PERSONS, changing
from endtoend.clinic_gateway import AskedGateway, a_gateway, clinic_in_duckdb, shown
from endtoend.clinic_policy import policy
from fix_servers import SharedServers

from gateway.app import gateway_api, subject_list
from gateway.cancellation import CancelEvent, Computation, SourceEnd
from gateway.engines.source import SourceDatabase
from gateway.errors import Code, Refusal, SourceStopped
from gateway.events import SubjectSuspended
from gateway.postgres_server import Lease
from gateway.requests.request import Request
from gateway.telemetry.metrics import Metrics
from gateway.trail.record import RecordKind
from gateway.trail.search import RecordFilter, latest_records
from gateway.units import Epsilon

_EARLIER = "SELECT COUNT(*) FROM visits"
_LIMIT = Computation(30.0, 30.0, SourceEnd.LIMIT)
_LATE_CANCEL = Computation(15.0, 30.0, SourceEnd.CANCEL)
_EARLY_CANCEL = Computation(14.9, 30.0, SourceEnd.CANCEL)


@pytest.fixture
def installation(tmp_path: Path, servers: SharedServers) -> Iterator[AskedGateway]:
    """Two datasets over one clinic, whose answers are given again."""
    source = shown(clinic_in_duckdb(tmp_path / "clinic.duckdb"))
    one = policy("first", "SOURCE", "laplace", groups=10_000, price="1", budget="100")
    one = one.replace("max_age: 0d", "max_age: 7d")
    with a_gateway({"first": one}, MappingProxyType({"SOURCE": source}), servers) as opened:
        yield opened


class _Slow:
    """A source that is stopped, as it says, after the connection was there."""

    def __init__(self, patch: pytest.MonkeyPatch) -> None:
        self._patch = patch
        self._asked = 0

    def stop(self, installation: AskedGateway, code: Code, computation: Computation | None) -> None:
        """One more question, never asked before, and stopped."""

        def run(*_: object, **__: object) -> None:
            raise SourceStopped(code, computation=computation)

        self._asked += 1
        with self._patch.context() as patch:
            patch.setattr(SourceDatabase, "run", run)
            text = f"SELECT COUNT(*) FROM patients WHERE birth_year > {1930 + self._asked}"
            assert _refusal(installation, text) is code


@pytest.fixture
def slow(monkeypatch: pytest.MonkeyPatch) -> _Slow:
    return _Slow(monkeypatch)


def _refusal(installation: AskedGateway, text: str) -> Code:
    with pytest.raises(Refusal) as caught:
        installation.answer(text, "first")
    return caught.value.code


def test_subject_is_suspended_after_three_timeouts_of_a_day(
    installation: AskedGateway, slow: _Slow
) -> None:
    """New questions and estimates are refused for nothing; earlier answers, budget and history go on, as do others."""
    installation.answer(_EARLIER, "first")
    for _ in range(2):
        slow.stop(installation, Code.SOURCE_TIMEOUT, _LIMIT)
    assert installation.answer("SELECT COUNT(*) FROM patients", "first").charged == Epsilon.parse(
        "1"
    )
    slow.stop(installation, Code.SOURCE_CANCELLED, _LATE_CANCEL)
    assert [one for one in installation.events if isinstance(one, SubjectSuspended)]

    alice = installation.subjects["alice"]
    spent = installation.asking.accounts(alice, "first")
    new = "SELECT SUM(income) FROM patients"
    assert _refusal(installation, new) is Code.SUBJECT_SUSPENDED
    with pytest.raises(Refusal, check=lambda told: told.code is Code.SUBJECT_SUSPENDED):
        installation.asking.estimate(alice, Request(new, dataset="first"))
    assert installation.asking.accounts(alice, "first") == spent
    assert installation.answer(_EARLIER, "first").charged == Epsilon.zero()
    assert len(installation.answer("SELECT * FROM gateway.budget", "first").rows)
    assert installation.asking.own.questions(alice, 1, None)
    assert installation.answer(new, "first", "bob").charged == Epsilon.parse("1")
    assert installation.foundation.verify_trail().intact

    roster = subject_list(installation.foundation)
    assert roster.resume(installation.subjects, "alice", None, "dave") == ("first",)
    installation.answer("SELECT AVG(birth_year) FROM patients", "first")
    with installation.foundation.engine.connect() as connection:
        acts = [
            latest_records(connection, 9, RecordFilter(kind=kind))
            for kind in (RecordKind.SUBJECT_SUSPENDED, RecordKind.SUBJECT_RESUMED)
        ]
    assert [[(one["actor"], one["subject"]) for one in each] for each in acts] == [
        [("gateway", "alice")],
        [("dave", "alice")],
    ]
    assert installation.foundation.verify_trail().intact


def test_what_waited_or_was_cancelled_early_does_not_count(
    installation: AskedGateway, slow: _Slow
) -> None:
    """It is charged, and nothing more: a lock, a connection, a source that fails, an impatient client."""
    for _ in range(2):
        slow.stop(installation, Code.SOURCE_TIMEOUT, None)
        slow.stop(installation, Code.SOURCE_CANCELLED, _EARLY_CANCEL)
    installation.answer("SELECT COUNT(*) FROM patients", "first")
    (alice, *_) = gateway_api(installation.foundation, Metrics()).accounts_of(
        installation.subjects["alice"]
    )
    assert str(alice.epsilon_spent) == "5"
    found = {
        one["subject"]: one
        for one in subject_list(installation.foundation).subjects(installation.subjects)
    }
    assert found["alice"]["stopped_today"] == {}


def test_three_real_timeouts_suspend_and_their_charges_stay(
    sample_server: Lease, servers: SharedServers
) -> None:
    """A source that takes longer than a statement may, and nothing in the gateway's place."""
    slow = "CREATE POLICY slow ON patients USING (pg_sleep(0.05)::text IS NOT NULL)"
    with changing(sample_server, servers) as clinic:
        assert clinic.count() == PERSONS
        before = clinic.charges()
        clinic.run(f"{slow}; ALTER TABLE patients ENABLE ROW LEVEL SECURITY")
        asking, alice = clinic.gateway.asking, clinic.gateway.subjects["alice"]
        hurried = replace(asking, services=replace(asking.services, limit_s=1.0))
        told: list[Code] = []
        for year in (1951, 1952, 1953, 1954):
            text = f"SELECT COUNT(*) FROM patients WHERE birth_year > {year}"
            with pytest.raises(Refusal) as caught:
                hurried.answer(alice, Request(text, DATASET), CancelEvent())
            told.append(caught.value.code)
        assert told == [*[Code.SOURCE_TIMEOUT] * 3, Code.SUBJECT_SUSPENDED]
        assert clinic.charges() == before + 3
        assert clinic.lent() == 0
