"""What binding gives: a statement cut into releases and a finishing, or one that passes.

The steps of a `Cut` come in the order in which they have to run. Each makes a constant relation:

- `Release`: rows of persons are aggregated, noise is added, the ledger is charged;
- `Fetch`: a public table is read as it is;
- `Empty`: no rows, because the statement cannot give any;
- `Stage`: SQL on the twin over the constants before it, for a plan that comes after it.

The finishing runs on the twin over all of them.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TypeAlias

from gateway.binding.text.classify import Statement
from gateway.catalog.tables import Table
from gateway.plan.fields import Field
from gateway.plan.formulas import Cells, Form, Readings
from gateway.plan.grouping import Aggregate
from gateway.plan.uses import Use


@dataclass(frozen=True, slots=True)
class Sql:
    """A query for the twin in two parts, so that constant relations can be put before its CTEs.

    `guarded` is the same query with NULL where numbers of a release would make PostgreSQL raise; None where they cannot.
    `can_raise`: it has more in it than columns and their order.

    INVARIANT: it names only constant relations, its own CTEs, and what every PostgreSQL has.
    """

    ctes: str
    body: str
    recursive: bool = False
    guarded: "Sql | None" = None
    can_raise: bool = False

    def text(self, constants: Mapping[str, str] | None = None) -> str:
        """The query with the constant relations, each given as the SQL that makes it, in place."""
        given = [f"{name} AS ({query})" for name, query in (constants or {}).items()]
        all_ = ", ".join([*given, *([self.ctes] if self.ctes else [])])
        word = "WITH RECURSIVE" if self.recursive else "WITH"
        return f"{word} {all_} {self.body}" if all_ else self.body


@dataclass(frozen=True, slots=True)
class Release:
    """Its columns are those of the plan, `k1`, `k2`, … and `m1`, `m2`, …, with `g1`, `g2`, … between them where it
    has several grouping sets; then for each of `bounds` the ends of
    its 95 % intervals, `l1`, `h1`, `l2`, `h2`, …, NULL where a row has none; and `n`, the number of the row.
    """

    name: str
    plan: Aggregate
    bounds: tuple[Form, ...] = ()


@dataclass(frozen=True, slots=True)
class Fetch:
    """Its columns are those of the table that may be seen."""

    name: str
    table: Table


@dataclass(frozen=True, slots=True)
class Empty:
    """A relation with the columns of a table and without rows."""

    name: str
    table: Table


@dataclass(frozen=True, slots=True)
class Stage:
    """`fields` are the columns a later plan reads; `single` where one value is wanted."""

    name: str
    sql: Sql
    fields: tuple[Field, ...]


Step: TypeAlias = Release | Fetch | Empty | Stage


@dataclass(frozen=True, slots=True)
class ResultColumn:
    """A column of the result as PostgreSQL names and types it."""

    name: str
    type_oid: int
    type_modifier: int
    type_name: str


@dataclass(frozen=True, slots=True)
class PassThrough:
    """It touches no table of the source: the twin runs it as it is."""

    statement: Statement
    result: tuple[ResultColumn, ...] | None = None


@dataclass(frozen=True, slots=True)
class RerunSql:
    """What has to be known of a finishing to run it again over other numbers.

    `reads` are the aggregates in each column of the result, `steering` those that decide which rows there are.
    `effort` is a sum of products: of names of constants, for the rows that each has. None where it cannot be told, or
    where the same numbers may give another result.
    """

    reads: tuple[Readings, ...]
    steering: Readings
    effort: tuple[tuple[str, ...], ...] | None


@dataclass(frozen=True, slots=True)
class TracedSql:
    """The finishing with more columns behind the others: which row of a release a row comes from.

    The last is the number in the release of `cells`; before it stand those of `others`, where a result has cells
    of several releases. NULL where a row comes from none of its rows.
    """

    finishing: Sql
    cells: Cells
    others: tuple[Cells, ...] = ()

    @property
    def readings(self) -> tuple[Cells, ...]:
        """In the order of their numbers."""
        return (*self.others, self.cells)


@dataclass(frozen=True, slots=True)
class Cut:
    """A statement that touches the source.

    `uses` are the columns it needs and how, `tables` the tables it reads: what the policy decides on.
    `columns` are the names of the result where they are known without asking the twin, `result` is what
    the twin says of it, when it was asked. `traced` is there where every row of the result comes from one
    row of a release, `again` where all of its columns are known. `instead` is the same statement with counts, where values are chosen though it groups.
    """

    statement: Statement
    steps: tuple[Step, ...]
    finishing: Sql
    uses: frozenset[Use]
    tables: frozenset[str]
    columns: tuple[str, ...] | None
    result: tuple[ResultColumn, ...] | None = None
    traced: TracedSql | None = None
    again: RerunSql | None = None
    instead: "Cut | None" = None

    @property
    def releases(self) -> tuple[Release, ...]:
        return tuple(step for step in self.steps if isinstance(step, Release))


Bound: TypeAlias = PassThrough | Cut
