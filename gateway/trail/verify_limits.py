"""Verification of limits against the trail: ledgers, accounts and their limits, keys and revocations.

A cap that was raised in its table, an account that was moved below another, a key that nobody created or that
got another secret, and a missing revocation are all found, because every such act has its record.
"""

from collections.abc import Mapping
from typing import Any

from sqlalchemy import Connection, Text, cast, func, select

from gateway.state.tables import account_limits, accounts, api_keys, key_revocations, ledgers
from gateway.trail import times as moments
from gateway.trail.record import RecordKind

Line = tuple[str | None, ...]


class AllowedAmounts:
    """Reads the records in order, and finds a row that no act explains, or a missing one."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection
        self._said: dict[str, set[Line]] = {what: set() for what in _THERE}
        self._changes: dict[str, int] = {}

    def read(self, seq: int, said: Mapping[str, Any]) -> None:
        del seq
        about = said.get("about", {})
        match said["kind"]:
            case RecordKind.LEDGER_OPENED:
                self._add("ledger", about, "ledger", "source", "unit", "currency")
            case RecordKind.ACCOUNT_OPENED:
                self._add("account", about, "account", "ledger", "parent")
                self._limit(about, "", said["actor"])
            case RecordKind.LIMITS_SET:
                self._limit(about, "after_", said["actor"])
            case RecordKind.KEY_CREATED:
                expires = about["expires_at"]
                until = None if expires is None else moments.moment_text(expires)
                self._said["key"].add(
                    (about["key"], said["subject"], said["actor"], until, about["fingerprint"])
                )
            case RecordKind.KEY_REVOKED:
                self._said["revocation"].add((about["key"], said["actor"]))

    def difference(self) -> str | None:
        """The first difference, in words."""
        for what, query in _THERE.items():
            there = {tuple(row) for row in self._connection.execute(query)}
            unexplained, gone = there - self._said[what], self._said[what] - there
            if unexplained:
                return f"the {what} of `{_first(unexplained)}` is not what the trail says"
            if gone:
                return f"the {what} of `{_first(gone)}` is gone, which the trail does not say"
        return None

    def _add(self, what: str, about: Mapping[str, str | None], *names: str) -> None:
        self._said[what].add(tuple(about[name] for name in names))

    def _limit(self, about: Mapping[str, str | None], prefix: str, actor: str) -> None:
        account = str(about["account"])
        self._changes[account] = self._changes.get(account, 0) + 1
        limits = (about[f"{prefix}{name}"] for name in ("epsilon", "delta", "window"))
        self._said["limit"].add((account, str(self._changes[account]), actor, *limits))


def _first(lines: set[Line]) -> str:
    return min(str(line[0]) for line in lines)


_KEPT = api_keys.c.secret_hash.op("||")(api_keys.c.stored_key).op("||")(api_keys.c.server_key)
_THERE = {
    "ledger": select(ledgers.c.name, ledgers.c.source, ledgers.c.unit, ledgers.c.currency),
    "account": select(accounts.c.name, accounts.c.ledger, accounts.c.parent),
    "limit": select(
        account_limits.c.account,
        cast(account_limits.c.ordinal, Text),
        account_limits.c.actor,
        account_limits.c.epsilon,
        account_limits.c.delta,
        account_limits.c.window_every + ":" + account_limits.c.window_epsilon,
    ),
    "key": select(
        api_keys.c.id,
        api_keys.c.subject,
        api_keys.c.created_by,
        moments.moment_column(api_keys.c.expires_at),
        func.encode(
            func.sha256(_KEPT),
            "hex",
        ),
    ),
    "revocation": select(key_revocations.c.id, key_revocations.c.actor),
}
