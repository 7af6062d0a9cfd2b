"""How a cell of an answer is computed from the aggregates of one release: what an interval is made of.

Only sums, products, quotients and roots of aggregates and numbers: for these the error of the cell follows from
the errors of the aggregates.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from typing import NamedTuple, TypeAlias


@dataclass(frozen=True, slots=True)
class AggregateRef:
    """The aggregate at this place among those of the release."""

    place: int


@dataclass(frozen=True, slots=True)
class NumberForm:
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


Arithmetic: TypeAlias = AggregateRef | NumberForm | Plus | Times | Over | Root | AtLeast
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


def aggregate_places(form: Form) -> Iterator[int]:
    """The aggregates that are in it."""
    match form:
        case AggregateRef(place):
            yield place
        case NumberForm():
            return
        case Root(of) | AtLeast(of, _):
            yield from aggregate_places(of)
        case Plus(left, right) | Times(left, right) | Over(left, right):
            yield from aggregate_places(left)
            yield from aggregate_places(right)
        case Each(forms):
            for one in forms:
                yield from aggregate_places(one)


def form_text(form: Form) -> str:  # noqa: PLR0911 - one answer for each kind
    """The form as text: `m1 / m2`, for people and for golden files."""
    match form:
        case AggregateRef(place):
            return f"m{place + 1}"
        case NumberForm(value):
            return str(value) if value.denominator == 1 else f"({value})"
        case Plus(left, right):
            return f"({form_text(left)} + {form_text(right)})"
        case Times(left, right):
            return f"({form_text(left)} * {form_text(right)})"
        case Over(above, below):
            return f"({form_text(above)} / {form_text(below)})"
        case Root(of):
            return f"sqrt({form_text(of)})"
        case AtLeast(of, least):
            return f"greatest({form_text(of)}, {least})"
        case Each(forms):
            return f"array[{', '.join(map(form_text, forms))}]"
