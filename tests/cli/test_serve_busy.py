"""`gateway serve` while one analyst's questions would take hours: others are answered, and it ends when it is told to."""

import os
import signal
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path
from time import monotonic, sleep

import httpx
import pytest
from engines.sources import in_duckdb, in_postgresql
from fix_gateway import Installation, Serving, environment
from fix_postgres_server import gone
from sqlalchemy import URL

from gateway.admin.instance import open_foundation
from gateway.trail.record import RecordKind
from gateway.trail.search import RecordFilter, latest_records

Begin = Callable[..., Serving]
_PATIENCE_S = 60.0
_END_S = 5.0
_LOAD_S = 5.0  # what a machine that is busy with other tests may add
_LONG_S = 1.5  # by then every statement has given way to short ones: `SHORT_S`
_TABLES = """
CREATE TABLE visits (patient_id bigint, kind text, cost bigint);
INSERT INTO visits SELECT x % 500, 'k' || (x % 3), x % 90 FROM {numbers}(1, 1000) AS a(x);
CREATE VIEW slow_visits AS
    SELECT (a.x * b.x) % 500 AS patient_id, 'k' || ((a.x + b.x) % 3) AS kind, (a.x * b.x) % 90 AS cost
    FROM {numbers}(1, 10000000) AS a(x), {numbers}(1, 10000000) AS b(x)
"""
_COLUMNS = """
    unit_key: patient_id
    values_per_unit: 5
    groups_per_unit: 3
    columns:
      patient_id: {type: bigint, class: identifier}
      kind: {type: text, class: sensitive}
      cost: {type: bigint, class: sensitive, domain: {between: [0, 90]}}
"""
_POLICY = f"""
gateway: 1
dataset: clinic
source: ${{CLINIC}}
privacy:
  unit: patient
  budget: {{epsilon: 1000, delta: 1e-6}}
  per_query: {{default: 1, max: 1}}
tables:
  visits: {_COLUMNS}
  slow_visits: {_COLUMNS}
access:
  - id: everything
    effect: permit
    when: subject.role == "researcher"
    tables: [visits, slow_visits]
    use: {{aggregate: ["*"], group_by: ["*"], filter: ["*"], join: ["*"]}}
    budget: {{epsilon: 500}}
reuse: {{max_age: 0d}}
"""
_SHAPES = ("COUNT(*)", "SUM(cost)", "AVG(cost)", "COUNT(DISTINCT patient_id)")
_SLOW = [
    f"SELECT {shape} FROM slow_visits{groups}"
    for shape in _SHAPES
    for groups in ("", " GROUP BY kind")
]


@pytest.fixture(params=["duckdb", "postgresql"])
def source(request: pytest.FixtureRequest, tmp_path: Path) -> URL:
    if request.param == "duckdb":
        return in_duckdb(tmp_path, _TABLES.format(numbers="range"))
    url: URL = request.getfixturevalue("sample_database")
    return in_postgresql(url, _TABLES.format(numbers="generate_series"))


class Busy:
    """A gateway, and eight questions of alice that compute."""

    def __init__(self, serving: Serving, url: str, keys: dict[str, str]) -> None:
        self.serving = serving
        self._url = url
        self._keys = keys
        self._threads = ThreadPoolExecutor(8)
        self.asked: list[Future[int]] = []

    def ask(self, who: str, sql: str) -> int:
        with httpx.Client(timeout=_PATIENCE_S) as client:
            try:
                headers = {"Authorization": f"Bearer {self._keys[who]}"}
                body = {"sql": sql, "dataset": "clinic"}
                answer = client.post(f"{self._url}/v1/query", json=body, headers=headers)
            except httpx.HTTPError:
                return 0
        return answer.status_code

    def begin(self) -> None:
        self.asked = [self._threads.submit(self.ask, "alice", sql) for sql in _SLOW]

    def end(self) -> None:
        self._threads.shutdown()


@pytest.fixture
def busy(installation: Installation, serve: Begin, source: URL) -> Iterator[Busy]:
    names = ("alice", "bob", "carol")
    with installation.open() as clerk:
        keys = {name: clerk.key(name).key.reveal() for name in names}
    env = environment(installation, CLINIC=source.render_as_string(hide_password=False))
    (Path(env["GATEWAY_POLICIES"]) / "clinic.yaml").write_text(_POLICY)
    serving = serve(env=env)
    made = Busy(serving, serving.url(), keys)
    assert made.ask("bob", "SELECT COUNT(*) FROM visits") == 200
    made.begin()
    sleep(_LONG_S)
    assert not any(one.done() for one in made.asked)
    yield made
    made.end()


def descendants(pid: int) -> set[int]:
    """Every process below it."""
    found: set[int] = set()
    for task in Path(f"/proc/{pid}/task").iterdir():
        for child in map(int, (task / "children").read_text().split()):
            found |= {child, *descendants(child)}
    return found


def test_gateway_answers_others_and_ends_when_one_subject_computes_for_ever(
    busy: Busy, installation: Installation
) -> None:
    """Another analyst is answered within a second; SIGTERM ends everything in five, with every fate recorded."""
    took = []
    for shape in _SHAPES:
        began = monotonic()
        assert busy.ask("bob", f"SELECT {shape} FROM visits") == 200
        took.append(monotonic() - began)
    assert min(took) < 1.0, took
    below = descendants(busy.serving.process.pid)
    assert below
    began = monotonic()
    busy.serving.tell(signal.SIGTERM)
    assert busy.serving.ended() == 0
    assert monotonic() - began < _END_S + _LOAD_S, busy.serving.log
    assert all(map(gone, below))
    told = {one.result(_PATIENCE_S) for one in busy.asked}
    assert told <= {0, 504}
    assert 504 in told
    with (
        open_foundation(installation.settings) as foundation,
        foundation.engine.connect() as connection,
    ):
        records = latest_records(connection, 1000, RecordFilter())
    mine = [one for one in records if one.get("subject") == "alice"]
    charged = {one["query_id"] for one in mine if one["kind"] == RecordKind.CHARGED}
    failed = {one["query_id"] for one in mine if one["kind"] == RecordKind.FAILED}
    assert charged
    assert failed == charged


def test_processes_of_a_busy_gateway_end_with_it_when_it_is_killed(busy: Busy) -> None:
    """Nothing goes on computing for a gateway that is not there."""
    below = descendants(busy.serving.process.pid)
    os.kill(busy.serving.process.pid, signal.SIGKILL)
    busy.serving.process.wait(_PATIENCE_S)
    until = monotonic() + _PATIENCE_S / 2
    while not all(map(gone, below)) and monotonic() < until:
        sleep(0.05)
    assert all(map(gone, below))
