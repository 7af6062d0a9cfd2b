"""A rehearsal of stages and finishing on the twin before the charge, over invented rows of a release.

It refuses, for nothing, what cannot be computed whatever is released: `1 / 0`, a format that PostgreSQL does not take,
or a cast of a listed key that is no number. Every other invented row has 0 for its numbers, as an empty listed group or
noise may have. The numbers of the other rows are far from each other.

The text with guards is tried as well, over rows without NULL: after the charge it runs where noise makes the other raise.

INVARIANT: the rehearsal depends on the statement, the policy and the types of columns. It depends on nothing in the
source, and on nothing that was released.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import replace
from hashlib import sha256
from itertools import islice
from types import MappingProxyType
from typing import Final, TypeAlias

from gateway.binding.bound import Cut, Empty, Fetch, Release, Sql, Stage
from gateway.binding.describe import constant_columns, written_columns
from gateway.catalog.types import ColumnType, Family
from gateway.catalog.values import Value
from gateway.columnar.texts import Texts
from gateway.errors import Code
from gateway.lru_cache import LruCache
from gateway.results.constants import ConstantTable, Runner, fill_constants, run_with_guards
from gateway.results.value_texts import key_text
from gateway.sensitivity.analysis import EnumeratedGroups
from gateway.sensitivity.grouping_sets import AnalyzedRelease, GroupingSet
from gateway.twin.errors import TwinRefused

MOST_ROWS: Final = 200
_NUMBERS: Final = frozenset({Family.WHOLE, Family.EXACT, Family.FLOAT})
# even numbers and odd ones: the text without guards should not raise for one of them
_SHIFTS: Final = 2
_REMEDY: Final = "this expression fails where another one has no value, such as a division by 0: ask without one of them"
_DATA_EXCEPTION: Final = "22"  # of SQLSTATE
_EXAMPLES: Final[Mapping[Family, str]] = MappingProxyType(
    {
        Family.TEXT: "x",
        Family.WHOLE: "1",
        Family.EXACT: "1",
        Family.FLOAT: "1",
        Family.BOOLEAN: "true",
        Family.DATE: "2000-01-01",
        Family.TIMESTAMP: "2000-01-01 00:00:00",
        Family.UUID: "00000000-0000-0000-0000-000000000000",
    }
)
_MOST_REMEMBERED: Final = 500_000
_Key: TypeAlias = tuple[Value | None, ...]
Borrow: TypeAlias = Callable[[], AbstractContextManager[Runner]]


# what passed passes again: nothing but the text, the rows that were made up and the limit decides on it
_PASSED: Final[LruCache[bytes, bool]] = LruCache(_MOST_REMEMBERED, lambda key, _: len(key))


def rehearse(cut: Cut, analyses: Sequence[AnalyzedRelease], borrow: Borrow, most_rows: int) -> None:
    """Refuse what PostgreSQL cannot compute. If no group is listed, zeros alone refuse nothing."""
    tried = [one for one in sqls_of(cut) if one.can_raise]
    if not tried:
        return
    zeros = _constants(cut, analyses, zeros=True)
    shown = repr(
        (
            [(fill_constants(one, zeros), one.guarded) for one in tried],
            most_rows,
            _are_listed(analyses),
        )
    )
    # where groups are found in the data their numbers may be others, and their keys need not be NULL
    others: list[Mapping[str, ConstantTable]] = []
    if not _are_listed(analyses):
        others.append(_constants(cut, analyses, zeros=False))
    if any(not isinstance(part.groups, EnumeratedGroups) for one in analyses for part in one.parts):
        others.append(_constants(cut, analyses, zeros=False, keys=True))

    def passed() -> bool:
        with borrow() as twin:
            for sql in tried:
                _try(sql, (zeros, *others), twin, most_rows)
                if sql.guarded is not None:
                    for shift in range(_SHIFTS):
                        examples = _constants(
                            cut, analyses, zeros=False, keys=True, values=True, shift=shift
                        )
                        _try_guards(sql, sql.guarded, examples, twin, most_rows)
        return True

    _PASSED.get(sha256(shown.encode()).digest(), passed)


def _try(
    sql: Sql, made_up: Sequence[Mapping[str, ConstantTable]], twin: Runner, most_rows: int
) -> None:
    """Run it over each set of constants until one passes; if none does, raise the first refusal."""
    first: TwinRefused | None = None
    for constants in made_up:
        try:
            # a subquery with several rows is refused for nothing: its guard is for what noise does
            run_with_guards(sql, constants, twin, most_rows, (_DATA_EXCEPTION,))
        except TwinRefused as refused:
            if not refused.sqlstate.startswith(_DATA_EXCEPTION):
                raise
            first = first or refused
        else:
            return
    if first is not None:
        raise first


def _try_guards(
    sql: Sql,
    guarded: Sql,
    examples: Mapping[str, ConstantTable],
    twin: Runner,
    most_rows: int,
) -> None:
    """Refuse a text with guards that raises where the text without them does not."""
    alone = replace(guarded, guarded=None)
    try:
        run_with_guards(alone, examples, twin, most_rows)
    except TwinRefused as refused:
        if refused.code in {Code.TWIN_UNAVAILABLE, Code.TWIN_TIMEOUT}:
            raise
        try:
            run_with_guards(replace(sql, guarded=None), examples, twin, most_rows)
        except TwinRefused:
            return  # the examples are to blame, such as a key that is no date
        raise TwinRefused(refused.sqlstate, refused.detail, _REMEDY) from None


def sqls_of(cut: Cut) -> list[Sql]:
    """The SQL that runs on the twin, in order."""
    staged = [one.sql for one in cut.steps if isinstance(one, Stage)]
    return [*staged, cut.finishing if cut.traced is None else cut.traced.finishing]


def _are_listed(analyses: Iterable[AnalyzedRelease]) -> bool:
    """True if a release has groups that come back empty."""
    return any(
        one.plan.keys and all(isinstance(part.groups, EnumeratedGroups) for part in one.parts)
        for one in analyses
    )


def _constants(
    cut: Cut,
    analyses: Sequence[AnalyzedRelease],
    *,
    zeros: bool,
    keys: bool = False,
    values: bool = False,
    shift: int = 0,
) -> Mapping[str, ConstantTable]:
    """Invented rows for the twin; the keys of found groups, and other values, are NULL or examples."""
    made: dict[str, ConstantTable] = {}
    waiting = iter(analyses)
    for step in cut.steps:
        match step:
            case Release():
                made[step.name] = _released(
                    step, next(waiting), zeros=zeros, keys=keys, values=values, shift=shift
                )
            case Fetch() | Empty():
                made[step.name] = _given(step, values=values)
            case _:
                pass  # what is staged is for plans, not for the twin
    return made


def _given(step: Fetch | Empty, *, values: bool) -> ConstantTable:
    """One row of a public table, or none; an empty table has the columns that no query reads as well."""
    columns = written_columns(step)
    if isinstance(step, Empty):
        return ConstantTable(tuple(columns), (Texts.of([]),) * len(columns))
    texts = (Texts.of([_example(of, wanted=values)]) for _, of in constant_columns(step))
    return ConstantTable(tuple(columns), tuple(texts))


def _example(of: ColumnType, *, wanted: bool) -> str | None:
    return _EXAMPLES[of.family] if wanted else None


def _released(
    step: Release,
    release: AnalyzedRelease,
    *,
    zeros: bool,
    keys: bool,
    values: bool,
    shift: int,
) -> ConstantTable:
    plan, columns = step.plan, constant_columns(step)
    rows = [row for level in release.levels for row in _rows_of(level, release, len(plan.keys))]
    first, marks = len(plan.keys), len(plan.marks)
    texts: list[list[str | None]] = []
    for place, (_, of) in enumerate(columns):
        if place < first:
            other = _example(of, wanted=keys)
            texts.append([other if row[0] is None else row[0][place] for row in rows])
        elif place < first + marks:
            texts.append([str(int(place - first not in row[1])) for row in rows])
        elif place == len(columns) - 1:
            texts.append([str(number) for number in range(len(rows))])
        elif of.family in _NUMBERS:
            numbers = [40 + shift + at + place % 9 for at in range(len(rows))]
            texts.append(
                [str(0 if zeros and not at % 2 else one % 100) for at, one in enumerate(numbers)]
            )
        else:
            texts.append([_example(of, wanted=values)] * len(rows))
    return ConstantTable(tuple(written_columns(step)), tuple(map(Texts.of, texts)))


_Row: TypeAlias = tuple[tuple[str | None, ...] | None, frozenset[int]]


def _rows_of(level: GroupingSet, release: AnalyzedRelease, many: int) -> list[_Row]:
    """The keys of some rows of a grouping set; None if they are found in the data."""
    there = frozenset(level.keys)
    drawn = level.drawn[0] if level.drawn else None
    groups = None if drawn is None else release.parts[drawn.part].groups
    if drawn is None or not isinstance(groups, EnumeratedGroups):
        return [(None, there)]
    rows: list[_Row] = []
    seen: set[_Key] = set()
    for group in islice(groups.keys, 100 * MOST_ROWS):
        key = tuple(group[at] for at in drawn.keys)
        if key in seen:
            continue
        seen.add(key)
        texts: list[str | None] = [None] * many
        for at, value in zip(level.keys, key, strict=True):
            texts[at] = key_text(value)
        rows.append((tuple(texts), there))
        if len(rows) == MOST_ROWS:
            break
    return rows
