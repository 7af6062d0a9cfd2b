"""Laws over tables: one test that tries every row and reports all rows that break the law.

`@for_each("case", CASES)` stands where `pytest.mark.parametrize` would make a test of each row. The test runs the
function once for each row, goes on after a failure, and at the end names every row that failed, with the traceback
of the first. `pytest --case TITLE` runs only laws with a row whose title contains TITLE, and only these rows.
"""

import functools
import inspect
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Final

import pytest

TITLES: Final = "rows_of_law"
_LONGEST_TITLE: Final = 100
_LINES_OF_ERROR: Final = 4

Law = Callable[..., None]


class Selection:
    """Which rows `--case` asks for; all of them where it is not given."""

    def __init__(self) -> None:
        self.titles: Sequence[str] = ()

    def has(self, title: str) -> bool:
        return not self.titles or any(one in title for one in self.titles)


selection = Selection()


@dataclass(frozen=True)
class _Failure:
    title: str
    error: BaseException

    def __str__(self) -> str:
        lines = str(self.error).splitlines()[:_LINES_OF_ERROR]
        return "\n    ".join([f"{self.title}: {type(self.error).__name__}", *lines])


def for_each(
    names: str | tuple[str, ...], rows: Iterable[Any], ids: Callable[[Any], object] | None = None
) -> Callable[[Law], Law]:
    """Run the test for each row, and report all rows that fail; `ids` gives the title of a row."""
    given = [name.strip() for name in names.split(",")] if isinstance(names, str) else list(names)
    table = [(_title(row, ids), row if len(given) > 1 else (row,)) for row in rows]
    if not table:
        raise ValueError("a law needs at least one row")

    def decorate(law: Law) -> Law:
        if hasattr(law, TITLES):
            raise ValueError("a law has one table: give the product of both")

        @functools.wraps(law)
        def every_row(**fixtures: object) -> None:
            tried = [(title, row) for title, row in table if selection.has(title)]
            failures = []
            for title, row in tried:
                try:
                    law(**fixtures, **dict(zip(given, row, strict=True)))
                except (Exception, pytest.fail.Exception) as error:  # noqa: BLE001  # reported below
                    failures.append(_Failure(title, error))
            if failures:
                told = "\n".join(str(one) for one in failures)
                raise AssertionError(
                    f"{len(failures)} of {len(tried)} rows break this law:\n{told}"
                ) from failures[0].error

        signature = inspect.signature(law)
        kept = [one for name, one in signature.parameters.items() if name not in given]
        every_row.__signature__ = signature.replace(parameters=kept)  # type: ignore[attr-defined]  # read by pytest
        setattr(every_row, TITLES, frozenset(title for title, _ in table))
        return every_row

    return decorate


def is_selected(item: pytest.Item) -> bool:
    """Whether `--case` leaves anything of this test to be run."""
    titles = getattr(getattr(item, "function", None), TITLES, ())
    return not selection.titles or any(selection.has(title) for title in titles)


def _title(row: object, ids: Callable[[Any], object] | None) -> str:
    if ids is not None:
        return str(ids(row))
    for name in ("name", "title"):
        if isinstance(found := getattr(row, name, None), str):
            return found
    text = repr(row)
    return text if len(text) <= _LONGEST_TITLE else f"{text[: _LONGEST_TITLE - 1]}…"
