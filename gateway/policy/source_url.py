"""Source URL of a dataset: the URL with its password, and the identity under which ledgers know the source.

INVARIANT: the URL is in no repr and no message; code that needs it asks for it by name. INVARIANT: two URLs of
one database have one identity, whatever their log-in, driver and options. Names of one server that only a
network can recognise as equal count as different.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from sqlalchemy.engine import URL, make_url
from sqlalchemy.exc import ArgumentError

_REFERENCE = re.compile(r"\$\{([A-Za-z_][A-Za-z0-9_]*)\}")
_LOOPBACK = frozenset({"", "localhost", "127.0.0.1", "::1"})
_POSTGRESQL_PORT = 5432
_DRIVERS = {
    "postgresql": "postgresql+psycopg",
    "postgresql+psycopg": "postgresql+psycopg",
    "duckdb": "duckdb",
}
# Allowed options behind the `?`. With others the driver might use another database or log-in.
_PARTS = frozenset("12345678")  # in how many parts a large release may be asked for
_OPTIONS = {
    "postgresql": frozenset(
        {
            "application_name",
            "channel_binding",
            "connect_timeout",
            "gssencmode",
            "host",
            "keepalives",
            "keepalives_count",
            "keepalives_idle",
            "keepalives_interval",
            "options",
            "parts",
            "port",
            "sslcert",
            "sslcrl",
            "sslkey",
            "sslmode",
            "sslrootcert",
            "target_session_attrs",
            "tcp_user_timeout",
        }
    ),
    "duckdb": frozenset({"access_mode", "memory_limit", "threads"}),
}
_HINT = "write postgresql://user:password@host/database or duckdb:////directory/file.duckdb"


class InvalidSource(ValueError):
    """No valid source; the message never repeats the URL."""

    def __init__(self, message: str, hint: str = "") -> None:
        super().__init__(message)
        self.hint = hint


@dataclass(frozen=True)
class SourceUrl:
    """A database with its URL."""

    backend: str
    identity: str
    url: URL = field(repr=False, compare=False)


def resolve_variables(text: str, environment: Mapping[str, str]) -> str:
    """`text` with its `${VARIABLE}`s replaced."""
    for name in _REFERENCE.findall(text):
        if not environment.get(name):
            hint = f"set it to the URL of the source; {_HINT}"
            raise InvalidSource(f"the environment variable `{name}` is not set", hint)
    if "${" in _REFERENCE.sub("", text):
        raise InvalidSource(
            "a reference is not closed, or does not name a variable", "write `${NAME}`"
        )
    return _REFERENCE.sub(lambda match: environment[match[1]], text)


def placeholder_source(dataset: str) -> SourceUrl:
    """A placeholder for a source that nobody needs to reach; it differs from that of every other dataset."""
    return SourceUrl("unresolved", f"unresolved:{dataset}", URL.create("unresolved"))


def source_from(url: str) -> SourceUrl:
    """The source at a URL."""
    try:
        parsed = make_url(url)
    except (ArgumentError, ValueError):
        raise InvalidSource("`source` is not a URL", _HINT) from None
    driver = _DRIVERS.get(parsed.drivername)
    if driver is None:
        raise InvalidSource("`source` must begin with postgresql:// or duckdb:///", _HINT)
    for option in parsed.query:
        if option not in _OPTIONS[parsed.get_backend_name()]:
            raise InvalidSource(f"the URL of the source has an option `{option}`", "leave it out")
    if driver == "duckdb":
        return _duckdb(parsed)
    return _postgresql(parsed.set(drivername=driver))


def _duckdb(url: URL) -> SourceUrl:
    file = url.database or ""
    if not file or file == ":memory:" or ":" in file.partition("/")[0]:
        raise InvalidSource("a DuckDB source must be a file", _HINT)
    path = Path(file).expanduser().resolve()
    return SourceUrl("duckdb", f"duckdb:///{path}", url.set(database=str(path)))


def _postgresql(url: URL) -> SourceUrl:
    if not url.database:
        raise InvalidSource("the URL of the source names no database", _HINT)
    if url.query.get("parts", "1") not in _PARTS:
        raise InvalidSource("`parts` of the source is not a number from 1 to 8", "leave it out")
    hosts, ports = url.query.get("host"), url.query.get("port")
    if isinstance(hosts, tuple) or isinstance(ports, tuple) or "," in (url.host or ""):
        raise InvalidSource("the source must be a single server", _HINT)
    named = (url.host or hosts or "").rstrip(".").lower()
    host = "localhost" if named in _LOOPBACK else hosts if hosts and not url.host else named
    if ports and (url.host or not ports.isdecimal()):
        raise InvalidSource("the port of the source is not a port", _HINT)
    if hosts and url.host:
        raise InvalidSource("the source must be a single server", _HINT)
    port = url.port or int(ports or _POSTGRESQL_PORT)
    shown = f"[{host}]" if host and ":" in host else host
    return SourceUrl("postgresql", f"postgresql://{shown}:{port}/{url.database}", url)
