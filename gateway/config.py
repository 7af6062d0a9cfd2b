"""Settings: environment `GATEWAY_…`, a `.env` file, or `--option`; the option wins.

A setting that cannot be read is one `OperatorError` that names the variable. Passwords are
`SecretStr` and appear in no repr, no log and no message.
"""

import os
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Self

from pydantic import Field, SecretStr, ValidationError, field_validator, model_validator
from pydantic_settings import BaseSettings, PydanticBaseSettingsSource, SettingsConfigDict
from sqlalchemy.engine import make_url
from sqlalchemy.exc import ArgumentError

from gateway.errors import Code, OperatorError

_ROOT_HOME = Path("/var/lib/gateway")
Port = Annotated[int, Field(ge=0, le=65535)]


class LogFormat(StrEnum):
    TEXT = "text"
    JSON = "json"


def default_home() -> Path:
    """The user's data directory; as root a place other OS users can pass through."""
    if os.geteuid() == 0:
        return _ROOT_HOME
    base = os.environ.get("XDG_DATA_HOME") or Path.home() / ".local" / "share"
    return Path(base) / "gateway"


class Settings(BaseSettings):
    """Every setting of the gateway; `docs/settings.md` has a heading for each."""

    model_config = SettingsConfigDict(
        env_prefix="GATEWAY_",
        env_file=".env",
        extra="ignore",
        frozen=True,
        hide_input_in_errors=True,
    )

    policies: Path = Path("policies")
    home: Path = Field(default_factory=default_home)
    state_url: SecretStr | None = None
    state_owner_url: SecretStr | None = None
    postgres_bin: Path | None = None
    rest_host: str = "127.0.0.1"
    rest_port: Port = 8080
    pg_host: str = "127.0.0.1"
    pg_port: Port = 5433
    tls_cert: Path | None = None
    tls_key: Path | None = None
    audit_key: SecretStr | None = None
    audit_key_file: Path | None = None
    audit_anchor: Path | None = None
    statement_timeout: Annotated[float, Field(gt=0, le=86_400)] = 30.0
    workers: Annotated[int, Field(ge=1, le=256)] = 8
    log_format: LogFormat = LogFormat.TEXT

    @field_validator("home", "policies", "audit_anchor", "audit_key_file", "postgres_bin")
    @classmethod
    def _absolute(cls, path: Path | None) -> Path | None:
        """A relative path means: from where the gateway was started, once and for all."""
        return None if path is None else path.expanduser().absolute()

    @field_validator("state_url", "state_owner_url")
    @classmethod
    def _postgres_url(cls, url: SecretStr | None) -> SecretStr | None:
        if url is None:
            return None
        try:
            parsed = make_url(url.get_secret_value())
        except (ArgumentError, ValueError):  # the latter repeats a part of what may be a password
            raise ValueError("must be a URL such as postgresql://user@host/database") from None
        if parsed.get_backend_name() != "postgresql":
            raise ValueError("must begin with postgresql://")
        return url

    @model_validator(mode="after")
    def _consistent(self) -> Self:
        if (self.tls_cert is None) != (self.tls_key is None):
            raise ValueError("GATEWAY_TLS_CERT and GATEWAY_TLS_KEY go together")
        if self.audit_key is not None and self.audit_key_file is not None:
            raise ValueError("give GATEWAY_AUDIT_KEY or GATEWAY_AUDIT_KEY_FILE, not both")
        if self.state_owner_url is not None and self.state_url is None:
            raise ValueError("GATEWAY_STATE_OWNER_URL needs GATEWAY_STATE_URL")
        return self


class SettingsConflict(Settings):
    """Settings that take nothing from the environment: a demo must not find a real state."""

    @classmethod
    def settings_customise_sources(
        cls,
        settings_cls: type[BaseSettings],
        init_settings: PydanticBaseSettingsSource,
        env_settings: PydanticBaseSettingsSource,
        dotenv_settings: PydanticBaseSettingsSource,
        file_secret_settings: PydanticBaseSettingsSource,
    ) -> tuple[PydanticBaseSettingsSource, ...]:
        del settings_cls, env_settings, dotenv_settings, file_secret_settings
        return (init_settings,)


def load_settings(**options: object) -> Settings:
    """Settings from the environment, overridden by the options that were given."""
    given = {name: value for name, value in options.items() if value is not None}
    try:
        return Settings(**given)  # type: ignore[arg-type]  # pydantic checks what mypy cannot see here
    except ValidationError as error:
        raise OperatorError(
            Code.SETTING_INVALID, _first_problem(error), "see docs/settings.md"
        ) from None
    except UnicodeDecodeError:
        raise OperatorError(Code.SETTING_INVALID, "the file .env is not UTF-8 text") from None
    except OSError as error:
        raise OperatorError(
            Code.SETTING_INVALID, f"the file .env cannot be read: {error.strerror}"
        ) from None


def _first_problem(error: ValidationError) -> str:
    """Name the variable and the rule, never the value: it may be a password."""
    problem = error.errors(include_input=False, include_url=False)[0]
    message = str(problem["msg"]).removeprefix("Value error, ")
    where = "_".join(str(part) for part in problem["loc"])
    return f"GATEWAY_{where.upper()}: {message}" if where else message


def prepare_home(settings: Settings) -> None:
    """Make the home directory, as private as the server of another OS user below it allows."""
    try:
        settings.home.mkdir(mode=0o711 if os.geteuid() == 0 else 0o700, parents=True, exist_ok=True)
        usable = os.access(settings.home, os.R_OK | os.W_OK | os.X_OK)
    except OSError as error:
        raise _home_unusable(settings, error.strerror or "unusable") from None
    except ValueError:
        raise _home_unusable(settings, "this cannot be a path") from None
    if not usable or not settings.home.is_dir():
        raise _home_unusable(settings, "it cannot be written to")


def _home_unusable(settings: Settings, why: str) -> OperatorError:
    return OperatorError(
        Code.HOME_UNUSABLE, f"`{settings.home}`: {why}", "set GATEWAY_HOME to a directory you own"
    )
