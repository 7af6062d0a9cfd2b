"""The auditor's time, inside of the pipeline of a gateway in this process, with so many questions in the past."""

import shutil
import statistics
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from functools import wraps
from itertools import islice
from pathlib import Path
from typing import Final

import duckdb

from gateway.admin.instance import open_foundation
from gateway.app import open_policies, open_query_service, open_twin_of
from gateway.cancellation import CancelEvent
from gateway.config import SettingsConflict
from gateway.requests.request import Request
from gateway.stages import quote as buying

_STAGE: Final = "audit"
_PEOPLE: Final = 50_000
_STEP, _MOST = 1_000, 200_000
_POLICY: Final = """
gateway: 1
dataset: audited
source: ${SOURCE_URL}
privacy:
  unit: patient
  budget: {epsilon: 1e9, delta: 1e-6}
  per_query: {default: 10, max: 10}
  mechanism: laplace
tables:
  patients:
    unit_key: patient_id
    rows_per_unit: 1
    columns:
      patient_id: {type: bigint, class: identifier}
      income: {type: integer, class: sensitive, domain: {between: [0, 200000]}}
access:
  - id: everything
    effect: permit
    when: subject.role == "researcher"
    tables: [patients]
    use: {aggregate: ["*"], group_by: ["*"], filter: ["*"]}
    budget: {epsilon: 1e9}
audit: {min_units: 10, narrow_cells: 1, opaque_predicates: refuse}
"""


def _ranges() -> Iterator[str]:
    """Ranges of incomes: all different, all of hundreds of people, and so are their differences; none twice."""
    for width in range(_STEP, _MOST, _STEP):
        for low in range(0, _MOST - width, _STEP):
            yield f"SELECT COUNT(*) FROM patients WHERE income >= {low} AND income < {low + width}"


@contextmanager
def _timed(name: str, took: list[float]) -> Iterator[None]:
    before: Callable[..., object] = getattr(buying, name)

    @wraps(before)
    def run(*given: object, **named: object) -> object:
        began = time.perf_counter()
        try:
            return before(*given, **named)
        finally:
            took.append((time.perf_counter() - began) * 1000)

    setattr(buying, name, run)
    try:
        yield
    finally:
        setattr(buying, name, before)


def auditors_time(past: int, rounds: int) -> tuple[list[float], list[float], list[float]]:
    """Milliseconds: of the auditor, of whole answers, and of whole answers when there was no past."""
    home = Path(tempfile.mkdtemp(prefix="bench-auditor-"))
    home.chmod(0o711)
    try:
        with duckdb.connect(str(home / "audited.duckdb")) as there:
            there.execute("CREATE TABLE patients (patient_id bigint PRIMARY KEY, income integer)")
            there.execute(
                "INSERT INTO patients"
                f" SELECT i, CAST(hash(i) % {_MOST} AS integer) FROM range({_PEOPLE}) s(i)"
            )
        policies = home / "policies"
        policies.mkdir()
        (policies / "audited.yaml").write_text(_POLICY)
        (policies / "subjects.yaml").write_text("alice: {role: researcher}\n")
        settings = SettingsConflict(home=home / "home", policies=policies)
        source = {"SOURCE_URL": f"duckdb:///{home / 'audited.duckdb'}"}
        with open_foundation(settings) as foundation, open_twin_of(settings) as twin:
            current = open_policies(foundation, environment=source)
            twin.wait_until_started()
            with closing(open_query_service(foundation, current, twin, "rest")) as asking:
                alice, ranges = current.value.subjects["alice"], _ranges()

                def ask(sql: str) -> float:
                    began = time.perf_counter()
                    asking.answer(alice, Request(sql), CancelEvent())
                    return (time.perf_counter() - began) * 1000

                first = [ask(sql) for sql in islice(ranges, rounds)]
                for sql in islice(ranges, past - rounds):
                    ask(sql)
                audits: list[float] = []
                with _timed(_STAGE, audits):
                    last = [ask(sql) for sql in islice(ranges, rounds)]
                return audits, last, first
    finally:
        shutil.rmtree(home)


def told(past: int, rounds: int, goal_ms: float) -> None:
    audits, last, first = auditors_time(past, rounds)
    median, worst = statistics.median(audits), sorted(audits)[int(len(audits) * 0.95)]
    print(
        f"\n{past:,} past questions: the auditor takes {median:.2f} ms, 95 of 100 {worst:.2f}",
        end="",
    )
    print(f" (goal {goal_ms:.0f} ms: {'met' if median <= goal_ms else 'missed'});", end="")
    print(
        f" an answer {statistics.median(last):.1f} ms, without a past {statistics.median(first):.1f}"
    )
