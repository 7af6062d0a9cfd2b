"""What answers that are given again save: dashboards, warm repeats, questions per budget; and what the auditor takes.

**Equal error.** Beside the gateway stands a mechanism without a memory: it adds Laplace noise to every column of every
statement and adds up what it spends (basic composition). For each column it is given the epsilon that makes its 95 %
margin b ln 20 (b = moved / epsilon, the scale; `moved` is how far one patient moves the column, in L1 over its groups)
equal to the half width of the 95 % interval that the gateway's answer came with; of several cells the widest. So where
the gateway hands out a wider interval, as of a roll-up, the other one pays for no more than that. For counts the same
is told at equal standard deviations, b = deviation / sqrt 2, which is kinder to Laplace noise. A statement of several
groups costs it one epsilon, not one for each group. It needs no delta; the gateway's is 10^-6 for everything together.

The ratio is what the other one spends over what the gateway's ledger took for the same statements.
"""

import argparse
import os
import statistics
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from itertools import islice
from math import log, sqrt
from typing import Any, Final

import httpx
import psycopg
from reuse_auditor import told
from reuse_gateway import NO_AUDIT, Dataset, Gateway, serving
from reuse_trace import BOARD, REGIONS, Tile, trace

_GOAL_MS = 3.0
_GOAL_AUDIT_MS = 5.0
_GOALS: Final = {100: 2.5, 1_000: 8.0}
_GOAL_TRACE = 15.0
_REFRESHED = 100
_DATASETS: Final = {
    "board": Dataset("20", "0.05"),
    "counts_100": Dataset("1", "0.01", NO_AUDIT),
    "counts_1000": Dataset("1", "0.001", NO_AUDIT),
    "trace": Dataset("1", "0.005"),
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=300, help="of a warm repeat")
    parser.add_argument("--statements", type=int, default=1_000, help="of the trace")
    parser.add_argument("--past", type=int, default=10_000, help="questions before the auditor")
    given = parser.parse_args()
    print(
        f"{os.cpu_count()} cores, load before {os.getloadavg()[0]:.1f}: above 0.5 is somebody else's"
    )
    with serving(_DATASETS) as gateway:
        dashboard(gateway)
        warm_repeats(gateway, given.rounds)
        print(f"\n{'at equal error':<24}" + "".join(f"{one:>17}" for one in _HEAD))
        for many, goal in _GOALS.items():
            counts(gateway, many, goal)
        business(gateway, given.statements)
    told(given.past, 200, _GOAL_AUDIT_MS)


_HEAD: Final = ("ledger took", "Laplace, 95 %", "ratio", "ratio at st.dev.", "goal")


def dashboard(gateway: Gateway) -> None:
    """Twenty tiles, opened a hundred times; the charges are those that the answers name and that the account has."""
    took = []
    for _ in range(_REFRESHED):
        before = gateway.spent("board")
        for tile in BOARD:
            gateway.ask(tile.sql, "board")
        took.append(gateway.spent("board") - before)
    ratio = sum(took) / took[0]
    print(
        f"\na dashboard of {len(BOARD)} tiles: once epsilon {took[0]:.4g}, {_REFRESHED} times"
        f" {sum(took):.4g}: {ratio:.4f} times as much (goal 1: {_met(ratio == 1)})",
        flush=True,
    )


def warm_repeats(gateway: Gateway, rounds: int) -> None:
    """Of a question that was answered, and of one that is made of it; each connection is one that is kept."""
    with psycopg.connect(gateway.wire.conninfo, autocommit=True) as connection:
        for way, tile in (("same", BOARD[3]), ("same", BOARD[0]), ("rollup", BOARD[1])):
            answer = gateway.ask(tile.sql, "board")
            if answer["privacy"]["reused"] != way:
                raise ValueError(f"this is measured: {tile.sql}")
            print(f"a warm repeat, `{way}`, of {len(answer['rows'])} rows:", end="")
            for name, work in (
                ("REST", partial(gateway.ask, tile.sql, "board")),
                ("the wire", partial(_over_wire, connection, tile.sql.encode())),
            ):
                median, worst = _median_ms(work, rounds)
                met = _met(median <= _GOAL_MS)
                print(f" {name} {median:.2f} ms, 95 of 100 {worst:.2f}, {met};", end="")
            print(f" goal {_GOAL_MS:.0f}", flush=True)


