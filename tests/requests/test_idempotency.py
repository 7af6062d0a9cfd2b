"""Answers that are held for a key: handed out as they were, durable for a day, and bounded in number and size."""

from dataclasses import fields, replace
from fractions import Fraction

import psycopg
import pytest
from charges import record_outcome
from fix_ledger import BOTH, Bank, limits, open_tree
from fix_state import AUDIT_SECRET, StateServer, dsn_of
from psycopg import errors
from sqlalchemy import create_engine, func, insert
from sqlalchemy.exc import IntegrityError

from gateway.budget.account import Currency
from gateway.columnar.intervals import IntervalRows
from gateway.columnar.texts import TextRows
from gateway.errors import BackendUnavailable, Code
from gateway.events import Event, StateForged
from gateway.requests.idempotency import LONGEST_TEXT, StoredAnswers, answer_of, answer_text
from gateway.requests.request import Answer, AnswerColumn, CacheUse, ClippedScope
from gateway.state.open import StateUrls
from gateway.state.tables import kept_answers
from gateway.trail.chain import ChainKey
from gateway.trail.record import AskedQuestion, QuestionRecord, RecordKind, Trail
from gateway.trail.seal import Seal
from gateway.units import Delta, Epsilon

SEAL = Seal(ChainKey(AUDIT_SECRET))


def _answer(query_id: str, rows: int = 1) -> Answer:
    return Answer(
        query_id,
        (AnswerColumn("n", "bigint", noisy=True),),
        TextRows.of((("5",),) * rows),
        IntervalRows.of(((None,),) * rows),
        Epsilon.zero(),
        Epsilon.zero(),
        None,
        Delta.zero(),
    )


def test_answer_comes_back_as_it_was() -> None:
    """The very answer is found by the number of its question, and nobody else's."""
    kept, answer = StoredAnswers(), _answer("a")
    kept.keep(answer, "alice")
    assert kept.find("a", "alice") is answer
    assert kept.find("b", "alice") is None


def test_oldest_answers_are_let_go_when_there_are_many_or_large_ones() -> None:
    """Memory is bounded by the number of answers and by their cells."""
    kept = StoredAnswers()
    for number in range(1_001):
        kept.keep(_answer(str(number)), "alice")
    assert kept.find("0", "alice") is None
    assert kept.find("1", "alice") is not None
    kept.keep(_answer("large", 1_999_999), "alice")
    assert kept.find("large", "alice") is not None
    assert kept.find("999", "alice") is None
    kept.keep(replace(_answer("next")), "alice")
    assert kept.find("next", "alice") is not None


def test_oldest_answers_are_let_go_for_one_of_long_texts() -> None:
    """A cell of 120 MB counts as what it takes, not as one."""
    kept = StoredAnswers()
    kept.keep(_answer("first"), "alice")
    kept.keep(replace(_answer("long"), rows=TextRows.of((("x" * 120_000_000,),))), "alice")
    assert kept.find("first", "alice") is not None
    kept.keep(replace(_answer("longer"), rows=TextRows.of((("x" * 120_000_000,),))), "alice")
    assert [kept.find(one, "alice") is None for one in ("first", "long", "longer")] == [
        *(True, True, False)
    ]


# ---- in the state ----

FULL = Answer(
    query_id="q-1",
    columns=(
        AnswerColumn("region", "text", noisy=False),
        AnswerColumn("mean", "numeric", noisy=True, mechanism="discrete_gaussian", scale=0.1 + 0.2),
    ),
    rows=TextRows.of((('north \u00fc\u2028 "x" \\', "-12.5"), (None, None), ("", "1e-300"))),
    intervals=IntervalRows.of(
        ((None, (-1.7976931348623157e308, 5e-324)), (None, None), (None, (0.1, 1 / 3)))
    ),
    price=Epsilon.parse("0.05"),
    charged=Epsilon.parse("0.05"),
    rho=Fraction(1, 3**50),
    delta=Delta.parse("1e-9"),
    notices=("a notice",),
    reused=CacheUse.ROLLUP,
    clipped=(ClippedScope("visits by day", "patient", 8**0.5),),
)


@pytest.fixture
def spent(bank: Bank) -> Bank:
    """Alice was charged for the questions q-1 and q-2."""
    open_tree(bank, Currency.PURE, limits(1))
    for name in ("q-1", "q-2"):
        bank.ask("0.1", query_id=name)
    return bank


