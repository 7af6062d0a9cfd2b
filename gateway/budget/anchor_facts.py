"""Every account and ledger as the anchor keeps them, and a state held against it.

INVARIANT: a state whose ledger says less than the anchor does is refused, also when its trail is
whole: an account that lost its entries would give the same budget out again.

The anchor knows accounts as a whole, no cells: after a restore these begin anew (`confined.py`), and
what somebody takes out of them while the state stands is found by `gateway audit verify`.
"""

from collections.abc import Mapping
from fractions import Fraction

from sqlalchemy import Connection, select

from gateway.budget.balances import load_accounts, load_balance
from gateway.budget.entries import anchored_balance
from gateway.errors import Code, OperatorError
from gateway.state.anchor import Fact
from gateway.state.tables import ledgers


def anchored_facts(connection: Connection, seq: int) -> dict[str, Fact]:
    """What an anchor that begins at `seq` has to know about budgets."""
    facts = {
        f"ledger:{row.name}": Fact(
            seq, {"source": row.source, "unit": row.unit, "currency": row.currency}
        )
        for row in connection.execute(select(ledgers))
    }
    for account in load_accounts(connection):
        balance = anchored_balance(load_balance(connection, account.name))
        facts[f"account:{account.name}"] = Fact(seq, {**account.definition, **balance})
    return facts


def require_not_less(connection: Connection, facts: Mapping[str, Fact]) -> None:
    """Raise unless every account stands at least where the anchor saw it.

    The facts must have been read before: balances grow meanwhile, they never shrink.
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
