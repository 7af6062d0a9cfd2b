"""Restore of a lost or older state without refilling any budget.

INVARIANT: the gap is charged, durably, before the anchor may begin anew. Until then the anchor is ahead of the
state and every start is refused, so an interrupted restore can only be run again; a gap that is charged already
is then zero. INVARIANT: no gateway uses the state between the first read of it and the new anchor, and only a
state whose trail verifies gets one.
"""

import tempfile
from collections.abc import Mapping
from contextlib import ExitStack
from dataclasses import dataclass
from datetime import datetime
from fractions import Fraction
from pathlib import Path

from sqlalchemy import Connection, Engine

from gateway.admin.actions import record_acts, record_refresh
from gateway.admin.key_actions import record_revocation
from gateway.auth.key_store import KeyRevoked, load_revocation_facts, revocations_of, revoke_again
from gateway.budget.charge import Withdrawal
from gateway.budget.entries import load_budget_facts
from gateway.budget.limits import Act
from gateway.budget.restore_gap import charge_gap
from gateway.config import Settings
from gateway.errors import Code, OperatorError
from gateway.release_cache.event_log import load_epoch_facts, refresh_again
from gateway.stages.record import withdrawal_lines
from gateway.state.anchor import (
    Anchor,
    AnchorContent,
    Fact,
    hold_state_alone,
    is_behind,
    last_position,
)
from gateway.state.backup import Backup, open_backup, replace_state
from gateway.state.connections import engine_for
from gateway.state.draft import Draft
from gateway.state.journal import Journal
from gateway.state.open import (
    StateUrls,
    open_anchor,
    reach_state,
    translate_anchor_errors,
    translate_connection_errors,
    upgrade_state,
)
from gateway.state.schema import require_head
from gateway.trail.chain import ChainKey
from gateway.trail.record import ActRecord, RecordKind, Trail
from gateway.trail.restorations import charges_since_parting, load_restoration_fact
from gateway.trail.verify import verify


@dataclass(frozen=True)
class RestoreResult:
    """What the state lacked and has again; `anchored` is None if that is unknown."""

    anchored: int | None
    acts: tuple[Act, ...]
    withdrawals: tuple[Withdrawal, ...]
    revoked: tuple[KeyRevoked, ...]
    refreshed: tuple[str, ...]


@dataclass(frozen=True)
class _Order:
    """The actor, the time and the options of a restore."""

    key: ChainKey
    backup: Backup | None
    actor: str
    now: datetime


@dataclass(frozen=True)
class _Lacking:
    """Facts that the anchor has and the state may lack, and the reverse."""

    anchored: AnchorContent | None
    facts: Mapping[str, Fact]
    unseen: Mapping[str, tuple[Fraction, Fraction]] | None


def restore(
    settings: Settings,
    key: ChainKey,
    file: Path | None,
    *,
    replace: bool,
    actor: str,
    now: datetime,
) -> RestoreResult:
    """Restore `file`, or keep the state as it is if there is none, and charge the gap."""
    order = _Order(key, None if file is None else open_backup(file, key.secret), actor, now)
    with reach_state(settings) as urls, translate_connection_errors(urls.application):
        if settings.state_url is None or urls.owner is not None:
            upgrade_state(urls)
        if order.backup is not None:
            _replace(urls, order.backup, key, replace=replace)
        engine = engine_for(urls.application)
        anchor = open_anchor(settings, key.secret)
        try:
            return _catch_up(engine, anchor, order)
        finally:
            anchor.close()
            engine.dispose()


def _replace(urls: StateUrls, backup: Backup, key: ChainKey, *, replace: bool) -> None:
    owner = engine_for(urls.owner or urls.application, name="gateway db", statement_timeout=False)

    def check(connection: Connection) -> None:
        _require_intact(connection, key, "the backup")

    try:
        replace_state(
            owner, backup, application_login=urls.login, even_if_not_empty=replace, check=check
        )
    finally:
        owner.dispose()


