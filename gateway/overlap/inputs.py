"""Inputs of the auditor: earlier releases and the parts of the new query."""

from dataclasses import dataclass
from fractions import Fraction

from gateway.regions.scope import ReleaseScope


@dataclass(frozen=True, slots=True)
class PriorRelease:
    """A release that a member of the trust group has received.

    `counts` are noisy numbers of units in each group, in the order of the keys' product; one number without
    keys; None if unknown. `variance` is that of each count's noise; None if unknown, and then the counts reveal
    nothing. `whole`: every unit counts as 1, and in one group alone; otherwise counts are lower bounds, and are
    never called small. `spread` is the variance of the most exact measurement's noise, divided by the square of
    its change by one person: how exactly the release shows one person.
    """

    release: str
    query_id: str
    scope: ReleaseScope
    counts: tuple[int, ...] | None
    spread: Fraction
    variance: Fraction | None = None
    whole: bool = False


@dataclass(frozen=True, slots=True)
class NewQuery:
    """A part of the new query, and how exactly it would show one person."""

    scope: ReleaseScope
    spread: Fraction
