"""How long a row keeps an engine busy: statements over rows that match, and over rows that do not.

A statement computes an expression for the rows that match alone, over the longest values that the policy lets be read;
the same statement is asked over as many rows that do not match. What is taken is CPU of the engine: of this process
for DuckDB, of its backend for PostgreSQL. Texts differ from row to row: what an engine remembers of one row does not
help with the next.
"""

import random
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import date, datetime, timedelta
from decimal import Decimal
from fractions import Fraction
from pathlib import Path
from time import process_time
from typing import Any, Final, Protocol

import duckdb
import psycopg
import pyarrow as pa
from property.bounded_releases import bounded, statement
from property.stores import SALT
from sqlalchemy import Select, create_engine

from gateway.bounding.work_bound import check_work
from gateway.catalog.domains import Interval, Values
from gateway.catalog.tables import Column, Dataset, Protection, Table
from gateway.catalog.types import parse_type
from gateway.engines.sql.expressions import TotalScalarSql
from gateway.engines.sql.partial_select import Dialect
from gateway.engines.sql.release import ReleaseSql, select_release
from gateway.errors import Refusal
from gateway.postgres_server import Lease

ROWS: Final = 2_000
LONGEST: Final = 1_000
ROW_BUDGET: Final = 200e-6
SPREAD: Final = 20e-6
ALPHABETS: Final = ("ab", "aaaaaaaaaaaaaaab", "ä", "日本", " x", "a%_\\", "0123456789")


def dataset(longest: int) -> Dataset:
    """One row a person; `m` says whether it is one of those that match."""
    one = Fraction(1)
    kinds = parse_type
    columns = (
        Column("p", kinds("bigint")),
        Column("m", kinds("integer"), Interval(0, 1, one)),
        Column("t", kinds("text"), max_length=longest),
        Column("s", kinds("text"), max_length=longest),
        Column("r", kinds("text"), Values(("north", "east"))),
        Column("i", kinds("integer"), Interval(-1_000, 1_000, one)),
        Column("b", kinds("bigint"), Interval(-(10**15), 10**15, one)),
        Column(
            "c", kinds("numeric(12,2)"), Interval(Fraction(0), Fraction(10**9), Fraction(1, 100))
        ),
        Column("n", kinds("numeric"), Interval(Fraction(0), Fraction(10**9), one)),
        Column("f", kinds("double precision"), Interval(Fraction(-(10**6)), Fraction(10**6), one)),
        Column("d", kinds("date"), Interval(date(2000, 1, 1), date(2010, 1, 1), one)),
        Column(
            "z",
            kinds("timestamp"),
            Interval(datetime(2000, 1, 1), datetime(2010, 1, 1), Fraction(1, 1_000_000)),  # noqa: DTZ001
        ),
    )
    return Dataset("worked", "person", (Table("worked", columns, Protection("p", 1, 1)),))


def texts(chance: random.Random, alphabet: str, longest: int) -> list[str]:
    """Distinct ones, as long as they may be."""
    tail = len(str(ROWS))
    body = longest - tail
    return [
        "".join(chance.choices(alphabet, k=body)) + f"{place:0{tail}d}" for place in range(ROWS)
    ]


class Engine(Protocol):
    dialect: Dialect

    def fill(self, rows: list[list[object]]) -> None: ...

    def seconds(self, select: Select[Any], *, best: int) -> float:
        """CPU of the least of several runs."""
        ...


@dataclass
class InDuckDB:
    connection: duckdb.DuckDBPyConnection
    dialect: Dialect = "duckdb"

    def fill(self, rows: list[list[object]]) -> None:
        self.connection.execute("DROP TABLE IF EXISTS worked")
        self.connection.execute(
            "CREATE TABLE worked (p bigint, m integer, t varchar, s varchar, r varchar, i integer, b bigint,"
            " c decimal(12,2), n decimal(38,10), f double, d date, z timestamp)"
        )
        made = pa.table([pa.array(list(one)) for one in zip(*rows, strict=True)], names=_NAMES)
        self.connection.register("made", made)
        self.connection.execute("INSERT INTO worked SELECT * FROM made")
        self.connection.unregister("made")

    def seconds(self, select: Select[Any], *, best: int) -> float:
        compiled = select.compile(
            dialect=DUCKDB.dialect, compile_kwargs={"render_postcompile": True}
        )
        values = [compiled.params[name] for name in compiled.positiontup or ()]
        found = []
        for _ in range(best):
            before = process_time()
            self.connection.execute(str(compiled), values).fetchall()
            found.append(process_time() - before)
        return min(found)


DUCKDB: Final = create_engine("duckdb:///:memory:")
POSTGRESQL: Final = create_engine("postgresql+psycopg://")
_NAMES: Final = ["p", "m", "t", "s", "r", "i", "b", "c", "n", "f", "d", "z"]


