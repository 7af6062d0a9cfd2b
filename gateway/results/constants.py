"""Noisy tables as constant relations for the twin, small groups suppressed.

INVARIANT: values are bound as arrays of text, never pasted into SQL. The statement can reach released values,
public tables, and the twin, which has no data.
INVARIANT: the noisy unit count of a group and the policy alone decide whether it is small.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import partial
from itertools import chain, repeat
from operator import itemgetter
from typing import Final, Protocol, TypeAlias

import numpy as np

from gateway.binding.bound import Cut, Empty, Fetch, Release, Sql, Stage
from gateway.binding.describe import written_columns
from gateway.binding.text.dialect import quote_name
from gateway.catalog.types import ColumnType, Family
from gateway.catalog.values import InvalidValue, Value, read_value
from gateway.columnar.intervals import Interval, IntervalRows
from gateway.columnar.texts import Row, TextRows, Texts, array_text
from gateway.errors import Code, UnsupportedSql
from gateway.plan.aggregates import Aggregate, Measure
from gateway.plan.relations import StagedRows
from gateway.plan.sql_text import text_literal
from gateway.results.rollup import NoisyLevel, NoisyRelease
from gateway.results.rounding import NOWHERE, ends_of, round_to_ranges
from gateway.results.value_texts import cell_text, interval_texts, key_texts
from gateway.twin.errors import TwinRefused

UNDEFINED: Final = (
    "NULL stands where there is no value, such as in a quotient by a noisy number that is 0"
)
UNDEFINED_STATES: Final = ("22", "21")
"""Classes of SQLSTATE: a value is wrong, or a subquery has several rows; released numbers decide on both."""
_TRUTH = {"t": "true", "f": "false"}
_NO_NUMBER = frozenset({"NaN", "Infinity", "-Infinity", "infinity", "-infinity"})


class Runner(Protocol):
    """The methods of a twin session that this module needs."""

    def run(
        self, statement: str, parameters: Sequence[str | None] = (), most_rows: int = 100_000
    ) -> TextRows: ...


@dataclass(frozen=True)
class ConstantTable:
    """A constant relation: its columns with their types as SQL, and their values as texts, column by column."""

    columns: tuple[tuple[str, str], ...]
    texts: tuple[Texts, ...]


@dataclass(frozen=True)
class FilledSql:
    """SQL for the twin, and the text arrays of its constants, as parameters `$1`, `$2`, …"""

    text: str
    parameters: tuple[str | None, ...]


def release_constant(step: Release, release: NoisyRelease, *, clamp: bool = True) -> ConstantTable:
    """A release as a constant relation, with the interval ends it needs and the numbers of its rows.

    `clamp` is the policy's setting for aggregates outside of their domains.
    """
    ranges = release.priced.rolled.ranges or (None,) * len(step.plan.measures)
    sets = [_level(step.plan, one, ranges, clamp=clamp) for one in release.levels]
    # each is packed before the next is made: all of them as Python texts would take ten times as much memory
    columns = [
        Texts.of(chain.from_iterable(make() for make in each)) for each in zip(*sets, strict=True)
    ]
    ends = [
        Texts.of(text) for one in release.intervals(*step.bounds) for text in interval_texts(one)
    ]
    numbers = Texts.of(map(str, range(release.rows)))
    return ConstantTable(tuple(written_columns(step)), (*columns, *ends, numbers))


def _level(
    plan: Aggregate, one: NoisyLevel, ranges: Sequence[Fraction | None], *, clamp: bool
) -> list[Callable[[], Iterable[str | None]]]:
    """Keys, marks and measures of one grouping set. A key that the set lacks is NULL, with the mark 1."""
    rows = len(one.table.keys)
    places = {key: place for place, key in enumerate(one.level.keys)}

    def key(name: int) -> Iterable[str | None]:
        if name not in places:
            return repeat(None, rows)
        return key_texts(map(itemgetter(places[name]), one.table.keys))

    def mark(name: int) -> Iterable[str | None]:
        return repeat("0" if name in places else "1", rows)

    def value(place: int, measure: Measure, width: Fraction | None) -> Iterable[str | None]:
        texts = one.texts(place, measure.type, clamp=clamp)
        if width is None:
            return texts
        ends = ends_of(one.level.formulas[place], measure) if clamp else NOWHERE
        return round_to_ranges(texts, width, measure.type, ends)

    return [
        *(partial(key, name) for name in range(len(plan.keys))),
        *(partial(mark, name) for name in range(len(plan.marks))),
        *(
            partial(value, place, measure, width)
            for place, ((_, measure), width) in enumerate(zip(plan.measures, ranges, strict=True))
        ),
    ]


def table_constant(step: Fetch | Empty, rows: StagedRows | None) -> ConstantTable:
    """A table as a constant relation; an empty one has its columns alone."""
    columns = tuple(written_columns(step))
    there = () if rows is None else rows.rows
    texts = tuple(Texts.of(cell_text(row[place]) for row in there) for place in range(len(columns)))
    return ConstantTable(columns, texts)


@dataclass(frozen=True)
class FinishedRows:
    """The rows of a finishing or a stage; `undefined`: it contains NULL where PostgreSQL has no value."""

    rows: TextRows
    undefined: bool


def run_with_guards(
    sql: Sql,
    constants: Mapping[str, ConstantTable],
    twin: Runner,
    most_rows: int,
    states: tuple[str, ...] = UNDEFINED_STATES,
) -> FinishedRows:
    """The rows of the statement as written; with its guards if the released numbers make PostgreSQL raise.

    `states` are the classes of SQLSTATE for which there are guards.
    """
    try:
        return FinishedRows(_run(sql, constants, twin, most_rows), undefined=False)
    except TwinRefused as refused:
        if sql.guarded is None or not refused.sqlstate.startswith(states):
            raise
    return FinishedRows(_run(sql.guarded, constants, twin, most_rows), undefined=True)


def run_finishing(
    sql: Sql, constants: Mapping[str, ConstantTable], twin: Runner, most_rows: int
) -> TextRows:
    """The rows alone."""
    return run_with_guards(sql, constants, twin, most_rows).rows


def _run(
    sql: Sql, constants: Mapping[str, ConstantTable], twin: Runner, most_rows: int
) -> TextRows:
    ready = fill_constants(sql, constants)
    return twin.run(ready.text, ready.parameters, most_rows)


def fill_constants(sql: Sql, constants: Mapping[str, ConstantTable]) -> FilledSql:
    """A finishing or a stage with its constants."""
    shown: dict[str, str] = {}
    parameters: list[str | None] = []
    for name, constant in constants.items():
        places = range(len(parameters), len(parameters) + len(constant.columns))
        shown[quote_name(name)] = _opened(constant, [f"${place + 1}" for place in places])
        parameters += [array_text(texts) for texts in constant.texts]
    return FilledSql(sql.text(shown), tuple(parameters))


def with_literals(sql: Sql, constants: Mapping[str, ConstantTable]) -> str:
    """A finishing with its constants written out, for statements in which PostgreSQL takes no parameters, such
    as COPY.

    INVARIANT: no value can end its literal early: quotes are doubled, and backslashes are ordinary characters,
    because `standard_conforming_strings` is on and no client can change it; every connection is in UTF-8, in
    which a quote is no part of another character.
    """
    shown = {
        quote_name(name): _opened(
            constant, [text_literal(array_text(texts)) for texts in constant.texts]
        )
        for name, constant in constants.items()
    }
    return sql.text(shown)


def staged_rows(step: Stage, rows: Iterable[Row]) -> StagedRows:
    """The rows of a stage, as values that a plan compares with."""
    columns = tuple((one.id, one.type) for one in step.fields)
    return StagedRows(
        columns,
        tuple(
            tuple(_value(text, of) for text, (_, of) in zip(row, columns, strict=True))
            for row in rows
        ),
    )


def _opened(constant: ConstantTable, arrays: Sequence[str]) -> str:
    if not constant.columns:
        return "SELECT WHERE false"
    places = range(len(constant.columns))
    opened = ", ".join(f"{one}::text[]" for one in arrays)
    items = ", ".join(
        f"CAST(t.c{place} AS {of}) AS {quote_name(name)}"
        for place, (name, of) in enumerate(constant.columns)
    )
    names = ", ".join(f"c{place}" for place in places)
    return f"SELECT {items} FROM unnest({opened}) AS t({names})"  # noqa: S608 - names of ours, no value


def _value(text: str | None, of: ColumnType) -> Value | None:
    """A value of the twin; NULL, which equals nothing, if no plan can compare with it."""
    if text is None or text in _NO_NUMBER:
        return None
    if of.family is Family.BOOLEAN:
        text = _TRUTH.get(text, text)
    try:
        return read_value(text, of)
    except InvalidValue:
        raise UnsupportedSql(
            Code.CLAUSE_UNSUPPORTED,
            f"the value of a subquery is not a supported {of}",
            "cast it to another type",
        ) from None


Intervals: TypeAlias = Sequence[Sequence[Interval]]


def blank_rows(constant: ConstantTable, plan: Aggregate, small: frozenset[int]) -> ConstantTable:
    """The constant relation without the aggregates of these rows; its last column is the row number."""
    if not small:
        return constant
    *columns, numbers = constant.texts
    before = len(plan.keys) + len(plan.marks)
    measured = [
        Texts.of(None if row in small else text for row, text in enumerate(column))
        for column in columns[before:]
    ]
    return replace(constant, texts=(*columns[:before], *measured, numbers))


def drop_small_intervals(
    cut: Cut, rows: Sequence[Row], intervals: Intervals, small: Mapping[str, frozenset[int]]
) -> IntervalRows:
    """The intervals of an answer; a row that depends on a blank one has none, NULL or not."""
    found = IntervalRows.of(intervals)
    if cut.traced is None or not any(small.values()):
        return found
    readings, columns = cut.traced.readings, TextRows.of(rows).columns
    shown = np.ones(len(rows), dtype=np.bool_)
    for one, numbers in zip(readings, columns[len(columns) - len(readings) :], strict=True):
        blank = frozenset(map(str, small.get(one.name, ())))
        shown &= np.fromiter(
            (number not in blank for number in numbers), dtype=np.bool_, count=len(rows)
        )
    return found.where(shown)
