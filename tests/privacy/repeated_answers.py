"""Answers of a line as numbers: of what its releases hold, and of what the analyst is handed."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import date, datetime
from fractions import Fraction
from math import isnan
from pathlib import Path

from engines.sources import in_duckdb
from fix_state import StateServer
from noise.streams import Stream
from privacy.claims import Claim, Concentrated, Pure
from privacy.distinguisher import Answers, Feature, Loss, loss
from privacy.line import Line, Prepared, open_line, prepared
from privacy.neighbour_clinics import SUBJECTS, statements
from privacy.neighbour_clinics import policy as policy_of
from privacy.planted import Broken
from privacy.shapes import Shape
from sqlalchemy import URL

from gateway.catalog.values import Value
from gateway.errors import Refusal
from gateway.noise.entropy import Entropy
from gateway.requests.request import Answer
from gateway.stages.purchase import Released
from gateway.twin import Twin

FOR_THRESHOLDS = 1e-9  # a little more than a statement takes for them of the policy's 1e-6


@dataclass(frozen=True)
class Sides:
    """Two gateways that differ in one person's data, and what a question is asked for."""

    without: Line
    with_person: Line
    claim: Claim

    @property
    def both(self) -> tuple[Line, Line]:
        return self.without, self.with_person


# at these prices a few hundred answers find half the noise: see the controls
PRICES: Mapping[str, Claim] = {
    "laplace": Pure(1.5, FOR_THRESHOLDS),
    "gaussian": Concentrated(1.0, FOR_THRESHOLDS),
}


@contextmanager
def open_sides(
    server: StateServer, twin: Twin, home: Path, sources: tuple[URL, URL], mechanism: str
) -> Iterator[Sides]:
    """Both gateways, on states of their own."""
    policy = policy_of(mechanism)
    first, second = sources
    with (
        open_line(server, twin, home / "without", first, policy=policy, subjects=SUBJECTS) as one,
        open_line(server, twin, home / "with", second, policy=policy, subjects=SUBJECTS) as other,
    ):
        yield Sides(one, other, PRICES[mechanism])


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
    pilot: int,
    test: int,
    bug: Broken | None = None,
    finishing: bool = False,
    entropy: Entropy | None = None,
) -> Loss:
    """What the answers of both sides give away at least; without `entropy`, always by the same draws."""
    answers: list[Answers] = []
    for side, line in enumerate(sides.both):
        ready = _broken(line, shape, Fraction(sides.claim.amount), bug)
        stream = entropy or Stream(f"{shape.name}/{side}")
        answers.append([_asked(ready, stream, finishing=finishing) for _ in range(pilot + test)])
    return loss(answers[0], answers[1], sides.claim, pilot=pilot)


def _broken(line: Line, shape: Shape, price: Fraction, bug: Broken | None) -> Prepared:
    subject = line.subjects[shape.subject]
    if bug is None:
        return prepared(line, subject, shape.sql, price)
    return prepared(line, subject, shape.sql, price, bug=bug.of_release, planted=bug.of_bounds)


def _asked(ready: Prepared, stream: Entropy, *, finishing: bool) -> dict[Feature, float]:
    done = ready.execute(stream)
    numbers = of_releases(done)
    if not finishing:
        return numbers
    try:
        return {**numbers, **of_answer(ready.finish(done))}
    except Refusal as refusal:
        return {**numbers, ("refused", refusal.code, refusal.detail): 1.0}


def of_releases(done: Released) -> dict[Feature, float]:
    """Every released integer and choice by its release, group and place; a group without any is there or not."""
    found: dict[Feature, float] = {}
    for name, release in done.noisy.items():
        for level in release.levels:
            # of several grouping sets, which keys they have is part of the name
            of = (name, *level.level.keys) if len(release.levels) > 1 else name
            for row, key in enumerate(level.table.keys):
                found[of, key] = 1.0
                for place, column in enumerate(level.table.measured):
                    found[of, key, place] = float(column[row])
                for place, chosen in enumerate(level.table.chosen):
                    found.update(_of_choice((of, key, "chosen", place), chosen[row]))
    return found


def _of_choice(where: Feature, value: Value) -> dict[Feature, float]:
    """A number or a day by its size, any other value by being there."""
    match value:
        case datetime():
            return {where: value.timestamp()}
        case date():
            return {where: float(value.toordinal())}
        case Fraction():
            return {where: float(value)}
        case _:
            return {(*where, value): 1.0}


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
