"""Privacy budgets: ledgers, accounts, charges, and what is left to spend."""
