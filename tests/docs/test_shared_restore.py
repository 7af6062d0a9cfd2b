"""What docs/state.md tells those who restore a state that several gateways share."""

from datetime import UTC, datetime
from pathlib import Path

import pytest
from fix_gateway import ALICE, KEY, Clerk
from fix_state import AUDIT_SECRET, StateServer, settings_on

from gateway.admin.instance import open_foundation
from gateway.admin.restore import restore
from gateway.budget.report import standings
from gateway.config import Settings
from gateway.errors import Code, OperatorError
from gateway.state.backup import write_backup


def ask(settings: Settings, number: int, price: str) -> None:
    with open_foundation(settings) as foundation:
        Clerk(foundation.journal, foundation.trail, asked=number).ask(price=price)


def spent(settings: Settings) -> str:
    with open_foundation(settings) as foundation, foundation.engine.connect() as connection:
        found = standings(connection, datetime.now(UTC))
    return next(str(one.epsilon_spent) for one in found if one.account == ALICE)


def test_restore_of_a_shared_state_forgets_nothing_when_every_gateway_takes_part(
    state_server: StateServer, tmp_path: Path
) -> None:
    """Each anchor charges what its own gateway wrote; one that was left out does not start."""
    key, backup, now = tmp_path / "audit.key", tmp_path / "backup.zip", datetime.now(UTC)
    key.write_bytes(AUDIT_SECRET)
    with state_server.database() as urls:
        here, there = (
            settings_on(urls, tmp_path / name, audit_key_file=key) for name in ("here", "there")
        )
        with open_foundation(here) as foundation:
            Clerk(foundation.journal, foundation.trail).open_books()
            write_backup(foundation.engine, backup, foundation.key.secret, now)
        ask(here, 1, "0.05")
        ask(there, 2, "0.1")
        restore(here, KEY, backup, replace=True, actor="os:op", now=now)
        assert spent(here) == "0.05"
        with pytest.raises(OperatorError) as refused, open_foundation(there):
            pass
        assert refused.value.code is Code.STATE_BEHIND_ANCHOR
        restore(there, KEY, None, replace=False, actor="os:op", now=now)
        assert spent(there) == "0.15"
        assert spent(here) == "0.15"


def test_restore_of_a_shared_state_forgets_nothing_when_another_gateway_went_on_meanwhile(
    state_server: StateServer, tmp_path: Path
) -> None:
    """What was charged after the first restore does not make up for what the second anchor knows."""
    key, backup, now = tmp_path / "audit.key", tmp_path / "backup.zip", datetime.now(UTC)
    key.write_bytes(AUDIT_SECRET)
    with state_server.database() as urls:
        here, there = (
            settings_on(urls, tmp_path / name, audit_key_file=key) for name in ("here", "there")
        )
        with open_foundation(here) as foundation:
            Clerk(foundation.journal, foundation.trail).open_books()
            write_backup(foundation.engine, backup, foundation.key.secret, now)
        ask(here, 1, "0.05")
        ask(there, 2, "0.1")
        restore(here, KEY, backup, replace=True, actor="os:op", now=now)
        ask(here, 3, "0.2")
        assert spent(here) == "0.25"
        restore(there, KEY, None, replace=False, actor="os:op", now=now)
        assert spent(there) == "0.35"
        ask(there, 4, "0.05")
        restore(here, KEY, None, replace=False, actor="os:op", now=now)
        assert spent(here) == "0.4"
