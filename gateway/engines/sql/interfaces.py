"""What relations ask of the room that makes SQL expressions of scalars."""

from collections.abc import Mapping
from typing import Any, Literal, Protocol, TypeAlias

from sqlalchemy import ColumnElement

from gateway.catalog.tables import Column, Table
from gateway.engines.staged_rows import StagedRows
from gateway.plan.scalars import Scalar
from gateway.ranges.relations import Range
from gateway.sensitivity.measurement import Total

Dialect: TypeAlias = Literal["postgresql", "duckdb"]
Sql: TypeAlias = ColumnElement[Any]


class Expressions(Protocol):
    """Expressions over the columns of one relation. None of them ever raises in the source."""

    def sql(self, scalar: Scalar, /) -> Sql: ...

    def lattice(self, total: Total, /) -> Sql: ...

    def key(self, scalar: Scalar, /) -> Sql: ...


class Expressing(Protocol):
    """Makes the expressions of a relation, and the enforced columns of a scan."""

    def over(
        self,
        dialect: Dialect,
        columns: Mapping[str, Sql],
        ranges: Mapping[str, Range],
        staged: Mapping[str, StagedRows],
        /,
    ) -> Expressions: ...

    def enforced(self, dialect: Dialect, table: Table, column: Column, sql: Sql, /) -> Sql: ...
