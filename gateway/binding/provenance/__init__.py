"""Which release row a result row comes from."""
