"""Reach a source for reading alone.

INVARIANT: what is opened here cannot write: the session is read-only before the first statement. An error
names the place, never the password, and never repeats what the source said about a value.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, Final

import duckdb
from sqlalchemy import URL, Connection, NullPool, create_engine
from sqlalchemy.exc import SQLAlchemyError

from gateway.engines.versions import LEAST_POSTGRESQL, old_version
from gateway.errors import Code, OperatorError

_PATIENCE_S: Final = 5
_LONGEST_STATEMENT_MS: Final = 30_000
_PARTS: Final = 2
_MOST_PARTS: Final = 8


@contextmanager
def reading_source(url: URL) -> Iterator[Connection]:
    """A connection that reads, or an error that says which source cannot be used."""
    there, _ = parts_told(url)
    engine = create_engine(there, poolclass=NullPool, connect_args=_arguments(there))
    try:
        with engine.connect() as connection:
            old = old_version(connection)
            if old is not None:
                raise OperatorError(
                    Code.SOURCE_VERSION,
                    f"`{place_of(url)}` is PostgreSQL {old}",
                    f"PostgreSQL {LEAST_POSTGRESQL} or later is needed",
                )
            yield connection
    except SQLAlchemyError as error:
        raise OperatorError(
            Code.SOURCE_UNUSABLE, f"`{place_of(url)}`: {_why(error)}", _hint(url)
        ) from None
    finally:
        engine.dispose()


def parts_told(url: URL) -> tuple[URL, int]:
    """The URL as a driver takes it, and in how many parts a large release is asked for: `?parts=4`."""
    if url.get_backend_name() != "postgresql":
        return url, 1  # it uses all cores for one statement
    told = url.query.get("parts", "")
    parts = int(told) if isinstance(told, str) and told.isdecimal() else _PARTS
    return url.difference_update_query(["parts"]), min(max(parts, 1), _MOST_PARTS)


def place_of(url: URL) -> str:
    """Where it is, without login and options."""
    there = URL.create(url.get_backend_name(), None, None, url.host, url.port, url.database)
    return there.render_as_string()


def _arguments(url: URL) -> dict[str, Any]:
    if url.get_backend_name() == "duckdb":
        config = {"enable_external_access": "false", "lock_configuration": "true"}
        return {"read_only": True, "config": config}
    # PostgreSQL locks a table to tell what its constraints are; whoever alters it must not hold us up
    settings = {
        "default_transaction_read_only": "on",
        "statement_timeout": str(_LONGEST_STATEMENT_MS),
        "lock_timeout": str(_PATIENCE_S * 1000),
    }
    ours = " ".join(f"-c {name}={value}" for name, value in settings.items())
    options = f"{url.query.get('options', '')} {ours}"
    return {"connect_timeout": _PATIENCE_S, "options": options.strip()}


def _hint(url: URL) -> str:
    if url.get_backend_name() == "duckdb":
        return f"is the file there, and was it written by DuckDB {duckdb.__version__} or earlier?"
    return "is it running, and may the login read its catalog?"


def _why(error: SQLAlchemyError) -> str:
    """The kind of failure; the driver's own text may hold more than that."""
    cause = getattr(error, "orig", None) or error
    return f"it cannot be reached ({type(cause).__name__})"
