"""What answers cost and what the ledger took agree, on the whole line: question by question, and after everything."""

import random
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import Any

import psycopg
import pytest
from engines.sources import in_duckdb, in_postgresql
from fix_sample import plain
from fix_state import StateServer
from privacy.line import NOON, Line, open_line, whole_shares
from privacy.neighbour_clinics import SUBJECTS, statements
from privacy.neighbour_clinics import policy as policy_of
from privacy.shapes import REFUSED, SHAPES, Shape
from queries import analyzed
from sqlalchemy import URL

from gateway.budget.account import Currency
from gateway.budget.charge import Receipt
from gateway.errors import Code, Refusal, SourceStopped
from gateway.noise.allocation import cost_of
from gateway.pricing.price import accounts_on_path, charge_request, noise_for_price
from gateway.requests.request import Request
from gateway.stages.charge import charge_query
from gateway.twin import Twin
from gateway.units import Epsilon

COUNT = "SELECT COUNT(*) FROM visits"
WITHIN = Fraction(1, 2**40)


@pytest.fixture(scope="module", params=["laplace", "gaussian"])
def line(
    request: pytest.FixtureRequest,
    state_server: StateServer,
    twin: Twin,
    tmp_path_factory: pytest.TempPathFactory,
) -> Iterator[Line]:
    home = tmp_path_factory.mktemp("charges")
    source = in_duckdb(home, statements(with_person=True))
    policy = policy_of(request.param)
    with open_line(state_server, twin, home / "g", source, policy=policy, subjects=SUBJECTS) as one:
        yield one


def _spent(line: Line) -> dict[str, tuple[Fraction, Fraction]]:
    """What every account gave so far: the epsilon people are told, and the delta kept for thresholds."""
    records = [record for record in line.records() if record["kind"] == "charged"]
    found: dict[str, tuple[Fraction, Fraction]] = {}
    for record in records:
        taken = record["taken"]
        assert isinstance(taken, list)
        for each in taken:
            found[each["account"]] = (Fraction(each["spent"]), Fraction(each["delta_spent"]))
    return found


def _kinds(line: Line, since: int) -> list[object]:
    return [record["kind"] for record in line.records(since)]


@pytest.mark.parametrize("shape", SHAPES, ids=lambda shape: shape.name)
def test_noise_costs_what_is_charged_for_it_whatever_is_asked(line: Line, shape: Shape) -> None:
    """Recomputed from the noise alone, at a random price, for the account that is charged: cost and delta agree."""
    sql = shape.sql
    price = Epsilon(Fraction(random.Random(sql).randrange(1, 10**6), 10**5))  # noqa: S311 - a test's own choice
    services, request = line.asking.services, Request(sql, epsilon=price)
    query = analyzed(services, line.alice, request, NOON)
    cost = accounts_on_path(services.journal, query)[0].ledger.cost(price)
    wanted = charge_request(query, whole_shares(query))
    assert sum(one.share for one in wanted.measurements) == 1
    parts = [part for release in noise_for_price(query, cost) for part in release.parts]
    assert cost * (1 - WITHIN) <= cost_of(parts) <= cost
    thresholds = sum(part.shown_from is not None for part in parts)
    assert (wanted.delta.value > 0) == (thresholds > 0)
    if query.currency is Currency.PURE:
        assert cost == price.value


def test_answers_say_what_the_ledger_took_when_anything_is_asked(line: Line) -> None:
    """`charged` is the price that was asked for, the accounts gave just that, and a receipt's rho is the ledger's."""
    chosen = random.Random(5)  # noqa: S311 - a test's own choice
    for shape in chosen.sample(SHAPES, 12):
        before, at = _spent(line), line.last_record()
        price = Epsilon(Fraction(chosen.randrange(1, 1000), 100))
        answer = line.answer(shape.sql, epsilon=price)
        assert answer.charged == answer.price == price
        assert _kinds(line, at) == ["charged", "answered"]
        for account, (spent, delta) in _spent(line).items():
            earlier = before.get(account, (Fraction(0), Fraction(0)))
            assert spent - earlier[0] == (price.value if answer.rho is None else answer.rho)
            assert delta - earlier[1] == answer.delta.value


def test_trail_verifies_when_fifty_random_questions_were_asked(line: Line) -> None:
    """Answers, refusals and estimates in any order leave a trail that is intact."""
    chosen = random.Random(50)  # noqa: S311 - a test's own choice
    everything = [*(shape.sql for shape in SHAPES), *REFUSED]
    outcomes = set()
    for _ in range(50):
        sql = chosen.choice(everything)
        try:
            line.answer(sql, epsilon=Epsilon(Fraction(chosen.randrange(1, 50), 10)))
            outcomes.add("answered")
        except Refusal:
            outcomes.add("refused")
    assert outcomes == {"answered", "refused"}
    verdict = line.foundation.verify_trail()
    assert verdict.intact, verdict
    assert verdict.records == len(line.records())


