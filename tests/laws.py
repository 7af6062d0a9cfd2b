"""Laws over tables: one test that tries every row and reports all rows that break the law.

`@for_each("case", CASES)` stands where `pytest.mark.parametrize` would make a test of each row; several of them try
every combination. The test runs the function once for each row, goes on after a failure, and at the end names every
row that failed, with the traceback of the first. `pytest --case TITLE` runs only laws with a row whose title
contains TITLE, and only these rows.

A row must not change what the next one sees: a fixture is made once for the whole table.
"""

import functools
import inspect
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

import pytest

_LONGEST_TITLE: Final = 100
_LINES_OF_ERROR: Final = 6
_TABLE: Final = "table_of_law"  # the attribute of a test that holds its table

Law = Callable[..., None]
Titles = Callable[[Any], object] | Iterable[object]


@dataclass(frozen=True)
class Row:
    """The arguments of one call, under the title by which it is reported and selected."""

    title: str
    arguments: Mapping[str, object]


class Selection:
    """Which rows `--case` asks for; all of them where it is not given."""

    def __init__(self) -> None:
        self.titles: Sequence[str] = ()

    def has(self, title: str) -> bool:
        return not self.titles or any(one in title for one in self.titles)


selection = Selection()


def for_each(
    names: str | Sequence[str], rows: Iterable[Any], ids: Titles | None = None
) -> Callable[[Law], Law]:
    """Run the test for each row, and report all rows that fail; `ids` are the titles, as pytest takes them."""
    table = _table([one.strip() for one in names.split(",")] if isinstance(names, str) else names, rows, ids)  # fmt: skip
    if not table:
        raise ValueError("a law needs at least one row")

    def decorate(law: Law) -> Law:
        more: Sequence[Row] | None = getattr(law, _TABLE, None)
        if more is None:
            return _law(law, table)
        both = [
            Row(f"{one.title}, {other.title}", {**one.arguments, **other.arguments})
            for one in table
            for other in more
        ]
        return _law(inspect.unwrap(law, stop=lambda each: not hasattr(each, _TABLE)), both)

    return decorate


def is_selected(item: pytest.Item) -> bool:
    """Whether `--case` leaves anything of this test to be run."""
    table: Sequence[Row] = getattr(getattr(item, "function", None), _TABLE, ())
    return not selection.titles or any(selection.has(row.title) for row in table)


def _law(law: Law, table: Sequence[Row]) -> Law:
    @functools.wraps(law)
    def every_row(**fixtures: object) -> None:
        tried = [row for row in table if selection.has(row.title)]
        failures: list[tuple[Row, BaseException]] = []
        for row in tried:
            try:
                law(**fixtures, **row.arguments)
            except (Exception, pytest.fail.Exception) as error:  # noqa: BLE001  # reported below
                failures.append((row, error))
        if failures:
            told = "\n".join(_report(*each) for each in failures)
            raise AssertionError(
                f"{len(failures)} of {len(tried)} rows break this law:\n{told}"
            ) from failures[0][1]

    parameters = inspect.signature(law).parameters.values()
    fixtures = [one for one in parameters if one.name not in table[0].arguments]
    every_row.__signature__ = inspect.Signature(fixtures)  # type: ignore[attr-defined]  # pytest reads it
    setattr(every_row, _TABLE, table)
    return every_row


def _table(names: Sequence[str], rows: Iterable[Any], ids: Titles | None) -> list[Row]:
    values = [tuple(row) if len(names) > 1 else (row,) for row in rows]
    titles = (
        [_title(row, ids if callable(ids) else None) for row in values]
        if ids is None or callable(ids)
        else [str(one) for one in ids]
    )
    return [
        Row(title, dict(zip(names, row, strict=True)))
        for title, row in zip(titles, values, strict=True)
    ]


def _title(row: Sequence[object], ids: Callable[[Any], object] | None) -> str:
    text = " - ".join(str(ids(value)) if ids else _name(value) for value in row)
    return text if len(text) <= _LONGEST_TITLE else f"{text[: _LONGEST_TITLE - 1]}…"


def _name(value: object) -> str:
    if isinstance(value, str):
        return value
    for attribute in ("name", "title", "__name__"):
        if isinstance(found := getattr(value, attribute, None), str):
            return found
    return repr(value)


def _report(row: Row, error: BaseException) -> str:
    lines = str(error).splitlines()[:_LINES_OF_ERROR]
    return "\n    ".join([f"{row.title}: {type(error).__name__}", *lines])
