"""A journal that lost its connection looks at the state again before it writes."""

from pathlib import Path

import pytest
from fix_state import AUDIT_SECRET, StateServer, settings_on

from gateway.errors import BackendUnavailable, Code
from gateway.state.draft import Draft
from gateway.state.open import StateUrls, open_state
from gateway.trail.record import ActRecord, RecordKind, Trail


def _act(trail: Trail, draft: Draft) -> None:
    trail.append(draft, ActRecord(RecordKind.POLICY_LOADED, "os:test"))


def _cut_connections(server: StateServer, database: str) -> None:
    with server.superuser() as connection:
        connection.execute(
            "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = %s", (database,)
        )


@pytest.mark.parametrize("older", [True, False])
def test_journal_refuses_every_write_when_the_state_was_replaced_by_an_older_one(
    state_server: StateServer, state_urls: StateUrls, trail: Trail, tmp_path: Path, *, older: bool
) -> None:
    """No step is written to an older state, not even at the second try; an equal one is used."""
    database = str(state_urls.application.database)
    with open_state(settings_on(state_urls, tmp_path), AUDIT_SECRET) as state:
        for _ in range(3):
            state.journal.commit(lambda draft: _act(trail, draft))
        _cut_connections(state_server, database)
        if older:
            with state_server.superuser(database) as connection:
                connection.execute("ALTER TABLE trail_records DISABLE TRIGGER append_only")
                connection.execute("DELETE FROM trail_records WHERE seq > 1")
        for _ in range(2):
            if older:
                with pytest.raises(BackendUnavailable) as refused:
                    state.journal.commit(lambda draft: _act(trail, draft))
                assert refused.value.code is Code.STATE_UNAVAILABLE
            else:
                state.journal.commit(lambda draft: _act(trail, draft))
        with state_server.superuser(database) as connection:
            row = connection.execute("SELECT max(seq) FROM trail_records").fetchone()
    assert row == (1 if older else 5,)
