"""Writes charges and ledger entries, and the facts about accounts in the anchor.

The anchor stores whole accounts, no cells: after a restore all cells begin anew (`parallel_composition`). Cell
entries that are removed while the state is in use are found by `gateway audit verify`.

INVARIANT: a state whose ledger says less than the anchor is refused, also when its trail is complete: an account
that lost its entries would spend the same budget again.
"""

from collections.abc import Mapping, Sequence
from fractions import Fraction

from sqlalchemy import Connection, select

from gateway.budget.account import NOTHING, WHOLE, Amounts, Balance, ratio_text
from gateway.budget.balances import load_accounts, load_balance
from gateway.budget.charge import (
    ChargedMeasurement,
    Idempotency,
    LedgerEntry,
    Receipt,
    Withdrawal,
    measurements_text,
)
from gateway.errors import Code, OperatorError
from gateway.state.anchor import Fact
from gateway.state.draft import Draft
from gateway.state.tables import charges, ledger_entries, ledger_rates, ledgers


def write_charge(
    draft: Draft,
    receipt: Receipt,
    *,
    subject: str,
    ledger: str,
    measurements: tuple[ChargedMeasurement, ...] = (),
    once: Idempotency | None = None,
) -> None:
    """Write the charge and its entries for every account. It does not check limits: the caller has done so."""
    largest = _largest(receipt.withdrawals)
    draft.insert(
        charges,
        {
            "query_id": receipt.query_id,
            "at": receipt.at.isoformat(),
            "subject": subject,
            "ledger": ledger,
            "price": receipt.price.ratio,
            "amount": ratio_text(largest.cost),
            "delta": ratio_text(largest.delta),
            "measurements": measurements_text(measurements),
            "idempotency_key": once.key if once else None,
            "request_digest": once.request_digest if once else None,
        },
    )
    for withdrawal in receipt.withdrawals:
        for entry in withdrawal.entries:
            _book_entry(draft, receipt.query_id, withdrawal.account, entry)


def _largest(withdrawals: Sequence[Withdrawal]) -> Amounts:
    if not withdrawals:
        return NOTHING
    amount, delta = withdrawals[0].amount, withdrawals[0].delta
    # most charges take one amount from every account, and this test is faster than a comparison of fractions
    if all(one.amount is amount and one.delta is delta and not one.cells for one in withdrawals):
        return Amounts(amount, delta)
    largest = [one.largest for one in withdrawals]
    return Amounts(max(one.cost for one in largest), max(one.delta for one in largest))


def _book_entry(draft: Draft, query_id: str, account: str, entry: Withdrawal | LedgerEntry) -> None:
    draft.insert(
        ledger_entries,
        {
            "account": account,
            "cell": entry.cell,
            "ordinal": entry.after.ordinal,
            "query_id": query_id,
            "at": entry.after.at.isoformat(),
            "amount": ratio_text(entry.amount),
            "spent_after": entry.after.spent_text,
            "delta": ratio_text(entry.delta),
            "delta_after": entry.after.delta_text,
        },
    )
    key = ("balance", account) if entry.cell == WHOLE else ("balance", account, entry.cell)
    draft.remember(key, entry.after)


def balance_fact(balance: Balance) -> dict[str, str | None]:
    """The anchor's form of a balance."""
    return {"spent": balance.spent_text, "delta_spent": balance.delta_text}


def load_budget_facts(connection: Connection, seq: int) -> dict[str, Fact]:
    """The budget facts that an anchor needs if it begins at `seq`."""
    facts = {
        f"ledger:{row.name}": Fact(
            seq,
            {
                "source": row.source,
                "unit": row.unit,
                "currency": row.currency,
                "rate": row.rate,
            },
        )
        for row in connection.execute(
            select(ledgers, ledger_rates.c.rate).outerjoin_from(
                ledgers, ledger_rates, ledger_rates.c.ledger == ledgers.c.name
            )
        ).all()
    }
    for account in load_accounts(connection):
        balance = balance_fact(load_balance(connection, account.name))
        facts[f"account:{account.name}"] = Fact(seq, {**account.definition, **balance})
    return facts


def require_not_less(connection: Connection, facts: Mapping[str, Fact]) -> None:
    """Raise unless every account stands at least where the anchor saw it.

    The caller reads the facts first: balances may grow meanwhile, they never shrink.
    """
    for name, fact in facts.items():
        kind, _, account = name.partition(":")
        if kind != "account":
            continue
        balance = load_balance(connection, account)
        gave = (Fraction(str(fact.value["spent"])), Fraction(str(fact.value["delta_spent"])))
        if balance.spent < gave[0] or balance.delta_spent < gave[1]:
            raise OperatorError(
                Code.STATE_BEHIND_ANCHOR,
                f"in the ledger `{account}` has spent {balance.spent}, in the anchor {gave[0]}",
                "see `gateway audit verify`; restore the newest backup with `gateway db restore FILE`",
            )
