"""Worlds in both databases, each stored and read under settings of its own."""

import random
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Final

import duckdb
import psycopg
from fix_sample import plain
from property.small_worlds import Stored, World, somebody, world
from sqlalchemy import URL

from gateway.bounding.bounded_release import BoundedRelease
from gateway.catalog.tables import Column, Dataset
from gateway.engines.catalog.describe import describe_source
from gateway.engines.catalog.proofs import TableProof, prove_tables
from gateway.engines.connections import open_source
from gateway.engines.source import RenderedCache, SourceDatabase
from gateway.engines.sql.expressions import TotalScalarSql
from gateway.engines.sql.group_limits import Key
from gateway.errors import BackendUnavailable, InternalError, SourceStopped
from gateway.exact import ExactHistogram, ExactTable
from gateway.plan.relations import StagedRows

SALT: Final = "clinic"
_KEYS: Final = {"patients": "patient_id", "regions": "region", "codes": "code"}
_SWITCHES: Final = (
    *("enable_hashagg", "enable_sort", "enable_hashjoin", "enable_mergejoin", "enable_nestloop"),
    *(
        "enable_incremental_sort",
        "enable_memoize",
        "enable_material",
        "parallel_leader_participation",
    ),
)


@dataclass(frozen=True)
class Rendered:
    """Statements of the worlds in one kind of database: the same release is the same statement in each of them."""

    releases: RenderedCache = field(default_factory=RenderedCache)
    histograms: RenderedCache = field(default_factory=RenderedCache)


class SourceRaised(AssertionError):
    """The source raised an error on somebody's value: that tells that the value is there."""


@dataclass(frozen=True)
class Store:
    """One world in one database."""

    name: str
    source: SourceDatabase
    proven: Mapping[str, TableProof]

    def run(self, release: BoundedRelease, staged: Mapping[str, StagedRows]) -> ExactTable:
        """The exact answer; an error of the source is a failure of the test, with its text."""
        try:
            return self.source.run(release, staged, limit_s=120)
        except (BackendUnavailable, InternalError, SourceStopped) as refusal:
            raise SourceRaised(f"{self.name}: {refusal.__context__}") from None

    def count(
        self,
        release: BoundedRelease,
        staged: Mapping[str, StagedRows],
        shown: Sequence[Key] | None = None,
    ) -> tuple[ExactHistogram, ...]:
        """The exact histograms of a release, of all groups or of those that are shown."""
        try:
            return self.source.count(release, shown, staged, limit_s=120)
        except (BackendUnavailable, InternalError, SourceStopped) as refusal:
            raise SourceRaised(f"{self.name}: {refusal.__context__}") from None


@contextmanager
def neighbours(
    place: Path, url: URL, seed: int, *, keyed: bool, more: int = 1, persons: int | None = None
) -> Iterator[list[list[Store]]]:
    """A world and worlds with one person more, in both databases."""
    base = world(seed, keyed=keyed, persons=persons)
    others = [
        base.more(somebody(100 * seed + one, keyed=keyed, heavy=one == 0)) for one in range(more)
    ]
    worlds = [base, *others]
    with in_duckdb(place, worlds, seed) as here, in_postgresql(url, worlds, seed) as there:
        yield [here, there]


@contextmanager
def in_duckdb(place: Path, worlds: Sequence[World], seed: int) -> Iterator[list[Store]]:
    """Each world in a file of its own."""
    chance = random.Random(seed)  # noqa: S311 - settings of a test
    stores: list[Store] = []
    rendered = Rendered()
    try:
        for number, one in enumerate(worlds):
            file = place / f"{seed}_{number}.duckdb"
            with duckdb.connect(str(file)) as connection:
                for statement, values in filling(one.shuffled(seed + number), "duckdb"):
                    connection.execute(statement, values)
            query = {
                "threads": str(chance.randint(1, 4)),
                "memory_limit": chance.choice(("250MB", "1GB")),
                "preserve_insertion_order": chance.choice(("true", "false")),
            }
            url = URL.create("duckdb", database=str(file), query=query)
            stores.append(_opened(f"duckdb {number}", url, one.dataset, rendered))
        yield stores
    finally:
        for store in stores:
            store.source.close()
        for number in range(len(worlds)):
            (place / f"{seed}_{number}.duckdb").unlink(missing_ok=True)


