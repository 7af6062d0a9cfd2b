"""Cached answers: every account is charged once for them, the ledger never again."""

from fractions import Fraction

import pytest
from fix_cells import A, B, ask, audit_cells
from fix_ledger import (
    ALICE,
    BOB,
    BOTH,
    CLINIC,
    ONCOLOGY,
    Bank,
    limits,
    open_tree,
)
from fix_state import AUDIT_SECRET
from sqlalchemy import text

from gateway.budget.account import Currency, Every
from gateway.budget.charge import (
    CachedMeasurement,
    ChargedMeasurement,
    ChargeRequest,
    Idempotency,
    Receipt,
)
from gateway.config import Settings
from gateway.errors import BudgetExhausted, Code
from gateway.state.open import open_state
from gateway.trail.chain import ChainKey
from gateway.trail.record import Trail
from gateway.trail.verify import verify
from gateway.units import Delta, Epsilon

CAROL = "analyst:carol@clinic"
DERMA = "team:dermatology@clinic"
DAVE = "analyst:dave@clinic"


def open_teams(bank: Bank, currency: Currency) -> None:
    """Alice and carol are of one team, dave of another, bob of none."""
    plenty = limits(5, "1/2")
    open_tree(bank, currency, limits(20))
    bank.open_account(CAROL, plenty, parent=ONCOLOGY)
    bank.open_account(DERMA, plenty)
    bank.open_account(DAVE, plenty, parent=DERMA)


def given(bank: Bank) -> dict[str, Fraction]:
    """What each account gave so far, after the books were audited."""
    with bank.engine.connect() as connection:
        assert verify(connection, ChainKey(AUDIT_SECRET), None).intact
    return {name: one.star[0] for name, one in audit_cells(bank.engine).items()}


def gave(receipt: Receipt) -> dict[str, Fraction]:
    return {one.account: one.amount for one in receipt.withdrawals}


@BOTH
def test_answer_that_is_read_again_is_paid_by_those_who_have_not_paid(
    bank: Bank, currency: Currency
) -> None:
    """Alice buys. For carol of her team only carol pays; for dave of another team he and his team; for bob
    he alone; the ledger pays once. Who has paid is not charged, and has no entry.
    """
    open_teams(bank, currency)
    bought = ask(bank, "0.5")
    cost, paid = bought.cost, frozenset({ALICE, ONCOLOGY})
    assert gave(bought) == dict.fromkeys((ALICE, ONCOLOGY, CLINIC), cost)

    for account, payers in ((CAROL, [CAROL]), (DAVE, [DAVE, DERMA]), (BOB, [BOB])):
        receipt = ask(bank, 0, None, account, owed=(CachedMeasurement(cost, Fraction(0), paid),))
        assert gave(receipt) == dict.fromkeys(payers, cost)
        assert receipt.cost == 0
        assert not receipt.price
        assert receipt.price_taken.value > 0
        paid |= frozenset(payers)
    again = ask(bank, 0, None, CAROL, owed=(CachedMeasurement(cost, Fraction(0), paid),))
    assert not again.withdrawals
    assert not again.price_taken
    everyone = (ALICE, ONCOLOGY, CLINIC, CAROL, DAVE, DERMA, BOB)
    assert given(bank) == dict.fromkeys(everyone, cost)


def test_ledger_owes_nothing_when_nobody_says_that_it_paid(bank: Bank) -> None:
    """What was answered was bought from the ledger's own account, whether it stands among the payers or not."""
    open_teams(bank, Currency.PURE)
    receipt = ask(
        bank, 0, None, BOB, owed=(CachedMeasurement(Fraction(1, 2), Fraction(0), frozenset()),)
    )
    assert gave(receipt) == {BOB: Fraction(1, 2)}
    assert bank.standing(CLINIC).epsilon_spent.value == 0


