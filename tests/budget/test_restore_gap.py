"""Lost charges to cells: their cells are unknown, so the spending is charged to all of them."""

from fractions import Fraction

import pytest
from fix_cells import A, B, C, charge_on, confined
from fix_gateway import ALICE, CLINIC, TEAM, Clerk, Installation
from sqlalchemy import Connection

from gateway.budget import restore_gap as gap
from gateway.budget.charge import Receipt
from gateway.errors import BudgetExhausted


def ask(clerk: Clerk, price: str, *touched: str) -> Receipt:
    """Alice asks within these cells."""
    clerk.asked += 1
    request = confined(price, touched or None, query_id=f"q-{clerk.asked:04}")
    return charge_on(clerk.journal, clerk.trail, request, clerk.now)


def lose_a_charge_of_another_cell(installation: Installation) -> None:
    """A backup knows of A; that B was filled as far, which raised no balance, is lost."""
    with installation.open() as clerk:
        clerk.open_books()
        ask(clerk, "1.4", A)
    file = installation.backup()
    with installation.open() as clerk:
        assert ask(clerk, "1.4", B).withdrawals[0].amount == 0
    installation.lose()
    restored = installation.restore(file)
    assert not restored.withdrawals
    assert installation.verdict().intact


def test_cell_that_was_filled_is_not_filled_again_when_that_was_lost(
    installation: Installation,
) -> None:
    """After the restore neither cell is given anything beyond what alice has left of her 2."""
    lose_a_charge_of_another_cell(installation)
    installation.clerk_says = installation.clerk_says.replace(
        year=installation.clerk_says.year + 1
    )  # another month
    with installation.open() as clerk:
        for cell in (A, B, C):
            with pytest.raises(BudgetExhausted):
                ask(clerk, "0.7", cell)
        assert ask(clerk, "0.6", B).withdrawals[0].amount == Fraction(6, 10)
        assert ask(clerk, "0.6", A).withdrawals[0].amount == 0
        with pytest.raises(BudgetExhausted):
            ask(clerk, "0.1", B)
    assert installation.verdict().intact


def test_cell_is_filled_again_when_cells_do_not_begin_anew(
    installation: Installation, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A negative control: the gap of the balances alone lets B be given 2.8, and alice has 2."""

    def nobody(connection: Connection) -> list[str]:
        del connection
        return []

    monkeypatch.setattr(gap, "load_confined", nobody)
    lose_a_charge_of_another_cell(installation)
    with installation.open() as clerk:
        assert ask(clerk, "1.4", B).withdrawals[0].amount == 0


def test_cells_begin_anew_at_every_restore(installation: Installation) -> None:
    """What is lost after one restore is not given again after the next; the gap is charged exactly."""
    lose_a_charge_of_another_cell(installation)
    installation.clerk_says = installation.clerk_says.replace(year=installation.clerk_says.year + 1)
    with installation.open() as clerk:
        ask(clerk, "0.1", A)
    file = installation.backup("second")
    with installation.open() as clerk:
        assert ask(clerk, "0.1", B).withdrawals[0].amount == 0
        assert ask(clerk, "0.1", B).withdrawals[0].amount == Fraction(1, 10)
    installation.lose()
    restored = installation.restore(file)
    assert {each.account: each.amount for each in restored.withdrawals} == dict.fromkeys(
        (ALICE, TEAM, CLINIC), Fraction(1, 10)
    )
    assert installation.verdict().intact
    with installation.open() as clerk:
        assert ask(clerk, "0.1", B).withdrawals[0].amount == Fraction(1, 10)
        with pytest.raises(BudgetExhausted):
            ask(clerk, "0.4", B)
    begun = installation.rows(
        "SELECT DISTINCT max(ordinal) FROM ledger_entries WHERE cell = '#' GROUP BY account"
    )
    assert begun == [(2,)]


def test_cells_begin_anew_when_there_is_no_anchor_to_say_what_was_lost(
    installation: Installation,
) -> None:
    """What is charged after such a restore is told in full, so that another anchor that knows what was lost
    can still be held against it.
    """
    with installation.open() as clerk:
        clerk.open_books()
        ask(clerk, "0.5", A)
    file = installation.backup()
    installation.lose()
    (installation.home / "anchor").unlink()
    assert installation.restore(file).anchored is None
    with installation.open() as clerk:
        assert ask(clerk, "0.5", B).withdrawals[0].amount == Fraction(1, 2)
    assert installation.verdict().intact


def test_cells_that_were_lost_are_charged_when_another_gateway_knows_of_them(
    installation: Installation,
) -> None:
    """One gateway restores and goes on; the anchor of another saw what was lost. When that one restores, too,
    accounts have given what both histories took, though the fullest cells were not the same.
    """
    with installation.open() as clerk:
        clerk.open_books()
        ask(clerk, "0.4", A)
    file = installation.backup()
    with installation.open() as clerk:
        ask(clerk, "0.5", B)
    anchor = (installation.home / "anchor").read_bytes()
    installation.lose()
    assert {each.amount for each in installation.restore(file).withdrawals} == {Fraction(1, 10)}
    with installation.open() as clerk:
        ask(clerk, "0.2", A)
        ask(clerk, "0.3", C)
    (installation.home / "anchor").write_bytes(anchor)
    installation.restore()
    rows = installation.rows(
        "SELECT spent_after FROM ledger_entries WHERE account = :account AND cell = '*'"
        " ORDER BY ordinal DESC LIMIT 1",
        account=ALICE,
    )
    assert rows == [("4/5",)]
    with installation.open() as clerk:
        assert ask(clerk, "0.1", C).withdrawals[0].amount == Fraction(1, 10)
    assert installation.verdict().intact


def test_cells_stay_when_nothing_was_lost(installation: Installation) -> None:
    """A restore that brings back everything lets every cell stand as it stood."""
    with installation.open() as clerk:
        clerk.open_books()
        ask(clerk, "1", A)
    file = installation.backup()
    installation.lose()
    assert not installation.restore(file).withdrawals
    with installation.open() as clerk:
        assert ask(clerk, "1", B).withdrawals[0].amount == 0
        assert ask(clerk, "0.1", B).withdrawals[0].amount == Fraction(1, 10)
    assert installation.verdict().intact


def test_restore_charges_what_fuller_cells_took_of_the_account(installation: Installation) -> None:
    """What the lost charges raised is charged to the account as a whole, also where a cell was first asked
    about after the backup.
    """
    with installation.open() as clerk:
        clerk.open_books()
        ask(clerk, "0.2")
    file = installation.backup()
    with installation.open() as clerk:
        ask(clerk, "0.5", A)
        ask(clerk, "0.3", B)
    installation.lose()
    restored = installation.restore(file)
    assert {each.amount for each in restored.withdrawals} == {Fraction(1, 2)}
    with installation.open() as clerk:
        assert ask(clerk, "0.3", B).withdrawals[0].amount == Fraction(3, 10)
    assert installation.verdict().intact
