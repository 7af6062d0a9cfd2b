"""A gateway whose PostgreSQL wire listens on loopback, in the clear and inside TLS, over the small clinic.

It is a process of its own: some calls of libpq's wrappers hold the interpreter while they wait for the server. Noise is nothing and no bound bites, so answers are what plain PostgreSQL gives. Each question costs the same, so what
an account has spent says how many were charged.
"""

import json
import os
import shutil
import socket
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import closing, contextmanager
from dataclasses import asdict, dataclass, field, replace
from datetime import UTC, datetime
from fractions import Fraction
from pathlib import Path

import psycopg
from endtoend.clinic_policy import PRICE, SUBJECTS, policy
from frontends.certificates import write_pair

from gateway.admin.instance import Foundation, open_foundation
from gateway.admin.key_actions import create_key
from gateway.app import open_policies, open_query_service, open_twin_of, serve_wire
from gateway.auth.key_store import KeyOrder
from gateway.config import SettingsConflict
from gateway.events import Crashed, Emit, Event

HOST = "127.0.0.1"
SUBJECTS_WITH_KEYS = ("alice", "bob", "eve")
CLINIC = "clinic"
_PATIENCE_S = 60
_SPENT = "SELECT sum(epsilon_spent) FROM gateway.budget WHERE account LIKE 'analyst:%'"


@dataclass(frozen=True)
class WireGateway:
    """Where it listens, the keys of its subjects, and what its operator would find in the log."""

    port: int
    tls_port: int
    certificate: str
    keys: Mapping[str, str] = field(repr=False)

    def url(
        self,
        subject: str = "alice",
        dataset: str = CLINIC,
        scheme: str = "postgresql",
        *,
        tls: bool = False,
    ) -> str:
        """What a client is given, password and all."""
        port = self.tls_port if tls else self.port
        mode = "require" if tls else "disable"
        return f"{scheme}://{subject}:{self.keys[subject]}@{HOST}:{port}/{dataset}?sslmode={mode}"

    def environment(self, subject: str = "alice", dataset: str = CLINIC) -> dict[str, str]:
        """The same for what is built on libpq."""
        return {
            "PGHOST": HOST,
            "PGPORT": str(self.port),
            "PGUSER": subject,
            "PGDATABASE": dataset,
            "PGPASSWORD": self.keys[subject],
            "PGSSLMODE": "disable",
            "PGCONNECT_TIMEOUT": "20",
        }

    def connect(
        self, subject: str = "alice", dataset: str = CLINIC, **options: object
    ) -> psycopg.Connection:
        """A connection in autocommit, if not told otherwise."""
        return psycopg.connect(
            self.url(subject, dataset),
            **{"autocommit": True, "connect_timeout": 20, **options},  # type: ignore[arg-type]  # libpq's
        )

    def charged(self, subject: str = "alice", dataset: str = CLINIC) -> int:
        """How many questions the subject was charged for so far, by its own account."""
        with self.connect(subject, dataset) as connection:
            row = connection.execute(_SPENT).fetchone()
        assert row is not None
        count = Fraction(row[0] or 0) / Fraction(PRICE)
        assert count.denominator == 1, "a price of another kind was charged"
        return int(count)


@contextmanager
def a_wire_gateway(sources: Mapping[str, str]) -> Iterator[WireGateway]:
    """A gateway with one dataset for each of these sources, gone afterwards; no bug of ours was noticed by then."""
    home = Path(tempfile.mkdtemp(prefix="gw-test-"))
    home.chmod(0o711)
    try:
        policies = home / "policies"
        policies.mkdir()
        (policies / "subjects.yaml").write_text(SUBJECTS)
        for name in sources:
            text = policy(name, name.upper(), "laplace", groups=1)
            (policies / f"{name}.yaml").write_text(text)
        with subprocess.Popen(
            [sys.executable, "-m", "wire.gateways", str(home)],
            env={
                **{name: value for name, value in os.environ.items() if not name.startswith("PG")},
                **{name.upper(): url for name, url in sources.items()},
                "PYTHONPATH": os.pathsep.join(filter(None, sys.path)),
            },
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        ) as process:
            assert process.stdout is not None
            yield WireGateway(**json.loads(process.stdout.readline()))
            crashes, _ = process.communicate(
                "", timeout=_PATIENCE_S
            )  # the end of its input ends it
        assert (crashes, process.returncode) == ("", 0)
    finally:
        shutil.rmtree(home)


@contextmanager
def _served(home: Path, emit: Emit) -> Iterator[WireGateway]:
    pair = write_pair(home)
    settings = SettingsConflict(home=home / "state", policies=home / "policies")
    inside_tls = settings.model_copy(update={"tls_cert": pair.certificate, "tls_key": pair.key})
    with (
        open_foundation(settings, emit) as foundation,
        open_twin_of(settings, emit) as twin,
        socket.create_server((HOST, 0)) as clear,
        socket.create_server((HOST, 0)) as tls,
    ):
        policies = open_policies(foundation, emit)
        twin.wait_until_started()
        with (
            closing(open_query_service(foundation, policies, twin, "rest", emit)) as asking,
            serve_wire(foundation, policies, asking, clear, emit),
            serve_wire(replace(foundation, settings=inside_tls), policies, asking, tls, emit),
        ):
            keys = {name: _key(foundation, name) for name in SUBJECTS_WITH_KEYS}
            port, tls_port = (listener.getsockname()[1] for listener in (clear, tls))
            yield WireGateway(port, tls_port, str(pair.certificate), keys)


def _key(foundation: Foundation, subject: str) -> str:
    order = KeyOrder(subject, "os:op", datetime.now(UTC), None)
    create_key(foundation.journal, foundation.trail, order, lambda _: True)
    return order.key.reveal()


def _serve(home: Path) -> None:
    """Say where it listens, serve until the input ends, then say what crashed."""
    events: list[Event] = []
    with _served(home, events.append) as gateway:
        sys.stdout.write(json.dumps(asdict(gateway)) + "\n")
        sys.stdout.flush()
        sys.stdin.read()
    for event in events:
        if isinstance(event, Crashed):
            sys.stdout.write(f"{event}\n")


if __name__ == "__main__":
    _serve(Path(sys.argv[1]))
