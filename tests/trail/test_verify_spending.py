"""What was added to cells is held against the trail as what accounts gave is."""

from collections.abc import Iterator
from fractions import Fraction

import pytest
from fix_cells import A, B, C, charge_on, confined
from fix_gateway import ALICE, BOB, CLINIC, KEY, TEAM, Past, Tamperer, clerk_on, superuser_engine
from fix_state import AUDIT_SECRET, StateServer, settings_on

from gateway.budget.charge import CachedMeasurement
from gateway.state.open import open_state
from gateway.trail import verify_spending as spent
from gateway.trail.record import Trail

OWED = CachedMeasurement(Fraction(1, 10), Fraction(0), frozenset({ALICE, TEAM}))


@pytest.fixture(scope="module")
def celled(state_server: StateServer, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Past]:
    """A state in which charges were confined to cells, to none, and owed."""
    with state_server.database() as urls:
        settings = settings_on(urls, tmp_path_factory.mktemp("celled"))
        with open_state(settings, AUDIT_SECRET) as state:
            clerk = clerk_on(state, Trail(KEY))
            clerk.open_books()
            asked = [
                confined("0.1", [A], query_id="c-1"),
                confined("0.05", [A, B], BOB, query_id="c-2"),
                confined("0.1", None, query_id="c-3"),
                confined("0.2", [B], query_id="c-4", delta="1e-8"),
                confined(0, None, BOB, query_id="c-5", owed=(OWED,)),
                confined("0.1", [C], BOB, query_id="c-6", owed=(OWED,)),
                confined(0, None, ALICE, query_id="c-7", owed=(OWED,)),
            ]
            for request in asked:
                charge_on(clerk.journal, clerk.trail, request, clerk.now)
            anchored = state.anchor.read()
        assert anchored is not None
        superuser = superuser_engine(state_server, str(urls.application.database))
        yield Past(urls, settings, superuser, anchored)
        superuser.dispose()


@pytest.fixture
def forger(celled: Past) -> Iterator[Tamperer]:
    """Somebody with every right in that database."""
    with celled.tampering() as forger:
        yield forger


@pytest.mark.parametrize("batch", [1, 2, 2_000])
def test_trail_with_cells_verifies_when_nobody_touched_it(
    celled: Past, forger: Tamperer, monkeypatch: pytest.MonkeyPatch, batch: int
) -> None:
    """Entries of cells, accounts that gave different amounts, and a charge that nobody gave anything to."""
    monkeypatch.setattr(spent, "_BATCH", batch)
    verdict = forger.verdict()
    assert verdict.intact, verdict
    assert verdict.records == celled.last
    forger.run("UPDATE ledger_entries SET amount = '1/9' WHERE cell = :cell", cell=B)
    assert not forger.verdict().intact


def test_record_of_a_whole_charge_says_no_cell(forger: Tamperer) -> None:
    """Records that were written before there were cells are read as those that are written now."""
    bodies = forger.rows("SELECT query_id, body FROM trail_records WHERE kind = 'charged'")
    said = {row["query_id"]: '"cell":' in str(row["body"]) for row in bodies}
    assert said == {
        **dict.fromkeys(("c-1", "c-2", "c-4", "c-6"), True),
        **dict.fromkeys(("c-3", "c-5", "c-7"), False),
    }


