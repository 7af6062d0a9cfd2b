"""Alembic migrations of the state, on a connection of the caller, within its transaction."""

from alembic import command
from alembic.config import Config
from sqlalchemy import Connection


def migrate(connection: Connection, revision: str) -> None:
    """Upgrade to a revision."""
    command.upgrade(_config(connection), revision)


def downgrade_on(connection: Connection, revision: str) -> None:
    """Downgrade to a revision; the downgrade to nothing drops everything."""
    command.downgrade(_config(connection), revision)


def _config(connection: Connection) -> Config:
    config = Config()
    config.set_main_option("script_location", "gateway_migrations:")
    config.set_main_option("path_separator", "os")
    config.attributes["connection"] = connection
    return config