def test_charge_takes_what_is_bought_and_what_is_owed_together(bank: Bank) -> None:
    """A question of which a part was answered before: everybody pays the new part, and each old part who
    has not paid it; the charge says the largest amount that one account gave.
    """
    open_teams(bank, Currency.PURE)
    tenth, little = Fraction(1, 10), Fraction(1, 10**8)
    owed = (
        CachedMeasurement(2 * tenth, Fraction(0), frozenset({ONCOLOGY})),
        CachedMeasurement(3 * tenth, little, frozenset({CAROL, ONCOLOGY})),
        CachedMeasurement(4 * tenth, 2 * little, frozenset({ALICE})),
        CachedMeasurement(Fraction(0), Fraction(0), frozenset()),
    )
    receipt = ask(bank, "0.1", None, CAROL, delta=little, owed=owed)
    assert gave(receipt) == {CAROL: 7 * tenth, ONCOLOGY: 5 * tenth, CLINIC: tenth}
    assert [one.delta for one in receipt.withdrawals] == [*(3 * little, 3 * little, little)]
    assert (receipt.cost, receipt.price_taken) == (tenth, Epsilon(7 * tenth))
    assert receipt.withdrawals[0].delta == 3 * little
    assert given(bank) == gave(receipt)
    with bank.engine.connect() as connection:
        charged = connection.execute(text("SELECT price, amount, delta FROM charges")).one()
    assert tuple(charged) == ("1/10", "7/10", "3/100000000")


def test_price_is_the_same_for_everybody(bank: Bank) -> None:
    """In zCDP too, what an answer cost one analyst is what it costs another, for the same noise."""
    open_tree(bank, Currency.ZCDP, limits(20), alice=limits(5))
    bought = ask(bank, "0.5", None, ALICE)
    assert bought.price_taken == Epsilon(Fraction(1, 2))
    read = ask(
        bank, 0, None, BOB, owed=(CachedMeasurement(bought.cost, Fraction(0), frozenset({ALICE})),)
    )
    fresh = ask(bank, read.price_taken.value, None, BOB)
    assert fresh.cost == bought.cost
    assert fresh.price_taken == read.price_taken == bought.price_taken


@pytest.mark.parametrize(
    ("account", "owed", "code"),
    [
        (CAROL, CachedMeasurement(Fraction(6), Fraction(0), frozenset()), Code.BUDGET_EXHAUSTED),
        (
            DAVE,
            CachedMeasurement(Fraction(6), Fraction(0), frozenset({DAVE})),
            Code.BUDGET_EXHAUSTED,
        ),
        (
            DAVE,
            CachedMeasurement(Fraction(0), Fraction(1, 2), frozenset()),
            Code.THRESHOLDS_EXHAUSTED,
        ),
        (BOB, CachedMeasurement(Fraction(2), Fraction(0), frozenset()), Code.WINDOW_EXHAUSTED),
    ],
)
def test_owed_is_refused_when_it_does_not_fit_an_account_that_gives(
    bank: Bank, account: str, owed: CachedMeasurement, code: Code
) -> None:
    """Nothing is taken from anybody then; an account that has paid is not asked whether it fits."""
    open_teams(bank, Currency.PURE)
    bank.set_limits(BOB, limits(9, window=(Every.DAY, 1)))
    bank.set_limits(ONCOLOGY, limits(0))
    bank.set_limits(CLINIC, limits(0))
    with pytest.raises(BudgetExhausted) as caught:
        ask(bank, 0, None, account, owed=(owed,))
    assert caught.value.code is code
    assert given(bank) == {}
    assert gave(
        ask(
            bank,
            0,
            None,
            CAROL,
            owed=(CachedMeasurement(Fraction(5), Fraction(0), frozenset({ONCOLOGY})),),
        )
    )


@BOTH
def test_owed_is_refused_when_an_account_may_give_nothing(bank: Bank, currency: Currency) -> None:
    """A cap of zero is told like every other, with what the answer would take in epsilon."""
    open_tree(bank, currency, limits(20))
    cost = ask(bank, "0.5", None, ALICE).cost
    bank.set_limits(BOB, limits(0))
    with pytest.raises(BudgetExhausted) as caught:
        ask(bank, 0, None, BOB, owed=(CachedMeasurement(cost, Fraction(0), frozenset()),))
    assert (
        caught.value.detail == f"`{BOB}` has epsilon 0 left for its lifetime, the query needs 0.5"
    )


