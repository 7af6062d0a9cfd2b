"""Charges that are confined to cells of an immutable partition: no cell is ever given more than the cap."""

from datetime import timedelta
from fractions import Fraction

import pytest
from fix_cells import A, B, C, ask, audit_cells
from fix_ledger import (
    ALICE,
    BOB,
    BOTH,
    CLINIC,
    ONCOLOGY,
    Bank,
    BooksError,
    limits,
    open_tree,
)
from fix_state import AUDIT_SECRET

from gateway.budget import parallel_composition as confined
from gateway.budget.account import Amounts, Balance, Currency, Every
from gateway.budget.charge import Idempotency
from gateway.budget.parallel_composition import MOST_CELLS
from gateway.config import Settings
from gateway.errors import BudgetExhausted, Code
from gateway.state.open import open_state
from gateway.trail.chain import ChainKey
from gateway.trail.record import Trail
from gateway.trail.verify import verify


def spent(bank: Bank, account: str = CLINIC) -> Fraction:
    """What an account gave as a whole, after the books were audited."""
    with bank.engine.connect() as connection:
        assert verify(connection, ChainKey(AUDIT_SECRET), None).intact
    return audit_cells(bank.engine)[account].star[0]


def is_refused(
    bank: Bank, price: str, touched: tuple[str, ...] | None, account: str = ALICE
) -> bool:
    before = audit_cells(bank.engine)
    try:
        ask(bank, price, touched, account)
    except BudgetExhausted:
        assert audit_cells(bank.engine) == before
        return True
    return False


@BOTH
def test_cells_are_charged_apart_when_they_have_no_unit_in_common(
    bank: Bank, currency: Currency
) -> None:
    """A and B cost what the dearer of them costs; a question about both fills both; what fits no cell it touches is refused,
    and so is a question about everybody, units without a row among them; a third cell is still empty.
    """
    open_tree(bank, currency, limits(1))
    one = ask(bank, "0.6", [A]).cost / Fraction("0.6")
    ask(bank, "0.6", [B])
    assert spent(bank) == Fraction("0.6") * one
    ask(bank, "0.3", [A, B])
    assert spent(bank) == Fraction("0.9") * one
    assert is_refused(bank, "0.2", (A,))
    assert is_refused(bank, "0.2", (A, B))
    assert is_refused(bank, "0.2", (C, B))
    assert is_refused(bank, "0.2", None)
    ask(bank, "0.9", [C])
    assert spent(bank) == Fraction("0.9") * one
    ask(bank, "0.1", [A])
    assert spent(bank) == one
    for touched in ((A,), (C,), None):
        assert is_refused(bank, "0.1", touched) is (touched != (C,))
    assert audit_cells(bank.engine)[CLINIC].chains[C][0] == one


def test_unit_without_a_row_is_charged_when_a_question_is_not_confined(bank: Bank) -> None:
    """Units of no cell are met by whole charges alone; those count in every cell, before and after it was
    touched for the first time.
    """
    open_tree(bank, Currency.PURE, limits(1))
    ask(bank, "0.5", [A])
    ask(bank, "0.4")
    assert spent(bank) == Fraction("0.9")
    ask(bank, "0.6", [B])
    assert spent(bank) == 1
    assert is_refused(bank, "0.2", (A,))
    ask(bank, "0.1", [A])
    assert is_refused(bank, "0.01", None)
    assert audit_cells(bank.engine)[CLINIC].whole[0] == Fraction("0.4")


def test_charge_takes_by_how_much_the_fullest_cell_becomes_fuller(bank: Bank) -> None:
    """A receipt tells the price that was asked at, what the noise may cost, and what was taken."""
    open_tree(bank, Currency.PURE, limits(1))
    first, second, third = (
        ask(bank, price, [cell])
        for price, cell in zip(("0.3", "0.2", "0.2"), (A, B, B), strict=True)
    )
    assert [each.cost for each in (first, second, third)] == [Fraction(n, 10) for n in (3, 2, 2)]
    assert [each.price_taken.value for each in (first, second, third)] == [
        *(Fraction(3, 10), Fraction(0), Fraction(1, 10))
    ]
    assert [taken.account for taken in second.withdrawals] == [ALICE, ONCOLOGY, CLINIC]
    assert bank.standing(ALICE).epsilon_spent.value == Fraction("0.4")


