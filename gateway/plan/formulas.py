"""How a cell of an answer is computed from the aggregates of one release: what an interval is made of.

Only sums, products, quotients and roots of aggregates and numbers: for these the error of the cell follows from
the errors of the aggregates.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from typing import NamedTuple, TypeAlias


@dataclass(frozen=True, slots=True)
class Measured:
    """The aggregate at this place among those of the release."""

    place: int


@dataclass(frozen=True, slots=True)
class Number:
    value: Fraction


@dataclass(frozen=True, slots=True)
class Plus:
    left: "Arithmetic"
    right: "Arithmetic"


@dataclass(frozen=True, slots=True)
class Times:
    left: "Arithmetic"
    right: "Arithmetic"


@dataclass(frozen=True, slots=True)
class Over:
    above: "Arithmetic"
    below: "Arithmetic"


@dataclass(frozen=True, slots=True)
class Root:
    """The square root; of what is below 0, it is 0."""

    of: "Arithmetic"


@dataclass(frozen=True, slots=True)
class AtLeast:
    """The greater of the two."""

    of: "Arithmetic"
    least: Fraction


@dataclass(frozen=True, slots=True)
class Each:
    """An array of these, or its elements one by one. It has no interval."""

    forms: tuple["Arithmetic", ...]


Arithmetic: TypeAlias = Measured | Number | Plus | Times | Over | Root | AtLeast
Form: TypeAlias = Arithmetic | Each


class Reading(NamedTuple):
    """An aggregate of a release that a column depends on; without a place, ends of its intervals or what is not told."""

    release: str
    place: int | None


Readings: TypeAlias = frozenset[Reading]


@dataclass(frozen=True, slots=True)
class Cells:
    """The forms of the columns of an answer whose rows are rows of the release `name`; None where there is none.

    `noisy` says of each whether an aggregate is in it at all.
    """

    name: str
    forms: tuple[Form | None, ...]
    noisy: tuple[bool, ...]


def places_of(form: Form) -> Iterator[int]:
    """The aggregates that are in it."""
    match form:
        case Measured(place):
            yield place
        case Number():
            return
        case Root(of) | AtLeast(of, _):
            yield from places_of(of)
        case Plus(left, right) | Times(left, right) | Over(left, right):
            yield from places_of(left)
            yield from places_of(right)
        case Each(forms):
            for one in forms:
                yield from places_of(one)


def shown(form: Form) -> str:  # noqa: PLR0911 - one answer for each kind
    """The form as text: `m1 / m2`, for people and for golden files."""
    match form:
        case Measured(place):
            return f"m{place + 1}"
        case Number(value):
            return str(value) if value.denominator == 1 else f"({value})"
        case Plus(left, right):
            return f"({shown(left)} + {shown(right)})"
        case Times(left, right):
            return f"({shown(left)} * {shown(right)})"
        case Over(above, below):
            return f"({shown(above)} / {shown(below)})"
        case Root(of):
            return f"sqrt({shown(of)})"
        case AtLeast(of, least):
            return f"greatest({shown(of)}, {least})"
        case Each(forms):
            return f"array[{', '.join(map(shown, forms))}]"
