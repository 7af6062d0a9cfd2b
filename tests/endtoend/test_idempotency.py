"""A query that is repeated with its idempotency key gets the same answer on every gateway, and no second draw.

Noise is large here, so that two draws that are equal by chance are as rare as 1 in 10⁷.
"""

import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import Any

import pytest
from endtoend.clinic_gateway import AskedGateway, a_gateway, clinic_in_duckdb, shown
from endtoend.clinic_policy import policy
from fix_servers import SharedServers
from sqlalchemy import func, select

from gateway.budget.charge import Receipt
from gateway.cancellation import CancelEvent
from gateway.errors import Code, Refusal
from gateway.noise.entropy import SYSTEM_ENTROPY, Entropy
from gateway.query_service import QueryService
from gateway.requests.idempotency import StoredAnswers
from gateway.requests.request import Answer, Request
from gateway.stages.charge import charge_query
from gateway.stages.reply_grid import Pace
from gateway.state.tables import charges
from gateway.trail.record import utc_now

_COUNT = "SELECT COUNT(*), AVG(income) FROM patients"


@pytest.fixture(scope="module")
def gateway(
    tmp_path_factory: pytest.TempPathFactory, servers: SharedServers
) -> Iterator[AskedGateway]:
    file = tmp_path_factory.mktemp("keys") / "noisy.duckdb"
    one = policy("noisy", "SOURCE", "laplace", groups=1, price="1e-6", budget="1")
    with a_gateway({"noisy": one}, {"SOURCE": shown(clinic_in_duckdb(file))}, servers) as opened:
        yield opened


def _ask(gateway: AskedGateway, asking: QueryService, key: str) -> Answer:
    request = Request(_COUNT, dataset="noisy", idempotency=(key, "what it asked"))
    return asking.answer(gateway.subjects["alice"], request, CancelEvent())


def _charges(gateway: AskedGateway) -> int:
    with gateway.foundation.engine.connect() as connection:
        return connection.execute(select(func.count()).select_from(charges)).scalar_one()


def _elsewhere(gateway: AskedGateway, entropy: Entropy = SYSTEM_ENTROPY) -> QueryService:
    """Another process on the same state, or this one after a restart: it remembers nothing."""
    installation = replace(
        gateway.asking.services,
        kept=StoredAnswers(gateway.foundation.engine, gateway.foundation.trail.seal),
        entropy=entropy,
    )
    return replace(gateway.asking, services=installation)


@dataclass(frozen=True)
class Doing:
    """Does something before anything is drawn."""

    first: Callable[[], None]

    def bits(self, count: int) -> int:
        self.first()
        return SYSTEM_ENTROPY.bits(count)

    def bytes(self, count: int) -> bytes:
        self.first()
        return SYSTEM_ENTROPY.bytes(count)


def _killed() -> None:
    raise KeyboardInterrupt  # nothing records what becomes of the question


def test_answer_comes_again_after_a_restart_and_is_charged_once(gateway: AskedGateway) -> None:
    """Every cell, interval and figure is the one that was given, and nothing is taken for it."""
    first = _ask(gateway, gateway.asking, "restart")
    before = _charges(gateway)
    again = _ask(gateway, _elsewhere(gateway), "restart")
    assert first.charged
    assert not again.charged
    assert replace(again, charged=first.charged) == first
    assert _charges(gateway) == before


def test_answer_is_another_when_the_key_is_another(gateway: AskedGateway) -> None:
    """The negative control: without the key there is a second draw, and a second charge."""
    before = _charges(gateway)
    first, second = (_ask(gateway, gateway.asking, key) for key in ("one", "two"))
    # rows are clamped, so two of them can agree; intervals are formed before
    assert first.intervals != second.intervals
    assert _charges(gateway) == before + 2


