"""The yardsticks on PostgreSQL and DuckDB, against the tables in docs/sql.md: `python -m endtoend.yardsticks.run`, from `tests`.

With `--update` it writes the tables. It fails if an answer differs from plain SQL, or a table from docs/sql.md.
"""

import shutil
import sys
import tempfile
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from endtoend.cases import read
from endtoend.clinic_gateway import a_gateway, shown
from endtoend.clinic_policy import PRICE
from endtoend.plain_postgresql import plain_connection
from endtoend.yardsticks import databases, omop, tpch
from endtoend.yardsticks.verdicts import Verdict, verdicts

from gateway.postgres_server import Lease, open_server

_ROOT: Final = Path(__file__).parents[3]
_PAGE: Final = _ROOT / "docs" / "sql.md"
_HEAD: Final = "| question | the gateway | beside plain SQL |\n|---|---|---|\n"


@dataclass(frozen=True)
class Yardstick:
    """A schema, its rows, its policy and its questions; `section` of docs/sql.md has the table."""

    schema: str
    section: str
    policy: str
    tables: Sequence[str]
    files: Callable[[], AbstractContextManager[Path]]


_YARDSTICKS: Final = (
    Yardstick("tpch", "### TPC-H", tpch.POLICY, tpch.TABLES, tpch.files),
    Yardstick("omop", "### OMOP", omop.POLICY, omop.TABLES, omop.files),
)


def main() -> int:
    """Print the tables; 1 where an answer is wrong or the page has another table."""
    home = Path(tempfile.mkdtemp(prefix="yardsticks-"))
    home.chmod(0o711)
    update = "--update" in sys.argv
    bad = False
    try:
        with open_server(home / "server") as server:
            for one in _YARDSTICKS:
                found = _ask(one, server, home)
                table = _HEAD + "".join(_line(*pair) for pair in found)
                print(f"{one.section}\n\n{table}")  # noqa: T201 - this is what it is for
                bad |= not all(verdict.is_right for pair in found for verdict in pair)
                bad |= not _is_in_page(one, table, update=update)
    finally:
        shutil.rmtree(home)
    return int(bad)


def _ask(one: Yardstick, server: Lease, home: Path) -> list[tuple[Verdict, Verdict]]:
    """For each question what it gets on PostgreSQL and on DuckDB."""
    text = (_ROOT / "tests" / "cases" / "yardsticks" / f"{one.schema}.sql").read_text()
    questions = read(one.schema, text)
    with (
        one.files() as rows,
        databases.in_postgresql(server, one.schema, one.tables, rows) as source,
    ):
        file = databases.in_duckdb(home / f"{one.schema}.duckdb", one.schema, one.tables, rows)
        policies = {
            "server": _policy(one.policy, "server", "FIRST"),
            "file": databases.policy_for_duckdb(_policy(one.policy, "file", "SECOND")),
        }
        environment = {"FIRST": shown(source), "SECOND": shown(file)}
        with a_gateway(policies, environment) as gateway, plain_connection(source) as plain:
            both = [list(verdicts(gateway, plain, questions, dataset)) for dataset in policies]
    return list(zip(*both, strict=True))


def _policy(text: str, dataset: str, source: str) -> str:
    named = text.replace("@DATASET@", dataset).replace("@SOURCE@", source)
    return named.replace("@PRICE@", PRICE)


def _line(server: Verdict, file: Verdict) -> str:
    cells = [server.question]
    for one, other in ((server.answer, file.answer), (server.compared, file.compared)):
        cells.append(one if one == other else f"PostgreSQL: {one or '-'}; DuckDB: {other or '-'}")
    return f"| {' | '.join(cell.replace('|', '&#124;') for cell in cells)} |\n"


def _is_in_page(one: Yardstick, table: str, *, update: bool) -> bool:
    """Whether the section has this table; with `update` it gets it."""
    page = _PAGE.read_text()
    before, heading, after = page.partition(f"{one.section}\n")
    text, head, rest = after.partition(_HEAD)
    _, end, further = rest.partition("\n\n")
    told = f"{before}{heading}{text}{table}\n{further}" if heading and head and end else page
    if update:
        _PAGE.write_text(told)
        return bool(head)
    return told == page and bool(head)


if __name__ == "__main__":
    sys.exit(main())