def _over_wire(connection: psycopg.Connection, sql: bytes) -> None:
    connection.execute(sql).fetchall()


def counts(gateway: Gateway, many: int, goal: float) -> None:
    """So many different counts, at a price of a part of the whole budget each."""
    dataset = f"counts_{many}"
    by_margin = by_deviation = 0.0
    for sql in islice(_different(), many):
        answer = gateway.ask(sql, dataset)
        if answer["privacy"]["reused"] is not None:
            raise ValueError(f"this is not another question: {sql}")
        by_margin += _laplace(answer, "n", 1)
        by_deviation += sqrt(2) / _deviation(answer)
    _line(f"{many:,} different counts", gateway.spent(dataset), by_margin, by_deviation, goal)


def business(gateway: Gateway, statements: int) -> None:
    """What four people ask of dashboards; what the auditor refuses is left out on both sides."""
    laplace, refused, reused = 0.0, Counter[str](), Counter[str]()
    for who, tile in trace(statements):
        try:
            answer = gateway.ask(tile.sql, "trace", who)
        except httpx.HTTPStatusError as error:
            refused[error.response.json()["code"]] += 1
            continue
        reused[str(answer["privacy"]["reused"])] += 1
        laplace += _paid(answer, tile)
    _line(f"{statements:,} statements", gateway.spent("trace"), laplace, None, _GOAL_TRACE)
    print(f"of these reused: {dict(reused)}; refused: {dict(refused) or 'none'}", flush=True)


def _different() -> Iterator[str]:
    """Counts of patients: no two of the same ones."""
    for low in range(1920, 2020):
        for region in REGIONS:
            for condition in (
                f"birth_year >= {low + 1}",
                f"birth_year < {low + 1} AND income > 1000",
                f"birth_year <> {low + 1}",
            ):
                yield f"SELECT COUNT(*) AS n FROM patients WHERE region = '{region}' AND {condition}"


def _paid(answer: Mapping[str, Any], tile: Tile) -> float:
    return sum(_laplace(answer, name, moved) for name, moved in tile.moved.items())


def _laplace(answer: Mapping[str, Any], name: str, moved: int) -> float:
    """The epsilon at which the 95 % margin of Laplace noise is the widest one of this column."""
    place = [one["name"] for one in answer["columns"]].index(name)
    intervals = [own[place] for own in answer["intervals"] if own[place] is not None]
    widest = max(float(high) - float(low) for low, high in intervals) / 2
    return moved * log(20) / widest


def _deviation(answer: Mapping[str, Any]) -> float:
    """Of the one count: a Gaussian's scale is its deviation, a Laplace's is it over the root of two."""
    (column,) = answer["columns"]
    scale = float(column["scale"])
    return scale if column["mechanism"] == "discrete_gaussian" else scale * sqrt(2)


def _line(name: str, took: float, margin: float, deviation: float | None, goal: float) -> None:
    ratio = margin / took
    beside = "" if deviation is None else f"{deviation / took:.2f}"
    met = f"{goal:g}: {_met(ratio >= goal)}"
    print(f"{name:<24}{took:17.4f}{margin:17.3f}{ratio:17.2f}{beside:>17}{met:>17}", flush=True)


def _median_ms(work: Callable[[], object], rounds: int) -> tuple[float, float]:
    """And the time that 95 of 100 take at most; the first few are not counted."""
    for _ in range(10):
        work()
    took = []
    for _ in range(rounds):
        began = time.perf_counter()
        work()
        took.append((time.perf_counter() - began) * 1000)
    return statistics.median(took), sorted(took)[int(rounds * 0.95)]


def _met(met: bool) -> str:  # noqa: FBT001 - one word for it
    return "met" if met else "missed"


if __name__ == "__main__":
    main()
