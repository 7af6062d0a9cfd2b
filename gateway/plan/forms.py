"""How a cell of an answer is computed from the aggregates of one release: what an interval is made of.

Only sums, products and quotients of aggregates and numbers: for these the error of the cell follows from
the errors of the aggregates.
"""

from dataclasses import dataclass
from fractions import Fraction
from typing import TypeAlias


@dataclass(frozen=True, slots=True)
class Measured:
    """The aggregate at this place among those of the release."""

    place: int


@dataclass(frozen=True, slots=True)
class Number:
    value: Fraction


@dataclass(frozen=True, slots=True)
class Plus:
    left: "Form"
    right: "Form"


@dataclass(frozen=True, slots=True)
class Times:
    left: "Form"
    right: "Form"


@dataclass(frozen=True, slots=True)
class Over:
    above: "Form"
    below: "Form"


Form: TypeAlias = Measured | Number | Plus | Times | Over


@dataclass(frozen=True, slots=True)
class Cells:
    """The forms of the columns of an answer whose rows are rows of the release `name`; None where there is none.

    `noisy` says of each whether an aggregate is in it at all.
    """

    name: str
    forms: tuple[Form | None, ...]
    noisy: tuple[bool, ...]
