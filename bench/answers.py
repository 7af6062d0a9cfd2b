"""What an answer costs: the gateway over raw SQL, over bounded SQL written by hand, and over smartnoise-sql.

Everything is asked in turns in one run, and every figure is a median. The gateway's is the whole line in process:
binding, deciding, analysing, the durable charge, the source, noise, the twin, intervals, the record.
"""

import argparse
import os
import shutil
import statistics
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterable
from functools import partial
from pathlib import Path

import httpx
from answers_data import (
    MOST_COST,
    MOST_GROUPS,
    MOST_INCOME,
    Size,
    in_duckdb,
    in_postgresql,
    plain,
    policy,
)
from answers_gateway import Answering, answering, serving_rest, stages
from answers_sql import REPERTOIRE, SHAPES, TABLES, asked, by_hand
from peers import SMARTNOISE, PeerMissingError, ask, installed
from sqlalchemy import URL

from gateway.postgres_server import open_server

_PERSONS, _VISITS = 1_000_000, 10_000_000
_SMARTNOISE_S = 900
_MISSING = float("nan")
_REST_GOAL_MS = 5.0
_SMARTNOISE_GOAL = 10
# one row of each person: of raw SQL, and milliseconds; many rows: of the fastest statement by hand
_OF_RAW, _MORE_MS = 1.15, 5.0
_OF_HAND = {"postgresql": 0.65, "duckdb": 1.1}
_SMALL = {
    "count": "SELECT COUNT(*) FROM few",
    "10 groups x 3": "SELECT g10, COUNT(*), SUM(x), AVG(x) FROM few GROUP BY g10",
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--persons", type=int, default=200_000, help="the goals speak of 1000000")
    parser.add_argument("--visits", type=int, default=2_000_000, help="the goals speak of 10000000")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--mechanism", default="gaussian", choices=("gaussian", "laplace", "auto"))
    parser.add_argument("--smartnoise", default="", help="the python of a venv with it, or `no`")
    given = parser.parse_args()
    size = Size(given.persons, given.visits)
    top = Path(tempfile.mkdtemp(prefix="bench-answers-"))
    top.chmod(0o711)
    print(
        f"{size.persons:,} persons, {size.visits:,} visits, {given.rounds} rounds, {given.mechanism}"
    )
    if size != Size(_PERSONS, _VISITS):
        print(f"smaller than the goals speak of: --persons {_PERSONS} --visits {_VISITS}")
    print(
        f"{os.cpu_count()} cores, load before {os.getloadavg()[0]:.1f}: above 0.5 is somebody else's"
    )
    try:
        with open_server(top / "server") as server:
            url = in_postgresql(server, size)
            other = _smartnoise(url, given.smartnoise)
            measure("PostgreSQL", "postgresql", url, given.rounds, given.mechanism, other)
        url = in_duckdb(top / "answers.duckdb", size)
        measure("DuckDB", "duckdb", url, given.rounds, given.mechanism, [])
    finally:
        shutil.rmtree(top)


def measure(  # noqa: PLR0917 - one call for each database
    name: str, dialect: str, url: URL, rounds: int, mechanism: str, other: list[float]
) -> None:
    head = ("raw", "by hand", "gateway", "goal", "", "/ raw", "/ hand", "smartnoise", "it / ours")
    print(f"\n{name:<33}" + "".join(f"{one:>11}" for one in head))
    with answering(url, policy(mechanism)) as gateway:
        others = iter(other)
        for table in TABLES:
            for shape in SHAPES:
                sql = asked(table, shape)
                raw, ours, *hands = in_turns(
                    (
                        partial(gateway.raw, sql),
                        partial(gateway.ask, sql),
                        *(partial(gateway.raw, one) for one in by_hand(dialect, table, shape)),
                    ),
                    rounds,
                )
                hand, noisy = min(hands), next(others, _MISSING)
                wanted = _goal(dialect, table, raw, hand)
                figures = (
                    f"{raw:11.1f}{hand:11.1f}{ours:11.1f}{wanted:11.1f}{_met(ours, wanted):>11}"
                )
                print(
                    f"{table:<10}{shape:<23}{figures}{ours / raw:11.2f}{ours / hand:11.2f}"
                    f"{noisy:11.1f}{noisy / ours:11.1f}",
                    flush=True,
                )
        print(f"goal of smartnoise / ours: {_SMARTNOISE_GOAL}")
        for shape, sql in REPERTOIRE.items():
            raw, ours = in_turns((partial(gateway.raw, sql), partial(gateway.ask, sql)), rounds)
            print(
                f"patients  {shape:<23}{raw:11.1f}{'':>11}{ours:11.1f}{'':>22}{ours / raw:11.2f}",
                flush=True,
            )
        print(f"memory of this process, DuckDB's library included: {_memory_mb():.0f} MB")
        print(f"\n{name}, warm, in process, ms; each stage is the mean")
        for shape, sql in _SMALL.items():
            by_stage(gateway, f"1,000 rows, {shape}", sql, 20 * rounds)
        by_stage(gateway, "patients, 2,000 groups x 3", asked("patients", SHAPES[2]), rounds)
    try:
        with serving_rest(url, policy(mechanism)) as ask:
            for shape, sql in _SMALL.items():
                (took,) = in_turns((partial(ask, sql),), 20 * rounds)
                print(
                    f"over REST, 1,000 rows, {shape}: {took:.1f}"
                    f" (goal {_REST_GOAL_MS:.0f}, {_met(took, _REST_GOAL_MS)})"
                )
    except (httpx.HTTPError, subprocess.SubprocessError) as error:
        print(f"over REST: skipped, {type(error).__name__}: {error}")


def _goal(dialect: str, table: str, raw: float, hand: float) -> float:
    if table == "patients":
        return _OF_RAW * (raw if dialect == "postgresql" else hand) + _MORE_MS
    return _OF_HAND[dialect] * hand


def _met(took: float, goal: float) -> str:
    return "met" if took <= goal else "missed"


def by_stage(gateway: Answering, name: str, sql: str, rounds: int) -> None:
    gateway.spent.clear()
    with stages(gateway):
        (took,) = in_turns((partial(gateway.ask, sql),), rounds)
    parts = {one: spent / (rounds + 1) for one, spent in gateway.spent.items()}
    print(f"{name}: {took:.1f}; " + ", ".join(f"{one} {part:.2f}" for one, part in parts.items()))
    print(f"  noise is {100 * parts.get('noise', 0) / took:.1f} % of it", flush=True)


def in_turns(works: Iterable[Callable[[], object]], rounds: int) -> list[float]:
    """The median of each in milliseconds; once before, without being counted."""
    jobs = list(works)
    for job in jobs:
        job()
    took: list[list[float]] = [[] for _ in jobs]
    for _ in range(rounds):
        for job, times in zip(jobs, took, strict=True):
            began = time.perf_counter()
            job()
            times.append((time.perf_counter() - began) * 1000)
    return [statistics.median(times) for times in took]


def _smartnoise(url: URL, python: str) -> list[float]:
    """Milliseconds for each question on PostgreSQL, or a printed reason why there are none."""
    if python == "no":
        print("smartnoise-sql: skipped, as told")
        return []
    order = {
        "url": plain(url),
        "rounds": 2,
        "tables": {
            "patients": {"max_ids": 1, "upper": MOST_INCOME},
            "visits": {"max_ids": MOST_GROUPS, "upper": MOST_COST},
        },
        "statements": [asked(table, shape) for table in TABLES for shape in SHAPES],
    }
    try:
        python = python or installed("smartnoise", SMARTNOISE)
    except PeerMissingError as error:
        print(f"smartnoise-sql: not installed: {error}")
        return []
    replies = ask(python, "answers_smartnoise.py", order, _SMARTNOISE_S)
    if replies.problem:
        print(f"smartnoise-sql: skipped, {replies.problem}")
        return []
    return [float(one) for one in replies.objects[-1]]


def _memory_mb() -> float:
    for line in Path("/proc/self/status").read_text().splitlines():
        if line.startswith("VmHWM"):
            return int(line.split()[1]) / 1024
    return _MISSING


if __name__ == "__main__":
    main()
