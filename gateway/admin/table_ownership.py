"""Table ownership: a protected table belongs to one ledger for ever.

The charges for a table are in one ledger. A policy that declares the table under another dataset or unit would
begin a new budget for the same people. So every record of policies that came into force has the owner of each
protected table, and a policy with another owner is refused.

INVARIANT: a table that was ever protected by a ledger is not protected by another of the same source.
"""

import json
from collections.abc import Mapping
from typing import TypeAlias

from sqlalchemy import Connection, select

from gateway.errors import Code, OperatorError
from gateway.policy.files.consistency import may_be_same_table
from gateway.policy.files.load import LoadedPolicies
from gateway.state.draft import Draft
from gateway.state.tables import ledgers, trail_records
from gateway.trail.record import RecordKind

# For each source: the tables, each with its ledger's unit.
Owned: TypeAlias = Mapping[str, Mapping[str, str]]

_KEY = "owned tables"


def claim_tables(draft: Draft, loaded: LoadedPolicies) -> str:
    """Refuse policies that take a table away from its ledger. Returns the ownership after them, as text."""
    past = draft.recall(_KEY, _load)
    after = {source: dict(tables) for source, tables in past.items()}
    for policy in loaded.policies.values():
        owned = after.setdefault(policy.source.identity, {})
        for table in policy.dataset.tables:
            if table.public:
                continue
            for name, unit in owned.items():
                if may_be_same_table(name, table.name) and unit != policy.dataset.unit:
                    raise OperatorError(
                        Code.LEDGER_CHANGED,
                        f"`{table.name}` of dataset `{policy.name}` belongs to the ledger of unit"
                        f" `{unit}`, not of `{policy.dataset.unit}`",
                        "spending cannot be moved from one ledger to another; keep the unit",
                    )
            owned[table.name] = policy.dataset.unit
    _require_told(draft, loaded, past)
    draft.remember(_KEY, after)
    return json.dumps(after, sort_keys=True)


def _require_told(draft: Draft, loaded: LoadedPolicies, past: Owned) -> None:
    """The tables of a ledger that was opened without a policy are unknown: no other unit may stand beside it."""
    opened = draft.recall(("all ledgers",), _ledgers)
    for policy in loaded.policies.values():
        for source, unit in opened:
            told = unit in past.get(source, {}).values() or any(
                (one.source.identity, one.dataset.unit) == (source, unit)
                for one in loaded.policies.values()
            )
            if source == policy.source.identity and unit != policy.dataset.unit and not told:
                raise OperatorError(
                    Code.LEDGER_CHANGED,
                    f"the source of dataset `{policy.name}` has a ledger for unit `{unit}`,"
                    f" not for `{policy.dataset.unit}`",
                    "spending cannot be moved from one unit to another; keep the unit",
                )


def _ledgers(connection: Connection) -> frozenset[tuple[str, str]]:
    rows = connection.execute(select(ledgers.c.source, ledgers.c.unit))
    return frozenset((row.source, row.unit) for row in rows)


def _load(connection: Connection) -> Owned:
    """The ownership in the last record of policies in force."""
    body = connection.execute(
        select(trail_records.c.body)
        .where(trail_records.c.kind == RecordKind.POLICY_LOADED)
        .order_by(trail_records.c.seq.desc())
        .limit(1)
    ).scalar_one_or_none()
    return {} if body is None else dict(json.loads(json.loads(body)["about"]["tables"]))
