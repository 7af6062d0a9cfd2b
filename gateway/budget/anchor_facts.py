"""Anchor facts of accounts and ledgers, and the check of a state against them.

The anchor stores whole accounts, no cells: after a restore all cells begin anew (`parallel_composition`). Cell
entries that are removed while the state is in use are found by `gateway audit verify`.

INVARIANT: a state whose ledger says less than the anchor is refused, also when its trail is complete: an
account that lost its entries would spend the same budget again.
"""

from collections.abc import Mapping
from fractions import Fraction

from sqlalchemy import Connection, select

from gateway.budget.balances import load_accounts, load_balance
from gateway.budget.entries import balance_fact
from gateway.errors import Code, OperatorError
from gateway.state.anchor import Fact
from gateway.state.tables import ledgers


def load_budget_facts(connection: Connection, seq: int) -> dict[str, Fact]:
    """The budget facts that an anchor needs if it begins at `seq`."""
    facts = {
        f"ledger:{row.name}": Fact(
            seq, {"source": row.source, "unit": row.unit, "currency": row.currency}
        )
        for row in connection.execute(select(ledgers))
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
