"""Where an embedded server listens: a socket in a directory nobody else can enter."""

from dataclasses import dataclass
from pathlib import Path

from pydantic import SecretStr
from sqlalchemy.engine import URL

PORT = 5432  # part of the socket's file name alone: no TCP port is ever opened


@dataclass(frozen=True)
class Address:
    socket_dir: Path
    port: int = PORT

    @property
    def socket(self) -> Path:
        return self.socket_dir / f".s.PGSQL.{self.port}"

    def url(self, *, user: str, password: SecretStr, database: str) -> URL:
        """A URL for SQLAlchemy; its repr hides the password."""
        return URL.create(
            "postgresql+psycopg",
            username=user,
            password=password.get_secret_value(),
            port=self.port,
            database=database,
            query={"host": str(self.socket_dir)},
        )
