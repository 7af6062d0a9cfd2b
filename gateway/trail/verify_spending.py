"""Verification of spending against the trail: every charge, entry by entry.

The trail says what each charge took from each account and added to each of its cells, and the balances after
that. The ledger says the same, because both were written in one transaction; if they differ, somebody changed
one of them. Text is compared with text, so no content of a table can stop the comparison.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from sqlalchemy import ARRAY, ColumnElement, Connection, Table, Text, any_, func, literal, select

from gateway.state.tables import charges, ledger_entries
from gateway.trail import seal
from gateway.trail.record import WHOLE, RecordKind

_BATCH = 2_000
_AMOUNTS, _BALANCES = ("amount", "delta"), ("spent", "delta_spent")
_OF_A_GAP = ("gateway", "0/1")  # nobody asked: see gateway.admin.restore


@dataclass(frozen=True)
class _Due:
    """An entry that must be in the ledger because a record says so; `line` ends with its charge."""

    seq: int
    account: str
    cell: str
    ordinal: int
    query_id: str
    line: tuple[str, ...]


@dataclass(frozen=True)
class _Bare:
    """A charge without withdrawals: it must exist, and has no entries."""

    seq: int
    query_id: str
    line: tuple[str, ...]


class SpendingCheck:
    """Reads the records in order, and finds the first entry that is not as they say."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection
        self._due: list[_Due] = []
        self._bare: list[_Bare] = []
        self._entries: dict[tuple[str, str], int] = {}
        self._charges = 0
        self._found: str | None = None

    def read(self, seq: int, said: Mapping[str, Any]) -> None:
        took = said.get("taken", ())
        if said["kind"] == RecordKind.RESTORED:
            for account in dict.fromkeys(taken["account"] for taken in took):
                query_id = f"{said['about']['charge']}-{account}"
                own = [taken for taken in took if taken["account"] == account]
                self._expect(seq, query_id, _OF_A_GAP, own)
        elif said["kind"] == RecordKind.CHARGED or took:
            self._expect(seq, said["query_id"], (said["subject"], said["price"]), took)
        if len(self._due) + len(self._bare) >= _BATCH:
            self._compare()

    def _expect(
        self,
        seq: int,
        query_id: str,
        asked: tuple[str, str],
        took: Sequence[Mapping[str, str]],
    ) -> None:
        self._charges += 1
        charge = (*asked, *(_largest([taken[name] for taken in took]) for name in _AMOUNTS))
        if not took:
            self._bare.append(_Bare(seq, query_id, charge))
        for taken in took:
            chain = (taken["account"], taken.get("cell", WHOLE))
            self._entries[chain] = self._entries.get(chain, 0) + 1
            line = (
                seal.moment_text(taken["at"]),
                *(taken[name] for name in (*_AMOUNTS, *_BALANCES)),
                *charge,
            )
            self._due.append(_Due(seq, *chain, self._entries[chain], query_id, line))

    def difference(self) -> str | None:
        """The first difference, in words."""
        self._compare()
        return self._found or self._surplus()

    def _compare(self) -> None:
        due, self._due = self._due, []
        bare, self._bare = self._bare, []
        if self._found is None and due:
            self._found = self._differing_entry(due)
        if self._found is None and bare:
            self._found = self._differing_charge(bare)

    def _differing_entry(self, due: Sequence[_Due]) -> str | None:
        rows = self._connection.execute(_ENTRIES.where(_is_one_of(ledger_entries, due)))
        lines = {tuple(row)[:4]: tuple(row)[4:] for row in rows}
        for one in due:
            line = lines.get((one.account, one.cell, one.ordinal, one.query_id))
            if line != one.line:
                how = "is missing" if line is None else "says otherwise"
                return (
                    f"record {one.seq} charged {_named(one.account, one.cell)},"
                    f" its entry {one.ordinal} in the ledger {how}"
                )
        return None

    def _differing_charge(self, bare: Sequence[_Bare]) -> str | None:
        rows = self._connection.execute(_CHARGED.where(_is_one_of(charges, bare)))
        lines = {row.query_id: tuple(row)[1:] for row in rows}
        for one in bare:
            line = lines.get(one.query_id)
            if line != one.line:
                how = "is missing" if line is None else "says otherwise"
                return f"record {one.seq} is of a charge of nothing, which {how} in the ledger"
        return None

    def _surplus(self) -> str | None:
        for row in self._connection.execute(_COUNTED):
            known = self._entries.get((row.account, row.cell), 0)
            if row.entries != known:
                return (
                    f"the trail says that {_named(row.account, row.cell)} was charged {known} times,"
                    f" the ledger says {row.entries}"
                )
        there = self._connection.execute(_COUNTED_CHARGES).scalar_one()
        if there != self._charges:
            return f"the trail knows of {self._charges} charges, the ledger of {there}"
        return None


def _largest(amounts: Sequence[str]) -> str:
    """The largest of amounts as they are stored: that which the charge says."""
    first = amounts[0] if amounts else "0/1"
    return first if all(each == first for each in amounts) else max(amounts, key=Fraction)


def _named(account: str, cell: str) -> str:
    return f"`{account}`" if cell == WHOLE else f"`{account}` in cell `{cell}`"


def _is_one_of(table: Table, wanted: Sequence[_Due | _Bare]) -> ColumnElement[bool]:
    ids = literal(list({one.query_id for one in wanted}), ARRAY(Text))
    found: ColumnElement[bool] = table.c.query_id == any_(ids)
    return found


_ENTRIES = select(
    ledger_entries.c.account,
    ledger_entries.c.cell,
    ledger_entries.c.ordinal,
    ledger_entries.c.query_id,
    seal.moment_column(ledger_entries.c.at),
    *(ledger_entries.c[name] for name in (*_AMOUNTS, "spent_after", "delta_after")),
    *(charges.c[name] for name in ("subject", "price", *_AMOUNTS)),
).outerjoin_from(ledger_entries, charges, ledger_entries.c.query_id == charges.c.query_id)
_CHARGED = select(
    charges.c.query_id, *(charges.c[name] for name in ("subject", "price", *_AMOUNTS))
)
_COUNTED = (
    select(ledger_entries.c.account, ledger_entries.c.cell, func.count().label("entries"))
    .group_by(ledger_entries.c.account, ledger_entries.c.cell)
    .order_by(ledger_entries.c.account, ledger_entries.c.cell)
)
_COUNTED_CHARGES = select(func.count()).select_from(charges)
