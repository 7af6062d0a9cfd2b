"""What follows a failed log-in, whichever door it came to: it is counted, recorded, and told.

INVARIANT: what the caller learns depends on how often it failed, never on why: an unknown key, a
wrong secret, an expired or revoked key and a subject that is gone read alike.
INVARIANT: a failure that cannot be recorded is refused all the same.
"""

import time
from collections.abc import Callable
from contextlib import suppress
from typing import Final

from gateway.errors import BackendUnavailable, Code, LimitExceeded, Refusal, Unauthenticated
from gateway.events import Emit, LoginRefused, silent
from gateway.identity.acts import Claim, LoginFailed, RecordFailure
from gateway.identity.throttle import Failure, FailureLimits, Throttle

_LONGEST_NAME: Final = (
    128  # a subject's has at most 63 characters; what is made up is not kept whole
)


class TurningAway:
    """One for all front ends, so that they count together."""

    def __init__(
        self,
        record: RecordFailure,
        emit: Emit = silent,
        limits: FailureLimits = FailureLimits(),  # noqa: B008  # frozen
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._record = record
        self._emit = emit
        self._limits = limits
        self._failed = Throttle(limits, clock)
        # Who shows nothing guesses nothing: a monitor's probes must not use up what wrong keys may.
        self._empty_handed = Throttle(limits, clock)

    def without_credential(self, *, address: str, front_end: str) -> Refusal:
        """The refusal for somebody who showed no credential at all."""
        failure = self._empty_handed.failed(address, None)
        self._tell(failure, LoginFailed(front_end, address, None, Code.NO_CREDENTIALS))
        return Unauthenticated(
            Code.NO_CREDENTIALS,
            hint="send `Authorization: Bearer <API key>`, or log in with the key",
        )

    def with_bad_credential(self, *, address: str, front_end: str, claimed: str | None) -> Refusal:
        """The refusal for a credential that is not valid, `claimed` being the name it came with."""
        failure = self._failed.failed(address, claimed)
        self._tell(failure, LoginFailed(front_end, address, claimed, Code.BAD_CREDENTIALS))
        if failure is Failure.COUNTED:
            return Unauthenticated(
                Code.BAD_CREDENTIALS, hint="ask the operator for a key: `gateway key create`"
            )
        return LimitExceeded(
            Code.TOO_MANY_FAILURES,
            hint=f"use a valid key, or wait {self._limits.window_s:.0f} seconds",
        )

    def from_claim(self, claim: Claim) -> Refusal:
        """The same for somebody who said who he is and could not show it."""
        return self.with_bad_credential(
            address=claim.address, front_end=claim.front_end, claimed=claim.name[:_LONGEST_NAME]
        )

    def _tell(self, failure: Failure, failed: LoginFailed) -> None:
        if failure is not Failure.COUNTED:
            failed = LoginFailed(
                failed.front_end, failed.address, failed.claimed, Code.TOO_MANY_FAILURES
            )
        self._emit(LoginRefused(failed.front_end, failed.code))
        if failure is not Failure.THROTTLED:
            # The journal has reported the loss; nobody is let in because of it.
            with suppress(BackendUnavailable):
                self._record(failed)