@contextmanager
def in_postgresql(url: URL, worlds: Sequence[World], seed: int) -> Iterator[list[Store]]:
    """Each world in a schema of its own, gone afterwards."""
    chance = random.Random(seed)  # noqa: S311 - settings of a test
    stores: list[Store] = []
    rendered = Rendered()
    schemas = [f"world_{seed}_{number}" for number in range(len(worlds))]
    with psycopg.connect(plain(url), autocommit=True) as connection:
        try:
            for number, (one, schema) in enumerate(zip(worlds, schemas, strict=True)):
                connection.execute(f"CREATE SCHEMA {schema}".encode())
                connection.execute(f"SET search_path = {schema}".encode())
                for statement, values in filling(one.shuffled(seed - number - 1), "postgresql"):
                    connection.execute(statement.encode(), values)
                if chance.random() < 0.5:
                    connection.execute(b"ANALYZE")
                settings = {"search_path": schema, **_settings(chance)}
                options = " ".join(f"-c {name}={value}" for name, value in settings.items())
                there = url.update_query_dict({"options": options})
                name = f"postgresql {number} {options}"
                stores.append(_opened(name, there, one.dataset, rendered))
            yield stores
        finally:
            for store in stores:
                store.source.close()
            for schema in schemas:
                connection.execute(f"DROP SCHEMA IF EXISTS {schema} CASCADE".encode())


def _opened(name: str, url: URL, dataset: Dataset, rendered: Rendered) -> Store:
    with open_source(url) as connection:
        found = prove_tables(dataset, describe_source(connection))
    opened = SourceDatabase.open(url, TotalScalarSql(), salt=SALT)
    source = replace(opened, _rendered=rendered.releases, _rendered_histograms=rendered.histograms)
    return Store(name, source, found)


def _settings(chance: random.Random) -> dict[str, str]:
    made = {one: chance.choice(("on", "off")) for one in _SWITCHES}
    made["work_mem"] = chance.choice(("64kB", "4MB", "64MB"))
    made["jit"] = "off"
    if chance.random() < 0.3:
        # sooner than a plan would ever be compiled: slow, so not always
        made |= {"jit": "on", "jit_above_cost": "500000"}
    if chance.random() < 0.6:
        made |= {"max_parallel_workers_per_gather": "2", "min_parallel_table_scan_size": "0"}
        made |= {"parallel_setup_cost": "0", "parallel_tuple_cost": "0"}
        made["debug_parallel_query"] = chance.choice(("off", "on"))
    return made


def filling(
    world: World, dialect: str, constraints: Mapping[str, Sequence[str]] | None = None
) -> Iterator[tuple[str, Any]]:
    """What makes and fills the tables. Without `constraints` of each table, those of the clinic's keys."""
    mark = "?" if dialect == "duckdb" else "%s"
    for table in world.dataset.tables:
        stored = {one.stored_name: _kind(one, dialect) for one in table.columns}
        kinds = list(stored.values())
        columns = [f"{name} {kind}" for name, kind in stored.items()]
        if constraints is not None:
            columns += constraints[table.name]
        elif table.name in _KEYS and (world.keyed or table.public):
            columns.append(f"UNIQUE ({_KEYS[table.name]})")
        yield f"CREATE TABLE {table.name} ({', '.join(columns)})", None
        rows = world.rows.get(table.name, ())
        items = ", ".join(f"CAST(unnest(CAST({mark} AS text[])) AS {kind})" for kind in kinds)
        if rows:
            values = [
                [_stored(one, dialect) for one in column] for column in zip(*rows, strict=True)
            ]
            yield f"INSERT INTO {table.name} SELECT {items}", values


def _kind(column: Column, dialect: str) -> str:
    """The type of the stored column: that of a document, where the column is read from one."""
    if column.json is not None:
        return "jsonb" if column.json.is_binary and dialect == "postgresql" else "json"
    kind = f"{column.type}{'[]' if column.is_array else ''}"
    return "decimal(38,10)" if dialect == "duckdb" and kind == "numeric" else kind


def _stored(value: Stored, dialect: str) -> Stored:
    if value is None or not value.startswith("?"):
        return value
    there, _, here = value[1:].partition("|")
    return there if dialect == "postgresql" else here or None
