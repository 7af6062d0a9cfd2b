"""Restores in the trail: where the histories of a state part, and the charges on this side since.

Several gateways share a state, each with an anchor of its own. When one of them restores an older state and
goes on charging, the anchors of the others still hold the lost charges; but the balances they are compared with
have grown meanwhile by charges that those anchors do not know. These charges have to be left out of the
comparison, or they would hide the lost ones.

INVARIANT: the parting is never taken to be later than it was. Too early a parting charges too much, too late a
one forgets charges.
"""

import json
from collections.abc import Mapping
from fractions import Fraction

from sqlalchemy import Connection, select

from gateway.state.anchor import AnchorContent, Fact, Position
from gateway.state.tables import trail_records
from gateway.trail.record import WHOLE, RecordKind

_FACT = "restored"
_BATCH = 2_000


def load_restoration_fact(connection: Connection, seq: int) -> dict[str, Fact]:
    """The fact about restores that an anchor needs if it begins at `seq`: the last one, if there was any."""
    row = connection.execute(
        select(trail_records.c.seq, trail_records.c.mac)
        .where(trail_records.c.kind == RecordKind.RESTORED)
        .order_by(trail_records.c.seq.desc())
        .limit(1)
    ).one_or_none()
    return {} if row is None else {_FACT: Fact(seq, {"seq": str(row.seq), "mac": row.mac})}


def charges_since_parting(
    connection: Connection, anchored: AnchorContent
) -> Mapping[str, tuple[Fraction, Fraction]] | None:
    """The charges of each account since this state and the anchor's parted, amount and delta.

    None if no restore lies between them: then the state is simply older than the anchor.
    """
    partings = [
        restored_to
        for seq, restored_to in _restorations(connection)
        if seq > _known(connection, anchored) and restored_to < anchored.position.seq
    ]
    if not partings:
        return None
    charged: dict[str, tuple[Fraction, Fraction]] = {}
    query = (
        select(trail_records.c.body)
        .where(trail_records.c.seq > min(partings), trail_records.c.kind == RecordKind.CHARGED)
        .order_by(trail_records.c.seq)
    )
    for row in connection.execution_options(yield_per=_BATCH).execute(query):
        for taken in json.loads(row.body)["taken"]:
            if taken.get("cell", WHOLE) != WHOLE:
                continue  # it is part of the account's total, as far as it raised that
            amount, delta = charged.get(taken["account"], (Fraction(0), Fraction(0)))
            charged[taken["account"]] = (
                amount + Fraction(taken["amount"]),
                delta + Fraction(taken["delta"]),
            )
    return charged


def _restorations(connection: Connection) -> list[tuple[int, int]]:
    """Every restore in this state's trail: its record, and the record it went back to."""
    query = select(trail_records.c.seq, trail_records.c.body).where(
        trail_records.c.kind == RecordKind.RESTORED
    )
    return [
        (row.seq, int(json.loads(row.body)["about"]["restored_to"]))
        for row in connection.execute(query)
    ]


def _known(connection: Connection, anchored: AnchorContent) -> int:
    """The last restore that this anchor has seen, if this state has it too."""
    fact = anchored.facts.get(_FACT)
    if fact is None:
        return 0
    known = Position(int(str(fact.value["seq"])), str(fact.value["mac"]))
    mac = connection.execute(
        select(trail_records.c.mac).where(trail_records.c.seq == known.seq)
    ).scalar_one_or_none()
    return known.seq if mac == known.mac else 0
