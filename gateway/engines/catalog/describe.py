"""Catalog of a source as a value. Only catalogs are read, never a row of a table."""

from collections.abc import Iterable
from dataclasses import dataclass, field

from sqlalchemy import Connection

from gateway.engines.catalog.duckdb import read_duckdb
from gateway.engines.catalog.postgresql import read_postgresql
from gateway.engines.catalog.tables import SourceTable


@dataclass(frozen=True)
class SourceTables:
    """The tables a source has, by `schema.table`, and which schema a name without one means."""

    default_schema: str
    tables: tuple[SourceTable, ...] = field(default=())

    def find(self, name: str) -> SourceTable | None:
        """The table of this name; without a schema, the one in the default schema."""
        schema, _, table = name.rpartition(".")
        wanted = (schema or self.default_schema, table)
        return next((one for one in self.tables if (one.schema, one.name) == wanted), None)

    def names(self) -> Iterable[str]:
        """As a policy would write them."""
        for table in self.tables:
            own = table.schema == self.default_schema
            yield table.name if own else f"{table.schema}.{table.name}"


def describe_source(connection: Connection) -> SourceTables:
    """All tables and views that the login may read."""
    if connection.dialect.name == "duckdb":
        return SourceTables("main", read_duckdb(connection.exec_driver_sql))
    schema = connection.exec_driver_sql("SELECT current_schema()").scalar_one()
    return SourceTables(schema or "public", read_postgresql(connection))
