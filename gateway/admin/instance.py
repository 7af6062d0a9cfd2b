"""Open state with its trail and its key: what every command works with.

Commands that answer no queries import this and not `gateway.app`, which imports everything.
"""

import os
import pwd
from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass, field

from sqlalchemy import Engine

from gateway.admin.key_actions import login_failure_recorder
from gateway.auth.key_store import load_revocation_facts
from gateway.auth.login_throttle import LoginThrottle
from gateway.budget.entries import load_budget_facts, require_not_less
from gateway.config import Settings, prepare_home
from gateway.errors import Code, OperatorError
from gateway.events import AnchorBegun, Emit, StateOpened, ignore_event
from gateway.frontends.workers import Workers
from gateway.state.anchor import GENESIS, Anchor, AnchorContent, last_position
from gateway.state.connections import ConnectionLines
from gateway.state.journal import Journal
from gateway.state.open import open_state
from gateway.trail.chain import ChainKey, load_audit_key
from gateway.trail.record import Trail
from gateway.trail.restorations import load_restoration_fact
from gateway.trail.verify import Verdict, fits_head, verify


@dataclass(frozen=True)
class Foundation:
    """The open state and the trail that is written to it."""

    settings: Settings
    engine: Engine
    journal: Journal
    anchor: Anchor
    trail: Trail
    lines: ConnectionLines
    key: ChainKey = field(repr=False)
    turning_away: LoginThrottle = field(
        repr=False
    )  # one for all front ends: failures count together
    workers: Workers = field(repr=False)  # likewise: a subject's queries count together

    def verify_trail(self) -> Verdict:
        """Verify in one snapshot that is at least as new as the anchor."""
        anchored = self.anchor.read()
        with self.engine.connect() as connection:
            snapshot = connection.execution_options(isolation_level="REPEATABLE READ")
            return verify(snapshot, self.key, anchored)

    def require_ledger_kept(self) -> None:
        """Refuse a ledger that says less than its anchor, whatever its trail says."""
        anchored = self.anchor.read()
        if anchored is not None:
            with self.engine.connect() as connection:
                require_not_less(connection, anchored.facts)


@contextmanager
def open_foundation(settings: Settings, emit: Emit = ignore_event) -> Iterator[Foundation]:
    """Open the state, and refuse it if key, anchor or schema do not fit."""
    prepare_home(settings)
    key = load_audit_key(settings)
    with open_state(settings, key.secret, emit) as state:
        with state.engine.connect() as connection:
            if not fits_head(connection, key):
                raise OperatorError(
                    Code.AUDIT_KEY_MISMATCH,
                    "the last trail record was chained with another key",
                    "start with the audit key of this state: GATEWAY_AUDIT_KEY_FILE",
                )
            position = last_position(connection)
            if state.anchor.read() is None and position != GENESIS:
                from gateway.release_cache.event_log import load_epoch_facts  # noqa: PLC0415

                facts = {
                    **load_budget_facts(connection, position.seq),
                    **load_revocation_facts(connection, position.seq),
                    **load_restoration_fact(connection, position.seq),
                    **load_epoch_facts(connection, position.seq),
                }
                state.anchor.begin(AnchorContent(position, facts))
                emit(AnchorBegun(position.seq))
        where = "embedded" if settings.state_url is None else "external"
        emit(StateOpened(where, position.seq))
        trail = Trail(key)
        with closing(Workers(settings.workers)) as workers:
            yield Foundation(
                settings,
                state.engine,
                state.journal,
                state.anchor,
                trail,
                state.lines,
                key,
                LoginThrottle(login_failure_recorder(state.journal, trail), emit),
                workers,
            )


def operator_name() -> str:
    """The name of the person at the command line, for the trail."""
    uid = os.geteuid()
    try:
        return f"os:{pwd.getpwuid(uid).pw_name}"
    except KeyError:
        return f"os:{uid}"
