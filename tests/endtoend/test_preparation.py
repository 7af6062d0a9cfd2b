"""A query that the source cannot run is refused before the charge, with one text for each cause, and reveals nothing."""

import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor

import psycopg
import pytest
from endtoend.changing_source import DATASET, PERSONS, Changing, changing
from endtoend.clinic_gateway import dsn
from fix_servers import SharedServers

from gateway.cancellation import CancelEvent
from gateway.engines import connections
from gateway.errors import BackendUnavailable, Code, InternalError, Refusal
from gateway.postgres_server import Lease
from gateway.requests.request import Request
from gateway.trail.record import RecordKind

_COUNT = "SELECT COUNT(*) FROM patients"
_INCOME = "SELECT AVG(income) FROM patients"


@pytest.fixture(scope="module")
def clinic(sample_server: Lease, servers: SharedServers) -> Iterator[Changing]:
    """Every test leaves the source as it was."""
    with changing(sample_server, servers) as made:
        yield made


CHANGES = {
    "renamed column": (
        "ALTER TABLE patients RENAME income TO wage",
        "ALTER TABLE patients RENAME wage TO income",
        Code.SOURCE_SCHEMA,
    ),
    "missing table": (
        "ALTER TABLE patients RENAME TO people",
        "ALTER TABLE people RENAME TO patients",
        Code.SOURCE_SCHEMA,
    ),
    "another type": (
        "ALTER TABLE patients ALTER income TYPE double precision",
        "ALTER TABLE patients ALTER income TYPE numeric",
        Code.SOURCE_SCHEMA,
    ),
    "revoked grant": (
        "REVOKE SELECT ON patients FROM @LOGIN@",
        "GRANT SELECT ON patients TO @LOGIN@",
        Code.SOURCE_PRIVILEGE,
    ),
    "grant of some columns": (
        "REVOKE SELECT ON patients FROM @LOGIN@; GRANT SELECT (region) ON patients TO @LOGIN@",
        "GRANT SELECT ON patients TO @LOGIN@",
        Code.SOURCE_PRIVILEGE,
    ),
    "revoked schema": (
        "REVOKE USAGE ON SCHEMA public FROM PUBLIC",
        "GRANT USAGE ON SCHEMA public TO PUBLIC",
        Code.SOURCE_SCHEMA,
    ),
}


@pytest.mark.parametrize("kept", [True, False])
@pytest.mark.parametrize("change", list(CHANGES))
def test_question_is_refused_for_nothing_when_the_source_is_not_as_declared(
    clinic: Changing, change: str, *, kept: bool
) -> None:
    """On a kept connection or a new one: one text that names nothing of the source, no charge, no connection held."""
    do, undo, code = CHANGES[change]
    if kept:
        clinic.gateway.answer(_INCOME, DATASET)
    else:
        clinic.source.database.connections.drop()
    before = clinic.charges()
    clinic.run(do.replace("@LOGIN@", clinic.login))
    try:
        refused = [clinic.refusal(one) for one in (_INCOME, _COUNT, _INCOME)]
    finally:
        clinic.run(undo.replace("@LOGIN@", clinic.login))
    assert {(one.code, one.detail, one.hint) for one in refused} == {(code, "", "")}
    assert all(isinstance(one, BackendUnavailable) for one in refused)
    assert all(clinic.kinds(one.query_id) == [RecordKind.REFUSED] for one in refused)
    assert clinic.charges() == before
    assert clinic.lent() == 0
    assert clinic.count() == PERSONS


def test_question_is_refused_for_nothing_when_the_source_is_too_old(
    clinic: Changing, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of the least version that is supported the gateway says so where it is not there."""
    assert clinic.count() == PERSONS  # the control
    before = clinic.charges()
    monkeypatch.setattr(connections, "LEAST_POSTGRESQL", 99)
    refused = clinic.refusal()
    assert (refused.code, refused.detail, refused.hint) == (Code.SOURCE_VERSION, "", "")
    assert clinic.kinds(refused.query_id) == [RecordKind.REFUSED]
    assert clinic.charges() == before
    assert clinic.lent() == 0


def test_question_is_refused_for_nothing_when_its_table_is_locked(clinic: Changing) -> None:
    """A migration that holds its lock longer than anybody waits: a new statement is not parsed, nobody pays."""
    before = clinic.charges()
    with psycopg.connect(dsn(clinic.url)) as owner:
        owner.execute("LOCK TABLE patients IN ACCESS EXCLUSIVE MODE")
        refused = clinic.refusal("SELECT COUNT(*) FROM patients WHERE birth_year > 1951")
    assert refused.code is Code.SOURCE_UNAVAILABLE
    assert clinic.charges() == before
    assert clinic.lent() == 0


def test_connections_are_given_back_however_questions_end(
    clinic: Changing, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Answered, cancelled or broken: all of them are in the pool afterwards, and the next is answered."""
    clinic.count()
    asking, alice = clinic.gateway.asking, clinic.gateway.subjects["alice"]
    gone = threading.Event()
    gone.set()
    for _ in range(5):
        try:
            asking.answer(alice, Request(_COUNT, DATASET), gone)
        except Refusal as refusal:
            assert refusal.code is Code.SOURCE_CANCELLED  # noqa: PT017 - an answer may be faster
    assert clinic.lent() == 0
    for stage in (
        "gateway.stages.execute.add_noise",
        "gateway.stages.charge.load_contents",
        "gateway.stages.charge._bill",
    ):
        with monkeypatch.context() as patch:
            patch.setattr(stage, _broken)
            with pytest.raises(InternalError):
                asking.answer(alice, Request(_COUNT, DATASET), CancelEvent())
        assert clinic.lent() == 0
    assert clinic.count() == PERSONS


def test_questions_do_not_wait_for_each_others_connections_when_many_are_asked_at_once(
    clinic: Changing,
) -> None:
    """More of them than the pool has connections: each is answered, and charged once."""
    before = clinic.charges()
    with ThreadPoolExecutor(20) as pool:
        found = list(pool.map(lambda _: clinic.count(), range(40)))
    assert found == [PERSONS] * 40
    assert clinic.charges() == before + 40
    assert clinic.lent() == 0


def _broken(*_: object, **__: object) -> None:
    raise ValueError("a bug that was planted")
