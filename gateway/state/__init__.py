"""State of the gateway: one PostgreSQL database, one way to write to it."""
