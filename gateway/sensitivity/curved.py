"""From noisy integers to what is no line in them: variances, slopes, correlations.

Everything here is post-processing, as in `formula`.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from math import isqrt
from typing import Final

from gateway.plan.forms import Arithmetic, AtLeast, Measured, Number, Over, Plus, Root, Times
from gateway.sensitivity.linear import Linear

_ROOT_BITS: Final = 128


@dataclass(frozen=True, slots=True)
class Curved:
    """`form` over `parts`: its places are places among them. `low` and `high` are where its range ends.

    The first part is a count: where less than `rows` rows are told, there is no value, as in PostgreSQL.
    """

    form: Arithmetic
    parts: tuple[Linear, ...]
    rows: int
    low: Fraction | None = None
    high: Fraction | None = None

    def value(self, measured: Sequence[int]) -> Fraction | None:
        parts = [part.value(measured) for part in self.parts]
        return None if parts[0] < self.rows else _value(self.form, parts)

    def clamped(self, measured: Sequence[int]) -> Fraction | None:
        found = self.value(measured)
        if found is None:
            return None
        if self.low is not None:
            found = max(found, self.low)
        return found if self.high is None else min(found, self.high)


def _value(  # noqa: PLR0911 - one answer for each kind
    form: Arithmetic, parts: Sequence[Fraction]
) -> Fraction | None:
    """None where something is divided by 0."""
    match form:
        case Number(value):
            return value
        case Measured(place):
            return parts[place]
        case Root(of):
            inner = _value(of, parts)
            return None if inner is None else root(inner)
        case AtLeast(of, least):
            inner = _value(of, parts)
            return None if inner is None else max(inner, least)
        case Plus(one, other) | Times(one, other) | Over(one, other):
            left, right = _value(one, parts), _value(other, parts)
            if left is None or right is None:
                return None
            if isinstance(form, Plus):
                return left + right
            if isinstance(form, Times):
                return left * right
            return left / right if right else None


def root(value: Fraction) -> Fraction:
    """The square root, to 128 bits; of what is below 0, it is 0."""
    if value <= 0:
        return Fraction(0)
    # so many places that the whole part of what is rooted has at least twice the bits
    short = 2 * _ROOT_BITS + value.denominator.bit_length() - value.numerator.bit_length()
    places = max(0, -(-short // 2))
    return Fraction(isqrt((value.numerator << (2 * places)) // value.denominator), 1 << places)
