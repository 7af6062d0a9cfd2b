"""A gateway in this process over the small clinic in PostgreSQL and in DuckDB, and the clinic as it is."""

import secrets
import shutil
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import closing, contextmanager
from dataclasses import dataclass, field
from pathlib import Path

import duckdb
import psycopg
from endtoend.clinic_policy import SUBJECTS
from endtoend.clinic_rows import TABLES, Row, rows
from engines.sources import insert_in_duckdb
from fix_servers import SharedServers, foundation_and_twin
from psycopg import sql
from sqlalchemy import URL

from gateway.admin.instance import Foundation
from gateway.app import open_policies, open_query_service
from gateway.cancellation import CancelEvent
from gateway.errors import Refusal
from gateway.events import Crashed, Event
from gateway.policy.subjects import Subject
from gateway.postgres_server import Lease
from gateway.query_service import QueryService
from gateway.requests.request import Answer, Request, UnsupportedItems

Environment = Mapping[str, str]


@dataclass(frozen=True)
class AskedGateway:
    """A running gateway, its subjects, and what its operator would find in the log."""

    foundation: Foundation
    asking: QueryService
    subjects: Mapping[str, Subject]
    home: Path
    events: list[Event] = field(repr=False)

    def answer(  # noqa: PLR0913 - what a request has
        self,
        text: str,
        dataset: str,
        subject: str = "alice",
        *,
        parameters: tuple[str | None, ...] = (),
        purpose: str | None = None,
        zone: str | None = None,
        unsupported: UnsupportedItems = UnsupportedItems.REFUSE,
    ) -> Answer:
        """The answer; a bug of ours shows what happened."""
        request = Request(
            text, dataset, purpose, parameters=parameters, zone=zone, unsupported=unsupported
        )
        before = len(self.events)
        try:
            return self.asking.answer(self.subjects[subject], request, CancelEvent())
        except Refusal as refusal:
            for event in self.events[before:]:
                if isinstance(event, Crashed):
                    refusal.add_note(str(event))
            raise


@contextmanager
def a_gateway(
    policies: Mapping[str, str],
    environment: Environment,
    servers: SharedServers | None = None,
    subjects: str = SUBJECTS,
) -> Iterator[AskedGateway]:
    """A gateway with these policies, gone afterwards; on servers of its own where it is given none."""
    home = Path(tempfile.mkdtemp(prefix="gw-test-"))
    home.chmod(0o711)
    try:
        folder = home / "policies"
        folder.mkdir()
        (folder / "subjects.yaml").write_text(subjects)
        for name, text in policies.items():
            (folder / f"{name}.yaml").write_text(text)
        events: list[Event] = []
        with foundation_and_twin(servers, home / "state", folder, events.append) as (
            foundation,
            twin,
        ):
            current = open_policies(foundation, environment=environment)
            twin.wait_until_started()
            with closing(
                open_query_service(foundation, current, twin, "rest", events.append)
            ) as asking:
                yield AskedGateway(foundation, asking, current.value.subjects, home, events)
    finally:
        shutil.rmtree(home)


@contextmanager
def clinic_in_postgresql(server: Lease) -> Iterator[URL]:
    """A database with the clinic, dropped afterwards."""
    name = f"people_{secrets.token_hex(6)}"
    password = server.superuser_password
    admin = server.address.url(user=server.superuser, password=password, database="postgres")
    with psycopg.connect(dsn(admin), autocommit=True) as connection:
        connection.execute(sql.SQL("CREATE DATABASE {}").format(sql.Identifier(name)))
        try:
            with psycopg.connect(dsn(admin.set(database=name))) as inside:
                inside.execute(TABLES)
                for table, values in rows().items():
                    # statistics that come in meanwhile would change plans, and with them the order of ties
                    inside.execute(
                        sql.SQL("ALTER TABLE {} SET (autovacuum_enabled = false)").format(
                            sql.Identifier(table)
                        )
                    )
                    _fill(inside, table, values)
            yield admin.set(database=name)
        finally:
            connection.execute(
                sql.SQL("DROP DATABASE {} WITH (FORCE)").format(sql.Identifier(name))
            )


def clinic_in_duckdb(file: Path) -> URL:
    """A file with the clinic."""
    with duckdb.connect(str(file)) as connection:
        connection.execute(TABLES)
        for table, values in rows().items():
            insert_in_duckdb(connection, table, values)
    return URL.create("duckdb", database=str(file))


def dsn(url: URL) -> str:
    return url.set(drivername="postgresql").render_as_string(hide_password=False)


def shown(url: URL) -> str:
    return url.render_as_string(hide_password=False)


def _fill(connection: psycopg.Connection, table: str, values: list[Row]) -> None:
    with connection.cursor() as cursor:
        holes = sql.SQL(", ").join(sql.Placeholder() for _ in values[0])
        cursor.executemany(
            sql.SQL("INSERT INTO {} VALUES ({})").format(sql.Identifier(table), holes), values
        )
