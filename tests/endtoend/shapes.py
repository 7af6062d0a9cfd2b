"""Statements in the shapes that tools and analysts write: `-- title:`, what is expected, and the text.

`-- refused: GW106` where it is refused; `-- differs: why` where values may be others than PostgreSQL's; `-- dataset: listed` where
the groups have to be known. Anything else has PostgreSQL's columns and rows.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Final

ROOM: Final = Path(__file__).parents[1] / "cases" / "shapes"
_MARKS: Final = ("refused", "differs", "dataset")


@dataclass(frozen=True)
class Shape:
    """One statement of a tool's."""

    tool: str
    title: str
    sql: str
    refused: str
    differs: str
    dataset: str

    @property
    def name(self) -> str:
        return f"{self.tool}: {self.title}"


def shapes() -> list[Shape]:
    """Every statement of every tool."""
    return [
        one for path in sorted(ROOM.glob("*.sql")) for one in _read(path.stem, path.read_text())
    ]


def _read(tool: str, text: str) -> Iterator[Shape]:
    for block in text.split("-- title: ")[1:]:
        title, *lines = block.splitlines()
        marks = dict.fromkeys(_MARKS, "")
        while lines and lines[0].startswith("-- "):
            mark, _, said = lines.pop(0).removeprefix("-- ").partition(": ")
            if mark not in marks:
                raise ValueError(f"{tool}: {title}: {mark}")
            marks[mark] = said
        marks["dataset"] = marks["dataset"] or "laplace"
        yield Shape(tool, title, "\n".join(lines).strip(), **marks)
