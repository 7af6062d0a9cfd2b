"""Where the trail stands: the one clock of the state."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Position:
    """The number of the last trail record and its chained MAC."""

    seq: int
    mac: str


GENESIS = Position(0, "0" * 64)