def test_owed_is_confined_to_the_cells_that_it_was_bought_for(bank: Bank) -> None:
    """What bob reads again of A and of B he pays as if he had asked it: for the dearer of both; what was
    not confined counts in every cell.
    """
    open_tree(bank, Currency.PURE, limits(20))
    none = frozenset[str]()
    owed = (
        CachedMeasurement(Fraction(3, 10), Fraction(0), none, (A,)),
        CachedMeasurement(Fraction(4, 10), Fraction(0), none, (B,)),
        CachedMeasurement(Fraction(1, 10), Fraction(0), none, (A, B)),
        CachedMeasurement(Fraction(1), Fraction(0), none),
    )
    receipt = ask(bank, "0.2", [A], BOB, owed=owed)
    found = audit_cells(bank.engine)
    assert found[BOB].whole[0] == 1
    assert {cell: held[0] for cell, held in found[BOB].chains.items()} == {
        A: Fraction(6, 10), B: Fraction(5, 10), "d1": Fraction(6, 10)
    }  # fmt: skip
    assert found[CLINIC].star[0] == Fraction(2, 10)
    assert (receipt.cost, receipt.price_taken.value) == (Fraction(2, 10), Fraction(16, 10))


@BOTH
def test_idempotency_key_of_what_is_owed_is_charged_once(
    bank: Bank, state_settings: Settings, trail: Trail, currency: Currency
) -> None:
    """The receipt comes again here and elsewhere, also the one of a charge to which nobody gave anything."""
    open_teams(bank, currency)
    one = CachedMeasurement(Fraction(1, 100), Fraction(0), frozenset({ONCOLOGY}))
    nobody = CachedMeasurement(Fraction(1, 100), Fraction(0), frozenset({ONCOLOGY, CAROL}))
    firsts = [
        ask(bank, price, [A], CAROL, owed=(owed,), once=Idempotency(f"key-{place}", "digest"))
        for place, price, owed in ((0, "0", one), (1, "0", nobody), (2, "0.1", one))
    ]
    with open_state(state_settings, AUDIT_SECRET) as other:
        elsewhere = Bank(other.journal, trail, other.engine)
        for place, first in enumerate(firsts):
            for here in (bank, elsewhere):
                once = Idempotency(f"key-{place}", "digest")
                again = ask(here, "0.2", None, CAROL, once=once, query_id=f"{place}-{id(here)}")
                assert again.repeated
                assert (again.query_id, again.price) == (first.query_id, first.price)
                assert (again.cost, again.at) == (first.cost, first.at)
                assert gave(again) == gave(first)
    assert [bool(gave(first)) for first in firsts] == [True, False, True]


def test_charges_that_cost_nothing_are_of_what_is_owed_alone() -> None:
    """There is no price without measurements, and without a price nothing is measured."""
    owed = (CachedMeasurement(Fraction(1), Fraction(0), frozenset()),)
    part = (ChargedMeasurement("count", "laplace", Fraction(1), Delta.zero()),)
    free = Epsilon.zero()
    assert ChargeRequest("q", "alice", ALICE, free, (), None, owed).delta == Delta.zero()
    with pytest.raises(ValueError, match="measurements"):
        ChargeRequest("q", "alice", ALICE, free, part, None, owed)
    with pytest.raises(ValueError, match="price"):
        ChargeRequest("q", "alice", ALICE, free, ())
    with pytest.raises(ValueError, match="measurements"):
        ChargeRequest("q", "alice", ALICE, Epsilon.parse("1"), (), None, owed)
    for cost, delta in ((Fraction(-1), Fraction(0)), (Fraction(1), Fraction(-1))):
        with pytest.raises(ValueError, match="negative"):
            CachedMeasurement(cost, delta, frozenset())
