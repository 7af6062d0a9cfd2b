"""Source database with the rows of persons: it is read, for a limited time, and nothing else.

A `SourceDatabase` renders releases as SQL and reads the rows; its `database` connects, holds and runs.

Rendered statements are cached: equal releases have equal texts.

INVARIANT: a release that runs on a preparation was bounded by what the catalog of that preparation proves.
"""

import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass, field, replace
from itertools import chain
from typing import Any, Final, cast

from sqlalchemy import URL, Select
from sqlalchemy import column as sql_column
from sqlalchemy import select as sql_select
from sqlalchemy import table as sql_table
from sqlalchemy.sql import quoted_name

from gateway.bounding.bounded_release import BoundedRelease
from gateway.catalog.tables import Table
from gateway.catalog.zones import UTC_NAME
from gateway.engines.catalog.describe import SourceTables
from gateway.engines.connections import Connections, split_parts
from gateway.engines.duckdb_preparation import DuckDbDatabase
from gateway.engines.exact_rows import add_shards, column_value, read_histogram, read_table
from gateway.engines.failures import Failures
from gateway.engines.postgresql_preparation import PostgresqlDatabase
from gateway.engines.preparation import Chunks, Database, Preparation, SourceCatalog, Statement
from gateway.engines.sql.clamp import finite_value, own_number
from gateway.engines.sql.group_limits import Key, shown_parameters
from gateway.engines.sql.histogram import select_histogram
from gateway.engines.sql.partial_select import Dialect, Expressing
from gateway.engines.sql.pieces import Part
from gateway.engines.sql.release import ReleaseSql, select_release
from gateway.errors import Code, LimitExceeded
from gateway.events import Emit, ignore_event
from gateway.exact import ExactHistogram, ExactTable
from gateway.lru_cache import LruCache
from gateway.plan.node import BrokenPlan
from gateway.plan.relations import StagedRows, stored_tables
from gateway.sensitivity.choices import Histogram

_MOST: Final = 256


class RenderedCache:
    """The last rendered statements. SQLAlchemy caches the compiled form of each.

    A release is known by its repr, not by being equal: `1.0` and `1.00` are equal and not the same text, and
    what `now` is stands in it wherever it matters.
    """

    def __init__(self) -> None:
        self._known: LruCache[tuple[str, Part | None], Select[Any]] = LruCache(_MOST)
        # the release is kept beside its text, so that its id stays its own
        self._texts: LruCache[int, tuple[BoundedRelease, str]] = LruCache(_MOST)

    def find(
        self, release: BoundedRelease, part: Part | None, render: Callable[[], Select[Any]]
    ) -> Select[Any]:
        """The statement of this release; it is rendered once. A refusal is not cached."""
        _, text = self._texts.get(id(release), lambda: (release, repr(release)))
        return self._known.get((text, part), render)


GATEWAY: Final = ""
"""In the place of a subject where the gateway asks for itself; no subject has this name."""
_FETCH_LIMIT_S: Final = 30.0
_SPARE: Final = 4
_MOST_PARSED: Final = 512


