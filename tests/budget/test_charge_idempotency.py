"""A request that is repeated with its key is charged once, on every gateway."""

from functools import partial

import pytest
from fix_ledger import (
    BOB,
    BOTH,
    CLINIC,
    Bank,
    audit,
    commit_together,
    limits,
    open_tree,
)
from fix_state import AUDIT_SECRET

from gateway.budget.account import Currency
from gateway.budget.charge import Idempotency, Receipt
from gateway.config import Settings
from gateway.errors import BudgetExhausted, Code, Refusal
from gateway.state.open import open_state
from gateway.trail.record import Trail

ONCE = Idempotency("key-1", "digest-1")


def same_but_repeated(first: Receipt, second: Receipt) -> bool:
    return (
        second.repeated
        and not first.repeated
        and (first.query_id, first.price, first.cost)
        == (second.query_id, second.price, second.cost)
        and sorted(first.withdrawals, key=lambda taken: taken.account)
        == sorted(second.withdrawals, key=lambda taken: taken.account)
    )


@BOTH
def test_idempotency_key_is_charged_once(bank: Bank, currency: Currency) -> None:
    """The second request with a key gets the first one's receipt, and pays nothing."""
    open_tree(bank, currency, limits(1))
    first = bank.ask("0.75", once=ONCE)
    second = bank.ask("0.75", once=ONCE)
    assert same_but_repeated(first, second)
    assert len(audit(bank.engine).charges) == 1


def test_idempotency_key_is_charged_once_when_repeated_in_another_process(
    bank: Bank, state_settings: Settings, trail: Trail
) -> None:
    """A gateway that was not there when the key was first used finds it in the state."""
    open_tree(bank, Currency.ZCDP, limits(1))
    with open_state(state_settings, AUDIT_SECRET) as other:
        elsewhere = Bank(other.journal, trail, other.engine)
        assert elsewhere.ask("0.1", query_id="warm").cost
        first = bank.ask("0.5", query_id="here", once=ONCE)
        second = elsewhere.ask("0.5", query_id="there", once=ONCE)
        third = bank.ask("0.5", query_id="here again", once=ONCE)
    assert same_but_repeated(first, second)
    assert same_but_repeated(first, third)
    assert len(audit(bank.engine).charges) == 2


def test_idempotency_key_is_charged_once_when_both_are_in_one_batch(bank: Bank) -> None:
    """Two requests with one key that are committed together make one charge."""
    open_tree(bank, Currency.PURE, limits(1))
    outcomes = commit_together(bank.journal, [partial(bank.ask, "0.6", once=ONCE)] * 5)
    receipts = [one for one in outcomes if isinstance(one, Receipt)]
    assert sorted(receipt.repeated for receipt in receipts) == [False, True, True, True, True]
    assert len({receipt.query_id for receipt in receipts}) == 1
    assert len(audit(bank.engine).charges) == 1


def test_idempotency_key_of_another_request_is_refused(bank: Bank) -> None:
    """A key means one request: with another it is an error, and nothing is charged."""
    open_tree(bank, Currency.PURE, limits(1))
    bank.ask("0.1", once=ONCE)
    with pytest.raises(Refusal) as caught:
        bank.ask("0.1", once=Idempotency(ONCE.key, "digest-2"))
    assert caught.value.code is Code.IDEMPOTENCY_MISMATCH
    assert len(audit(bank.engine).charges) == 1


def test_idempotency_key_belongs_to_its_subject(bank: Bank) -> None:
    """Bob's key that reads like alice's is bob's: he neither gets her receipt nor her error."""
    open_tree(bank, Currency.PURE, limits(1))
    mine = bank.ask("0.1", once=ONCE)
    his = bank.ask("0.1", BOB, subject="bob", once=ONCE)
    bank.ask("0.1", BOB, subject="bob", once=Idempotency("key-2", "digest-2"))
    assert not his.repeated
    assert mine.query_id != his.query_id
    assert len(audit(bank.engine).charges) == 3


def test_idempotency_key_of_a_refused_request_may_be_used_again(bank: Bank) -> None:
    """A refusal is not an answer: after a grant the same request with the same key is charged."""
    open_tree(bank, Currency.PURE, limits("0.1"))
    with pytest.raises(BudgetExhausted):
        bank.ask("0.5", once=ONCE)
    bank.set_limits(CLINIC, limits(1))
    assert not bank.ask("0.5", once=ONCE).repeated
    assert bank.ask("0.5", once=ONCE).repeated
