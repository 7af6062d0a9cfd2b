"""What happens to the twin, said once."""

from dataclasses import dataclass
from typing import ClassVar

from gateway.events import Event, Level


@dataclass(frozen=True)
class TwinStarted(Event):
    name: ClassVar[str] = "twin.started"
    version: str


@dataclass(frozen=True)
class TwinLost(Event):
    """The twin's server ended by itself; its sessions are gone, and another is started."""

    name: ClassVar[str] = "twin.lost"
    level: ClassVar[Level] = Level.WARNING
    exit_code: int


@dataclass(frozen=True)
class TwinNotStarted(Event):
    """Another could not be started; it is tried again."""

    name: ClassVar[str] = "twin.not_started"
    level: ClassVar[Level] = Level.ERROR
    problem: str