@dataclass(frozen=True)
class SourceDatabase:
    """One dataset's database. `expressing` makes its SQL expressions, `salt` is public.

    `parts` is in how many parts a large release is asked for; 1 where the database itself uses all cores.
    """

    database: Database
    dialect: Dialect
    expressing: Expressing
    salt: str
    emit: Emit = ignore_event
    parts: int = 1
    _rendered: RenderedCache = field(default_factory=RenderedCache)
    _rendered_histograms: RenderedCache = field(default_factory=RenderedCache)
    _parsed: dict[int, tuple[Statement, SourceCatalog]] = field(default_factory=dict)

    @classmethod
    def open(  # noqa: PLR0913 - a source and how it is reached
        cls,
        url: URL,
        expressing: Expressing,
        *,
        salt: str,
        emit: Emit = ignore_event,
        size: int = 4,
        spare: int = _SPARE,
        search_path: Sequence[str] = (),
        zone: str = UTC_NAME,
    ) -> "SourceDatabase":
        """Make the database object. The first query connects. `zone` is the time zone of its sessions.

        INVARIANT: the search path by which the source finds a table is the one by which its catalog is read.
        """
        there, parts = split_parts(url)
        failures = Failures(emit)
        if url.get_backend_name() == "duckdb":
            return cls(
                DuckDbDatabase(there, failures, search_path, zone),
                "duckdb",
                expressing,
                salt,
                emit,
                parts,
            )
        connections = Connections.open(there, size, spare, search_path, zone)
        database = PostgresqlDatabase(connections, failures)
        return cls(database, "postgresql", expressing, salt, emit, parts)

    def close(self) -> None:
        """Close all connections."""
        self.database.close()

    def stop(self) -> None:
        """Stop all statements now."""
        self.database.stop()

    def described(self) -> SourceTables:
        """The current catalog."""
        made = self.database.prepare([], subject=GATEWAY, limit_s=_FETCH_LIMIT_S, cancelled=None)
        with closing(made):
            return made.catalog.described

    @contextmanager
    def prepared(
        self,
        release: BoundedRelease,
        *,
        limit_s: float,
        cancelled: threading.Event | None = None,
    ) -> Iterator[Preparation]:
        """A preparation for one release alone."""
        tables = table_names([release])
        made = self.database.prepare(tables, subject=GATEWAY, limit_s=limit_s, cancelled=cancelled)
        with closing(made):
            yield made

    def parse(
        self,
        on: Preparation,
        releases: Sequence[BoundedRelease],
        staged: Mapping[str, StagedRows],
        fetched: Sequence[Table] = (),
    ) -> None:
        """Refuse a statement that the source cannot parse. A statement that it parsed under the same catalog is not sent again."""
        statements: list[tuple[Statement, Mapping[str, list[str | None]]]] = []
        for release in releases:
            if release.measurements or not release.histograms:
                statements.append((self.statement(release, staged), {}))
            none = shown_parameters(release.keys, ())
            statements += [
                (self.counting(release, one, staged), none) for one in release.histograms
            ]
        statements += [(select_all(self.dialect, table).limit(0), {}) for table in fetched]
        for statement, given in statements:
            if self._parsed.get(id(statement)) != (statement, on.catalog):
                on.parse([statement], given)
                if len(self._parsed) >= _MOST_PARSED:
                    self._parsed.clear()
                self._parsed[id(statement)] = (statement, on.catalog)

    def run(
        self,
        release: BoundedRelease,
        staged: Mapping[str, StagedRows],
        *,
        limit_s: float,
        cancelled: threading.Event | None = None,
        parts: int = 1,
        on: Preparation | None = None,
    ) -> ExactTable:
        """The exact integers of a release from one snapshot of the source."""
        if on is None:
            with self.prepared(release, limit_s=limit_s, cancelled=cancelled) as made:
                return self.run(
                    release, staged, limit_s=limit_s, cancelled=cancelled, parts=parts, on=made
                )

        def render(many: int) -> Sequence[Statement]:
            return [self.statement(release, staged, part) for part in _parts(many)]

        def read(every: Sequence[Chunks]) -> ExactTable:
            if len(every) == 1:
                return read_table(release, every[0])
            return add_shards(release, [list(chain.from_iterable(one)) for one in every])

        return on.run(render, parts, {}, read, limit_s=limit_s, cancelled=cancelled)

    def count(  # noqa: PLR0913 - a release and how it is asked for
        self,
        release: BoundedRelease,
        shown: Sequence[Key] | None,
        staged: Mapping[str, StagedRows],
        *,
        limit_s: float,
        cancelled: threading.Event | None = None,
        parts: int = 1,
        on: Preparation | None = None,
    ) -> tuple[ExactHistogram, ...]:
        """The exact histograms of a release: of the groups that are `shown`; of all where that is None.

        INVARIANT: who asks for some groups has their keys from what was released.
        """
        if on is None:
            with self.prepared(release, limit_s=limit_s, cancelled=cancelled) as made:
                return self.count(
                    release,
                    shown,
                    staged,
                    limit_s=limit_s,
                    cancelled=cancelled,
                    parts=parts,
                    on=made,
                )
        among = shown is not None
        given = shown_parameters(release.keys, shown or ()) if among else {}
        found = []
        for one in release.histograms:

            def render(many: int, one: Histogram = one) -> Sequence[Statement]:
                return [
                    self.counting(release, one, staged, part, among=among) for part in _parts(many)
                ]

            def read(every: Sequence[Chunks], one: Histogram = one) -> ExactHistogram:
                rows = [list(chain.from_iterable(each)) for each in every]
                return read_histogram(release, one, rows)

            found.append(on.run(render, parts, given, read, limit_s=limit_s, cancelled=cancelled))
        return tuple(found)

    def counting(
        self,
        release: BoundedRelease,
        histogram: Histogram,
        staged: Mapping[str, StagedRows],
        part: Part | None = None,
        *,
        among: bool = True,
    ) -> Select[Any]:
        """The statement for one histogram of a release; nothing is sent."""
        alone = replace(release, measurements=(), histograms=(histogram,))

        def render() -> Select[Any]:
            dressed = ReleaseSql(self.dialect, self.expressing, self.salt)
            return select_histogram(alone, histogram, staged, dressed, part, among=among)

        if staged or not among:
            return render()
        return self._rendered_histograms.find(alone, part, render)

    def statement(
        self,
        release: BoundedRelease,
        staged: Mapping[str, StagedRows],
        part: Part | None = None,
    ) -> Select[Any]:
        """The statement of a release, or the refusal if this source cannot compute it; nothing is sent."""

        def render() -> Select[Any]:
            dressed = ReleaseSql(self.dialect, self.expressing, self.salt)
            return select_release(release, staged, dressed, part)

        return render() if staged else self._rendered.find(release, part, render)

    def fetch(
        self,
        table: Table,
        most_rows: int,
        *,
        cancelled: threading.Event | None = None,
        on: Preparation | None = None,
    ) -> StagedRows:
        """All rows of a public table; a table with more rows than the limit is refused."""
        if not table.public:
            raise BrokenPlan("a protected table was to be fetched")
        if on is None:
            made = self.database.prepare(
                [table.name], subject=GATEWAY, limit_s=_FETCH_LIMIT_S, cancelled=cancelled
            )
            with closing(made):
                return self.fetch(table, most_rows, cancelled=cancelled, on=made)
        wanted = select_all(self.dialect, table).limit(most_rows + 1)

        def read(every: Sequence[Chunks]) -> list[Sequence[Any]]:
            return list(chain.from_iterable(every[0]))

        rows = on.run(lambda _: [wanted], 1, {}, read, limit_s=_FETCH_LIMIT_S, cancelled=cancelled)
        if len(rows) > most_rows:
            raise LimitExceeded(Code.TABLE_TOO_LARGE, f"`{table.name}`")
        kinds = [one.type for one in table.columns]
        return StagedRows(
            tuple((one.name, one.type) for one in table.columns),
            tuple(
                tuple(column_value(one, kind) for one, kind in zip(row, kinds, strict=True))
                for row in rows
            ),
        )


def table_names(releases: Sequence[BoundedRelease]) -> list[str]:
    """The tables that releases read, by name."""
    return sorted({name for release in releases for name in stored_tables(release.rows)})


def select_all(dialect: Dialect, table: Table) -> Select[Any]:
    """All rows and declared columns of a public table.

    INVARIANT: what the catalog has no value for, such as a day outside the calendar, is NULL as it is in a scan:
    drivers cannot read such days, or read them as other days.
    """
    schema, _, name = table.name.rpartition(".")
    names: list[Any] = [sql_column(quoted_name(one.name, quote=True)) for one in table.columns]
    there = sql_table(
        quoted_name(name, quote=True),
        *names,
        schema=quoted_name(schema, quote=True) if schema else None,
    )
    items = [
        finite_value(dialect, own_number(dialect, one, column), one.type).label(f"c{place}")
        for place, (column, one) in enumerate(zip(names, table.columns, strict=True), 1)
    ]
    return cast("Select[Any]", sql_select(*items).select_from(there))


def _parts(many: int) -> list[Part | None]:
    """The part of each connection: the whole if it is the only one."""
    return [None] if many == 1 else [(place, many) for place in range(many)]
