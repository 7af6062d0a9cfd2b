"""Golden cases: `-- title:` and a statement, then what is expected as comments.

An accepted case has its plan behind `-- plan`, each line as a comment. A refused case has `-- code:`
before its statement. `pytest tests/binding --update-cases` writes what the code does now: read the
difference before you keep it.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from binding.clinic import CLINIC

from gateway.binding.bind import bind
from gateway.binding.bound import Cut, PassThrough, explain_bound
from gateway.errors import Refusal

ROOM = Path(__file__).parents[1] / "cases" / "binding"


@dataclass(frozen=True)
class Case:
    """One statement and what is expected of it: a plan, or a code."""

    topic: str
    title: str
    sql: str
    expected: str
    refused: bool

    @property
    def name(self) -> str:
        return f"{self.topic}: {self.title}"


def read(path: Path) -> list[Case]:
    """The cases of a file."""
    refused = path.stem.endswith("__refused")
    cases = []
    for block in path.read_text().split("-- title: ")[1:]:
        title, *lines = block.splitlines()
        code = next((line[9:] for line in lines if line.startswith("-- code: ")), "")
        place = lines.index("-- plan") if "-- plan" in lines else len(lines)
        sql = "\n".join(line for line in lines[:place] if not line.startswith("-- code: ")).strip()
        plan = "\n".join(line[3:] for line in lines[place + 1 :] if line.startswith("--"))
        cases.append(
            Case(path.stem, title, sql.removesuffix(";"), code if refused else plan, refused)
        )
    return cases


@cache
def _outcome(sql: str) -> Cut | PassThrough | Refusal:
    try:
        return bind(sql, CLINIC)
    except Refusal as refusal:
        return refusal


def bind_case(case: Case) -> Cut | PassThrough:
    """The bound statement of a case, or its refusal, raised. A statement is bound once in a process."""
    outcome = _outcome(case.sql)
    if isinstance(outcome, Refusal):
        raise outcome
    return outcome


def found(case: Case) -> str:
    """What the binder makes of it now."""
    outcome = _outcome(case.sql)
    return outcome.code.value if isinstance(outcome, Refusal) else explain_bound(outcome)


def write(path: Path, cases: list[Case]) -> None:
    """The file with what the binder makes of its cases now."""
    blocks = []
    for case in cases:
        now = found(case)
        if case.refused:
            blocks.append(f"-- title: {case.title}\n-- code: {now}\n{case.sql};\n")
        else:
            plan = "\n".join(f"-- {line}" for line in now.splitlines())
            blocks.append(f"-- title: {case.title}\n{case.sql};\n-- plan\n{plan}\n")
    path.write_text("\n".join(blocks))


@cache
def every() -> Sequence[Case]:
    return tuple(case for path in sorted(ROOM.glob("*.sql")) for case in read(path))


@cache
def accepted() -> Sequence[Case]:
    return tuple(case for case in every() if not case.refused)


@cache
def refused() -> Sequence[Case]:
    return tuple(case for case in every() if case.refused)
