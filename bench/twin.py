"""What the twin costs: starting it, a new database, a session, a Describe, memory.

Each figure is the median of some rounds. The bare figure beside it is the least PostgreSQL can do the
same with: a bare Describe by psycopg's own blocking calls on the same server.
"""

import argparse
import re
import shutil
import statistics
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from psycopg.pq.abc import PGconn

from gateway.twin import Twin, VisibleColumn, VisibleTable, VisibleTables, open_twin
from gateway.twin.supervisor import Life

_TYPES = ("bigint", "text", "numeric(10,2)", "date", "character varying(20)")
_SIMPLE = "SELECT 1"
_TYPICAL = (
    "SELECT t0.c1, count(*), avg(t0.c2) FROM t0 JOIN t1 USING (c0) "
    "WHERE t1.c3 >= $1 GROUP BY t0.c1 HAVING count(*) > 10 ORDER BY 2 DESC LIMIT 20"
)


@dataclass(frozen=True)
class Row:
    what: str
    figure: str


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=200, help="of the quick things")
    rounds = parser.parse_args().rounds
    top = Path(tempfile.mkdtemp(prefix="bench-twin-"))
    top.chmod(0o711)
    home = top / "home"
    home.mkdir(mode=0o711)
    home.chmod(0o711)
    try:
        rows = measure(home, rounds)
    finally:
        shutil.rmtree(top)
    width = max(len(row.what) for row in rows)
    for row in rows:
        print(f"{row.what:<{width}}  {row.figure}")


def measure(home: Path, rounds: int) -> list[Row]:
    began = time.perf_counter()
    with open_twin(home) as twin:
        started = time.perf_counter() - began
        life = twin._supervisor.life()  # noqa: SLF001  # a bench may look inside
        tables = _tables("bench")
        databases = _median_ms(lambda: _new_database(life), 10)
        roles = _median_ms(lambda: _new_role(life, tables), 20)
        sessions = _median_ms(lambda: twin.session("bench", tables).close(), rounds)
        borrowed = _median_ms(lambda: _borrow(twin, tables), rounds)
        return [
            Row("start, sealed (ms)", f"{started * 1000:.0f}"),
            Row("new database, 5 tables (ms)", f"{databases:.1f}"),
            Row("new role (ms)", f"{roles:.2f}"),
            Row("session, opened and closed (ms)", f"{sessions:.2f}"),
            Row("session, borrowed and given back (ms)", f"{borrowed:.2f}"),
            *_describes(twin, tables, rounds),
            *_memory(twin, life, tables),
        ]


def _describes(twin: Twin, tables: VisibleTables, rounds: int) -> list[Row]:
    with twin.session("bench", tables) as session:
        simple = _median_ms(lambda: session.describe(_SIMPLE), rounds)
        typical = _median_ms(lambda: session.describe(_TYPICAL), rounds)
        pgconn = session._pgconn  # noqa: SLF001  # a bench may look inside
        pgconn.nonblocking = 0
        bare = _median_ms(lambda: _bare(pgconn, _TYPICAL), rounds)
    return [
        Row("describe SELECT 1 (ms)", f"{simple:.3f}"),
        Row("describe a typical join (ms)", f"{typical:.3f}"),
        Row("the same, bare (ms)", f"{bare:.3f}"),
    ]


def _memory(twin: Twin, life: Life, tables: VisibleTables) -> list[Row]:
    server = life.server.process.pid
    time.sleep(0.5)  # until the connections closed above are gone
    alone = _proportional_mb(server) + sum(map(_proportional_mb, _children(server)))
    sessions = [twin.session(f"bench {n}", tables) for n in range(10)]
    for session in sessions:
        session.describe(_TYPICAL)
    full = _proportional_mb(server) + sum(map(_proportional_mb, _children(server)))
    for session in sessions:
        session.close()
    used = sum(
        one.stat().st_size for one in life.server.where.place.path.rglob("*") if one.is_file()
    )
    return [
        Row("memory of the server (MB)", f"{alone:.1f}"),
        Row("memory of a session (MB)", f"{(full - alone) / len(sessions):.1f}"),
        Row("disk with 12 databases (MB)", f"{used / 1e6:.0f}"),
    ]


def _new_database(life: Life) -> None:
    life.roles.databases.name_for(_tables(f"n{time.perf_counter_ns()}"))


def _new_role(life: Life, tables: VisibleTables) -> None:
    life.roles.login(f"n{time.perf_counter_ns()}", tables)


def _borrow(twin: Twin, tables: VisibleTables) -> None:
    with twin.borrowed("bench", tables):
        pass


def _tables(comment: str) -> VisibleTables:
    return frozenset(
        VisibleTable(
            f"t{number}",
            tuple(VisibleColumn(f"c{place}", _TYPES[place % 5]) for place in range(10)),
            primary_key=("c0",),
            comment=comment,
        )
        for number in range(5)
    )


def _bare(pgconn: PGconn, statement: str) -> None:
    pgconn.prepare(b"", statement.encode())
    pgconn.describe_prepared(b"")


def _median_ms(act: Callable[[], object], rounds: int) -> float:
    def once() -> float:
        began = time.perf_counter()
        act()
        return (time.perf_counter() - began) * 1000

    act()
    return statistics.median(once() for _ in range(rounds))


def _children(pid: int) -> list[int]:
    return [int(one) for one in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]


def _proportional_mb(pid: int) -> float:
    """What a process uses, with its share of what it shares; nothing when it ended just now."""
    try:
        text = Path(f"/proc/{pid}/smaps_rollup").read_text()
    except OSError:
        return 0.0
    found = re.search(r"^Pss:\s+(\d+) kB", text, re.MULTILINE)
    return int(found[1]) / 1000 if found else 0.0


if __name__ == "__main__":
    main()
