"""Which questions the distinguisher over REST asks how often, and with which bug it has to succeed.

A bug that halves the noise of a count of 1 person makes the event "at least as many as with the person" happen
with p and 1 - p. What a trial of so many answers can show, exactly, is in `test_claims`: with these sizes each of
the bugs is missed with a chance below 10^-6.
"""

from dataclasses import dataclass

from privacy.planted import HALF_THE_NOISE, NO_THRESHOLD, ROWS_INSTEAD_OF_PERSONS, Broken
from privacy.shapes import SHAPES, Shape

ALPHA = 1e-7  # of each trial of honest gateways
BY_NAME = {shape.name: shape for shape in SHAPES}


@dataclass(frozen=True)
class Trial:
    """A question, where it is asked at which price, and how often on each side after a pilot."""

    name: str
    dataset: str
    epsilon: float
    test: int
    bug: Broken
    pilot: int = 40

    @property
    def shape(self) -> Shape:
        return BY_NAME[self.name]

    def __str__(self) -> str:
        return f"{self.name} on {self.dataset}"


TRIALS = (
    Trial("sum with outliers", "postgresql-laplace", 1.0, 120, ROWS_INSTEAD_OF_PERSONS, pilot=30),
    Trial("found groups", "duckdb-gaussian", 1.0, 90, NO_THRESHOLD, pilot=30),
)
# half the noise has no event that is certain, so it takes hundreds of answers
LONG_TRIALS = (
    Trial("count", "duckdb-laplace", 1.5, 500, HALF_THE_NOISE),
    Trial("count", "postgresql-gaussian", 1.0, 300, HALF_THE_NOISE),
)
