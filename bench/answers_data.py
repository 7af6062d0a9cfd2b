"""The tables that answers are measured on, in both databases, and the policy that serves them.

Persons with one row each, and visits of theirs; every value is a hash of its row's number, so everyone has the same.
"""

from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import duckdb
import psycopg
from sqlalchemy import URL

from gateway.postgres_server import Lease

MOST_ROWS: Final = 10  # R of visits
MOST_GROUPS: Final = 4  # G of visits
MOST_INCOME: Final = 200_000
MOST_COST: Final = 5_000
_HASHED: Final = {
    # a whole number from 0 to 2^31 - 1, another one for each seed
    "duckdb": "CAST(hash(i * 64 + {seed}) % 2147483648 AS BIGINT)",
    "postgresql": "(hashint8extended(i, {seed}) & 2147483647)",
}
_SERIES: Final = {"duckdb": "range(1, {0} + 1) s(i)", "postgresql": "generate_series(1, {0}) s(i)"}
_SUBJECTS: Final = "alice: {role: researcher}\n"
_POLICY: Final = """
gateway: 1
dataset: answers
source: ${{SOURCE_URL}}
privacy:
  unit: patient
  budget: {{epsilon: 100000, delta: 1e-6}}
  per_query: {{default: 1, max: 10}}
  mechanism: {mechanism}
tables:
  patients:
    unit_key: patient_id
    rows_per_unit: 1
    columns:
      patient_id: {{type: bigint, class: identifier}}
      g10: {{type: integer, class: quasi, domain: {{between: [0, 9]}}}}
      g2000: {{type: integer, class: quasi, domain: {{between: [0, 1999]}}}}
      x: {{type: integer, class: sensitive, domain: {{between: [0, {income}]}}}}
  few:
    unit_key: patient_id
    rows_per_unit: 1
    columns:
      patient_id: {{type: bigint, class: identifier}}
      g10: {{type: integer, class: quasi, domain: {{between: [0, 9]}}}}
      x: {{type: integer, class: sensitive, domain: {{between: [0, {income}]}}}}
  visits:
    unit_key: patient_id
    rows_per_unit: {rows}
    groups_per_unit: {groups}
    columns:
      patient_id: {{type: bigint, class: identifier}}
      g10: {{type: integer, class: quasi, domain: {{between: [0, 9]}}}}
      g2000: {{type: integer, class: quasi, domain: {{between: [0, 1999]}}}}
      x: {{type: integer, class: sensitive, domain: {{between: [0, {cost}]}}}}
access:
  - id: everything
    effect: permit
    when: subject.role == "researcher"
    tables: [patients, few, visits]
    use: {{aggregate: ["*"], group_by: ["*"], filter: ["*"]}}
    budget: {{epsilon: 100000}}
audit: {{min_units: 1, narrow_cells: 0, opaque_predicates: allow}}
reuse: {{max_age: 0d}}
"""


@dataclass(frozen=True)
class Size:
    persons: int
    visits: int


def policy(mechanism: str) -> str:
    """The policy of the dataset, whose source is in SOURCE_URL."""
    return _POLICY.format(
        mechanism=mechanism,
        income=MOST_INCOME,
        cost=MOST_COST,
        rows=MOST_ROWS,
        groups=MOST_GROUPS,
    )


def write_policies(place: Path, policy: str) -> None:
    """One dataset, and its analyst."""
    place.mkdir()
    (place / "dataset.yaml").write_text(policy)
    (place / "subjects.yaml").write_text(_SUBJECTS)


def in_duckdb(file: Path, size: Size) -> URL:
    with closing(duckdb.connect(str(file))) as there:
        for statement in _statements("duckdb", size):
            there.execute(statement)
    return URL.create("duckdb", database=str(file))


def in_postgresql(server: Lease, size: Size) -> URL:
    url = new_database(server)
    with psycopg.connect(plain(url), autocommit=True) as there:
        for statement in _statements("postgresql", size):
            there.execute(statement.encode())
        there.execute("VACUUM ANALYZE")
    return url


def new_database(server: Lease) -> URL:
    """A database that may use helpers and memory like a source's, which the state's may not."""
    address, password = server.address, server.superuser_password
    admin = address.url(user=server.superuser, password=password, database="postgres")
    with psycopg.connect(plain(admin), autocommit=True) as there:
        there.execute("CREATE DATABASE answers")
        for name, value in (
            ("max_parallel_workers", "2"),
            ("max_parallel_workers_per_gather", "2"),
            ("work_mem", "64MB"),
        ):
            there.execute(f"ALTER DATABASE answers SET {name} = '{value}'".encode())
    return admin.set(database="answers")


def plain(url: URL) -> str:
    """As psycopg reads it, password and all."""
    return url.set(drivername="postgresql").render_as_string(hide_password=False)


def _statements(dialect: str, size: Size) -> list[str]:
    """Nothing but numbers of the bench is written into these."""

    def below(seed: int, most: int) -> str:
        return f"CAST({_HASHED[dialect].format(seed=seed)} % {most} AS INTEGER)"

    def whose(seed: int) -> str:
        return f"1 + {_HASHED[dialect].format(seed=seed)} % {size.persons}"

    groups = f"{below(1, 10)} AS g10, {below(2, 2000)} AS g2000"
    unlogged = "UNLOGGED " if dialect == "postgresql" else ""
    return [
        (
            f"CREATE {unlogged}TABLE patients (patient_id bigint PRIMARY KEY, g10 integer NOT NULL,"
            " g2000 integer NOT NULL, x integer NOT NULL)"
        ),
        (
            f"CREATE {unlogged}TABLE few (patient_id bigint PRIMARY KEY, g10 integer NOT NULL,"
            " x integer NOT NULL)"
        ),
        (
            f"CREATE {unlogged}TABLE visits (patient_id bigint NOT NULL, g10 integer NOT NULL,"
            " g2000 integer NOT NULL, x integer NOT NULL)"
        ),
        (
            f"INSERT INTO patients SELECT i, {groups}, {below(3, MOST_INCOME)}"
            f" FROM {_SERIES[dialect].format(size.persons)}"
        ),
        (
            f"INSERT INTO few SELECT i, {below(1, 10)}, {below(3, MOST_INCOME)}"
            f" FROM {_SERIES[dialect].format(1_000)}"
        ),
        (
            f"INSERT INTO visits SELECT {whose(4)}, {groups}, {below(3, MOST_COST)}"
            f" FROM {_SERIES[dialect].format(size.visits)}"
        ),
    ]