def test_key_is_refused_when_the_gateway_died_between_charge_and_answer(
    gateway: AskedGateway,
) -> None:
    """There is a charge and no answer: nothing is drawn or charged, and after a while nobody waits."""
    with pytest.raises(KeyboardInterrupt):
        _ask(gateway, _elsewhere(gateway, Doing(_killed)), "died")
    before, waits = _charges(gateway), []
    late = [utc_now()]

    def wait(event: threading.Event, seconds: float) -> bool:
        del event
        waits.append(seconds)
        late[0] += timedelta(seconds=20)
        return False

    asking = _elsewhere(gateway, Doing(_killed))
    installation = replace(asking.services, pace=Pace(wait=wait), now=lambda: late[0])
    with pytest.raises(Refusal) as caught:
        _ask(gateway, replace(asking, services=installation), "died")
    assert caught.value.code is Code.IDEMPOTENCY_MISMATCH
    assert (
        len(waits) == 2
    )  # the first might have been working for the 30 s that a statement may take
    assert _charges(gateway) == before


def test_key_is_refused_at_once_when_the_first_question_failed(gateway: AskedGateway) -> None:
    """Its record says that there is nothing to wait for."""

    def broken() -> None:
        raise ZeroDivisionError

    with pytest.raises(Refusal) as caught:
        _ask(gateway, _elsewhere(gateway, Doing(broken)), "failed")
    assert caught.value.code is Code.INTERNAL
    before = _charges(gateway)
    with pytest.raises(Refusal) as caught:
        _ask(gateway, _elsewhere(gateway, Doing(_killed)), "failed")
    assert caught.value.code is Code.IDEMPOTENCY_MISMATCH
    assert _charges(gateway) == before


def test_second_question_waits_for_the_first_answer_when_both_come_at_once(
    gateway: AskedGateway,
) -> None:
    """Two processes get one key at the same moment: one draws, and both give its answer."""
    drawing, waiting = threading.Event(), threading.Event()

    def hold() -> None:
        drawing.set()
        assert waiting.wait(60)

    def wait(event: threading.Event, seconds: float) -> bool:
        waiting.set()
        return event.wait(seconds)

    before = _charges(gateway)
    answers: list[Answer] = []
    slow = _elsewhere(gateway, Doing(hold))
    first = threading.Thread(target=lambda: answers.append(_ask(gateway, slow, "twice")))
    first.start()
    try:
        assert drawing.wait(60)
        asking = _elsewhere(gateway, Doing(_killed))
        installation = replace(asking.services, pace=Pace(wait=wait))
        again = _ask(gateway, replace(asking, services=installation), "twice")
    finally:
        waiting.set()
        first.join()
    assert waiting.is_set()
    assert [replace(again, charged=one.charged) for one in answers] == answers
    assert not again.charged
    assert _charges(gateway) == before + 1


def test_waiting_for_the_first_answer_ends_when_nobody_waits_any_more(
    gateway: AskedGateway,
) -> None:
    """Whoever goes away is not worked for."""
    with pytest.raises(KeyboardInterrupt):
        _ask(gateway, _elsewhere(gateway, Doing(_killed)), "gone")
    gone = threading.Event()
    gone.set()
    request = Request(_COUNT, dataset="noisy", idempotency=("gone", "what it asked"))
    with pytest.raises(Refusal) as caught:
        _elsewhere(gateway).answer(gateway.subjects["alice"], request, gone)
    assert caught.value.code is Code.SOURCE_CANCELLED


def test_charge_has_the_time_of_the_charge_when_preparing_took_long(
    gateway: AskedGateway, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A repeated key waits from the charge on, as long as a statement may take; the quote may be much older."""
    moments: list[datetime] = []
    charged: list[datetime] = []

    def now() -> datetime:
        moments.append(utc_now() + timedelta(minutes=len(moments)))
        return moments[-1]

    def charge(*given: Any, **named: Any) -> Receipt:  # noqa: ANN401 - whatever the stage takes
        charged.extend(one for one in given if isinstance(one, datetime))
        return charge_query(*given, **named)

    monkeypatch.setattr("gateway.stages.charge.charge_query", charge)
    services = replace(gateway.asking.services, now=now)
    _ask(gateway, replace(gateway.asking, services=services), "took long")
    bound, quoted = moments[:2]
    assert bound < quoted < charged[0]
