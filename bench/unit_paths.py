"""Units through keys against the same rows with the unit's column: what following a unit path costs the source.

Order lines have their customer over their order (`lines`), or in a column of their own (`wide`). The same questions of both,
bounded and rendered as the gateway does, in alternation; the best of several rounds. Printed are ratios of the first to the
second; the goal is 1.3. Lines lie in the order of their orders, as they were written.
"""

import argparse
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import Final

import duckdb
import psycopg
from sqlalchemy import URL

from gateway.binding.bind import bind
from gateway.binding.bound import Cut
from gateway.bounding.bounded_release import bound_release
from gateway.catalog.tables import Dataset
from gateway.engines.catalog.proofs import prove_tables
from gateway.engines.source import SourceDatabase
from gateway.engines.sql.expressions import TotalScalarSql
from gateway.errors import Code
from gateway.policy.files.load import read_policy
from gateway.policy.validate import Complaints
from gateway.policy.yaml import read_yaml
from gateway.postgres_server import open_server
from gateway.sensitivity.analyze import analyze_release

_GOAL: Final = 1.3
_LIMIT_S: Final = 600
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
    columns: &columns
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
""".replace("&columns", "")
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
_HASH: Final = {
    "duckdb": "CAST(hash(i * 64 + {seed}) % {most} AS BIGINT)",
    "postgresql": "((hashint8extended(i, {seed}) & 2147483647) % {most})",
}
_SERIES: Final = {"duckdb": "range(0, {0}) s(i)", "postgresql": "generate_series(0, {0} - 1) s(i)"}


def _statements(dialect: str, lines: int) -> Iterator[str]:
    """Nothing but numbers of the bench is written into these."""

    def below(seed: int, most: int) -> str:
        return _HASH[dialect].format(seed=seed, most=most)

    orders = lines // 4
    yield "CREATE TABLE orders (customer_id bigint, order_id bigint PRIMARY KEY, paid integer)"
    yield (
        f"INSERT INTO orders SELECT {below(1, orders // 5)}, i, {below(2, 5000)}"
        f" FROM {_SERIES[dialect].format(orders)}"
    )
    yield "CREATE TABLE lines (order_id bigint, line_id bigint, g10 integer, g2000 integer, x integer)"
    yield (
        f"INSERT INTO lines SELECT {'i // 4' if dialect == 'duckdb' else 'i / 4'}, i, {below(4, 10)}, {below(5, 2000)}, {below(6, 5000)}"
        f" FROM {_SERIES[dialect].format(lines)}"
    )
    yield (
        "CREATE TABLE wide AS SELECT customer_id, g10, g2000, x, paid FROM lines JOIN orders USING (order_id)"
    )


@contextmanager
def _duckdb(lines: int) -> Iterator[URL]:
    with tempfile.TemporaryDirectory() as place:
        file = Path(place) / "shop.duckdb"
        with duckdb.connect(str(file)) as connection:
            for statement in _statements("duckdb", lines):
                connection.execute(statement)
        yield URL.create("duckdb", database=str(file))


@contextmanager
def _postgresql(lines: int) -> Iterator[URL]:
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
                for statement in _statements("postgresql", lines):
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


def _asked(source: SourceDatabase, dataset: Dataset, sql: str) -> Callable[[], object]:
    """One question of the source, bounded as it would be."""
    bound = bind(sql, dataset)
    if not isinstance(bound, Cut):
        raise SystemExit(f"not a question: {sql}")
    analysis = analyze_release(
        bound.releases[-1].plan, pairs=False, enumerated_groups=10_000, min_units=3
    )
    proven = prove_tables(dataset, source.described())
    release = bound_release(analysis, now=datetime(2026, 3, 2, 12, tzinfo=UTC), proven=proven)
    return lambda: source.run(release, {}, limit_s=_LIMIT_S)


def _seconds(ask: Callable[[], object]) -> float:
    began = time.perf_counter()
    ask()
    return time.perf_counter() - began


def measure(url: URL, rounds: int) -> Iterator[tuple[str, float, float]]:
    """The best times of both forms of each question, in seconds."""
    dataset = _dataset()
    source = SourceDatabase.open(url, TotalScalarSql(), salt="bench")
    try:
        for name, pair in _QUESTIONS.items():
            both = [_asked(source, dataset, sql) for sql in pair]
            times = [[_seconds(ask) for ask in both] for _ in range(rounds)]
            yield name, min(one for one, _ in times), min(other for _, other in times)
    finally:
        source.close()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--lines", type=int, default=2_000_000)
    parser.add_argument("--rounds", type=int, default=5)
    given = parser.parse_args()
    for name, made in (("DuckDB", _duckdb), ("PostgreSQL", _postgresql)):
        with made(given.lines) as url:
            print(f"{name}, {given.lines:,} lines: through the key, with the column (ms), ratio")
            for question, one, other in measure(url, given.rounds):
                met = "" if one / other <= _GOAL else f"  above {_GOAL}"
                print(
                    f"  {question:28} {one * 1e3:8.0f} {other * 1e3:8.0f} {one / other:6.2f}{met}"
                )


if __name__ == "__main__":
    main()
