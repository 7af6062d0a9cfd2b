"""What was spent, by whom, and what may still be spent: the ledger."""