@pytest.mark.parametrize("sql", REFUSED)
def test_refused_question_costs_nothing(line: Line, sql: str) -> None:
    """What is refused before the charge leaves every account as it was; what is charged was asked of the source."""
    before, at = _spent(line), line.last_record()
    try:
        line.answer(sql)
    except Refusal:
        kinds = _kinds(line, at)
        if "charged" not in kinds:
            assert kinds == ["refused"]
            assert _spent(line) == before


@pytest.mark.parametrize("epsilon", ["0", "1000.000001"])
def test_price_that_the_policy_does_not_take_costs_nothing(line: Line, epsilon: str) -> None:
    """Nothing for nothing, and nothing above the highest price."""
    before = _spent(line)
    with pytest.raises(Refusal, check=lambda refusal: refusal.code is Code.BAD_REQUEST):
        line.answer(COUNT, epsilon=Epsilon.parse(epsilon))
    assert _spent(line) == before


def test_estimate_and_listed_keys_cost_nothing(line: Line) -> None:
    """What measures nothing is free, and so is asking for the price."""
    before, at = _spent(line), line.last_record()
    line.asking.estimate(line.alice, Request(COUNT))
    assert line.answer("SELECT DISTINCT region FROM patients").charged == Epsilon.zero()
    assert line.answer("SELECT * FROM codes").charged == Epsilon.zero()
    assert _spent(line) == before
    assert _kinds(line, at) == ["answered", "answered"]


def test_repeated_key_is_charged_once_and_draws_no_second_noise(line: Line) -> None:
    """One charge pays for one draw: repeated, the question is not charged, and answered with the same values."""
    once = ("key-1", "digest")
    first = line.answer(COUNT, idempotency=once)
    assert first.rows
    before = _spent(line)
    for _ in range(2):
        assert line.answer(COUNT, idempotency=once) == replace(first, charged=Epsilon.zero())
    assert _spent(line) == before
    with pytest.raises(Refusal, check=lambda told: told.code is Code.IDEMPOTENCY_MISMATCH):
        line.answer(COUNT, idempotency=("key-1", "another digest"))
    assert _spent(line) == before
    assert line.foundation.verify_trail().intact


def test_repeated_key_is_refused_when_the_answer_was_lost(
    state_server: StateServer, twin: Twin, tmp_path: Path, sample_database: URL
) -> None:
    """A charge whose answer never came buys nothing later: it may have been seen on the way."""
    source = in_postgresql(sample_database, statements(with_person=True))
    policy = policy_of("laplace")
    with open_line(
        state_server, twin, tmp_path / "g", source, policy=policy, subjects=SUBJECTS
    ) as line:
        once = ("key-2", "digest")
        with _gone_after_the_charge(source), pytest.raises(Refusal):
            line.answer(COUNT, idempotency=once)
        _rename(source, "gone", "visits")
        before = _spent(line)
        with pytest.raises(Refusal):
            line.answer(COUNT, idempotency=once)
        assert _spent(line) == before
        assert line.answer(COUNT).rows
        assert line.foundation.verify_trail().intact


@contextmanager
def _gone_after_the_charge(source: URL) -> Iterator[None]:
    """The table is there when the question is prepared, and gone when its rows are asked for."""

    def charged(*given: Any, **named: Any) -> Receipt:  # noqa: ANN401 - whatever the stage takes
        receipt = charge_query(*given, **named)
        _rename(source, "visits", "gone")
        return receipt

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("gateway.stages.charge.charge_query", charged)
        yield


def _rename(source: URL, old: str, new: str) -> None:
    with psycopg.connect(plain(source), autocommit=True) as connection:
        connection.execute(f"ALTER TABLE {old} RENAME TO {new}".encode())


def test_cancelled_question_keeps_its_charge(line: Line) -> None:
    """Whether or not the source was done before it heard of it, the price is paid."""
    before = _spent(line)
    cancelled = threading.Event()
    cancelled.set()
    with suppress(SourceStopped):
        line.asking.answer(line.alice, Request(COUNT), cancelled)
    after = _spent(line)
    assert all(after[account][0] > before.get(account, (0, 0))[0] for account in after)


def test_charge_is_kept_when_the_source_fails(
    state_server: StateServer, twin: Twin, tmp_path: Path, sample_database: URL
) -> None:
    """A table that is gone, and a source that is gone: the price is paid, the text says nothing of why."""
    source = in_postgresql(sample_database, statements(with_person=True))
    policy = policy_of("laplace")
    with open_line(
        state_server, twin, tmp_path / "g", source, policy=policy, subjects=SUBJECTS
    ) as line:
        assert line.answer(COUNT).charged == Epsilon.parse("1")
        at = line.last_record()
        with _gone_after_the_charge(source), pytest.raises(Refusal) as told:
            line.answer(COUNT)
        assert "gone" not in str(told.value)
        assert "visits" not in str(told.value)
        assert _kinds(line, at) == ["charged", "failed"]
        assert {spent for spent, _ in _spent(line).values()} == {Fraction(2)}
        assert line.foundation.verify_trail().intact
