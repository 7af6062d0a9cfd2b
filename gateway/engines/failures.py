"""Failures of a source's driver, as refusals.

INVARIANT: nothing that the source says in an error is in the raised refusal: an analyst gets one fixed text for
each code, the log a class and a state. INVARIANT: errors that the catalog explains, and an unreachable source,
have codes of their own before the charge; after it the same errors mean that somebody changed the source
meanwhile.
"""

from dataclasses import dataclass
from secrets import token_hex
from typing import Any, Final

from sqlalchemy.exc import DBAPIError, SQLAlchemyError

from gateway.cancellation import Computation, SourceEnd
from gateway.engines.timeout import StatementWatch, StopReason
from gateway.errors import BackendUnavailable, Code, InternalError, Refusal, SourceStopped
from gateway.events import Crashed, Emit, SourceFailed

_UNREACHABLE: Final = frozenset({"08", "25", "28", "40", "53", "57", "58"})
"""Classes of SQLSTATE that speak of the server, not of the statement; 25: it is a standby in recovery."""
_NO_ROOM: Final = frozenset({"53100", "53200", "53400"})
"""No disk, no memory, or more than a configured limit of either: it may depend on the rows that were computed."""
_LOCKED: Final = "55P03"
_PRIVILEGE: Final = "42501"
_SCHEMA: Final = frozenset({"42P01", "42703", "3F000", "42883", "42704"})
"""A relation, a column, a schema, a function or a type that is not there."""
_OTHER_RESULT: Final = "0A000"
"""What PostgreSQL says of a statement that it knew with columns of other types."""
_ENDED: Final = {StopReason.CANCELLED: SourceEnd.CANCEL, StopReason.ENDING: SourceEnd.STOP}
"""What else than its time ended a statement."""


@dataclass(frozen=True)
class Failures:
    """Errors of one source as refusals; `emit` writes them to the operator's log."""

    emit: Emit

    def before_charge(self, error: SQLAlchemyError, watch: StatementWatch) -> Refusal:
        """The error before a charge: the source did not compute."""
        state, problem = _state(error), _problem(error)
        if _is_stopped(error, watch):
            late = watch.stopped in {StopReason.NOT, StopReason.LATE}
            return SourceStopped(Code.SOURCE_TIMEOUT if late else Code.SOURCE_CANCELLED)
        if state == _PRIVILEGE:
            return self._unavailable(Code.SOURCE_PRIVILEGE, problem)
        if state in _SCHEMA:
            return self._unavailable(Code.SOURCE_SCHEMA, problem)
        return self._other(error)

    def after_charge(
        self, error: SQLAlchemyError, watch: StatementWatch, ran: Computation
    ) -> Refusal:
        """The error after a charge: the source had begun to compute."""
        state, problem = _state(error), _problem(error)
        if _is_stopped(error, watch):
            ended = _ENDED.get(watch.stopped)
            if ended is None:
                return SourceStopped(Code.SOURCE_TIMEOUT, computation=ran)
            cancelled = Computation(ran.seconds, ran.limit_s, ended)
            return SourceStopped(Code.SOURCE_CANCELLED, computation=cancelled)
        if state in _NO_ROOM:
            return self.exhausted(problem, ran)
        if state in {*_SCHEMA, _PRIVILEGE, _OTHER_RESULT}:
            return self._unavailable(Code.SOURCE_CHANGED, problem)
        return self._other(error)

    def exhausted(self, problem: str, ran: Computation) -> Refusal:
        """The error of a statement that needed more memory or disk than the source had."""
        self.emit(SourceFailed(problem))
        without = Computation(ran.seconds, ran.limit_s, SourceEnd.ROOM)
        return SourceStopped(Code.SOURCE_EXHAUSTED, computation=without)

    def incident(self, problem: str) -> InternalError:
        """An internal error, with an incident id."""
        incident = token_hex(8)
        self.emit(Crashed(incident, problem))
        return InternalError(incident)

    def _other(self, error: SQLAlchemyError) -> Refusal:
        state, problem = _state(error), _problem(error)
        kind = type(_cause(error)).__name__
        never_reached = not state and kind in {
            "OperationalError",
            "ConnectionTimeout",
            "TimeoutError",
        }
        if (
            is_connection_lost(error)
            or state[:2] in _UNREACHABLE
            or state == _LOCKED
            or never_reached
        ):
            return self._unavailable(Code.SOURCE_UNAVAILABLE, problem)
        return self.incident(f"the source refused our SQL: {problem}")

    def _unavailable(self, code: Code, problem: str) -> Refusal:
        self.emit(SourceFailed(problem))
        return BackendUnavailable(code)


def is_connection_lost(error: SQLAlchemyError) -> bool:
    """Whether the error means a lost connection."""
    return isinstance(error, DBAPIError) and error.connection_invalidated


def _is_stopped(error: SQLAlchemyError, watch: StatementWatch) -> bool:
    """Whether the statement was stopped: by the server, or by the gateway after the server had taken the cancel.

    A server that did not hear us was away: the time limit of its statement says nothing of any row.
    """
    if _state(error) == "57014":
        return True
    return (
        is_connection_lost(error) and watch.stopped is not StopReason.NOT and not watch.is_unheard
    )


def _state(error: SQLAlchemyError) -> str:
    return str(getattr(_cause(error), "sqlstate", None) or "")


def _problem(error: SQLAlchemyError) -> str:
    return f"{type(_cause(error)).__name__} {_state(error)}".strip()


def _cause(error: SQLAlchemyError) -> Any:  # noqa: ANN401 - an error of a driver
    return (error.orig if isinstance(error, DBAPIError) else None) or error
