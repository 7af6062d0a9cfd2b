"""Units through keys against the same rows with the unit's column: what following a unit path costs the source.

Order lines have their customer over their order (`lines`), or in a column that was added to them (`wide`). The same questions of
both are bounded and rendered as the gateway does, and run on one connection in alternation. Printed are the least times of several
rounds, by the clock and of the processors, and the ratio of the first form to the second. The goal is 1.3, of the time of the
processors: other work on the machine changes it less. Rows lie in the order in which they were written, or with `--shuffled` in a
random one. The last line is plain SQL without any bound: what the database itself takes for the key.
"""

import argparse
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing, contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final, TypeAlias

import duckdb
import psycopg
from sqlalchemy import URL, Select, create_engine, literal_column, select, text

from gateway.binding.bind import bind
from gateway.binding.bound import Cut
from gateway.bounding.bounded_release import bound_release
from gateway.catalog.tables import Dataset
from gateway.engines.catalog.proofs import prove_tables
from gateway.engines.duckdb_preparation import compile_for_duckdb
from gateway.engines.source import SourceDatabase
from gateway.engines.sql.expressions import TotalScalarSql
from gateway.errors import Code
from gateway.policy.files.load import read_policy
from gateway.policy.validate import Complaints
from gateway.policy.yaml import read_yaml
from gateway.postgres_server import open_server
from gateway.sensitivity.analyze import analyze_release

_GOAL: Final = 1.3
_POLICY: Final = """
gateway: 1
dataset: shop
source: ${URL}
privacy:
  unit: customer
  budget: {epsilon: 10, delta: 1e-6}
  per_query: {default: 0.05, max: 1.0}
tables:
  orders:
    unit_key: customer_id
    rows_per_unit: 10
    groups_per_unit: 4
    columns:
      customer_id: {type: bigint, class: identifier}
      order_id: {type: bigint, class: identifier}
      paid: {type: integer, class: sensitive, domain: {between: [0, 5000]}}
  lines:
    unit_key: orders.customer_id
    rows_per_unit: 10
    groups_per_unit: 4
    columns:
      order_id: {type: bigint, class: identifier, joins: orders.order_id}
      line_id: {type: bigint, class: identifier}
      g10: {type: integer, class: quasi, domain: {between: [0, 9]}}
      g2000: {type: integer, class: quasi, domain: {between: [0, 1999]}}
      x: {type: integer, class: sensitive, domain: {between: [0, 5000]}}
  wide:
    unit_key: customer_id
    rows_per_unit: 10
    groups_per_unit: 4
    columns:
      customer_id: {type: bigint, class: identifier}
      g10: {type: integer, class: quasi, domain: {between: [0, 9]}}
      g2000: {type: integer, class: quasi, domain: {between: [0, 1999]}}
      x: {type: integer, class: sensitive, domain: {between: [0, 5000]}}
      paid: {type: integer, class: sensitive, domain: {between: [0, 5000]}}
access: []
"""
_QUESTIONS: Final = {
    "COUNT(*)": ("SELECT COUNT(*) FROM lines", "SELECT COUNT(*) FROM wide"),
    "10 groups, 3 aggregates": (
        "SELECT g10, COUNT(*), SUM(x), AVG(x) FROM lines GROUP BY g10",
        "SELECT g10, COUNT(*), SUM(x), AVG(x) FROM wide GROUP BY g10",
    ),
    "2,000 groups": (
        "SELECT g2000, COUNT(*), SUM(x) FROM lines GROUP BY g2000",
        "SELECT g2000, COUNT(*), SUM(x) FROM wide GROUP BY g2000",
    ),
    "a filter": (
        "SELECT g10, SUM(x) FROM lines WHERE g2000 < 200 GROUP BY g10",
        "SELECT g10, SUM(x) FROM wide WHERE g2000 < 200 GROUP BY g10",
    ),
    "joined with the parent": (
        "SELECT g10, SUM(x), SUM(paid) FROM lines JOIN orders USING (order_id) GROUP BY g10",
        "SELECT g10, SUM(x), SUM(paid) FROM wide GROUP BY g10",
    ),
}
_PLAIN: Final = (
    "SELECT count(customer_id) FROM lines JOIN orders USING (order_id)",
    "SELECT count(customer_id) FROM wide",
)
_HASH: Final = {
    "duckdb": "CAST(hash(i * 64 + {seed}) % {most} AS BIGINT)",
    "postgresql": "((hashint8extended(i, {seed}) & 2147483647) % {most})",
}
_SERIES: Final = {"duckdb": "range(0, {0}) s(i)", "postgresql": "generate_series(0, {0} - 1) s(i)"}
_RANDOM: Final = {"duckdb": "hash({0})", "postgresql": "hashint8({0})"}


