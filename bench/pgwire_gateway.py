"""`gateway serve` in a process of its own, and beside it a twin of this process: what clients speak to without a gateway."""

import os
import re
import shutil
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

import duckdb
import httpx

from gateway.twin import VisibleColumn, VisibleTable, VisibleTables, open_twin

ROWS: Final = 1_000
_TICKS: Final = os.sysconf("SC_CLK_TCK")
_NAMES: Final = ("alice", "bob")  # one subject may hold 100 connections
_SUBJECTS: Final = "".join(f"{name}: {{role: researcher}}\n" for name in _NAMES)
_POLICY: Final = """
gateway: 1
dataset: clinic
source: ${SOURCE_URL}
privacy:
  unit: patient
  budget: {epsilon: 1e9, delta: 1e-6}
  per_query: {default: 1, max: 10}
  mechanism: laplace
tables:
  patients:
    unit_key: patient_id
    rows_per_unit: 1
    columns:
      patient_id: {type: bigint, class: identifier}
      g10: {type: integer, class: quasi, domain: {between: [0, 9]}}
access:
  - id: everything
    effect: permit
    when: subject.role == "researcher"
    tables: [patients]
    use: {aggregate: ["*"], group_by: ["*"], filter: ["*"]}
    budget: {epsilon: 1e9}
audit: {min_units: 1, narrow_cells: 0, opaque_predicates: allow}
reuse: {max_age: 0d}
"""
_TABLES: Final[VisibleTables] = frozenset(
    {
        VisibleTable(
            "patients",
            (VisibleColumn("patient_id", "bigint"), VisibleColumn("g10", "integer")),
            primary_key=("patient_id",),
        )
    }
)


@dataclass(frozen=True)
class Server:
    """What a client has to know of a server that speaks PostgreSQL's protocol."""

    host: str
    port: int
    user: str
    database: str
    password: str = field(repr=False)

    @property
    def environment(self) -> dict[str, str]:
        """For what is built on libpq."""
        return {
            **os.environ,
            "PGHOST": self.host,
            "PGPORT": str(self.port),
            "PGUSER": self.user,
            "PGDATABASE": self.database,
            "PGPASSWORD": self.password,
        }

    @property
    def conninfo(self) -> str:
        return (
            f"host={self.host} port={self.port} user={self.user} dbname={self.database}"
            f" password={self.password} sslmode=disable gssencmode=disable"
        )


@dataclass(frozen=True)
class Gateway:
    wire: Server
    another: Server  # the same for another subject
    rest: httpx.Client
    process: "subprocess.Popen[bytes]"

    def cpu_s(self) -> float:
        """What its process has computed so far, the twin's not among it."""
        said = Path(f"/proc/{self.process.pid}/stat").read_text().rpartition(")")[2].split()
        return (int(said[11]) + int(said[12])) / _TICKS

    def memory_mb(self) -> float:
        return proportional_mb(self.process.pid)

    def twin_mb(self) -> float:
        """Of all processes of all embedded servers: the state's do not change while nobody asks."""
        return sum(map(proportional_mb, _below(self.process.pid)))


@contextmanager
def a_twin() -> Iterator[Server]:
    """The same server that the gateway starts for itself, spoken to directly, over its socket."""
    with _home() as home, open_twin(home / "home") as twin:
        life = twin._supervisor.life()  # noqa: SLF001  # a bench may look inside
        login, address = life.roles.login("alice", _TABLES), life.server.address
        password = login.password.get_secret_value()
        yield Server(str(address.socket_dir), address.port, login.role, login.database, password)


@contextmanager
def a_gateway() -> Iterator[Gateway]:
    """On a DuckDB of 1,000 rows; its port is on loopback, in the clear."""
    with _home() as home:
        with duckdb.connect(str(home / "clinic.duckdb")) as there:
            there.execute("CREATE TABLE patients (patient_id bigint PRIMARY KEY, g10 integer)")
            there.execute(f"INSERT INTO patients SELECT i, i % 10 FROM range({ROWS}) s(i)")
        (home / "policies").mkdir()
        (home / "policies" / "clinic.yaml").write_text(_POLICY)
        (home / "policies" / "subjects.yaml").write_text(_SUBJECTS)
        rest, wire = _free_ports()
        environment = {
            **os.environ,
            "SOURCE_URL": f"duckdb:///{home / 'clinic.duckdb'}",
            "GATEWAY_HOME": str(home / "home"),
            "GATEWAY_POLICIES": str(home / "policies"),
            "GATEWAY_REST_PORT": str(rest),
            "GATEWAY_PG_PORT": str(wire),
        }
        command = [sys.executable, "-m", "gateway"]
        keys = [_key_of(name, command, environment) for name in _NAMES]
        with (home / "log").open("wb") as log:
            server = subprocess.Popen(
                [*command, "serve"], env=environment, stdout=log, stderr=log, cwd=home
            )
        try:
            with httpx.Client(
                base_url=f"http://127.0.0.1:{rest}",
                headers={"Authorization": f"Bearer {keys[0]}"},
                timeout=60,
            ) as client:
                _wait_until_ready(client, server)
                wires = [
                    Server("127.0.0.1", wire, name, "clinic", key)
                    for name, key in zip(_NAMES, keys, strict=True)
                ]
                yield Gateway(wires[0], wires[1], client, server)
        finally:
            server.terminate()
            server.wait(30)


def _key_of(name: str, command: list[str], environment: dict[str, str]) -> str:
    return subprocess.run(
        [*command, "key", "create", name],
        env=environment,
        check=True,
        capture_output=True,
        text=True,
    ).stdout.strip()


def proportional_mb(pid: int) -> float:
    """What a process uses, with its share of what it shares; nothing when it ended just now."""
    try:
        text = Path(f"/proc/{pid}/smaps_rollup").read_text()
    except OSError:
        return 0.0
    found = re.search(r"^Pss:\s+(\d+) kB", text, re.MULTILINE)
    return int(found[1]) / 1024 if found else 0.0


def _below(pid: int) -> Iterator[int]:
    """All processes that this one started, and theirs."""
    for thread in Path(f"/proc/{pid}/task").glob("*"):
        with suppress(OSError):  # it ended just now
            for child in map(int, (thread / "children").read_text().split()):
                yield child
                yield from _below(child)


@contextmanager
def _home() -> Iterator[Path]:
    home = Path(tempfile.mkdtemp(prefix="bench-pgwire-"))
    home.chmod(0o711)
    (home / "home").mkdir(mode=0o711)
    (home / "home").chmod(0o711)
    try:
        yield home
    finally:
        shutil.rmtree(home)


def _free_ports() -> tuple[int, int]:
    with socket.socket() as one, socket.socket() as other:
        for probe in (one, other):
            probe.bind(("127.0.0.1", 0))
        return one.getsockname()[1], other.getsockname()[1]


def _wait_until_ready(client: httpx.Client, server: "subprocess.Popen[bytes]") -> None:
    for _ in range(300):
        if server.poll() is not None:
            raise httpx.ConnectError("the gateway ended")
        try:
            if client.get("/readyz").status_code == httpx.codes.OK:
                return
        except httpx.TransportError:
            pass
        time.sleep(0.1)
    raise httpx.ConnectError("the gateway does not answer")
