"""Refusals and errors: one class for each kind, with the codes of `gateway.error_codes`.

A `Refusal` is what an analyst may see. It is raised once, caught once, recorded, and turned into an HTTP status
or an SQLSTATE by tables. An `OperatorError` is for the person who runs the gateway: settings, files, ports, the
state. The gateway's own bugs are `InternalError`: an opaque id for the client, the details in the log.
"""

from copy import copy
from typing import Self

from gateway.cancellation import Computation
from gateway.error_codes import HTTP, REASON, SQLSTATE, TITLE, Code
from gateway.error_reasons import Reason

__all__ = [
    "HTTP",
    "REASON",
    "SQLSTATE",
    "TITLE",
    "BackendUnavailable",
    "BudgetExhausted",
    "Code",
    "GatewayError",
    "InternalError",
    "LimitExceeded",
    "NotAggregate",
    "NotPermitted",
    "OperatorError",
    "OverlapRefused",
    "Reason",
    "Refusal",
    "SourceStopped",
    "SyntaxRefused",
    "Unauthenticated",
    "Unbounded",
    "UnsupportedSql",
]


class GatewayError(Exception):
    """A refusal or a failure with its code, what it is about, and what to do."""

    def __init__(self, code: Code, detail: str = "", hint: str = "") -> None:
        super().__init__(code, detail, hint)
        self.code = code
        self.detail = detail
        self.hint = hint

    @property
    def reason(self) -> Reason:
        return REASON[self.code]

    @property
    def title(self) -> str:
        return TITLE[self.code]

    def __str__(self) -> str:
        """One line: code, title, detail; the hint stands apart."""
        about = f": {self.detail}" if self.detail else ""
        return f"{self.code}: {self.title}{about}"


class Refusal(GatewayError):
    """A no that an analyst may read; text and code depend on the question and the policy alone.

    `query_id` is that of the question, once it has got one.
    """

    query_id: str | None = None

    def with_hint(self, hint: str) -> Self:
        """The same refusal with another hint."""
        made = copy(self)
        made.hint = hint
        return made

    @property
    def sqlstate(self) -> str:
        """That of the code, unless PostgreSQL itself said a finer one; see the twin's refusals."""
        return SQLSTATE[self.code]


class OverlapRefused(Refusal):
    """With what was answered before it would single people out."""


class BudgetExhausted(Refusal):
    """An account on the path of the question cannot cover it."""


class NotPermitted(Refusal):
    """The subject may not do this."""


class SyntaxRefused(Refusal):
    """The request cannot be understood."""


class Unauthenticated(Refusal):
    """Nobody we know."""


class LimitExceeded(Refusal):
    """Too large or too often."""


class UnsupportedSql(Refusal):
    """Understood perhaps, but nobody has argued that it is safe."""


class NotAggregate(Refusal):
    """What belongs to one person would leave."""


class Unbounded(Refusal):
    """Nothing bounds what one person can contribute."""


class BackendUnavailable(Refusal):
    """A database or file the answer depends on cannot be reached; nothing leaves."""


class SourceStopped(Refusal):
    """The source was stopped before it had answered: its time was over, or nobody waits any more.

    `computation` is None where the source was not computing when it was stopped: the question waited for something.
    """

    def __init__(
        self,
        code: Code,
        detail: str = "",
        hint: str = "",
        *,
        computation: Computation | None = None,
    ) -> None:
        super().__init__(code, detail, hint)
        self.computation = computation


class InternalError(Refusal):
    """A bug of ours. `incident` is all that is said outside."""

    def __init__(self, incident: str) -> None:
        super().__init__(Code.INTERNAL, f"incident {incident}")
        self.incident = incident


class OperatorError(GatewayError):
    """Something the person who runs the gateway has to set right; one clear line, then the hint."""