_ENTRY = f"account = '{CLINIC}' AND cell = '{A}' AND ordinal = 2"
_TAMPERED = {
    "an amount of a cell": f"UPDATE ledger_entries SET amount = '1/100' WHERE {_ENTRY}",
    "a balance of a cell": f"UPDATE ledger_entries SET spent_after = '1/100' WHERE {_ENTRY}",
    "a delta of a cell": f"UPDATE ledger_entries SET delta = '1/100' WHERE {_ENTRY}",
    "a balance of delta": f"UPDATE ledger_entries SET delta_after = '1/100' WHERE {_ENTRY}",
    "the moment of a cell": f"UPDATE ledger_entries SET at = at - interval '1 day' WHERE {_ENTRY}",
    "no entry of a cell": f"DELETE FROM ledger_entries WHERE {_ENTRY}",
    "no cells": "DELETE FROM ledger_entries WHERE cell LIKE '%:%'",
    "no partition": "DELETE FROM ledger_entries WHERE cell = 'd1'",
    "an emptier partition": "UPDATE ledger_entries SET spent_after = '0/1' WHERE cell = 'd1'",
    "another cell": f"UPDATE ledger_entries SET cell = 'd1:elsewhere' WHERE {_ENTRY}",
    "an entry of a cell without a record": (
        "INSERT INTO ledger_entries SELECT account, cell, 9, query_id, at, amount, spent_after, delta,"
        f" delta_after FROM ledger_entries WHERE {_ENTRY}"
    ),
    "a new beginning of all cells": (
        "INSERT INTO ledger_entries SELECT account, '#', 1, query_id, at, '0/1', '0/1', '0/1', '0/1'"
        f" FROM ledger_entries WHERE {_ENTRY}"
    ),
    "the amount of a confined charge": "UPDATE charges SET amount = '0/1' WHERE query_id = 'c-1'",
    "the amount of an owed charge": "UPDATE charges SET amount = '0/1' WHERE query_id = 'c-5'",
    "the delta of a confined charge": "UPDATE charges SET delta = '0/1' WHERE query_id = 'c-4'",
    "an amount of who owed more": (
        f"UPDATE ledger_entries SET amount = '1/10' WHERE account = '{BOB}' AND query_id = 'c-6'"
    ),
    "an entry for who owed nothing": (
        f"INSERT INTO ledger_entries SELECT '{ALICE}', cell, 9, query_id, at, amount, spent_after, delta,"
        f" delta_after FROM ledger_entries WHERE account = '{BOB}' AND query_id = 'c-5'"
    ),
    "the subject of a charge of nothing": "UPDATE charges SET subject = 'x' WHERE query_id = 'c-7'",
    "the amount of a charge of nothing": "UPDATE charges SET amount = '1/9' WHERE query_id = 'c-7'",
    "no charge of nothing": "DELETE FROM charges WHERE query_id = 'c-7'",
    "a charge of nothing instead of another": (
        "UPDATE charges SET query_id = 'c-8' WHERE query_id = 'c-7'"
    ),
}


@pytest.mark.parametrize("what", _TAMPERED)
def test_altered_cell_is_found_when_it_does_not_say_what_the_trail_says(
    celled: Past, forger: Tamperer, what: str
) -> None:
    """A cell that is made emptier would be given more: its entries are worth no more than the record."""
    assert forger.run(_TAMPERED[what]) >= 1
    found = forger.verdict()
    assert not found.intact
    assert (found.records, found.first_bad) == (celled.last, None)


def test_altered_cell_is_named_with_its_record(forger: Tamperer) -> None:
    """Who reads the verdict knows which record, account and cell to look at."""
    forger.run(_TAMPERED["an amount of a cell"])
    seq = forger.value("SELECT seq FROM trail_records WHERE query_id = 'c-2'")
    assert forger.verdict().problem == (
        f"record {seq} charged `{CLINIC}` in cell `{A}`, its entry 2 in the ledger says otherwise"
    )


def test_altered_record_is_named_when_a_cell_is_taken_out_of_it(forger: Tamperer) -> None:
    """A forger who takes the entry out of trail and ledger alike breaks the chain."""
    seq = forger.value("SELECT seq FROM trail_records WHERE query_id = 'c-2'")
    forger.run(f"DELETE FROM ledger_entries WHERE {_ENTRY}")
    forger.run(
        "UPDATE trail_records SET body = replace(body, :cell, '*') WHERE seq = :seq",
        seq=seq,
        cell=A,
    )
    assert forger.verdict().first_bad == seq