def _require_intact(connection: Connection, key: ChainKey, what: str) -> None:
    verdict = verify(connection, key, None)
    if not verdict.intact:
        raise OperatorError(
            Code.TRAIL_BROKEN,
            f"{what} does not verify: {verdict.problem}",
            "restore a backup, or empty the state: the whole spending is then charged at once",
        )


def _catch_up(engine: Engine, anchor: Anchor, order: _Order) -> RestoreResult:
    """Charge the gap through a journal of its own, whose anchor is discarded afterwards."""
    with ExitStack() as stack:
        scratch = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        journal = Journal(engine, Anchor(scratch / "anchor", order.key.secret))
        stack.callback(journal.close)
        with engine.connect() as connection:
            require_head(connection)
        journal.commit(lambda draft: draft.recall("alone", hold_state_alone))
        with engine.connect() as connection, translate_anchor_errors(anchor):
            snapshot = connection.execution_options(isolation_level="REPEATABLE READ")
            _require_intact(snapshot, order.key, "the state")
            lacking = _lacking(snapshot, anchor.read())
        restored = journal.commit(lambda draft: _fill(draft, lacking, order))
        with engine.connect() as connection, translate_anchor_errors(anchor):
            previous = anchor.path.with_name(f"{anchor.path.name}.{order.now:%Y%m%dT%H%M%S%f}")
            anchor.begin(_fresh(connection, lacking.anchored), previous)
        return restored


def _lacking(connection: Connection, anchored: AnchorContent | None) -> _Lacking:
    if anchored is None or not is_behind(connection, anchored.position):
        return _Lacking(anchored, {}, None)
    return _Lacking(anchored, anchored.facts, charges_since_parting(connection, anchored))


def _fill(draft: Draft, lacking: _Lacking, order: _Order) -> RestoreResult:
    """One step: the limits, revocations and epochs of the anchor, the gap, and the record of it all."""
    trail, before = Trail(order.key), draft.position
    anchored, facts = lacking.anchored, lacking.facts
    charge = f"gap-{before.seq}"
    filled = charge_gap(
        draft,
        facts,
        query_id=charge,
        actor=order.actor,
        now=order.now,
        cells_known=anchored is not None and not facts,
        unseen=lacking.unseen,
    )
    record_acts(draft, trail, order.actor, filled.acts)
    revoked = revoke_again(draft, facts)
    for one in revoked:
        record_revocation(draft, trail, one)
    refreshed = refresh_again(draft, facts, actor=order.actor, now=order.now)
    for dataset in refreshed:
        record_refresh(draft, trail, dataset, order.actor)
    about = {
        "backup": None if order.backup is None else order.backup.made_at,
        "restored_to": str(before.seq),
        "anchor_had_seen": None if anchored is None else str(anchored.position.seq),
        "anchor_head": None if anchored is None else anchored.position.mac,
        "charge": charge,
    }
    record = ActRecord(
        RecordKind.RESTORED, order.actor, about, taken=withdrawal_lines(filled.withdrawals)
    )
    trail.append(draft, record)
    seen = None if anchored is None else anchored.position.seq
    charged = tuple(one for one in filled.withdrawals if one.amount or one.delta)
    return RestoreResult(seen, filled.acts, charged, tuple(revoked), tuple(refreshed))


def _fresh(connection: Connection, anchored: AnchorContent | None) -> AnchorContent:
    """The content of the new anchor: the state, and the revocations of keys that it does not know yet.

    A newer backup that is restored later may know such a key.
    """
    position = last_position(connection)
    kept = {} if anchored is None else revocations_of(anchored.facts)
    return AnchorContent(
        position,
        {
            **kept,
            **load_budget_facts(connection, position.seq),
            **load_revocation_facts(connection, position.seq),
            **load_epoch_facts(connection, position.seq),
            **load_restoration_fact(connection, position.seq),
        },
    )
