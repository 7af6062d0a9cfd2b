"""Anchor check of a state, made for every connection before anything is written through it.

INVARIANT: no query is answered on a state that is behind its anchor or has another history: an older state
knows fewer charges, and would spend the same budget again.
"""

from typing import Final

from sqlalchemy import Connection, func, select

from gateway.errors import Code, OperatorError
from gateway.state.anchor import GENESIS, Anchor, Position
from gateway.state.tables import trail_records

_GATEWAYS_LOCK: Final = 0x6761_7465_0003
_RESTORE = "restore the newest backup with `gateway db restore FILE`, which charges what it lacks"


def last_position(connection: Connection) -> Position:
    """The position of the last trail record."""
    row = connection.execute(_LAST).one_or_none()
    return GENESIS if row is None else Position(row.seq, row.mac)


def is_behind(connection: Connection, anchored: Position) -> bool:
    """True if the state does not contain the anchored position: it is older, or has another history."""
    mac = connection.execute(
        select(trail_records.c.mac).where(trail_records.c.seq == anchored.seq)
    ).scalar_one_or_none()
    return anchored != GENESIS and mac != anchored.mac


def require_not_behind(connection: Connection, anchor: Anchor) -> None:
    anchored = anchor.read()
    if anchored is None:
        return
    at = anchored.position
    here = last_position(connection)
    if here.seq < at.seq:
        raise OperatorError(
            Code.STATE_BEHIND_ANCHOR,
            f"the state ends at trail record {here.seq}, but the anchor `{anchor.path}` records {at.seq}",
            _RESTORE,
        )
    if is_behind(connection, at):
        raise OperatorError(
            Code.STATE_BEHIND_ANCHOR,
            f"trail record {at.seq} differs from the one that the anchor `{anchor.path}` records",
            _RESTORE,
        )


def hold_state(connection: Connection) -> None:
    """Announce that a gateway uses this state, for as long as the connection lives."""
    connection.execute(select(func.pg_advisory_lock_shared(_GATEWAYS_LOCK)))


def hold_state_alone(connection: Connection) -> None:
    """Keep every gateway out until the connection is closed; refused while a gateway uses the state."""
    if not connection.execute(select(func.pg_try_advisory_lock(_GATEWAYS_LOCK))).scalar_one():
        raise OperatorError(
            Code.BACKUP_UNUSABLE, "a gateway is using this state", "stop it, then restore"
        )


_LAST = (
    select(trail_records.c.seq, trail_records.c.mac).order_by(trail_records.c.seq.desc()).limit(1)
)
