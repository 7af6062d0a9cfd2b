"""A gateway that is asked over REST and over the wire at once: what one of them was answered, the other need not pay."""

import shutil
import socket
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import closing, contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final

import httpx
import psycopg
from endtoend.clinic_gateway import clinic_in_duckdb, shown
from endtoend.reuse.clinics import AUDIT, SUBJECTS, policy
from fix_gateway import Client
from fix_servers import SharedServers, foundation_and_twin
from sqlalchemy import URL

from gateway.admin.instance import Foundation
from gateway.admin.key_actions import create_key
from gateway.app import (
    gateway_api,
    open_policies,
    open_query_service,
    query_api,
    serve_wire,
)
from gateway.auth.key_store import KeyOrder
from gateway.events import Crashed, Event
from gateway.frontends.rest.app import create_app
from gateway.telemetry.metrics import Metrics, log_and_count

HOST: Final = "127.0.0.1"
SHARED, AUDITED = "shared", "audited"
_NAMES: Final = ("alice", "dave")
_MANY: Final = {SHARED: 14, AUDITED: 4}
_DEAR: Final = "20"  # noise is next to nothing: small differences are known


@dataclass(frozen=True)
class BothDoors:
    """Where it listens, and the names of datasets that nobody has asked yet."""

    rest: Client
    port: int
    keys: Mapping[str, str] = field(repr=False)
    unused: Mapping[str, Iterator[str]] = field(repr=False)
    events: list[Event] = field(repr=False)

    def dataset(self, kind: str = SHARED) -> "AskedDataset":
        name = next(self.unused[kind], None)
        assert name is not None, f"more datasets of the kind `{kind}` are needed"
        return AskedDataset(self, name)


@dataclass(frozen=True)
class AskedDataset:
    """A dataset that belongs to one test."""

    doors: BothDoors
    name: str

    def post(
        self, path: str, sql: str, who: str = "alice", *, accept: str | None = None, **body: object
    ) -> httpx.Response:
        headers = {"Accept": accept} if accept else {}
        if (key := body.pop("key", None)) is not None:
            headers["Idempotency-Key"] = str(key)
        return self.doors.rest.request(
            "POST",
            path,
            json={"sql": sql, "dataset": self.name, **body},
            headers={"Authorization": f"Bearer {self.doors.keys[who]}", **headers},
        )

    def ask(self, sql: str, who: str = "alice", **body: object) -> dict[str, Any]:
        """The body of the answer; a bug of ours shows what happened."""
        before = len(self.doors.events)
        answer = self.post("/v1/query", sql, who, **body)  # type: ignore[arg-type]  # more of the body
        crashes = [one for one in self.doors.events[before:] if isinstance(one, Crashed)]
        assert answer.status_code == 200, (answer.text, crashes)
        told: dict[str, Any] = answer.json()
        return told

    def past(self, who: str = "alice") -> list[dict[str, Any]]:
        """One's own questions about this dataset, newest first."""
        answer = self.doors.rest.get(
            "/v1/queries?limit=1000", headers={"Authorization": f"Bearer {self.doors.keys[who]}"}
        )
        found: list[dict[str, Any]] = answer.json()["queries"]
        return found

    def connect(self, who: str = "alice", **options: object) -> psycopg.Connection:
        """A connection to the wire, in autocommit."""
        return psycopg.connect(
            host=HOST,
            port=self.doors.port,
            user=who,
            password=self.doors.keys[who],
            dbname=self.name,
            sslmode="disable",
            connect_timeout=20,
            **{"autocommit": True, **options},  # type: ignore[arg-type]  # libpq's
        )


@contextmanager
def both_doors(servers: SharedServers | None = None) -> Iterator[BothDoors]:
    """The gateway with all of its datasets, gone afterwards."""
    home = Path(tempfile.mkdtemp(prefix="gw-test-"))
    home.chmod(0o711)
    try:
        yield from _served(home, servers)
    finally:
        shutil.rmtree(home)


def _served(home: Path, servers: SharedServers | None) -> Iterator[BothDoors]:
    names = {kind: [f"{kind}{number}" for number in range(many)] for kind, many in _MANY.items()}
    environment = _written(home, names)
    events: list[Event] = []
    metrics = Metrics()
    emit = log_and_count(events.append, metrics.count)
    with (
        foundation_and_twin(servers, home / "state", home / "policies", emit) as (foundation, twin),
        socket.create_server((HOST, 0)) as listener,
    ):
        policies = open_policies(foundation, emit, environment)
        twin.wait_until_started()
        with (
            closing(open_query_service(foundation, policies, twin, "rest", emit)) as asking,
            serve_wire(foundation, policies, asking, listener, emit),
        ):
            doors = gateway_api(
                foundation, metrics, emit, policies, twin=twin, questions=query_api(asking)
            )
            with closing(Client(create_app(doors))) as client:
                keys = {name: _key(foundation, name) for name in _NAMES}
                port: int = listener.getsockname()[1]
                unused = {kind: iter(datasets) for kind, datasets in names.items()}
                yield BothDoors(client, port, keys, unused, events)


def _written(home: Path, names: Mapping[str, list[str]]) -> dict[str, str]:
    """Policies, and for each of them a source of its own: a source belongs to one ledger."""
    folder = home / "policies"
    folder.mkdir()
    (folder / "subjects.yaml").write_text(SUBJECTS)
    model = Path(str(clinic_in_duckdb(home / "model.duckdb").database))
    environment = {}
    for kind, datasets in names.items():
        for name in datasets:
            file = shutil.copy(model, home / f"{name}.duckdb")
            environment[name.upper()] = shown(URL.create("duckdb", database=str(file)))
            text = (
                policy(name, name.upper(), "laplace", price=_DEAR, audit=AUDIT)
                if kind == AUDITED
                else policy(name, name.upper(), "laplace")
            )
            (folder / f"{name}.yaml").write_text(text)
    return environment


def _key(foundation: Foundation, subject: str) -> str:
    order = KeyOrder(subject, "os:op", datetime.now(UTC), None)
    create_key(foundation.journal, foundation.trail, order, lambda _: True)
    return order.key.reveal()
