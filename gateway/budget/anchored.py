"""Every account and ledger as the anchor keeps them, read from the state."""

from sqlalchemy import Connection, select

from gateway.budget.booking import anchored_balance
from gateway.budget.remembered import load_accounts, load_balance
from gateway.store.anchor import Fact
from gateway.store.tables import ledgers


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