@dataclass
class InPostgreSQL:
    connection: psycopg.Connection
    pid: int
    dialect: Dialect = "postgresql"

    def fill(self, rows: list[list[object]]) -> None:
        self.connection.execute("DROP TABLE IF EXISTS worked")
        self.connection.execute(
            "CREATE TABLE worked (p bigint, m integer, t text, s text, r text, i integer, b bigint,"
            " c numeric(12,2), n numeric, f double precision, d date, z timestamp)"
        )
        with self.connection.cursor().copy("COPY worked FROM STDIN") as copy:
            for row in rows:
                copy.write_row(row)
        self.connection.execute("ANALYZE worked")

    def seconds(self, select: Select[Any], *, best: int) -> float:
        compiled = select.compile(
            dialect=POSTGRESQL.dialect, compile_kwargs={"render_postcompile": True}
        )
        found = []
        for _ in range(best):
            before = self._cpu()
            self.connection.execute(str(compiled).encode(), compiled.params).fetchall()
            found.append(self._cpu() - before)
        return min(found)

    def _cpu(self) -> float:
        """Of the backend, in nanoseconds: its own clock ticks are too coarse."""
        return int(Path(f"/proc/{self.pid}/schedstat").read_text().split()[0]) / 1e9


@contextmanager
def in_duckdb() -> Iterator[InDuckDB]:
    with duckdb.connect(config={"threads": 1}) as connection:
        yield InDuckDB(connection)


@contextmanager
def in_postgresql(lease: Lease) -> Iterator[InPostgreSQL]:
    address = lease.address
    with psycopg.connect(
        host=str(address.socket_dir),
        port=address.port,
        user=lease.superuser,
        password=lease.superuser_password.get_secret_value(),
        dbname="postgres",
        autocommit=True,
    ) as connection:
        connection.execute("CREATE SCHEMA IF NOT EXISTS work_oracle")
        connection.execute("SET search_path = work_oracle")
        connection.execute("SET max_parallel_workers_per_gather = 0")
        connection.execute("SET jit = off")
        (pid,) = connection.execute("SELECT pg_backend_pid()").fetchone() or (0,)
        yield InPostgreSQL(connection, pid)
        connection.execute("DROP SCHEMA work_oracle CASCADE")


def rows(chance: random.Random, alphabet: str, longest: int, *, match: bool) -> list[list[object]]:
    """Rows whose texts are as long as they may be."""
    long, other = texts(chance, alphabet, longest), texts(chance, alphabet, longest)
    return [
        [
            *(place, int(match), long[place], other[place][::-1], "north"),
            *(chance.randint(-1_000, 1_000), chance.randint(-(10**15), 10**15)),
            Decimal(chance.randint(0, 10**11)) / 100,
            Decimal(chance.randint(0, 10**16)) / 10**9,
            chance.uniform(-1e6, 1e6),
            date(2000, 1, 1) + timedelta(days=place),
            datetime(2000, 1, 1) + timedelta(hours=place),  # noqa: DTZ001 - without zone
        ]
        for place in range(ROWS)
    ]


@dataclass(frozen=True)
class Measured:
    """Of one expression over one alphabet: seconds of a row, where it matches and where it does not."""

    expression: str
    dialect: str
    alphabet: str
    matching: float
    other: float

    @property
    def spread(self) -> float:
        return self.matching - self.other

    @property
    def is_close(self) -> bool:
        """Within 2x, or within 20 µs a row."""
        return self.spread <= SPREAD or self.matching <= 2 * self.other

    @property
    def is_within_budget(self) -> bool:
        return self.matching <= ROW_BUDGET


def rendered(sql: str, longest: int, dialect: Dialect) -> Select[Any] | None:
    """The statement as an engine gets it; None where it is refused for its plan."""
    asked = statement(sql, dataset(longest))
    try:
        check_work(asked.plan)
    except Refusal:
        return None
    analysis = asked.analysis(pairs=False)
    release = None if analysis is None else bounded(analysis, {})
    assert release is not None, sql
    return select_release(release, {}, ReleaseSql(dialect, TotalScalarSql(), SALT))


def asked(condition: str) -> str:
    """A statement that computes the condition where a row matches, and only there."""
    return f"SELECT count(*) FROM worked WHERE CASE WHEN m = 1 THEN {condition} ELSE false END"


def measure(
    engine: Engine, conditions: list[str], alphabets: list[str], longest: int, *, best: int
) -> Iterator[Measured]:
    chance = random.Random(11)  # noqa: S311 - a seed, no secret
    selects = {
        one: made
        for one in conditions
        if (made := rendered(asked(one), longest, engine.dialect)) is not None
    }
    for alphabet in alphabets:
        taken: dict[bool, dict[str, float]] = {}
        for match in (True, False):
            engine.fill(rows(chance, alphabet, longest, match=match))
            taken[match] = {
                one: engine.seconds(made, best=best) / ROWS for one, made in selects.items()
            }
        for one in selects:
            yield Measured(one, engine.dialect, alphabet, taken[True][one], taken[False][one])
