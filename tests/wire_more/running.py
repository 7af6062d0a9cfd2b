"""A gateway over the sample clinic as its own process, and the clinic itself to compare with.

The price of a question is so enormous that noise is nothing: what a client reads must be what is in the clinic. Every
question is measured, whatever was asked before.
"""

import json
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import duckdb
from endtoend.clinic_policy import clinic_policy
from fix_gateway import gateway, no_gateway

from gateway.postgres_server import discard_home
from gateway.sample import Clinic, load_into_duckdb

HOST: Final = "127.0.0.1"
_PATIENCE_S: Final = 60.0
_SUBJECTS: Final = """
alice: {role: researcher, purposes: [care-quality]}
eve: {role: visitor}
"""
# at 1e30 a draw other than 0 has a probability below e^-1000; the most frequent visitor comes less than 1,000 times
_POLICY: Final = clinic_policy(
    {
        "DATASET": "clinic",
        "SOURCE": "CLINIC_URL",
        "MECHANISM": "laplace",
        "PRICE": "1e30",
        "BUDGET": "1e36",
        "ROWS": "1000",
        "GROUPS": "10000",
    },
    without=("smoker", "name", "admitted", "weight", "codes"),
)


@dataclass(frozen=True)
class RunningGateway:
    """Where clients find it, who they are, and the rows that it guards."""

    rest: str
    port: int
    key: str
    clinic: Path

    def url(self, scheme: str = "postgresql") -> str:
        return f"{scheme}://alice:{self.key}@{HOST}:{self.port}/clinic"

    def environment(self) -> dict[str, str]:
        """What a client of libpq's kind reads, and what is ours besides."""
        return {
            **no_gateway(),
            "PGHOST": HOST,
            "PGPORT": str(self.port),
            "PGUSER": "alice",
            "PGPASSWORD": self.key,
            "PGDATABASE": "clinic",
        }

    def true(self, sql: str) -> list[tuple[object, ...]]:
        """What the rows of the clinic say, in DuckDB's words."""
        with duckdb.connect(str(self.clinic), read_only=True) as connection:
            return [tuple(row) for row in connection.execute(sql).fetchall()]

    def counts(self, table: str, column: str) -> dict[object, object]:
        """How many rows there are of each value."""
        return dict(self.true(f"SELECT {column}, count(*) FROM {table} GROUP BY 1"))  # type: ignore[arg-type]  # two


@contextmanager
def a_running_gateway() -> Iterator[RunningGateway]:
    """A gateway with its own state, gone afterwards."""
    foundation = Path(tempfile.mkdtemp(prefix="gw-wire-"))
    foundation.chmod(0o711)  # the embedded servers run as another user
    try:
        home, policies, clinic = (
            foundation / "home",
            foundation / "policies",
            foundation / "clinic.duckdb",
        )
        policies.mkdir()
        (policies / "subjects.yaml").write_text(_SUBJECTS)
        (policies / "clinic.yaml").write_text(_POLICY)
        load_into_duckdb(Clinic(), clinic)
        kept = foundation / "kept.duckdb"
        shutil.copy(clinic, kept)
        environment = {
            **no_gateway(),
            "GATEWAY_HOME": str(home),
            "GATEWAY_POLICIES": str(policies),
            "GATEWAY_REST_PORT": "0",
            "GATEWAY_PG_PORT": "0",
            "CLINIC_URL": f"duckdb:///{clinic}",
        }
        try:
            with _serving(environment, foundation / "log") as (rest, port):
                made = gateway("key", "create", "alice", env=environment)
                assert made.code == 0, made.err
                yield RunningGateway(rest, port, made.out.strip(), kept)
        finally:
            discard_home(home)
    finally:
        shutil.rmtree(foundation)


@contextmanager
def _serving(environment: Mapping[str, str], log: Path) -> Iterator[tuple[str, int]]:
    # its log goes to a file: nobody would read a pipe, and a full one stops who writes to it
    with log.open("w") as written:
        process = subprocess.Popen(
            [sys.executable, "-m", "gateway", "serve"],
            env={**environment, "GATEWAY_LOG_FORMAT": "json"},
            cwd="/",
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=written,
        )
    try:
        started = _started(process, log)
        yield str(started["rest"]), int(str(started["wire"]).rpartition(":")[2])
    finally:
        process.send_signal(signal.SIGTERM)
        try:
            code = process.wait(timeout=_PATIENCE_S)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
            raise
    assert code == 0, log.read_text()


def _started(process: subprocess.Popen[bytes], log: Path) -> Mapping[str, object]:
    """What it says of itself when it listens."""
    deadline = time.monotonic() + _PATIENCE_S
    while True:
        for line in log.read_text().splitlines():
            with suppress(json.JSONDecodeError):  # a line that is not written to its end yet
                told: dict[str, object] = json.loads(line)
                if told["event"] == "gateway.started":
                    return told
        assert process.poll() is None, log.read_text()
        assert time.monotonic() < deadline, log.read_text()
        time.sleep(0.05)
