"""The order of tests: those that share a gateway stand together, and the longest come first.

A process that runs a part of the tests makes what they share once. Where tests that share a gateway are scattered, each
process makes it. Within a folder the order stays random.
"""

import functools
from pathlib import Path
from typing import Final

import pytest

_ROOT: Final = Path(__file__).parent
# what takes longest comes first, so that the short tests fill up the end; all other folders come after these
_FIRST: Final = (
    "demo",
    "endtoend/reuse",
    "endtoend",
    "cli",
    "privacy",
    "engines",
    "wire",
    "crash",
    "twin",
    "admin",
    "postgres_server",
)


def put_together(items: list[pytest.Item]) -> None:
    """Put the tests of each folder together, in an order that is the same in every process."""
    items.sort(key=_place)


def _place(item: pytest.Item) -> tuple[bool, int, str]:
    unit = item.get_closest_marker("unit") is not None
    return unit, *_rank(item.path.parent)


@functools.cache
def _rank(path: Path) -> tuple[int, str]:
    folder = path.relative_to(_ROOT).as_posix()
    names = _parents(folder)
    return next((_FIRST.index(one) for one in names if one in _FIRST), len(_FIRST)), folder


def _parents(folder: str) -> list[str]:
    """The folder and those above it, the innermost first."""
    return [folder, *(one.as_posix() for one in Path(folder).parents)]