def test_partition_that_is_new_finds_everything_spent(bank: Bank) -> None:
    """Cells of another partition cut across: what the fullest one holds counts for all of them, in
    whichever order the partitions are asked about, and when an earlier one comes back.
    """
    open_tree(bank, Currency.PURE, limits(1))
    ask(bank, "0.4", [A])
    ask(bank, "0.3", ["d2:f"])
    assert spent(bank) == Fraction("0.7")
    ask(bank, "0.3", ["d2:m"])
    ask(bank, "0.4", [B])
    assert spent(bank) == Fraction("0.7")
    ask(bank, "0.3", [A])
    assert spent(bank) == 1
    assert is_refused(bank, "0.1", ("d2:f",))
    assert is_refused(bank, "0.1", ("d3:x",))
    assert not is_refused(bank, "0.3", (B,))


def test_accounts_keep_cells_of_their_own(bank: Bank) -> None:
    """Alice asked about A and bob about B: each has given for one, together they have given for the
    dearer.
    """
    open_tree(bank, Currency.PURE, limits(1), alice=limits("0.5"))
    ask(bank, "0.5", [A], ALICE)
    ask(bank, "0.8", [B], BOB)
    found = {name: spent(bank, name) for name in (ALICE, ONCOLOGY, BOB, CLINIC)}
    assert found == {
        **dict.fromkeys((ALICE, ONCOLOGY), Fraction("0.5")),
        **dict.fromkeys((BOB, CLINIC), Fraction("0.8")),
    }
    assert is_refused(bank, "0.1", (A,), ALICE)
    assert not is_refused(bank, "0.2", (B,), ALICE)
    assert is_refused(bank, "0.1", (B,), BOB)
    assert not is_refused(bank, "0.5", (A,), BOB)


def test_delta_of_thresholds_is_kept_for_each_cell(bank: Bank) -> None:
    """The fullest in delta need not be the fullest in epsilon; both are bounds of every cell."""
    open_tree(bank, Currency.PURE, limits(1, "2e-6"))
    ask(bank, "0.1", [A], delta="9e-7")
    ask(bank, "0.7", [B], delta="1e-7")
    star = audit_cells(bank.engine)[CLINIC].star
    assert star == (Fraction("0.7"), Fraction("9e-7"))
    with pytest.raises(BudgetExhausted) as caught:
        ask(bank, "0.1", [A], delta="2e-7")
    assert caught.value.code is Code.THRESHOLDS_EXHAUSTED
    ask(bank, "0.1", [B], delta="9e-7")
    assert audit_cells(bank.engine)[CLINIC].star == (Fraction("0.8"), Fraction("1e-6"))


def test_window_counts_what_the_account_as_a_whole_gave(bank: Bank) -> None:
    """A cell that catches up with the fullest takes nothing of the period."""
    open_tree(bank, Currency.PURE, limits(9), alice=limits(9, window=(Every.DAY, "0.5")))
    ask(bank, "0.5", [A])
    ask(bank, "0.5", [B])
    with pytest.raises(BudgetExhausted) as caught:
        ask(bank, "0.1", [B])
    assert caught.value.code is Code.WINDOW_EXHAUSTED
    bank.now += timedelta(days=1)
    ask(bank, "0.4", [B])
    assert bank.standing(ALICE).epsilon_spent.value == Fraction("0.9")
    assert audit_cells(bank.engine)[ALICE].chains[B][0] == Fraction("0.9")


def test_cap_below_what_was_spent_leaves_nothing_to_any_cell(bank: Bank) -> None:
    """Who is above the cap gets nothing, an emptier cell neither; the refusal says what it would take."""
    open_tree(bank, Currency.PURE, limits(9))
    ask(bank, "0.5", [A])
    bank.set_limits(ALICE, limits("0.4"))
    with pytest.raises(BudgetExhausted) as caught:
        ask(bank, "0.1", [B])
    assert (
        caught.value.detail == f"`{ALICE}` has epsilon 0 left for its lifetime, the query needs 0.1"
    )


_FULL = tuple(f"d1:{number}" for number in range(MOST_CELLS))


