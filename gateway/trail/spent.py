"""Hold what was spent against the trail: every charge, entry by entry.

The trail says what each charge took from each account and how the account stood then. The ledger
says the same, because both were written in one transaction; where they differ, somebody changed one
of them. Text is compared with text, so nothing that was put into a table can stop the comparison.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from sqlalchemy import ARRAY, Connection, Text, any_, func, literal, select

from gateway.store.tables import charges, ledger_entries
from gateway.trail import moments
from gateway.trail.record import Kind

_BATCH = 2_000
_WHOLE = "*"
_OF_A_GAP = ("gateway", "0/1")  # nobody asked: see gateway.restoring


@dataclass(frozen=True)
class _Due:
    """An entry that must be in the ledger because a record says so."""

    seq: int
    account: str
    ordinal: int
    query_id: str
    line: tuple[str, ...]


class Spent:
    """Reads the records in order, and finds the first entry that is not as they say."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection
        self._due: list[_Due] = []
        self._entries: dict[str, int] = {}
        self._charges = 0
        self._found: str | None = None

    def read(self, seq: int, said: Mapping[str, Any]) -> None:
        took = said.get("taken", ())
        gap = said["kind"] == Kind.RESTORED
        for taken in took:
            account = taken["account"]
            self._entries[account] = self._entries.get(account, 0) + 1
            query_id = f"{said['about']['charge']}-{account}" if gap else said["query_id"]
            amounts = (taken["amount"], taken["delta"])
            line = (
                *(moments.said(taken["at"]), *amounts, taken["spent"], taken["delta_spent"]),
                *(_OF_A_GAP if gap else (said["subject"], said["price"])),
                *amounts,
            )
            self._due.append(_Due(seq, account, self._entries[account], query_id, line))
        self._charges += len(took) if gap else bool(took)
        if len(self._due) >= _BATCH:
            self._compare()

    def difference(self) -> str | None:
        """The first difference, in words."""
        self._compare()
        return self._found or self._surplus()

    def _compare(self) -> None:
        due, self._due = self._due, []
        if not due or self._found is not None:
            return
        ids = literal([one.query_id for one in due], ARRAY(Text))
        rows = self._connection.execute(_ENTRIES.where(ledger_entries.c.query_id == any_(ids)))
        lines = {tuple(row)[:3]: tuple(row)[3:] for row in rows}
        for one in due:
            line = lines.get((one.account, one.ordinal, one.query_id))
            if line != one.line:
                how = "is missing" if line is None else "says otherwise"
                self._found = (
                    f"record {one.seq} charged `{one.account}`,"
                    f" its entry {one.ordinal} in the ledger {how}"
                )
                return

    def _surplus(self) -> str | None:
        for row in self._connection.execute(_COUNTED):
            known = self._entries.get(row.account, 0) if row.cell == _WHOLE else 0
            if row.entries != known:
                return (
                    f"the trail says that `{row.account}` was charged {known} times,"
                    f" the ledger says {row.entries}"
                )
        there = self._connection.execute(_CHARGES).scalar_one()
        if there != self._charges:
            return f"the trail knows of {self._charges} charges, the ledger of {there}"
        return None


_ENTRIES = (
    select(
        ledger_entries.c.account,
        ledger_entries.c.ordinal,
        ledger_entries.c.query_id,
        moments.stored(ledger_entries.c.at),
        ledger_entries.c.amount,
        ledger_entries.c.delta,
        ledger_entries.c.spent_after,
        ledger_entries.c.delta_after,
        charges.c.subject,
        charges.c.price,
        charges.c.amount,
        charges.c.delta,
    )
    .outerjoin_from(ledger_entries, charges, ledger_entries.c.query_id == charges.c.query_id)
    .where(ledger_entries.c.cell == _WHOLE)
)
_COUNTED = (
    select(ledger_entries.c.account, ledger_entries.c.cell, func.count().label("entries"))
    .group_by(ledger_entries.c.account, ledger_entries.c.cell)
    .order_by(ledger_entries.c.account, ledger_entries.c.cell)
)
_CHARGES = select(func.count()).select_from(charges)
