"""A gateway over a PostgreSQL that somebody changes under its feet."""

from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from secrets import token_hex
from typing import Any, Final

import psycopg
import pytest
from endtoend.clinic_gateway import AskedGateway, a_gateway, clinic_in_postgresql, dsn, shown
from endtoend.clinic_policy import policy
from fix_servers import SharedServers
from psycopg import sql
from sqlalchemy import URL

from gateway.budget.charge import Receipt
from gateway.errors import Refusal
from gateway.postgres_server import Lease
from gateway.stages.charge import charge_query
from gateway.trail.record import RecordKind
from gateway.trail.search import RecordFilter, latest_records

DATASET: Final = "clinic"
PERSONS: Final = 96
WITHOUT_KEY: Final = """
CREATE TABLE others AS SELECT * FROM patients;
INSERT INTO others SELECT * FROM patients WHERE patient_id <= 24;
ANALYZE others;
"""
SWAP: Final = "ALTER TABLE patients RENAME TO away; ALTER TABLE others RENAME TO patients"
"""In one transaction, as a migration does it."""


@dataclass(frozen=True)
class Changing:
    """The gateway reads as a login of its own; `run` is what the source's owner does meanwhile."""

    gateway: AskedGateway
    url: URL
    login: str

    def run(self, statements: str) -> None:
        with psycopg.connect(dsn(self.url)) as connection:
            connection.execute(statements.encode())

    def value(self, statement: str) -> Any:  # noqa: ANN401 - whatever it is
        with psycopg.connect(dsn(self.url), autocommit=True) as connection:
            row = connection.execute(statement.encode()).fetchone()
        return None if row is None else row[0]

    def count(self, text: str = "SELECT COUNT(*) FROM patients") -> int:
        [[value]] = self.gateway.answer(text, DATASET).rows
        return int(str(value))

    def refusal(self, text: str = "SELECT COUNT(*) FROM patients") -> Refusal:
        try:
            self.gateway.answer(text, DATASET)
        except Refusal as refusal:
            return refusal
        raise AssertionError(f"was answered: {text}")

    def kinds(self, query_id: str | None) -> list[str]:
        """The records of a question, the last one first."""
        return [str(one["kind"]) for one in self.records(query_id)]

    def records(self, query_id: str | None) -> list[Mapping[str, Any]]:
        assert query_id
        with self.gateway.foundation.engine.connect() as connection:
            return latest_records(connection, 10, RecordFilter(query_id=query_id))

    def charges(self) -> int:
        """How many questions were ever charged."""
        with self.gateway.foundation.engine.connect() as connection:
            return len(latest_records(connection, 1_000, RecordFilter(kind=RecordKind.CHARGED)))

    @property
    def source(self) -> Any:  # noqa: ANN401 - a part of the gateway that is looked into
        [one] = self.gateway.asking.served.all().values()
        return one.source

    @contextmanager
    def meanwhile(self, act: Callable[[], None]) -> Iterator[None]:
        """`act` happens after each charge within the block, before the source is asked."""

        def charged(*given: Any, **named: Any) -> Receipt:  # noqa: ANN401 - whatever the stage takes
            receipt = charge_query(*given, **named)
            act()
            return receipt

        with pytest.MonkeyPatch.context() as patch:
            patch.setattr("gateway.stages.charge.charge_query", charged)
            yield

    def lent(self) -> int:
        """How many connections to the source are not in their pools."""
        there = self.source.database.connections
        return int(there.engine.pool.checkedout() + there.spare.pool.checkedout())


@contextmanager
def changing(
    server: Lease, servers: SharedServers, make: Callable[[str], str] | None = None
) -> Iterator[Changing]:
    """`make` gives the policy's text for the name of the variable with the source's URL."""
    login, password = f"reader_{token_hex(4)}", token_hex(8)
    with ExitStack() as stack:
        url = stack.enter_context(clinic_in_postgresql(server))
        with psycopg.connect(dsn(url), autocommit=True) as owner:
            name = sql.Identifier(login)
            owner.execute(
                sql.SQL("CREATE ROLE {} LOGIN PASSWORD {}").format(name, sql.Literal(password))
            )
            owner.execute(sql.SQL("GRANT SELECT ON ALL TABLES IN SCHEMA public TO {}").format(name))
            owner.execute(
                sql.SQL("ALTER DEFAULT PRIVILEGES GRANT SELECT ON TABLES TO {}").format(name)
            )
            stack.callback(_forget, url, login)
        text = (make or _policy)("SOURCE")
        reading = url.set(username=login, password=password)
        opened = stack.enter_context(
            a_gateway({DATASET: text}, {"SOURCE": shown(reading)}, servers)
        )
        yield Changing(opened, url, login)


def _policy(variable: str) -> str:
    return policy(DATASET, variable, "laplace", groups=10_000)


def _forget(url: URL, login: str) -> None:
    with psycopg.connect(dsn(url), autocommit=True) as owner:
        name = sql.Identifier(login)
        owner.execute(sql.SQL("DROP OWNED BY {}").format(name))
        owner.execute(sql.SQL("DROP ROLE {}").format(name))
