"""`gateway serve` in a process of its own over the sample clinic: several datasets of the same people."""

import os
import shutil
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import httpx
from pgwire_gateway import Server

from gateway.sample.clinic import Clinic
from gateway.sample.duckdb_loader import load_into_duckdb

ANALYSTS: Final = ("alice", "bob", "carol", "dave")
ROWS, GROUPS = 10, 4  # of visits
MOST_INCOME, MOST_COST = 200_000, 5_000
AUDIT: Final = "{min_units: 10, narrow_cells: 1, opaque_predicates: refuse}"
NO_AUDIT: Final = "{min_units: 1, narrow_cells: 0, opaque_predicates: allow}"
_POLICY: Final = """
gateway: 1
dataset: @DATASET@
source: ${@SOURCE@}
privacy:
  unit: patient
  budget: {epsilon: @BUDGET@, delta: 1e-6}
  per_query: {default: @PRICE@, min: 1e-9, max: @BUDGET@}
  mechanism: auto
tables:
  patients:
    unit_key: patient_id
    rows_per_unit: 1
    columns:
      patient_id: {type: bigint, class: identifier}
      region: {type: text, class: quasi, domain: {in: [north, east, south, west]}}
      birth_year: {type: integer, class: quasi, domain: {between: [1920, 2020]}}
      income: {type: numeric, class: sensitive, domain: {between: [0, 200000]}, step: 1}
  visits:
    unit_key: patient_id
    rows_per_unit: 10
    groups_per_unit: 4
    columns:
      visit_id: {type: bigint, class: identifier}
      patient_id: {type: bigint, class: identifier, joins: patients.patient_id}
      diagnosis: {type: text, class: sensitive}
      cost: {type: numeric, class: sensitive, domain: {between: [0, 5000]}, step: 0.01}
      visit_date: {type: date, class: quasi, domain: {between: [2020-01-01, 2026-12-31]}}
access:
  - id: everything
    effect: permit
    when: subject.role == "researcher"
    tables: [patients, visits]
    use: {aggregate: ["*"], group_by: ["*"], filter: ["*"]}
    budget: {epsilon: @BUDGET@}
audit: @AUDIT@
reuse: {max_age: 7d}
"""


@dataclass(frozen=True)
class Dataset:
    """What there is to spend, what a question takes, and whether questions are held against each other."""

    budget: str
    price: str
    audit: str = AUDIT


@dataclass(frozen=True)
class Gateway:
    clients: Mapping[str, httpx.Client]
    wire: Server

    def ask(self, sql: str, dataset: str, who: str = "alice", **more: object) -> Mapping[str, Any]:
        """The answer; what is refused is raised."""
        said: Mapping[str, Any] = (
            self.clients[who]
            .post("/v1/query", json={"sql": sql, "dataset": dataset, **more})
            .raise_for_status()
            .json()
        )
        return said

    def spent(self, dataset: str) -> float:
        """What everybody together took."""
        said = self.clients["alice"].get("/v1/budget").raise_for_status().json()
        name = f"dataset:{dataset}"
        return next(
            float(one["epsilon_spent"]) for one in said["accounts"] if one["account"] == name
        )


@contextmanager
def serving(datasets: Mapping[str, Dataset]) -> Iterator[Gateway]:
    """Each dataset has a copy of the clinic: a source belongs to one ledger."""
    with _home() as home, ExitStack() as stack:
        environment = {**os.environ, **_written(home, datasets)}
        rest, wire = _free_ports()
        environment |= {"GATEWAY_REST_PORT": str(rest), "GATEWAY_PG_PORT": str(wire)}
        command = [sys.executable, "-m", "gateway"]
        keys = {name: _key_of(name, command, environment) for name in ANALYSTS}
        log = stack.enter_context((home / "log").open("wb"))
        server = subprocess.Popen(
            [*command, "serve"], env=environment, stdout=log, stderr=log, cwd=home
        )
        try:
            clients = {
                name: stack.enter_context(
                    httpx.Client(
                        base_url=f"http://127.0.0.1:{rest}",
                        headers={"Authorization": f"Bearer {key}"},
                        timeout=60,
                    )
                )
                for name, key in keys.items()
            }
            _wait_until_ready(clients["alice"], server)
            first = next(iter(datasets))
            yield Gateway(clients, Server("127.0.0.1", wire, "alice", first, keys["alice"]))
        finally:
            server.terminate()
            server.wait(30)


def _written(home: Path, datasets: Mapping[str, Dataset]) -> dict[str, str]:
    """Policies and sources; and the environment that finds them."""
    policies, model = home / "policies", home / "model.duckdb"
    policies.mkdir()
    load_into_duckdb(Clinic(), model)
    (policies / "subjects.yaml").write_text(
        "".join(f"{name}: {{role: researcher}}\n" for name in ANALYSTS)
    )
    found = {"GATEWAY_HOME": str(home / "home"), "GATEWAY_POLICIES": str(policies)}
    for name, dataset in datasets.items():
        file = shutil.copy(model, home / f"{name}.duckdb")
        found[name.upper()] = f"duckdb:///{file}"
        said = {
            "DATASET": name,
            "SOURCE": name.upper(),
            "BUDGET": dataset.budget,
            "PRICE": dataset.price,
            "AUDIT": dataset.audit,
        }
        text = _POLICY
        for word, value in said.items():
            text = text.replace(f"@{word}@", value)
        (policies / f"{name}.yaml").write_text(text)
    return found


def _key_of(name: str, command: list[str], environment: dict[str, str]) -> str:
    return subprocess.run(
        [*command, "key", "create", name],
        env=environment,
        check=True,
        capture_output=True,
        text=True,
    ).stdout.strip()


@contextmanager
def _home() -> Iterator[Path]:
    home = Path(tempfile.mkdtemp(prefix="bench-reuse-"))
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
