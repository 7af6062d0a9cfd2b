"""Three event tables that utility is measured on: visits of the sample clinic, retail orders, events of a Zipf law.

Each is one table of the same columns, `person_id`, `day`, `category` and `amount`, in a DuckDB file of its own, and in
a Parquet and a CSV file for the peers. The seeds are fixed, so everybody measures the same rows.
"""

import csv
from collections.abc import Iterator
from contextlib import closing
from dataclasses import dataclass
from datetime import date, timedelta
from pathlib import Path
from typing import Final

import duckdb
import numpy as np
import psycopg
from answers_data import new_database, plain
from numpy.typing import NDArray
from sqlalchemy import URL
from utility_clips import Parts

from gateway.postgres_server import Lease
from gateway.sample.clinic import UNKNOWN, Clinic
from gateway.sample.distributions import DIAGNOSES, FIRST_DAY, HIGHEST_COST, LAST_DAY

Floats = NDArray[np.float64]
Longs = NDArray[np.int64]

_FIRST, _LAST = date(2024, 1, 1), date(2026, 12, 31)
_CUSTOMERS, _ORDERS = 10_000, 100_000
_DEPARTMENTS, _OF_OWN, _QUIET_DAYS = 40, 0.5, 310
_HIGHEST_ORDER = 500
_DEVICES, _MOST_EVENTS, _ZIPF = 5_000, 4_000, 0.9
_KINDS = 100
_HIGHEST_EVENT = 100
NONE: Final = "none"  # the cell of rows without a category
# the texts that the peers group by, in a column `by_` and the name
KEYS: Final = {
    "day": "strftime(day, '%Y-%m-%d')",
    "month": "strftime(day, '%Y-%m')",
    "year": "strftime(day, '%Y')",
    "category": f"coalesce(category, '{NONE}')",
}


@dataclass(frozen=True)
class Table:
    """A table, and what its policy declares: ends of `day`, the highest `amount` above 0, and bounds set by hand.

    `listed` are the categories if the policy lists them. Otherwise only those appear that many people have.
    """

    name: str
    first: date
    last: date
    upper: int
    listed: tuple[str, ...] | None
    # of groups that are found in the data; what is added up is weighted, and more groups cost the threshold alone
    bounds: str = "groups_per_unit: 24"

    @property
    def middle(self) -> int:
        return self.upper // 2

    def keys(self, key: str) -> list[str]:
        """All cells that are public: of a period every one, of categories those that are listed."""
        if key == "category":
            return list(self.listed or ())
        days = ((self.first + timedelta(at)) for at in range((self.last - self.first).days + 1))
        length = {"day": 10, "month": 7, "year": 4}[key]
        return list(dict.fromkeys(day.isoformat()[:length] for day in days))


@dataclass(frozen=True)
class Rows:
    """The rows of a table by column; `category` indexes `names`, and -1 is NULL."""

    person: Longs
    day: Longs  # from the table's first
    category: Longs
    amount: Longs
    names: tuple[str, ...]


TABLES: Final = (
    Table("visits", FIRST_DAY, LAST_DAY, HIGHEST_COST, None),
    Table(
        "orders",
        _FIRST,
        _LAST,
        _HIGHEST_ORDER,
        tuple(f"goods {at:02}" for at in range(_DEPARTMENTS)),
    ),
    Table("events", _FIRST, _LAST, _HIGHEST_EVENT, None),
)


def write(place: Path, scale: float) -> dict[str, URL]:
    """The files of every table; the DuckDB file of each by its name."""
    found = {}
    for table, rows in _all_rows(scale):
        file, read = place / f"{table.name}.duckdb", place / f"{table.name}.rows"
        with read.open("w", newline="") as out:
            names = [*rows.names, ""]  # so that -1 finds the empty one, which is NULL
            days = np.datetime64(table.first) + rows.day
            csv.writer(out).writerows(
                (person, day, names[category], amount)
                for person, day, category, amount in zip(
                    rows.person.tolist(),
                    days.tolist(),
                    rows.category.tolist(),
                    rows.amount.tolist(),
                    strict=True,
                )
            )
        with closing(duckdb.connect(str(file))) as database:
            database.execute(
                f"CREATE TABLE {table.name} (person_id bigint NOT NULL, day date NOT NULL,"
                " category text, amount integer NOT NULL)"
            )
            database.execute(f"COPY {table.name} FROM '{read}' (FORMAT csv, HEADER false)")
            keys = ", ".join(f"{text} AS by_{key}" for key, text in KEYS.items())
            peers = (
                "SELECT person_id, amount::bigint AS amount,"
                f" amount::bigint - {table.middle} AS centred, {keys} FROM {table.name}"
            )
            for form in ("parquet", "csv"):
                target = f"'{place / table.name}.{form}' (FORMAT {form})"
                database.execute(f"COPY ({peers}) TO {target}")
        read.unlink()
        found[table.name] = URL.create("duckdb", database=str(file))
    return found


