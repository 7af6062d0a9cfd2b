"""The gateway's own state: one PostgreSQL database, one way to write to it."""
