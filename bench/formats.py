"""What an answer costs in each format over REST: time, and the memory that the gateway's process takes at its peak.

A gateway of its own for each format, on DuckDB, is asked for 10, 10,000, 100,000 and 200,000 groups that the policy
lists, of two keys, a COUNT, a SUM and an AVG. Memory is the growth of the highest resident size over that of 10 groups,
which Linux keeps and forgets when it is told to. The client counts bytes and keeps none.
"""

import argparse
import os
import shutil
import socket
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Final

import duckdb
import httpx

_SIZES: Final = (10, 10_000, 100_000, 200_000)
_ROWS_OF_A_GROUP: Final = 2
_FORMATS: Final = {
    "JSON": "application/json",
    "CSV": "text/csv",
    "Arrow": "application/vnd.apache.arrow.stream",
}
_MOST: Final = 1_000
_MOST_KEYS: Final = 10_000
_FORGET_PEAK: Final = "5"  # what `clear_refs` takes for it
_SUBJECTS: Final = "alice: {role: researcher}\n"
_POLICY: Final = """
gateway: 1
dataset: formats
source: ${{SOURCE_URL}}
privacy:
  unit: person
  budget: {{epsilon: 100000, delta: 1e-6}}
  per_query: {{default: 1, max: 10}}
  mechanism: gaussian
tables:
{tables}
access:
  - id: everything
    effect: permit
    when: subject.role == "researcher"
    tables: [{names}]
    use: {{aggregate: ["*"], group_by: ["*"], filter: ["*"]}}
    budget: {{epsilon: 100000}}
audit: {{min_units: 1, narrow_cells: 0, opaque_predicates: allow}}
reuse: {{max_age: 0d}}
limits: {{enumerated_groups: 200000, result_rows: 200000}}
"""
_TABLE: Final = """
  {name}:
    unit_key: person_id
    rows_per_unit: 1
    columns:
      person_id: {{type: bigint, class: identifier}}
      g: {{type: integer, class: quasi, domain: {{between: [1, {most_keys}]}}}}
      h: {{type: integer, class: quasi, domain: {{between: [1, {others}]}}}}
      x: {{type: integer, class: sensitive, domain: {{between: [0, {most}]}}}}
"""


@dataclass(frozen=True)
class Gateway:
    """`gateway serve` in a process of its own, asked over one connection."""

    process: "subprocess.Popen[bytes]"
    client: httpx.Client

    def ask(self, size: int, accept: str) -> int:
        """How many bytes came."""
        said = {"sql": _asked(size)}
        with self.client.stream(
            "POST", "/v1/query", json=said, headers={"Accept": accept}
        ) as answer:
            answer.raise_for_status()
            return sum(map(len, answer.iter_raw()))

    def peak_mb(self) -> float:
        """The highest resident size since it was forgotten last."""
        for line in (self._of("status")).read_text().splitlines():
            if line.startswith("VmHWM"):
                return int(line.split()[1]) / 1024
        raise OSError("no VmHWM")

    def forget_peak(self) -> None:
        self._of("clear_refs").write_text(_FORGET_PEAK)

    def _of(self, name: str) -> Path:
        return Path(f"/proc/{self.process.pid}/{name}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--formats", nargs="*", default=list(_FORMATS), choices=list(_FORMATS))
    given = parser.parse_args()
    print(
        f"{given.rounds} rounds, {os.cpu_count()} cores, load before {os.getloadavg()[0]:.1f}:"
        " above 0.5 is somebody else's"
    )
    top = Path(tempfile.mkdtemp(prefix="bench-formats-"))
    top.chmod(0o711)
    try:
        file = top / "formats.duckdb"
        _fill(file)
        raw = {size: _raw_ms(file, size, given.rounds) for size in _SIZES}
        head = ("ms", "of JSON of 10", "raw, ms", "of raw", "bytes a row", "peak, MB", "more, MB")
        print(f"{'':<16}" + "".join(f"{one:>15}" for one in head))
        for name in given.formats:
            measure(name, top, raw, given.rounds)
    finally:
        shutil.rmtree(top)


