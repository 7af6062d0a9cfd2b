"""Hold the trail's charges against the ledger's balances.

The trail says what every charge took; the ledger says how every account stands. Both were written in
one transaction, so they agree exactly, or somebody changed one of them.
"""

from collections.abc import Mapping
from fractions import Fraction
from typing import Any

from sqlalchemy import Connection, func, select

from gateway.store.tables import ledger_entries


class Reconciliation:
    """Sums what the records say was taken."""

    def __init__(self) -> None:
        self._taken: dict[str, Fraction] = {}
        self._delta: dict[str, Fraction] = {}
        self._entries: dict[str, int] = {}

    def read(self, said: Mapping[str, Any]) -> None:
        for taken in said.get("taken", ()):
            name = taken["account"]
            self._taken[name] = self._taken.get(name, Fraction(0)) + Fraction(taken["amount"])
            self._delta[name] = self._delta.get(name, Fraction(0)) + Fraction(taken["delta"])
            self._entries[name] = self._entries.get(name, 0) + 1

    def difference(self, connection: Connection) -> str | None:
        """The first account on which trail and ledger disagree, in words."""
        standing = {row.account: row for row in connection.execute(_STANDING)}
        for name in sorted({*standing, *self._taken}):
            row = standing.get(name)
            spent = Fraction(0) if row is None else Fraction(row.spent_after)
            delta = Fraction(0) if row is None else Fraction(row.delta_after)
            count = 0 if row is None else row.entries
            if (spent, delta, count) != (
                self._taken.get(name, 0),
                self._delta.get(name, 0),
                self._entries.get(name, 0),
            ):
                return (
                    f"the trail says that `{name}` gave {self._taken.get(name, Fraction(0))} in"
                    f" {self._entries.get(name, 0)} charges, the ledger says {spent} in {count}"
                )
        return None


_ranked = select(
    ledger_entries.c.account,
    ledger_entries.c.spent_after,
    ledger_entries.c.delta_after,
    func.count().over(partition_by=ledger_entries.c.account).label("entries"),
    func.row_number()
    .over(partition_by=ledger_entries.c.account, order_by=ledger_entries.c.ordinal.desc())
    .label("place"),
).subquery()
_STANDING = select(
    _ranked.c.account, _ranked.c.spent_after, _ranked.c.delta_after, _ranked.c.entries
).where(_ranked.c.place == 1)
