"""Answers of a line as numbers: of what its releases hold, and of what the analyst is handed."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from fractions import Fraction
from math import isnan
from pathlib import Path

from engines.sources import in_duckdb
from fix_state import StateServer
from noise.streams import Stream
from privacy.covered import narrower
from privacy.distinguishing import Answers, Feature, Loss, loss
from privacy.line import Line, Prepared, open_line, prepared
from privacy.neighbouring import POLICY, SUBJECTS, Shape, statements
from sqlalchemy import URL

from gateway.bounding.bounded import BoundedRelease
from gateway.errors import Refusal
from gateway.executing import Executed
from gateway.noise.entropy import Entropy
from gateway.noise.pricing import Priced
from gateway.question import Answer
from gateway.twin import Twin

EPSILON = Fraction(1)


@dataclass(frozen=True)
class Sides:
    """Two gateways that differ in one person's data."""

    without: Line
    with_person: Line

    @property
    def both(self) -> tuple[Line, Line]:
        return self.without, self.with_person


@dataclass(frozen=True)
class Broken:
    """A bug that is planted, for controls."""

    noise: int = 1  # how many times less noise than was paid for
    rows: int | None = None  # R in what the engine renders
    threshold: bool = True

    def of_release(self, release: Priced) -> Priced:
        noises = tuple(narrower(one, self.noise) for one in release.noises)
        dropped = release.shown_from is not None and not self.threshold
        return replace(
            release, noises=noises, shown_from=-(10**9) if dropped else release.shown_from
        )

    def of_bounds(self, release: BoundedRelease) -> BoundedRelease:
        assert self.rows is not None
        return replace(release, rows_per_unit=self.rows)


@contextmanager
def open_sides(
    server: StateServer, twin: Twin, home: Path, sources: tuple[URL, URL], mechanism: str
) -> Iterator[Sides]:
    """Both gateways, on states of their own."""
    policy = POLICY.format(mechanism=mechanism)
    first, second = sources
    with (
        open_line(server, twin, home / "without", first, policy=policy, subjects=SUBJECTS) as one,
        open_line(server, twin, home / "with", second, policy=policy, subjects=SUBJECTS) as other,
    ):
        yield Sides(one, other)


def duckdb_sources(home: Path) -> tuple[URL, URL]:
    made = []
    for name, with_person in (("a", False), ("b", True)):
        place = home / name
        place.mkdir()
        made.append(in_duckdb(place, statements(with_person=with_person)))
    return made[0], made[1]


def found_loss(  # noqa: PLR0913 - a question, and how often it is asked
    sides: Sides,
    shape: Shape,
    *,
    train: int,
    test: int,
    bug: Broken | None = None,
    price: Fraction = EPSILON,
    delta: float = 0.0,
    finishing: bool = False,
    entropy: Entropy | None = None,
) -> Loss:
    """What the answers of both sides give away at least; without `entropy`, always by the same draws."""
    answers: list[Answers] = []
    for side, line in enumerate(sides.both):
        ready = _broken(line, shape, price, bug)
        stream = entropy or Stream(f"{shape.name}/{side}")
        answers.append([_asked(ready, stream, finishing=finishing) for _ in range(train + test)])
    return loss(answers[0], answers[1], delta=delta, train=train)


def _broken(line: Line, shape: Shape, price: Fraction, bug: Broken | None) -> Prepared:
    if bug is None:
        return prepared(line, shape.sql, price)
    planted = None if bug.rows is None else bug.of_bounds
    return prepared(line, shape.sql, price, bug=bug.of_release, planted=planted)


def _asked(ready: Prepared, stream: Entropy, *, finishing: bool) -> dict[Feature, float]:
    done = ready.execute(stream)
    numbers = of_releases(done)
    if not finishing:
        return numbers
    try:
        return {**numbers, **of_answer(ready.finish(done))}
    except Refusal as refusal:
        return {**numbers, ("refused", refusal.code, refusal.detail): 1.0}


def of_releases(done: Executed) -> dict[Feature, float]:
    """Every released integer by its release, group and place; a group without any is there or not."""
    found: dict[Feature, float] = {}
    for name, (_, table) in done.noisy.items():
        for row, key in enumerate(table.keys):
            found[name, key] = 1.0
            for place, column in enumerate(table.measured):
                found[name, key, place] = float(column[row])
    return found


def of_answer(answer: Answer) -> dict[Feature, float]:
    """Cells by their place in the answer, and which texts are in it."""
    found: dict[Feature, float] = {}
    for place, row in enumerate(answer.rows[:20]):
        found["row", place] = 1.0
        for column, cell in enumerate(row):
            try:
                found["cell", place, column] = float("nan" if cell is None else cell)
            except ValueError:
                found["text", place, column, cell] = 1.0
    return {name: value for name, value in found.items() if not isnan(value)}
