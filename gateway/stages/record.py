"""What becomes of a question, and its record: written before anybody is told.

INVARIANT: every question ends in one record of its fate: answered, refused or failed. Where the record cannot
be written, that is what the analyst is told, and nothing else.
INVARIANT: a charged question whose source was stopped while it computed counts in that record's transaction.
INVARIANT: of our own bugs an opaque id goes out; what happened goes to the operator's log.
"""

import secrets
import time
import traceback
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace

from gateway.errors import GatewayError, InternalError, OperatorError, Refusal
from gateway.events import Crashed, QuestionEnded, SubjectSuspended
from gateway.policy.decide import Decision
from gateway.policy.policy import Policy
from gateway.policy.subjects import Subject
from gateway.requests.request import Request
from gateway.stages.charge import record_fate
from gateway.stages.services import House
from gateway.stages.suspension import Stop, count, is_counted
from gateway.state.draft import Draft
from gateway.trail.record import Asked, Kind, QuestionRecord

_LONGEST_SQL = 65_536


class Fate:
    """One question on its way."""

    def __init__(self, asked: Asked, *, told: bool) -> None:
        self.asked = asked
        self.charged = False
        self.reused = False
        self._told = told
        self._counted = not told
        self._recorded = False
        self._kept: list[Callable[[Draft], None]] = []
        self._began = time.monotonic_ns()
        self._most_stops = 1

    @property
    def query_id(self) -> str:
        return self.asked.query_id

    def concerns(self, policy: Policy) -> None:
        """Which dataset it is about, when that is known."""
        self.asked = replace(self.asked, dataset=policy.name)
        self._most_stops = policy.timeouts_per_day

    def decided(self, decision: Decision) -> None:
        """What the decision was made by."""
        self.asked = replace(
            self.asked,
            purpose=decision.terms.purpose,
            attributes={**self.asked.attributes, "because": list(decision.because)},
        )

    def recorded_as_reused(self) -> None:
        """The record of an answer that was there is written; of what fails after it there is one more."""
        self._recorded = True

    def keeps(self, what: Callable[[Draft], None]) -> None:
        """Write this down together with the record of the fate, whatever that is."""
        self._kept.append(what)

    @contextmanager
    def charging(self) -> Iterator[None]:
        """The charge stage records its own refusals."""
        try:
            yield
        except Refusal:
            self._told = True
            raise
        self.charged = True

    def ended(self, house: House, refusal: Refusal | None) -> None:
        """Write the record, unless the charge stage did; then it is counted."""
        kind = Kind.REUSED if self.reused or self._recorded else Kind.ANSWERED
        if refusal is not None:
            kind = Kind.FAILED if self.charged or self._recorded else Kind.REFUSED
        if not self._told and not (self._recorded and refusal is None):
            self._write(house, kind, refusal)
        if self._counted:
            house.emit(QuestionEnded(kind.value, "" if refusal is None else refusal.code.value))

    def _write(self, house: House, kind: Kind, refusal: Refusal | None) -> None:
        counted = self.charged and is_counted(refusal)
        record = QuestionRecord(
            kind,
            self.asked,
            code=None if refusal is None else refusal.code,
            because=() if refusal is None else (refusal.title, refusal.detail),
            duration_us=(time.monotonic_ns() - self._began) // 1_000,
            counted=counted,
        )
        asked = self.asked
        stop = Stop(asked.subject, asked.dataset, asked.query_id, self._most_stops)

        def counting(draft: Draft) -> bool:
            return counted and count(draft, house.trail, stop, house.now())

        if record_fate(house.journal, house.trail, record, self._kept, counting):
            house.emit(SubjectSuspended(asked.dataset))


@contextmanager
def recorded(
    house: House, subject: Subject, request: Request, front_end: str, *, estimate: bool = False
) -> Iterator[Fate]:
    """The way of one question, from its number to the record of its end; an estimate has no fate."""
    asked = Asked(
        query_id=secrets.token_hex(12),
        subject=subject.name,
        dataset=request.dataset or "",
        sql=request.sql[:_LONGEST_SQL],
        front_end=front_end,
        address=request.address,
        purpose=request.purpose,
    )
    fate = Fate(asked, told=estimate)
    try:
        yield fate
    except Refusal as refusal:
        fate.ended(house, refusal)
        refusal.query_id = fate.query_id
        raise
    except Exception as error:  # noqa: BLE001  # the last line of defence of every question
        internal = _incident(house, error)
        fate.ended(house, internal)
        internal.query_id = fate.query_id
        raise internal from None
    fate.ended(house, None)


def _incident(house: House, error: Exception) -> InternalError:
    """A bug, or a state that cannot be reached where nobody expected it."""
    incident = secrets.token_hex(8)
    told = str(error) if isinstance(error, (GatewayError, OperatorError)) else ""
    house.emit(Crashed(incident, f"{told}\n{traceback.format_exc()}"))
    return InternalError(incident)
