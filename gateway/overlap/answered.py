"""An earlier answer, as trackers look at it."""

from dataclasses import dataclass

from gateway.overlap.history import Entry
from gateway.overlap.sides import Side


@dataclass(frozen=True, slots=True)
class Told:
    """A region, or groups of one, how exactly one person was seen in it, and how many are likely there."""

    sides: tuple[Side, ...]
    variance: float
    count: float | None
    entry: Entry
