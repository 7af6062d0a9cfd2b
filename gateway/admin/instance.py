"""Open state with its trail and its key: what every command works with.

Commands that answer no queries import this and not `gateway.app`, which imports everything.
"""

import os
import pwd
from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass, field

from sqlalchemy import Engine

from gateway.admin.key_actions import recording_failures
from gateway.auth.anchor_facts import anchored_revocations
from gateway.auth.login_throttle import TurningAway
from gateway.budget.anchor_facts import anchored_facts, require_not_less
from gateway.config import Settings, prepare_home
from gateway.errors import Code, OperatorError
from gateway.events import AnchorBegun, Emit, StateOpened, silent
from gateway.frontends.workers import Workers
from gateway.state.anchor import GENESIS, Anchor, Anchored
from gateway.state.anchor_check import last_position
from gateway.state.connections import Lines
from gateway.state.journal import Journal
from gateway.state.open import open_state
from gateway.trail.append import Trail
from gateway.trail.audit_key import load_audit_key
from gateway.trail.chain import ChainKey
from gateway.trail.restorations import anchored_restoration
from gateway.trail.verify import Verdict, fits_head, verify


@dataclass(frozen=True)
class Ground:
    """The open state and the trail that is written to it."""

    settings: Settings
    engine: Engine
    journal: Journal
    anchor: Anchor
    trail: Trail
    lines: Lines
    key: ChainKey = field(repr=False)
    turning_away: TurningAway = field(repr=False)  # one for all front ends: failures count together
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
def open_ground(settings: Settings, emit: Emit = silent) -> Iterator[Ground]:
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
                from gateway.release_cache.event_log import anchored_epochs  # noqa: PLC0415

                facts = {
                    **anchored_facts(connection, position.seq),
                    **anchored_revocations(connection, position.seq),
                    **anchored_restoration(connection, position.seq),
                    **anchored_epochs(connection, position.seq),
                }
                state.anchor.begin(Anchored(position, facts))
                emit(AnchorBegun(position.seq))
        where = "embedded" if settings.state_url is None else "external"
        emit(StateOpened(where, position.seq))
        trail = Trail(key)
        with closing(Workers(settings.workers)) as workers:
            yield Ground(
                settings,
                state.engine,
                state.journal,
                state.anchor,
                trail,
                state.lines,
                key,
                TurningAway(recording_failures(state.journal, trail), emit),
                workers,
            )


def operator_name() -> str:
    """The name of the person at the command line, for the trail."""
    uid = os.geteuid()
    try:
        return f"os:{pwd.getpwuid(uid).pw_name}"
    except KeyError:
        return f"os:{uid}"
