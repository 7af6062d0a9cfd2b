"""What binding gives: a statement cut into releases and a finishing, or one that passes.

The steps of a `Cut` come in the order in which they have to run. Each makes a constant relation:

- `Release`: rows of persons are aggregated, noise is added, the ledger is charged;
- `Fetch`: a public table is read as it is;
- `Empty`: no rows, because the statement cannot give any;
- `Stage`: SQL on the twin over the constants before it, for a plan that comes after it.

The finishing runs on the twin over all of them.

INVARIANT: equal plans are released once. Names of constants cannot be written by the analyst: they begin with more
underscores than any name in the text.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TypeAlias

from gateway.binding.text.classify import Statement
from gateway.catalog.tables import Dataset, Table, is_system_table
from gateway.catalog.zones import UTC_NAME
from gateway.plan.aggregates import Aggregate, with_limits
from gateway.plan.fields import Field
from gateway.plan.formulas import AggregateRef, Cells, Form, Readings, aggregate_places, form_text
from gateway.plan.print import explain_plan
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
    `whole` has its keys over all permitted rows, without the conditions of the statement; None until rows are permitted.
    """

    name: str
    plan: Aggregate
    bounds: tuple[Form, ...] = ()
    whole: Aggregate | None = None


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
    row of a release, `again` where all of its columns are known. `instead` is the same
    statement with counts, where values are chosen though it groups. `zone` is the session's time zone, in which the twin
    runs the stages and the finishing.
    `listed` are the releases whose groups have to be known: those that are missing are shown as empty.
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
    notices: tuple[str, ...] = ()
    zone: str = UTC_NAME
    listed: frozenset[str] = field(default=frozenset(), repr=False)

    @property
    def releases(self) -> tuple[Release, ...]:
        return tuple(step for step in self.steps if isinstance(step, Release))


Bound: TypeAlias = PassThrough | Cut


class CutBuilder:
    """Gathers the steps of one statement."""

    def __init__(
        self,
        dataset: Dataset,
        names: Iterable[str],
        zone: str = UTC_NAME,
        *,
        empty: bool = False,
        selecting: bool = True,
        search_path: Sequence[str] | None = None,
    ) -> None:
        """`zone` is the session's. `selecting`: the most frequent keys are chosen, where nothing but their names is asked."""
        self.dataset = dataset
        self.zone = zone
        self.search_path = dataset.searched if search_path is None else search_path
        self.empty = empty
        self.selecting = selecting
        self.selected = False
        underscores = max((len(name) - len(name.lstrip("_")) for name in names), default=0)
        self._prefix = "_" * (underscores + 1)
        there = [column.name for table in dataset.tables for column in table.columns]
        more = max((len(name) - len(name.lstrip("_")) for name in there), default=0)
        self._hidden = "_" * (max(underscores, more) + 1)
        self._hiding = 0
        self.steps: list[Step] = []
        self.touched: set[str] = set()
        self.listed: set[str] = set()
        self.shortened = False
        self._known: dict[object, str] = {}
        self._aliases: set[str] = set()
        self._bounds: dict[str, list[Form]] = {}

    def release(self, plan: Aggregate) -> str:
        return self._once(plan, "r", lambda name: Release(name, plan))

    def table(self, table: Table) -> str:
        """A public table, read as it is; or any table, when the statement cannot give rows."""
        if not is_system_table(table):
            self.touched.add(table.name)
        make = Empty if self.empty else Fetch
        return self._once(table.name, "e" if self.empty else "p", lambda name: make(name, table))

    def stage(self, sql: Sql, fields: tuple[Field, ...]) -> str:
        return self._once((sql, fields), "s", lambda name: Stage(name, sql, fields))

    def bound(self, release: str, form: Form, end: str) -> int:
        """The number, from 1, under which a release has the ends of the intervals of a form; `end` is `l` or `h`.

        An end of a percentile has to be chosen: the release is asked for it as well.
        """
        bounds = self._bounds.setdefault(release, [])
        if form not in bounds:
            bounds.append(form)
        # of what is computed from it, either end may need either end of it
        ends = {end} if isinstance(form, AggregateRef) else {"l", "h"}
        places = set(aggregate_places(form))
        self.steps = [
            replace(step, plan=with_limits(step.plan, places, ends))
            if isinstance(step, Release) and step.name == release
            else step
            for step in self.steps
        ]
        return bounds.index(form) + 1

    def bounds(self, release: str) -> tuple[Form, ...]:
        """The forms whose intervals were asked for."""
        return tuple(self._bounds.get(release, ()))

    def hidden(self) -> str:
        """A name for a column or a CTE that nobody sees."""
        self._hiding += 1
        return f"{self._hidden}t{self._hiding}"

    def done(self) -> tuple[Step, ...]:
        """The steps, with all that was asked of them."""
        return tuple(
            replace(step, bounds=self.bounds(step.name)) if isinstance(step, Release) else step
            for step in self.steps
        )

    def alias(self, wanted: str) -> str:
        """A name for a relation of a plan that no other relation of the statement has."""
        base = wanted or "t"
        name, times = base, 1
        while name in self._aliases:
            times += 1
            name = f"{base}_{times}"
        self._aliases.add(name)
        return name

    def aliases(self) -> frozenset[str]:
        return frozenset(self._aliases)

    def restore(self, known: frozenset[str]) -> None:
        self._aliases = set(known)

    def _once(self, key: object, letter: str, make: Callable[[str], Step]) -> str:
        if key not in self._known:
            count = sum(name.startswith(self._prefix + letter) for name in self._known.values())
            name = f"{self._prefix}{letter}{count + 1}"
            self.steps.append(make(name))
            self._known[key] = name
        return self._known[key]


def explain_bound(bound: Bound) -> str:
    """Its steps with their plans, its finishing, and the uses it needs."""
    if isinstance(bound, PassThrough):
        return f"passes: {bound.statement.kind.value}"
    lines = [line for step in bound.steps for line in _step(step)]
    if bound.statement.head:
        lines.append(f"around: {bound.statement.kind.value}")
    lines.append(f"finishing {bound.finishing.text()}")
    lines += [f"use {use}" for use in sorted(bound.uses)]
    return "\n".join(lines)


def _step(step: Step) -> list[str]:
    match step:
        case Release():
            plan = explain_plan(step.plan).splitlines()
            ends = (
                [f"  intervals of {'; '.join(map(form_text, step.bounds))}"] if step.bounds else []
            )
            return [f"{step.name} {plan[0]}", *ends, *plan[1:]]
        case Fetch():
            return [f"{step.name} fetch {step.table.name}"]
        case Empty():
            return [f"{step.name} empty {step.table.name}"]
        case Stage():
            columns = ", ".join(f"{one.id.rsplit('.', 1)[-1]} {one.type}" for one in step.fields)
            return [f"{step.name} stage ({columns}) {step.sql.text()}"]
