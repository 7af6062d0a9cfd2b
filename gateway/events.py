"""Events of the gateway as values, of which logs and metrics are two renderings.

INVARIANT: no event carries SQL, an attribute's value, a key, a password or anything computed from protected
rows. An event type is the complete list of what may be reported.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, fields
from enum import StrEnum
from typing import ClassVar


class Level(StrEnum):
    INFO = "info"
    WARNING = "warning"
    ERROR = "error"


@dataclass(frozen=True)
class Event:
    """Something worth a log line, a counter, or both."""

    name: ClassVar[str]
    level: ClassVar[Level] = Level.INFO
    counted_only: ClassVar[bool] = False  # too frequent for a log line

    def said(self) -> Mapping[str, object]:
        return {field.name: getattr(self, field.name) for field in fields(self)}


Emit = Callable[[Event], None]


class Outcome(StrEnum):
    """What became of a question: it was measured anew, answered from earlier answers, refused, or failed once charged."""

    ANSWERED = "answered"
    REUSED = "reused"
    REFUSED = "refused"
    FAILED = "failed"


@dataclass(frozen=True)
class Started(Event):
    name: ClassVar[str] = "gateway.started"
    version: str
    rest: str
    wire: str


@dataclass(frozen=True)
class Stopping(Event):
    name: ClassVar[str] = "gateway.stopping"
    because: str


@dataclass(frozen=True)
class StateOpened(Event):
    name: ClassVar[str] = "state.opened"
    where: str
    trail_seq: int


@dataclass(frozen=True)
class AnchorBegun(Event):
    """A state with a past had no anchor here: from now on it has one, before now nothing is known."""

    name: ClassVar[str] = "anchor.begun"
    level: ClassVar[Level] = Level.WARNING
    trail_seq: int


@dataclass(frozen=True)
class Committed(Event):
    """A batch of the journal became durable."""

    name: ClassVar[str] = "journal.committed"
    counted_only: ClassVar[bool] = True
    steps: int
    attempts: int


@dataclass(frozen=True)
class StateLost(Event):
    name: ClassVar[str] = "state.lost"
    level: ClassVar[Level] = Level.ERROR
    problem: str


@dataclass(frozen=True)
class AnchorLost(Event):
    name: ClassVar[str] = "anchor.lost"
    level: ClassVar[Level] = Level.ERROR
    problem: str


@dataclass(frozen=True)
class StateForged(Event):
    """What later answers rest on is not as it was written: nothing is answered from it."""

    name: ClassVar[str] = "state.forged"
    level: ClassVar[Level] = Level.ERROR
    problem: str


@dataclass(frozen=True)
class LoginRefused(Event):
    name: ClassVar[str] = "login.refused"
    level: ClassVar[Level] = Level.WARNING
    front_end: str
    code: str


@dataclass(frozen=True)
class PoliciesLoaded(Event):
    """Policies came into force; `hash` is that of their trail record."""

    name: ClassVar[str] = "policies.loaded"
    hash: str
    datasets: int
    warnings: int


@dataclass(frozen=True)
class PoliciesRejected(Event):
    """What the files say now is not in force; `problem` is the first of the problems."""

    name: ClassVar[str] = "policies.rejected"
    level: ClassVar[Level] = Level.ERROR
    problem: str
    problems: int


@dataclass(frozen=True)
class PolicyWarning(Event):
    """Something odd in a policy that is in force all the same."""

    name: ClassVar[str] = "policies.warning"
    level: ClassVar[Level] = Level.WARNING
    problem: str


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


@dataclass(frozen=True)
class QuestionEnded(Event):
    """A question came to its end, an `Outcome`; `code` is that of a refusal, else empty. Whose it was is in the trail."""

    name: ClassVar[str] = "question.ended"
    counted_only: ClassVar[bool] = True
    outcome: str
    code: str


@dataclass(frozen=True)
class SourceFailed(Event):
    """A source did not answer. `problem` is the kind of error and its SQLSTATE, never its text."""

    name: ClassVar[str] = "source.failed"
    level: ClassVar[Level] = Level.WARNING
    problem: str


@dataclass(frozen=True)
class SubjectSuspended(Event):
    """Too many questions of a subject were stopped within a day; who it is, is in the trail."""

    name: ClassVar[str] = "subject.suspended"
    level: ClassVar[Level] = Level.WARNING
    dataset: str


@dataclass(frozen=True)
class Crashed(Event):
    """A bug of ours; `problem` goes to the operator's log, the incident id outside."""

    name: ClassVar[str] = "gateway.crashed"
    level: ClassVar[Level] = Level.ERROR
    incident: str
    problem: str


def ignore_event(event: Event) -> None:
    """For those who have nobody to tell."""
    del event
