"""Bring a lost or older state back without giving any budget out again.

INVARIANT: the gap is charged, durably, before the anchor is allowed to begin anew. Until then the
anchor is ahead of the state and every start is refused, so a restore that was cut short can only be
run again; a gap that is charged already is then found to be zero.
"""

from datetime import datetime
from pathlib import Path

from sqlalchemy import Connection

from gateway.budget.account import ratio
from gateway.budget.anchored import anchored_facts
from gateway.budget.gap import Gap, charge_gap
from gateway.config import Settings
from gateway.errors import Code, OperatorError
from gateway.store.anchor import Anchor, Anchored
from gateway.store.backup import Backup, open_backup
from gateway.store.connect import engine_for
from gateway.store.draft import Draft
from gateway.store.journal import Journal
from gateway.store.logins import StateUrls
from gateway.store.not_behind import last_position
from gateway.store.replace import replace_state
from gateway.store.state import open_anchor, reach_state, reachable, upgrade_state
from gateway.trail.append import Trail
from gateway.trail.chain import ChainKey
from gateway.trail.record import ActRecord, Kind, Taken
from gateway.trail.verify import verify


def restore(
    settings: Settings,
    key: ChainKey,
    file: Path | None,
    *,
    replace: bool,
    actor: str,
    now: datetime,
) -> list[Gap]:
    """Restore `file`, or keep the state as it is when there is none, and charge what it lacks."""
    backup = None if file is None else open_backup(file, key.secret)
    with reach_state(settings) as urls:
        if settings.state_url is None or urls.owner is not None:
            upgrade_state(urls)
        if backup is not None:
            with reachable(urls.application):
                _replace(urls, backup, key, replace=replace)
        anchor = open_anchor(settings, key.secret)
        anchored = anchor.read()
        gaps = _charge(urls, anchor, anchored, _Act(key, backup, actor, now))
        anchor.close()
        return gaps


class _Act:
    """Who restores what, and when."""

    def __init__(self, key: ChainKey, backup: Backup | None, actor: str, now: datetime) -> None:
        self.trail = Trail(key)
        self.secret = key.secret
        self.backup = backup
        self.actor = actor
        self.now = now


def _replace(urls: StateUrls, backup: Backup, key: ChainKey, *, replace: bool) -> None:
    owner = engine_for(urls.owner or urls.application, name="gateway db", statement_timeout=False)

    def check(connection: Connection) -> None:
        verdict = verify(connection, key, None)
        if not verdict.intact:
            raise OperatorError(Code.TRAIL_BROKEN, f"the backup does not verify: {verdict.problem}")

    try:
        replace_state(
            owner, backup, application_login=urls.login, even_if_not_empty=replace, check=check
        )
    finally:
        owner.dispose()


def _charge(urls: StateUrls, anchor: Anchor, anchored: Anchored | None, act: _Act) -> list[Gap]:
    """Charge the gap through a journal of its own, whose anchor is thrown away afterwards."""
    engine = engine_for(urls.application)
    scratch = anchor.path.with_name(f"{anchor.path.name}.restoring")
    scratch.unlink(missing_ok=True)
    journal = Journal(engine, Anchor(scratch, act.secret))
    try:
        gaps = journal.commit(lambda draft: _charge_step(draft, anchored, act))
        with engine.connect() as connection:
            position = last_position(connection)
            fresh = Anchored(position, anchored_facts(connection, position.seq))
        aside = anchor.path.with_name(f"{anchor.path.name}.{act.now:%Y%m%dT%H%M%S}")
        anchor.begin(fresh, aside)
    finally:
        journal.close()
        engine.dispose()
        scratch.unlink(missing_ok=True)
        scratch.with_name(f"{scratch.name}.lock").unlink(missing_ok=True)
    return gaps


def _charge_step(draft: Draft, anchored: Anchored | None, act: _Act) -> list[Gap]:
    before = draft.position
    facts = {} if anchored is None else anchored.facts
    gaps = charge_gap(draft, facts, query_id=f"gap-{before.seq}", actor=act.actor, now=act.now)
    about = {
        "backup": None if act.backup is None else act.backup.made_at,
        "restored_to": str(before.seq),
        "anchor_had_seen": None if anchored is None else str(anchored.position.seq),
        "anchor_head": None if anchored is None else anchored.position.mac,
    }
    act.trail.append(draft, ActRecord(Kind.RESTORED, act.actor, about, taken=_taken(gaps)))
    return gaps


def _taken(gaps: list[Gap]) -> tuple[Taken, ...]:
    return tuple(
        Taken(
            gap.account,
            ratio(gap.amount),
            ratio(gap.delta),
            ratio(gap.spent),
            ratio(gap.delta_spent),
        )
        for gap in gaps
    )
