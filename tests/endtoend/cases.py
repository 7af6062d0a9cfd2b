"""Statements whose answers are compared with plain PostgreSQL: `-- title:` and the statement, nothing else."""

from dataclasses import dataclass
from pathlib import Path

ROOM = Path(__file__).parents[1] / "cases" / "answers"


@dataclass(frozen=True)
class Case:
    """One statement; what is expected is never written down."""

    topic: str
    title: str
    sql: str

    @property
    def name(self) -> str:
        return f"{self.topic}: {self.title}"


def cases() -> list[Case]:
    """Every case of every file."""
    return [
        case for path in sorted(ROOM.glob("*.sql")) for case in read(path.stem, path.read_text())
    ]


def read(topic: str, text: str) -> list[Case]:
    """The cases of a text."""
    found = []
    for block in text.split("-- title: ")[1:]:
        title, _, statement = block.partition("\n")
        found.append(Case(topic, title, statement.strip().removesuffix(";")))
    return found
