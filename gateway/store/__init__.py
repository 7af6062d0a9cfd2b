"""The gateway's own state: one PostgreSQL database, one MetaData, one way to write to it."""
