"""How fast charges become durable, against bare durable one-row INSERTs on the same server.

A charge here is the real one: three accounts, its trail record, the chain, the anchor. The bare rate
is one connection inserting one row at a time with autocommit into a table of its own, which is the
least that anything durable can cost on this server and this disk.

Goals: 1 caller >= 0.4 x bare, 64 callers >= 1 x bare.
"""

import argparse
import secrets
import shutil
import statistics
import tempfile
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from fractions import Fraction
from pathlib import Path

import psycopg

from gateway.admin.actions import record_acts
from gateway.admin.instance import Foundation, open_foundation
from gateway.budget.account import Account, Currency, Ledger, Limits
from gateway.budget.charge import ChargedMeasurement, ChargeRequest
from gateway.budget.limits import open_account, open_ledger
from gateway.config import SettingsConflict
from gateway.events import ignore_event
from gateway.postgres_server import discard_home, open_server
from gateway.stages.charge import charge_query
from gateway.stages.record import QueryRecord
from gateway.state.draft import Draft
from gateway.state.open import embedded_urls
from gateway.trail.record import AskedQuestion
from gateway.units import Delta, Epsilon

_CALLERS = (1, 8, 64)
_GOALS = {1: 0.4, 64: 1.0}
_ROUNDS = 5
_LIMITS = Limits(Epsilon.parse("1000000"), Delta.parse("1e-6"))
_PRICE = Epsilon.parse("0.05")
_ACCOUNT = "analyst:alice@bench"


@dataclass(frozen=True)
class Row:
    callers: int
    per_second: float
    ratio: float


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=float, default=2.0, help="for each measurement")
    seconds = parser.parse_args().seconds
    home = Path(tempfile.mkdtemp(prefix="bench-ledger-"))
    try:
        with bench_foundation(home) as foundation, bare_connection(home) as bare:
            print_table(measure(foundation, bare, seconds))
    finally:
        discard_home(home / "home")
        shutil.rmtree(home)


def measure(foundation: Foundation, bare: psycopg.Connection, seconds: float) -> list[Row]:
    """Rounds of both, interleaved, so that a noisy moment hits both; medians of the ratios."""
    found: dict[int, list[tuple[float, float]]] = {callers: [] for callers in _CALLERS}
    for _ in range(_ROUNDS):
        for callers in _CALLERS:
            before = bare_rate(bare, seconds / 2)
            charged = charge_rate(foundation, callers, seconds)
            after = bare_rate(bare, seconds / 2)
            found[callers].append((charged, charged / ((before + after) / 2)))
    return [
        Row(
            callers,
            statistics.median(rate for rate, _ in rounds),
            statistics.median(ratio for _, ratio in rounds),
        )
        for callers, rounds in found.items()
    ]


def print_table(rows: list[Row]) -> None:
    print(f"{datetime.now(UTC):%Y-%m-%d}, medians of {_ROUNDS} rounds")
    print("| callers | charges/s | x bare INSERT | goal |")
    print("|---:|---:|---:|---:|")
    for row in rows:
        goal = _GOALS.get(row.callers)
        print(
            f"| {row.callers} | {row.per_second:,.0f} | {row.ratio:.2f} | {f'>= {goal}' if goal else ''} |"
        )


def bare_rate(connection: psycopg.Connection, seconds: float) -> float:
    count, started = 0, time.perf_counter()
    while time.perf_counter() - started < seconds:
        connection.execute("INSERT INTO bare (body) VALUES (%s)", ("x" * 200,), prepare=True)
        count += 1
    return count / (time.perf_counter() - started)


def charge_rate(foundation: Foundation, callers: int, seconds: float) -> float:
    counts = [0] * callers
    end = time.perf_counter() + seconds

    def work(caller: int) -> None:
        while time.perf_counter() < end:
            charge_once(foundation)
            counts[caller] += 1

    threads = [threading.Thread(target=work, args=(caller,)) for caller in range(callers)]
    started = time.perf_counter()
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return sum(counts) / (time.perf_counter() - started)


def charge_once(foundation: Foundation) -> None:
    query_id = secrets.token_hex(8)
    asked = AskedQuestion(
        query_id=query_id,
        subject="alice",
        dataset="bench",
        sql="SELECT region, count(*), avg(income) FROM patients GROUP BY region",
        front_end="rest",
        address="127.0.0.1",
        purpose="care-quality",
        attributes={"role": "researcher"},
    )
    half = Fraction(1, 2)
    measurements = (
        ChargedMeasurement("count", "laplace", half, Delta.zero()),
        ChargedMeasurement("sum", "laplace", half, Delta.zero()),
    )
    request = ChargeRequest(query_id, "alice", _ACCOUNT, _PRICE, measurements)
    now = datetime.now(UTC)
    record = QueryRecord(
        asked,
        journal=foundation.journal,
        trail=foundation.trail,
        emit=ignore_event,
        now=lambda: now,
    )
    charge_query(foundation.journal, record, request, now)


@contextmanager
def bench_foundation(home: Path) -> Iterator[Foundation]:
    """The foundation of a gateway with a ledger, a team and an analyst."""
    now = datetime.now(UTC)
    with open_foundation(SettingsConflict(home=home / "home")) as foundation:
        journal, trail = foundation.journal, foundation.trail
        ledger = Ledger("dataset:bench", "bench", "patient", Currency.PURE)
        parents = {"team:oncology@bench": ledger.name, _ACCOUNT: "team:oncology@bench"}

        def opened(draft: Draft) -> None:
            acts = open_ledger(draft, ledger, _LIMITS, actor="bench", now=now)
            for name, parent in parents.items():
                account = Account(name, ledger, parent, _LIMITS)
                acts += open_account(draft, account, actor="bench", now=now)
            record_acts(draft, trail, "bench", acts)

        journal.commit(opened)
        yield foundation


@contextmanager
def bare_connection(home: Path) -> Iterator[psycopg.Connection]:
    """A plain connection to the same server, with a table to insert into."""
    with open_server(home / "home") as lease:
        owner = embedded_urls(lease, home / "home").owner
        assert owner is not None
        dsn = owner.set(drivername="postgresql").render_as_string(hide_password=False)
        with psycopg.connect(dsn, autocommit=True) as connection:
            connection.execute("CREATE TABLE bare (id bigserial PRIMARY KEY, body text)")
            yield connection


if __name__ == "__main__":
    main()
