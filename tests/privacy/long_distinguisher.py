"""The distinguisher for as many answers as you like: `python -m privacy.long_distinguisher ANSWERS`, from `tests`.

Every kind of question, on DuckDB and on PostgreSQL, in both currencies, by released tables and (with a twentieth
of the answers) by the rows that PostgreSQL makes of them. Noise comes from the operating system. It fails when a
loss above what was paid is shown, or when a planted bug is not found; 1e-9 is the chance of a false accusation
for each line it prints, below 1e-6 with all of its 400 lines.
"""

import shutil
import sys
import tempfile
from collections.abc import Iterator
from contextlib import ExitStack, closing, contextmanager
from dataclasses import dataclass
from pathlib import Path

import psycopg
from engines.sources import in_postgresql
from fix_sample import plain
from fix_state import StateServer, scratch_server
from fix_twin import a_twin_home
from privacy.distinguisher import Loss
from privacy.neighbour_clinics import statements
from privacy.planted import HALF_THE_NOISE, NO_THRESHOLD, ROWS_INSTEAD_OF_PERSONS, Broken
from privacy.repeated_answers import PRICES, Sides, duckdb_sources, found_loss, open_sides
from privacy.shapes import HANGING, SHAPES, Shape
from sqlalchemy import URL

from gateway.noise.entropy import SYSTEM_ENTROPY
from gateway.postgres_server import Lease, open_server
from gateway.state.open import embedded_urls, upgrade_state
from gateway.twin import open_twin

_TWICE_RUN = frozenset({"one answer in another", "one answer's groups in another"})
_BUGS = (
    ("count", HALF_THE_NOISE),
    ("listed groups", HALF_THE_NOISE),
    ("count of rows", ROWS_INSTEAD_OF_PERSONS),
    ("sum with outliers", ROWS_INSTEAD_OF_PERSONS),
    ("found groups", NO_THRESHOLD),
    ("presence of a group", NO_THRESHOLD),
)


@dataclass(frozen=True)
class Trial:
    """Two sides of a source, in a currency."""

    sides: Sides
    where: str

    def wrong(self, answers: int) -> int:
        """How many accusations there are, and how many bugs that were not found."""
        accused = sum(self._accused(shape, answers) for shape in (*SHAPES, HANGING))
        by_name = {shape.name: shape for shape in SHAPES}
        missed = (not self._loss(by_name[name], answers, bug).accused for name, bug in _BUGS)
        return accused + sum(missed)

    def _accused(self, shape: Shape, answers: int) -> int:
        """By tables, and by finished rows."""
        few = answers // 20
        tables = self._loss(shape, few if shape.name in _TWICE_RUN else answers)
        return tables.accused + self._loss(shape, few, finishing=True).accused

    def _loss(
        self, shape: Shape, count: int, bug: Broken | None = None, *, finishing: bool = False
    ) -> Loss:
        found = found_loss(
            self.sides,
            shape,
            pilot=count // 5,
            test=count - count // 5,
            bug=bug,
            finishing=finishing,
            entropy=SYSTEM_ENTROPY,
        )
        what = "rows" if finishing else "tables"
        amounts = f"{found.proven:.3f} of {found.claimed:g}"
        told = (self.where, what, shape.name, amounts, found.event, bug or "")
        print(*told, sep=" | ", flush=True)  # noqa: T201 - this is what it is for
        return found


def main(answers: int) -> int:
    """0 when everything is as it should be."""
    wrong = 0
    for engine in ("duckdb", "postgresql"):
        for mechanism in PRICES:
            with _sides(engine, mechanism) as sides:
                wrong += Trial(sides, f"{engine} {mechanism}").wrong(answers)
    print(f"{wrong} wrong")  # noqa: T201 - see above
    return min(wrong, 1)


@contextmanager
def _sides(engine: str, mechanism: str) -> Iterator[Sides]:
    with ExitStack() as stack:
        home = Path(tempfile.mkdtemp(prefix="distinguisher-"))
        home.chmod(0o711)
        stack.callback(shutil.rmtree, home, ignore_errors=True)
        (home / "state").mkdir(mode=0o711)
        lease = stack.enter_context(scratch_server(home / "state"))
        urls = embedded_urls(lease, home / "state")
        upgrade_state(urls)
        twin = stack.enter_context(open_twin(stack.enter_context(a_twin_home()), limit_s=20))
        if engine == "duckdb":
            sources = duckdb_sources(home)
        else:
            sources = _in_postgresql(stack.enter_context(open_server(home / "source")))
        server = stack.enter_context(closing(StateServer(lease, urls)))
        yield stack.enter_context(open_sides(server, twin, home, sources, mechanism))


def _in_postgresql(lease: Lease) -> tuple[URL, URL]:
    made = []
    admin = lease.address.url(
        user=lease.superuser, password=lease.superuser_password, database="postgres"
    )
    for name, with_person in (("without", False), ("person", True)):
        with psycopg.connect(plain(admin), autocommit=True) as connection:
            connection.execute(f'CREATE DATABASE "{name}"'.encode())
        made.append(in_postgresql(admin.set(database=name), statements(with_person=with_person)))
    return made[0], made[1]


if __name__ == "__main__":
    sys.exit(main(int(sys.argv[1]) if len(sys.argv) > 1 else 10_000))
