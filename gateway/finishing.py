"""The finishing on the twin: released tables become constant relations, and PostgreSQL does the rest.

INVARIANT: values are bound as arrays of text, never pasted; what the statement can reach is what was released,
what is public, and the twin, which has no data.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import chain
from typing import Protocol

from gateway.binding.bound import Empty, Fetch, Release, Sql, Stage
from gateway.binding.describing import columns_of
from gateway.binding.names import in_quotes
from gateway.catalog.types import ColumnType, Family
from gateway.catalog.values import Value, ValueUnfit, read_value
from gateway.engines.staged import StagedRows
from gateway.errors import Code, UnsupportedSql
from gateway.noise.recoded import NOWHERE, ends_of, recoded
from gateway.noise.rolling import NoisyLevel, NoisyRelease
from gateway.noise.texts import cell_text, interval_texts, key_texts
from gateway.plan.grouping import Aggregate

Texts = tuple[Sequence[str | None], ...]
Row = tuple[str | None, ...]
_TRUTH = {"t": "true", "f": "false"}
_NO_NUMBER = frozenset({"NaN", "Infinity", "-Infinity", "infinity", "-infinity"})


class Runner(Protocol):
    """A session on the twin, as far as it is needed here."""

    def run(
        self, statement: str, parameters: Sequence[str | None] = (), most_rows: int = 100_000
    ) -> tuple[Row, ...]: ...


@dataclass(frozen=True)
class Constant:
    """A constant relation: its columns, and their values as texts, column by column."""

    columns: tuple[tuple[str, ColumnType], ...]
    texts: Texts


def released(step: Release, release: NoisyRelease, *, clamp: bool = True) -> Constant:
    """A release as a constant, with the ends of the intervals that it needs and the numbers of its rows.

    `clamp` is what the policy says of aggregates beyond their domains.
    """
    ranges = release.priced.rolled.ranges or (None,) * len(step.plan.measures)
    sets = [_level(step.plan, one, ranges, clamp=clamp) for one in release.levels]
    columns = (
        sets[0] if len(sets) == 1 else [list(chain(*each)) for each in zip(*sets, strict=True)]
    )
    ends = [text for one in release.intervals(*step.bounds) for text in interval_texts(one)]
    numbers = list(map(str, range(release.rows)))
    return Constant(tuple(columns_of(step)), (*columns, *ends, numbers))


def _level(
    plan: Aggregate, one: NoisyLevel, ranges: Sequence[Fraction | None], *, clamp: bool
) -> list[Sequence[str | None]]:
    """Keys, marks and measures of one grouping set: of a key that it has not, NULL and 1."""
    table, rows = one.table, len(one.table.keys)
    places = {key: place for place, key in enumerate(one.level.keys)}
    keys: list[Sequence[str | None]] = [
        key_texts(key[places[name]] for key in table.keys) if name in places else [None] * rows
        for name in range(len(plan.keys))
    ]
    marks = [["0" if name in places else "1"] * rows for name in range(len(plan.marks))]
    values: list[Sequence[str | None]] = []
    for place, ((_, measure), width) in enumerate(zip(plan.measures, ranges, strict=True)):
        texts = one.texts(place, measure.type, clamp=clamp)
        if width is None:
            values.append(texts)
        else:
            ends = ends_of(one.level.formulas[place], measure) if clamp else NOWHERE
            values.append(recoded(texts, width, measure.type, ends))
    return [*keys, *marks, *values]


def fetched(step: Fetch | Empty, rows: StagedRows | None) -> Constant:
    """A table as a constant; of an empty one nothing but the columns."""
    columns = tuple(columns_of(step))
    there = () if rows is None else rows.rows
    texts = tuple([cell_text(row[place]) for row in there] for place in range(len(columns)))
    return Constant(columns, texts)


def run_finishing(
    sql: Sql, constants: Mapping[str, Constant], twin: Runner, most_rows: int
) -> tuple[Row, ...]:
    """The rows of a finishing or a stage."""
    shown: dict[str, str] = {}
    parameters: list[str | None] = []
    for name, constant in constants.items():
        shown[in_quotes(name)] = _opened(constant, len(parameters))
        parameters += [_array(texts) for texts in constant.texts]
    return twin.run(sql.text(shown), parameters, most_rows)


def staged(step: Stage, rows: tuple[Row, ...]) -> StagedRows:
    """What a stage gave, as values that a plan compares with."""
    columns = tuple((one.id, one.type) for one in step.fields)
    return StagedRows(
        columns,
        tuple(
            tuple(_value(text, of) for text, (_, of) in zip(row, columns, strict=True))
            for row in rows
        ),
    )


def _opened(constant: Constant, before: int) -> str:
    if not constant.columns:
        return "SELECT WHERE false"
    places = range(len(constant.columns))
    opened = ", ".join(f"${before + place + 1}::text[]" for place in places)
    items = ", ".join(
        f"CAST(t.c{place} AS {of}) AS {in_quotes(name)}"
        for place, (name, of) in enumerate(constant.columns)
    )
    names = ", ".join(f"c{place}" for place in places)
    return f"SELECT {items} FROM unnest({opened}) AS t({names})"  # noqa: S608 - names of ours, no value


def _array(texts: Sequence[str | None]) -> str:
    """In PostgreSQL's form of an array; most columns have nothing to escape, and no NULL."""
    there = [text for text in texts if text is not None]
    together = "".join(there)
    if '"' in together or "\\" in together:
        texts = [None if text is None else _escaped(text) for text in texts]
    elif there and len(there) == len(texts):
        return '{"' + '","'.join(there) + '"}'
    return "{" + ",".join(["NULL" if text is None else f'"{text}"' for text in texts]) + "}"


def _escaped(text: str) -> str:
    return text.replace("\\", "\\\\").replace('"', '\\"')


def _value(text: str | None, of: ColumnType) -> Value | None:
    """A value of the twin's; what no plan can compare with is NULL, which nothing equals."""
    if text is None or text in _NO_NUMBER:
        return None
    if of.family is Family.BOOLEAN:
        text = _TRUTH.get(text, text)
    try:
        return read_value(text, of)
    except ValueUnfit:
        raise UnsupportedSql(
            Code.CLAUSE_UNSUPPORTED, f"a subquery's value that is no {of} of ours", "cast it"
        ) from None
