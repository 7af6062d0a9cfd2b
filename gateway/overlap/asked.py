"""What the auditor is told: releases that were given, and the parts of the new question."""

from dataclasses import dataclass
from fractions import Fraction

from gateway.overlap.ground import Ground


@dataclass(frozen=True, slots=True)
class Past:
    """A release that somebody of the trust group was given.

    `counts` are noisy numbers of units, or rows, in each group in the order of the keys' product; one number without
    keys; None where they are not known. `spread` is the variance of the noise of what was measured best, over the
    square of how far one person moves it: how exactly one person is seen.
    `rows`: so many rows were taken for one unit where rows were counted, and counts are from below; 1 of counted units.
    """

    release: str
    query_id: str
    ground: Ground
    counts: tuple[int, ...] | None
    spread: Fraction
    rows: int = 1


@dataclass(frozen=True, slots=True)
class Concerned:
    """A part of the new question, and how exactly it would see one person."""

    ground: Ground
    spread: Fraction
