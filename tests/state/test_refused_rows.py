"""What is said of a row that the database refuses."""

import traceback

import psycopg
import pytest

from gateway.state.draft import Draft
from gateway.state.open import State
from gateway.state.tables import ledgers
from gateway.trail.record import ActRecord, RecordKind, Trail

SECRET = "postgresql://reader@a-hospital/wards"


@pytest.mark.parametrize("row", [{"currency": "gold"}, {"opened_at": SECRET}])
def test_refused_row_is_not_repeated_in_the_error(
    state: State, trail: Trail, row: dict[str, str]
) -> None:
    """PostgreSQL repeats the row or the value; what goes to a log names the rule alone."""

    def step(draft: Draft) -> None:
        good = {"name": "dataset:x", "source": SECRET, "unit": "patient", "currency": "pure"}
        draft.insert(ledgers, {**good, "opened_at": "2026-01-01T00:00:00+00:00", **row})
        trail.append(draft, ActRecord(RecordKind.LEDGER_OPENED, "os:test"))

    with pytest.raises(psycopg.Error, match="the state does not take this step") as refused:
        state.journal.commit(step)
    assert SECRET not in "".join(traceback.format_exception(refused.value))
    with state.engine.connect() as connection:
        assert connection.execute(ledgers.select()).all() == []


def test_postgresql_itself_repeats_the_row(state: State) -> None:
    """The control: without the journal's care the row would be in the error."""
    with state.engine.connect() as connection, pytest.raises(Exception, match="a-hospital"):
        connection.exec_driver_sql(
            "INSERT INTO ledgers (name, source, unit, currency, opened_at)"
            f" VALUES ('dataset:x', '{SECRET}', 'patient', 'gold', now())"
        )
