"""What was lost of cells: nobody knows which ones were filled, so nothing is given again in any of them."""

from fractions import Fraction

import pytest
from fix_cells import A, B, C, charge_on, confined
from fix_gateway import ALICE, CLINIC, TEAM, Clerk, House
from sqlalchemy import Connection

from gateway.budget import restore_gap as gap
from gateway.budget.charge import Receipt
from gateway.errors import BudgetExhausted


def ask(clerk: Clerk, price: str, *touched: str) -> Receipt:
    """Alice asks within these cells."""
    clerk.asked += 1
    request = confined(price, touched or None, query_id=f"q-{clerk.asked:04}")
    return charge_on(clerk.journal, clerk.trail, request, clerk.now)


def lose_a_charge_of_another_cell(house: House) -> None:
    """A backup knows of A; that B was filled as far, which raised no balance, is lost."""
    with house.open() as clerk:
        clerk.open_books()
        ask(clerk, "1.4", A)
    file = house.backup()
    with house.open() as clerk:
        assert ask(clerk, "1.4", B).withdrawals[0].amount == 0
    house.lose()
    restored = house.restore(file)
    assert not restored.withdrawals
    assert house.verdict().intact


def test_cell_that_was_filled_is_not_filled_again_when_that_was_lost(house: House) -> None:
    """After the restore neither cell is given anything beyond what alice has left of her 2."""
    lose_a_charge_of_another_cell(house)
    house.clerk_says = house.clerk_says.replace(year=house.clerk_says.year + 1)  # another month
    with house.open() as clerk:
        for cell in (A, B, C):
            with pytest.raises(BudgetExhausted):
                ask(clerk, "0.7", cell)
        assert ask(clerk, "0.6", B).withdrawals[0].amount == Fraction(6, 10)
        assert ask(clerk, "0.6", A).withdrawals[0].amount == 0
        with pytest.raises(BudgetExhausted):
            ask(clerk, "0.1", B)
    assert house.verdict().intact


def test_cell_is_filled_again_when_cells_do_not_begin_anew(
    house: House, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A negative control: the gap of the balances alone lets B be given 2.8, and alice has 2."""

    def nobody(connection: Connection) -> list[str]:
        del connection
        return []

    monkeypatch.setattr(gap, "load_confined", nobody)
    lose_a_charge_of_another_cell(house)
    with house.open() as clerk:
        assert ask(clerk, "1.4", B).withdrawals[0].amount == 0


def test_cells_begin_anew_at_every_restore(house: House) -> None:
    """What is lost after one restore is not given again after the next; the gap is charged exactly."""
    lose_a_charge_of_another_cell(house)
    house.clerk_says = house.clerk_says.replace(year=house.clerk_says.year + 1)
    with house.open() as clerk:
        ask(clerk, "0.1", A)
    file = house.backup("second")
    with house.open() as clerk:
        assert ask(clerk, "0.1", B).withdrawals[0].amount == 0
        assert ask(clerk, "0.1", B).withdrawals[0].amount == Fraction(1, 10)
    house.lose()
    restored = house.restore(file)
    assert {each.account: each.amount for each in restored.withdrawals} == dict.fromkeys(
        (ALICE, TEAM, CLINIC), Fraction(1, 10)
    )
    assert house.verdict().intact
    with house.open() as clerk:
        assert ask(clerk, "0.1", B).withdrawals[0].amount == Fraction(1, 10)
        with pytest.raises(BudgetExhausted):
            ask(clerk, "0.4", B)
    begun = house.rows(
        "SELECT DISTINCT max(ordinal) FROM ledger_entries WHERE cell = '#' GROUP BY account"
    )
    assert begun == [(2,)]


def test_cells_begin_anew_when_there_is_no_anchor_to_say_what_was_lost(house: House) -> None:
    """What is charged after such a restore is told in full, so that another anchor that knows what was lost
    can still be held against it.
    """
    with house.open() as clerk:
        clerk.open_books()
        ask(clerk, "0.5", A)
    file = house.backup()
    house.lose()
    (house.home / "anchor").unlink()
    assert house.restore(file).anchored is None
    with house.open() as clerk:
        assert ask(clerk, "0.5", B).withdrawals[0].amount == Fraction(1, 2)
    assert house.verdict().intact


def test_cells_that_were_lost_are_charged_when_another_gateway_knows_of_them(house: House) -> None:
    """One gateway restores and goes on; the anchor of another saw what was lost. When that one restores, too,
    accounts have given what both histories took, though the fullest cells were not the same.
    """
    with house.open() as clerk:
        clerk.open_books()
        ask(clerk, "0.4", A)
    file = house.backup()
    with house.open() as clerk:
        ask(clerk, "0.5", B)
    anchor = (house.home / "anchor").read_bytes()
    house.lose()
    assert {each.amount for each in house.restore(file).withdrawals} == {Fraction(1, 10)}
    with house.open() as clerk:
        ask(clerk, "0.2", A)
        ask(clerk, "0.3", C)
    (house.home / "anchor").write_bytes(anchor)
    house.restore()
    rows = house.rows(
        "SELECT spent_after FROM ledger_entries WHERE account = :account AND cell = '*'"
        " ORDER BY ordinal DESC LIMIT 1",
        account=ALICE,
    )
    assert rows == [("4/5",)]
    with house.open() as clerk:
        assert ask(clerk, "0.1", C).withdrawals[0].amount == Fraction(1, 10)
    assert house.verdict().intact


def test_cells_stay_when_nothing_was_lost(house: House) -> None:
    """A restore that brings back everything lets every cell stand as it stood."""
    with house.open() as clerk:
        clerk.open_books()
        ask(clerk, "1", A)
    file = house.backup()
    house.lose()
    assert not house.restore(file).withdrawals
    with house.open() as clerk:
        assert ask(clerk, "1", B).withdrawals[0].amount == 0
        assert ask(clerk, "0.1", B).withdrawals[0].amount == Fraction(1, 10)
    assert house.verdict().intact


def test_restore_charges_what_fuller_cells_took_of_the_account(house: House) -> None:
    """What the lost charges raised is charged to the account as a whole, also where a cell was first asked
    about after the backup.
    """
    with house.open() as clerk:
        clerk.open_books()
        ask(clerk, "0.2")
    file = house.backup()
    with house.open() as clerk:
        ask(clerk, "0.5", A)
        ask(clerk, "0.3", B)
    house.lose()
    restored = house.restore(file)
    assert {each.amount for each in restored.withdrawals} == {Fraction(1, 2)}
    with house.open() as clerk:
        assert ask(clerk, "0.3", B).withdrawals[0].amount == Fraction(3, 10)
    assert house.verdict().intact
