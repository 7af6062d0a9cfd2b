"""Sources are identified by their location, never by their log-in."""

import pytest
from laws import for_each

from gateway.policy.policy import InvalidSource, resolve_variables, source_from


@for_each(
    ("url", "identity"),
    [
        ("postgresql://host/db", "postgresql://host:5432/db"),
        ("postgresql+psycopg://u:p@HOST.:5432/db?sslmode=require", "postgresql://host:5432/db"),
        ("postgresql://host:5433/db", "postgresql://host:5433/db"),
        ("postgresql://127.0.0.1/db", "postgresql://localhost:5432/db"),
        ("postgresql://[::1]/db", "postgresql://localhost:5432/db"),
        ("postgresql:///db", "postgresql://localhost:5432/db"),
        ("postgresql:///db?host=/run/Pg", "postgresql:///run/Pg:5432/db"),
        ("postgresql:///db?host=Host&port=5433", "postgresql://host:5433/db"),
        ("postgresql://[2001:db8::1]/db", "postgresql://[2001:db8::1]:5432/db"),
        ("postgresql://host/db?parts=8", "postgresql://host:5432/db"),
        ("duckdb:////data/x/../clinic.duckdb?threads=2", "duckdb:////data/clinic.duckdb"),
    ],
)
def test_identity_is_that_of_the_database(url: str, identity: str) -> None:
    """Login, driver, options and spelling do not matter."""
    assert source_from(url).identity.lower() == identity.lower()


@for_each(
    "url",
    [
        "",
        "clinic.duckdb",
        "postgresql://host",
        "postgresql://host:x/db",
        "postgresql://a,b/db",
        "postgresql:///db?host=a&host=b",
        "postgresql://a/db?host=b",
        "postgresql:///db?port=x",
        "postgresql://a/db?port=1",
        "postgresql://a/db?hostaddr=1.2.3.4",
        "postgresql://a/db?service=other",
        "postgresql://a/db?password=x",
        "postgresql://a/db?parts=0",
        "postgresql://a/db?parts=9",
        "postgresql://a/db?parts=two",
        "postgresql://a/db?parts=1&parts=2",
        "postgresql+asyncpg://a/db",
        "duckdb://",
        "duckdb:///:memory:",
        "duckdb:///md:cloud",
        "duckdb:////x.duckdb?motherduck_token=t",
        "sqlite:///x",
    ],
)
def test_url_is_refused_when_it_could_lead_elsewhere(url: str) -> None:
    """And the message does not repeat it."""
    with pytest.raises(InvalidSource) as refused:
        source_from(url)
    assert not url or url not in str(refused.value)


def test_reference_is_replaced_by_the_environment() -> None:
    """Whole or in part; an empty variable is not set."""
    environment = {"A": "1", "B": "", "C": "${A}"}
    assert resolve_variables("x${A}y${A}", environment) == "x1y1"
    assert resolve_variables("${C}", environment) == "${A}"  # once, not again in what came out
    for text in ("${B}", "${NOPE}", "${A", "${1}", "${}"):
        with pytest.raises(InvalidSource):
            resolve_variables(text, environment)