def _statements(dialect: str, lines: int, *, shuffled: bool) -> Iterator[str]:
    """Nothing but numbers of the bench is written into these."""

    def below(seed: int, most: int) -> str:
        return _HASH[dialect].format(seed=seed, most=most)

    def order(by: str) -> str:
        return _RANDOM[dialect].format(by) if shuffled else by

    orders = lines // 4
    yield "CREATE TABLE orders (customer_id bigint, order_id bigint PRIMARY KEY, paid integer)"
    yield (
        f"INSERT INTO orders SELECT {below(1, orders // 5)}, i, {below(2, 5000)}"
        f" FROM {_SERIES[dialect].format(orders)} ORDER BY {order('i')}"
    )
    yield "CREATE TABLE lines (order_id bigint, line_id bigint, g10 integer, g2000 integer, x integer)"
    yield (
        f"INSERT INTO lines SELECT {'i // 4' if dialect == 'duckdb' else 'i / 4'}, i, {below(4, 10)}, {below(5, 2000)}, {below(6, 5000)}"
        f" FROM {_SERIES[dialect].format(lines)} ORDER BY {order('i')}"
    )
    yield (
        "CREATE TABLE wide AS SELECT lines.*, customer_id, paid FROM lines JOIN orders USING (order_id)"
        f" ORDER BY {order('line_id')}"
    )


@contextmanager
def _duckdb(lines: int, *, shuffled: bool) -> Iterator[URL]:
    with tempfile.TemporaryDirectory() as place:
        file = Path(place) / "shop.duckdb"
        with duckdb.connect(str(file)) as connection:
            for statement in _statements("duckdb", lines, shuffled=shuffled):
                connection.execute(statement)
        yield URL.create("duckdb", database=str(file))


@contextmanager
def _postgresql(lines: int, *, shuffled: bool) -> Iterator[URL]:
    with tempfile.TemporaryDirectory() as place:
        Path(place).chmod(0o711)
        with open_server(Path(place) / "source") as server:
            url = server.address.url(
                user=server.superuser, password=server.superuser_password, database="postgres"
            )
            shown = url.set(drivername="postgresql").render_as_string(hide_password=False)
            with psycopg.connect(shown, autocommit=True) as connection:
                connection.execute("SET work_mem = '64MB'")
                connection.execute("ALTER ROLE CURRENT_USER SET work_mem = '64MB'")
                for statement in _statements("postgresql", lines, shuffled=shuffled):
                    connection.execute(statement.encode())
                connection.execute("VACUUM ANALYZE")
            yield url


def _dataset() -> Dataset:
    with tempfile.TemporaryDirectory() as place:
        file = Path(place) / "shop.yaml"
        file.write_text(_POLICY)
        complaints = Complaints(read_yaml(file, inside=Path(place), code=Code.POLICY_INVALID))
        policy = read_policy(complaints, None)
    if policy is None:
        raise SystemExit("\n".join(one.detail for one in complaints.problems))
    return policy.dataset


Ask: TypeAlias = Callable[[], object]
Times: TypeAlias = tuple[float, float]
"""Of one form: the least seconds by the clock, and of the processors."""


class _Duckdb:
    """A connection in this process."""

    def __init__(self, url: URL) -> None:
        self._connection = duckdb.connect(str(url.database), read_only=True)

    def asks(self, statement: Select[Any]) -> Ask:
        compiled = compile_for_duckdb(statement)
        given = compiled.parameters({})
        return lambda: self._connection.execute(compiled.text, given).fetchall()

    def used(self) -> float:
        """The seconds of processors that all threads have used so far."""
        return time.process_time()

    def close(self) -> None:
        self._connection.close()


