"""Alembic's environment, installed as the package `gateway_migrations`."""