def _age(server: StateServer, bank: Bank, query_id: str, hours: float) -> None:
    """As if it had been kept that long ago; only a superuser can do that."""
    with server.superuser(str(bank.engine.url.database)) as connection:
        connection.execute("SET session_replication_role = replica")
        connection.execute(
            "UPDATE kept_answers SET at = now() - %s * interval '1 hour' WHERE query_id = %s",
            (hours, query_id),
        )


def again(answer: Answer) -> Answer:
    written = answer_text(answer)
    assert written is not None
    return answer_of(written)


def test_answer_is_the_same_when_it_was_written_and_read() -> None:
    """Every field comes back, floats to their last bit; the sample differs from the defaults in each."""
    assert again(FULL) == FULL
    without = replace(FULL, rho=None, notices=())
    assert again(without) == without
    for way in (None, *CacheUse):
        assert again(replace(FULL, reused=way)).reused is way
    blank = Answer(
        "",
        (),
        TextRows.of(()),
        IntervalRows.of(()),
        Epsilon.zero(),
        Epsilon.zero(),
        None,
        Delta.zero(),
    )
    assert [
        one.name for one in fields(Answer) if getattr(FULL, one.name) == getattr(blank, one.name)
    ] == []


def test_answer_that_was_kept_before_there_were_seals_is_not_given(spent: Bank) -> None:
    """Nobody can say whether it is as it was written: it counts as not held any more."""
    written = insert(kept_answers).values(query_id="q-1", at=func.now(), answer=answer_text(FULL))
    with spent.engine.begin() as connection:
        connection.execute(written)
    assert StoredAnswers(spent.engine, SEAL).find("q-1", "alice") is None


@pytest.mark.parametrize("change", ["answer = replace(answer, '4896', '1234')", "mac = 'f00'"])
def test_answer_is_refused_when_it_was_changed(
    spent: Bank, state_server: StateServer, change: str
) -> None:
    """Never handed out, and told to the operator: by the same process that remembers it, it still is."""
    StoredAnswers(spent.engine, SEAL).keep(replace(FULL, notices=("4896",)), "alice")
    with state_server.superuser(str(spent.engine.url.database)) as connection:
        connection.execute("SET session_replication_role = replica")
        connection.execute(f"UPDATE kept_answers SET {change}".encode())
    heard: list[Event] = []
    with pytest.raises(BackendUnavailable) as caught:
        StoredAnswers(spent.engine, SEAL, heard.append).find("q-1", "alice")
    assert caught.value.code is Code.EARLIER_FORGED
    assert [type(one) for one in heard] == [StateForged]


def test_answer_of_somebody_else_is_refused(spent: Bank) -> None:
    """A charge that was put under another subject's name brings nobody's answer."""
    StoredAnswers(spent.engine, SEAL).keep(FULL, "bob")
    with pytest.raises(BackendUnavailable):
        StoredAnswers(spent.engine, SEAL).find("q-1", "alice")


def test_answer_is_found_by_another_process_on_the_same_state(spent: Bank) -> None:
    """What one gateway kept, another has, and nobody has anything else."""
    StoredAnswers(spent.engine, SEAL).keep(FULL, "alice")
    elsewhere = StoredAnswers(spent.engine, SEAL)
    assert elsewhere.find("q-1", "alice") == FULL
    assert elsewhere.find("q-2", "alice") is None


def test_answer_is_not_found_elsewhere_when_nothing_was_written(spent: Bank) -> None:
    """The negative control: without a state an answer is in one process alone."""
    here = StoredAnswers()
    here.keep(FULL, "alice")
    assert here.find("q-1", "alice") == FULL
    assert StoredAnswers(spent.engine, SEAL).find("q-1", "alice") is None


def test_answer_of_a_question_that_was_not_charged_is_not_kept(spent: Bank) -> None:
    """The state has answers to charges alone."""
    with pytest.raises(IntegrityError, match="fk_kept_answers_query_id"):
        StoredAnswers(spent.engine, SEAL).keep(replace(FULL, query_id="never charged"), "alice")


def test_answer_that_was_kept_first_stays(spent: Bank) -> None:
    """One charge has one answer, whatever comes after."""
    StoredAnswers(spent.engine, SEAL).keep(FULL, "alice")
    StoredAnswers(spent.engine, SEAL).keep(replace(FULL, notices=("another",)), "alice")
    assert StoredAnswers(spent.engine, SEAL).find("q-1", "alice") == FULL


