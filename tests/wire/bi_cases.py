"""Statements as BI tools send them: `-- title:` and the text.

Between them, `-- values:` has a JSON list where the tool binds any, and `-- refused:` the code of what is refused
though nothing speaks against it.
"""

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Final

ROOM: Final = Path(__file__).parents[1] / "cases" / "bi"
_VALUES: Final = "-- values: "
_REFUSED: Final = "-- refused: "


@dataclass(frozen=True)
class Case:
    """One statement of a tool's; what it gives is asked of plain PostgreSQL."""

    tool: str
    title: str
    sql: str
    values: tuple[str | None, ...] = ()
    refused: str = ""

    @property
    def name(self) -> str:
        return f"{self.tool}: {self.title}"


def cases() -> list[Case]:
    return [
        case for path in sorted(ROOM.glob("*.sql")) for case in read(path.stem, path.read_text())
    ]


def read(tool: str, text: str) -> list[Case]:
    found = []
    for block in text.split("-- title: ")[1:]:
        title, _, rest = block.partition("\n")
        values, rest = _line(rest, _VALUES)
        refused, rest = _line(rest, _REFUSED)
        found.append(Case(tool, title, rest.strip(), tuple(json.loads(values or "[]")), refused))
    return found


def _line(text: str, begins: str) -> tuple[str, str]:
    """What the first line says, if it is of this kind, and what follows."""
    if not text.startswith(begins):
        return "", text
    line, _, rest = text.partition("\n")
    return line.removeprefix(begins).strip(), rest