def measure(name: str, top: Path, raw: dict[int, float], rounds: int) -> None:
    with _gateway(top) as gateway:
        first = _median_ms(partial(gateway.ask, _SIZES[0], _FORMATS["JSON"]), 4 * rounds)
        least = None
        for size in _SIZES:
            ask = partial(gateway.ask, size, _FORMATS[name])
            gateway.forget_peak()
            bytes_ = ask()
            took = _median_ms(ask, rounds if size > _SIZES[0] else 4 * rounds)
            peak = gateway.peak_mb()
            least = peak if least is None else least
            figures = (
                f"{took:15.1f}{took / first:15.1f}{raw[size]:15.1f}{took / raw[size]:15.1f}"
                f"{bytes_ / size:15.1f}{peak:15.1f}{peak - least:15.1f}"
            )
            print(f"{name:<6}{size:>10,}{figures}", flush=True)


def _median_ms(work: Callable[[], object], rounds: int) -> float:
    """Once before, without being counted."""
    work()
    took = []
    for _ in range(rounds):
        began = time.perf_counter()
        work()
        took.append((time.perf_counter() - began) * 1000)
    return statistics.median(took)


def _asked(size: int) -> str:
    return f"SELECT g, h, COUNT(*) AS n, SUM(x) AS s, AVG(x) AS a FROM of_{size} GROUP BY g, h"


def _keys(size: int) -> tuple[int, int]:
    """How many values two keys have: of one alone, fewer are listed."""
    keys = min(size, _MOST_KEYS)
    return keys, size // keys


def _fill(file: Path) -> None:
    """Every value is a hash of its row's number."""
    with closing(duckdb.connect(str(file))) as there:
        for size in _SIZES:
            keys, others = _keys(size)
            there.execute(
                f"CREATE TABLE of_{size} (person_id bigint PRIMARY KEY, g integer NOT NULL, h integer NOT NULL, x integer NOT NULL)"
            )
            there.execute(
                f"INSERT INTO of_{size} SELECT i, 1 + i % {keys}, 1 + i // {keys} % {others}, CAST(hash(i) % {_MOST} AS INTEGER)"
                f" FROM range({_ROWS_OF_A_GROUP * size}) s(i)"
            )


def _raw_ms(file: Path, size: int, rounds: int) -> float:
    """The same statement without privacy, its rows fetched in this process."""
    with closing(duckdb.connect(str(file), read_only=True)) as there:
        return _median_ms(lambda: there.execute(_asked(size)).fetchall(), rounds)


@contextmanager
def _gateway(top: Path) -> Iterator[Gateway]:
    home = Path(tempfile.mkdtemp(dir=top))
    home.chmod(0o711)
    policies = home / "policies"
    policies.mkdir()
    names = [f"of_{size}" for size in _SIZES]
    tables = "".join(
        _TABLE.format(
            name=f"of_{size}", most_keys=_keys(size)[0], others=_keys(size)[1], most=_MOST
        )
        for size in _SIZES
    )
    (policies / "formats.yaml").write_text(_POLICY.format(tables=tables, names=", ".join(names)))
    (policies / "subjects.yaml").write_text(_SUBJECTS)
    port, other = _free_ports()
    environment = {
        **os.environ,
        "SOURCE_URL": f"duckdb:///{top / 'formats.duckdb'}",
        "GATEWAY_HOME": str(home / "home"),
        "GATEWAY_POLICIES": str(policies),
        "GATEWAY_REST_PORT": str(port),
        "GATEWAY_PG_PORT": str(other),
    }
    command = [sys.executable, "-m", "gateway"]
    key = subprocess.run(
        [*command, "key", "create", "alice"],
        env=environment,
        check=True,
        capture_output=True,
        text=True,
    ).stdout.strip()
    server = subprocess.Popen(
        [*command, "serve"], env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    )
    try:
        with httpx.Client(
            base_url=f"http://127.0.0.1:{port}",
            headers={"Authorization": f"Bearer {key}"},
            timeout=120,
        ) as client:
            _wait_until_ready(client, server)
            yield Gateway(server, client)
    finally:
        server.terminate()
        server.wait(30)


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


if __name__ == "__main__":
    main()