def test_large_answer_is_held_in_memory_alone(spent: Bank) -> None:
    """The process that gave it hands it out; the state is not filled with it."""
    large = replace(
        FULL,
        rows=TextRows.of((("x" * LONGEST_TEXT, None),)),
        intervals=IntervalRows.of(((None, None),)),
    )
    here = StoredAnswers(spent.engine, SEAL)
    here.keep(large, "alice")
    assert here.find("q-1", "alice") == large
    assert StoredAnswers(spent.engine, SEAL).find("q-1", "alice") is None


def test_answer_is_kept_in_memory_and_refused_when_the_state_is_gone(spent: Bank) -> None:
    """Nothing leaves that is not durable; who asks again when the state is back gets it."""
    gone = create_engine(spent.engine.url.set(host="/nowhere", query={}))
    kept = StoredAnswers(gone, SEAL)
    with pytest.raises(BackendUnavailable) as caught:
        kept.keep(FULL, "alice")
    assert caught.value.code is Code.STATE_UNAVAILABLE
    assert kept.find("q-1", "alice") == FULL


def test_answer_stays_for_a_day_and_goes_with_the_next_that_comes(
    spent: Bank, state_server: StateServer
) -> None:
    """Nobody removes what is younger; what is older goes when another is kept."""
    StoredAnswers(spent.engine, SEAL).keep(FULL, "alice")
    _age(state_server, spent, "q-1", 23.9)
    StoredAnswers(spent.engine, SEAL).keep(replace(FULL, query_id="q-2"), "alice")
    assert StoredAnswers(spent.engine, SEAL).find("q-1", "alice") == FULL
    _age(state_server, spent, "q-1", 24.1)
    StoredAnswers(spent.engine, SEAL).keep(replace(FULL, query_id="q-2"), "alice")
    assert StoredAnswers(spent.engine, SEAL).find("q-1", "alice") is None
    assert StoredAnswers(spent.engine, SEAL).find("q-2", "alice") is not None


@pytest.mark.parametrize(
    "change",
    [
        "DELETE FROM kept_answers",
        "UPDATE kept_answers SET answer = '{}'",
        "TRUNCATE kept_answers",
    ],
)
@pytest.mark.parametrize("owner", [False, True])
def test_answer_is_changed_or_removed_by_nobody(
    spent: Bank, state_urls: StateUrls, change: str, *, owner: bool
) -> None:
    """Neither the application's login nor the owner's alters what was given, or removes it before its time."""
    StoredAnswers(spent.engine, SEAL).keep(FULL, "alice")
    url = state_urls.owner if owner else state_urls.application
    assert url is not None
    with (
        psycopg.connect(dsn_of(url), autocommit=True) as connection,
        pytest.raises(errors.InsufficientPrivilege),
    ):
        connection.execute(change.encode())
    assert StoredAnswers(spent.engine, SEAL).find("q-1", "alice") == FULL


def test_removal_of_old_answers_is_for_the_application_alone(
    spent: Bank, state_server: StateServer
) -> None:
    """Nobody else who can connect may call it."""
    with state_server.superuser(str(spent.engine.url.database)) as connection:
        connection.execute("CREATE ROLE passer_by")
        try:
            connection.execute("SET ROLE passer_by")
            with pytest.raises(errors.InsufficientPrivilege):
                connection.execute("SELECT gateway_forget_answers(1)")
        finally:
            connection.execute("RESET ROLE")
            connection.execute("DROP ROLE passer_by")


@pytest.mark.parametrize(
    "outcome", [RecordKind.ANSWERED, RecordKind.REUSED, RecordKind.REFUSED, RecordKind.FAILED]
)
@BOTH
def test_question_has_ended_when_its_outcome_is_recorded(
    bank: Bank, trail: Trail, currency: Currency, outcome: RecordKind
) -> None:
    """A charge alone is no end: somebody may be working on it."""
    open_tree(bank, currency, limits(1))
    bank.ask("0.1", query_id="q-1")
    kept = StoredAnswers(bank.engine, SEAL)
    assert not kept.ended("q-1")
    asked = AskedQuestion("q-1", "alice", "clinic", "SELECT 1", "rest", "")
    record_outcome(bank.journal, trail, QuestionRecord(outcome, asked))
    assert kept.ended("q-1")
    assert StoredAnswers().ended("q-1")
