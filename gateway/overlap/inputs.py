"""What the auditor is told: releases that were given, and the parts of the new question."""

from dataclasses import dataclass
from fractions import Fraction

from gateway.regions.scope import Ground


@dataclass(frozen=True, slots=True)
class Past:
    """A release that somebody of the trust group was given.

    `counts` are noisy numbers of units in each group in the order of the keys' product; one number without keys; None
    where they are not known. `variance` is that of the noise of each of them; None where nobody knows, and then they
    tell nothing. `whole`: every unit counts as 1, and in one group alone; else counts are from below, and are never
    told to be small. `spread` is the variance of the noise of what was measured best, over the square of how far one
    person moves it: how exactly one person is seen.
    """

    release: str
    query_id: str
    ground: Ground
    counts: tuple[int, ...] | None
    spread: Fraction
    variance: Fraction | None = None
    whole: bool = False


@dataclass(frozen=True, slots=True)
class Concerned:
    """A part of the new question, and how exactly it would see one person."""

    ground: Ground
    spread: Fraction