class _Postgresql:
    """A connection to a server on this machine."""

    def __init__(self, url: URL) -> None:
        self._engine = create_engine(url, isolation_level="AUTOCOMMIT")
        self._connection = self._engine.connect()
        driver: Any = self._connection.connection.driver_connection
        self._used = Path(f"/proc/{driver.info.backend_pid}/schedstat")

    def asks(self, statement: Select[Any]) -> Ask:
        return lambda: self._connection.execute(statement).all()

    def used(self) -> float:
        """The seconds of processors that the connection's own process has used so far."""
        return int(self._used.read_text().split()[0]) / 1e9

    def close(self) -> None:
        self._connection.close()
        self._engine.dispose()


def _statement(source: SourceDatabase, dataset: Dataset, sql: str) -> Select[Any]:
    """What the source is sent for a question, bounded as it would be."""
    bound = bind(sql, dataset)
    if not isinstance(bound, Cut):
        raise SystemExit(f"not a question: {sql}")
    analysis = analyze_release(
        bound.releases[-1].plan, pairs=False, enumerated_groups=10_000, min_units=3
    )
    proven = prove_tables(dataset, source.described())
    release = bound_release(analysis, now=datetime(2026, 3, 2, 12, tzinfo=UTC), proven=proven)
    return source.statement(release, {})


def _plain(sql: str) -> Select[Any]:
    return select(literal_column("n")).select_from(text(f"({sql}) AS plain(n)"))


def _measured(on: _Duckdb | _Postgresql, both: Sequence[Ask], rounds: int) -> list[Times]:
    """The least times of both forms, each asked in turn."""
    times: list[list[Times]] = [[] for _ in both]
    for _ in range(rounds):
        for ask, kept in zip(both, times, strict=True):
            used, began = on.used(), time.perf_counter()
            ask()
            kept.append((time.perf_counter() - began, on.used() - used))
    return [
        (min(clock for clock, _ in kept), min(processor for _, processor in kept)) for kept in times
    ]


def measure(url: URL, rounds: int) -> Iterator[tuple[str, list[Times]]]:
    """The least times of both forms of each question."""
    dataset = _dataset()
    source = SourceDatabase.open(url, TotalScalarSql(), salt="bench")
    try:
        asked = {
            name: [_statement(source, dataset, sql) for sql in pair]
            for name, pair in _QUESTIONS.items()
        }
    finally:
        source.close()
    asked["plain SQL"] = list(map(_plain, _PLAIN))
    with closing(_Duckdb(url) if source.dialect == "duckdb" else _Postgresql(url)) as on:
        for name, both in asked.items():
            yield name, _measured(on, list(map(on.asks, both)), rounds)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--lines", type=int, default=2_000_000)
    parser.add_argument("--rounds", type=int, default=9)
    parser.add_argument("--shuffled", action="store_true", help="rows in a random order")
    given = parser.parse_args()
    order = "random order" if given.shuffled else "order of their keys"
    for name, made in (("DuckDB", _duckdb), ("PostgreSQL", _postgresql)):
        with made(given.lines, shuffled=given.shuffled) as url:
            print(f"{name}, {given.lines:,} lines in {order}, {given.rounds} rounds: ms and ratios")
            print(
                f"  {'':26} {'clock: key':>10} {'column':>7} {'':6} {'processor':>10} {'column':>7}"
            )
            for question, times in measure(url, given.rounds):
                (clock, used), (other, other_used) = times
                met = "" if used / other_used <= _GOAL else f"  above {_GOAL}"
                print(
                    f"  {question:26} {clock * 1e3:10.0f} {other * 1e3:7.0f} {clock / other:6.2f}"
                    f" {used * 1e3:10.0f} {other_used * 1e3:7.0f} {used / other_used:6.2f}{met}"
                )


if __name__ == "__main__":
    main()