def load_postgres(server: Lease, place: Path) -> URL:
    """The CSV files of all tables as tables of a new database."""
    url = new_database(server)
    columns = ", ".join(f"by_{key} text" for key in KEYS)
    with psycopg.connect(plain(url), autocommit=True) as database:
        for table in TABLES:
            database.execute(
                f"CREATE UNLOGGED TABLE {table.name} (person_id bigint, amount bigint,"
                f" centred bigint, {columns})".encode()
            )
            copy = f"COPY {table.name} FROM STDIN (FORMAT csv, HEADER)".encode()
            with database.cursor().copy(copy) as sink:
                sink.write((place / f"{table.name}.csv").read_bytes())
    return url


def parts(url: URL, table: Table, key: str) -> Parts:
    """What each person has in each cell; public cells without rows come too."""
    sql = (
        f"SELECT person_id, {KEYS[key]} AS cell, count(*)::double AS rows, sum(amount)::double"
        f" AS total FROM {table.name} GROUP BY 1, 2"
    )
    with closing(duckdb.connect(str(url.database), read_only=True)) as database:
        found = database.execute(sql).fetchnumpy()
    cells = np.asarray(found["cell"]).astype(str)
    names = tuple(sorted({*cells.tolist(), *table.keys(key)}))
    person = np.unique(np.asarray(found["person_id"]), return_inverse=True)[1]
    return Parts(
        person.astype(np.int64),
        np.searchsorted(np.array(names), cells).astype(np.int64),
        np.asarray(found["rows"]),
        np.asarray(found["total"]),
        names,
        table.upper,
    )


def _all_rows(scale: float) -> Iterator[tuple[Table, Rows]]:
    for table, rows in zip(TABLES, (_visits, _orders, _events), strict=True):
        yield table, rows(scale)


def _visits(scale: float) -> Rows:
    parts = list(Clinic.at_scale(scale).visit_rows())
    diagnosis = np.concatenate([part.diagnosis for part in parts]).astype(np.int64)
    return Rows(
        np.concatenate([part.patient_id for part in parts]),
        np.concatenate([part.day for part in parts]).astype(np.int64),
        np.where(diagnosis == UNKNOWN, -1, diagnosis),
        np.concatenate([part.cost_cents for part in parts]).astype(np.int64) // 100,
        tuple(one.name for one in DIAGNOSES),
    )


def _orders(scale: float) -> Rows:
    """Most customers order a few times and some hundreds of times, half of it in departments of their own."""
    draw = np.random.Generator(np.random.PCG64(2))
    customers, orders = round(_CUSTOMERS * scale), round(_ORDERS * scale)
    often = draw.lognormal(0, 1.2, customers)
    person = draw.choice(customers, orders, p=often / often.sum())
    popular = 1 / np.arange(1, _DEPARTMENTS + 1) ** 0.8
    popular /= popular.sum()
    own = draw.choice(_DEPARTMENTS, customers, p=popular)
    category = np.where(
        draw.random(orders) < _OF_OWN, own[person], draw.choice(_DEPARTMENTS, orders, p=popular)
    )
    # more towards the end of each year
    days = (_LAST - _FIRST).days + 1
    weight = 1 + 0.6 * (np.arange(days) % 365 > _QUIET_DAYS)
    day = draw.choice(days, orders, p=weight / weight.sum())
    amount = np.minimum(draw.lognormal(3.5 + 0.02 * category, 0.7), _HIGHEST_ORDER)
    names = TABLES[1].listed
    assert names is not None
    return Rows(person + 1, day, category, amount.astype(np.int64), names)


def _events(scale: float) -> Rows:
    """The person of rank r has 4,000 / r^0.9 events: some have thousands, and most have a few."""
    draw = np.random.Generator(np.random.PCG64(3))
    people = round(_DEVICES * scale)
    many = np.maximum(_MOST_EVENTS * scale / np.arange(1, people + 1) ** _ZIPF, 1).astype(np.int64)
    person = np.repeat(draw.permutation(people), many)
    popular = 1 / np.arange(1, _KINDS + 1)
    popular /= popular.sum()
    kind = draw.choice(_KINDS, person.size, p=popular)
    amount = np.minimum(draw.exponential(12 + kind / 5), _HIGHEST_EVENT)
    day = draw.integers(0, (_LAST - _FIRST).days + 1, person.size)
    names = tuple(f"kind {at:02}" for at in range(_KINDS))
    return Rows(person + 1, day, kind, amount.astype(np.int64), names)