@pytest.mark.parametrize(
    "touched",
    [
        pytest.param((*_FULL, "d1:one more"), id="too many"),
        pytest.param((), id="none"),
        pytest.param(("*",), id="the whole account"),
        pytest.param(("*:x",), id="a digest that is the whole account"),
        pytest.param(("#:x",), id="a digest of another kind of chain"),
        pytest.param(("d1#1:x",), id="a partition after a restore"),
        pytest.param((":x",), id="no digest"),
        pytest.param(("d1",), id="no values"),
        pytest.param((A, "north"), id="one that is no cell"),
        pytest.param(("d1:\0",), id="a text that cannot be stored"),
        pytest.param(("d1:\ud800",), id="half a character"),
        pytest.param(("d1:" + "x" * 401,), id="too long for a key"),
    ],
)
def test_charge_is_counted_as_whole_when_its_cells_cannot_be_kept(
    bank: Bank, touched: tuple[str, ...]
) -> None:
    """More cells than are kept, and names that are none, make a charge dearer, never cheaper."""
    open_tree(bank, Currency.PURE, limits(1))
    ask(bank, "0.3", touched)
    ask(bank, "0.3", touched)
    assert audit_cells(bank.engine)[CLINIC].whole[0] == Fraction("0.6")


def test_charge_is_confined_to_as_many_cells_as_are_kept(bank: Bank) -> None:
    """Sixty-four cells are kept apart, a cell that is named twice is charged once, and names are any text."""
    open_tree(bank, Currency.PURE, limits(1))
    ask(bank, "0.3", [*_FULL, *_FULL])
    ask(bank, "0.5", ["d1:' \n \U0001f600 %_\\", "d1:*", "d1:#"])
    found = audit_cells(bank.engine)[CLINIC]
    assert found.whole[0] == 0
    assert found.star[0] == Fraction("0.5")
    assert len(found.chains) == MOST_CELLS + 4
    assert set(found.chains) >= set(_FULL)


@BOTH
def test_cells_are_known_to_other_processes(
    bank: Bank, state_settings: Settings, trail: Trail, currency: Currency
) -> None:
    """Two gateways in turn: each finds in the state what the other one added to cells."""
    open_tree(bank, currency, limits(1))
    with open_state(state_settings, AUDIT_SECRET) as other:
        elsewhere = Bank(other.journal, trail, other.engine)
        for number in range(5):
            for where, here in ((A, bank), (B, elsewhere), (A, elsewhere), (B, bank)):
                ask(here, "0.1", [where], query_id=f"{number}-{where}-{here is bank}")
        for here in (bank, elsewhere):
            with pytest.raises(BudgetExhausted):
                ask(here, "0.01", [A], query_id=f"refused-{here is bank}")
        assert not is_refused(elsewhere, "1", (C,))
    assert bank.standing(CLINIC).epsilon_remaining.value == 0


@BOTH
def test_idempotency_key_of_a_confined_charge_is_charged_once(
    bank: Bank, state_settings: Settings, trail: Trail, currency: Currency
) -> None:
    """Here and in another process the first receipt comes again, with all its cells; nothing is taken."""
    open_tree(bank, currency, limits(9))
    ask(bank, "0.5", [C])
    once = Idempotency("key-1", "digest-1")
    first = ask(bank, "0.7", [A, B], once=once)
    before = audit_cells(bank.engine)
    with open_state(state_settings, AUDIT_SECRET) as other:
        elsewhere = Bank(other.journal, trail, other.engine)
        for number, here in enumerate((bank, elsewhere)):
            again = ask(here, "0.7", [A, B], once=once, query_id=f"again-{number}")
            assert again.repeated
            assert again.query_id == first.query_id
            assert (again.price, again.cost, again.at) == (first.price, first.cost, first.at)
            assert sorted(again.withdrawals, key=lambda one: one.account) == sorted(
                first.withdrawals, key=lambda one: one.account
            )
            assert not again.price_taken
    assert first.price_taken.value == Fraction("0.2")
    assert audit_cells(bank.engine) == before


def test_audit_finds_a_ledger_that_charged_only_the_dearer_of_two_that_overlap(
    bank: Bank, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A negative control: were charges on one cell taken for charges on two, the cell would be given
    more than the cap, and the auditor of these tests says so.
    """

    def rise_of_the_dearer(fullest: Balance, cells: dict[str, Balance]) -> Amounts:
        dearest = max(each.spent / each.ordinal for each in cells.values())
        return Amounts(max(Fraction(0), dearest - fullest.spent), Fraction(0))

    open_tree(bank, Currency.PURE, limits(1))
    ask(bank, "0.6", [A, B])
    audit_cells(bank.engine)
    monkeypatch.setattr(confined, "_rise", rise_of_the_dearer)
    ask(bank, "0.6", [A])
    with pytest.raises(BooksError, match="fullest"):
        audit_cells(bank.engine)
