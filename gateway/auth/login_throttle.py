"""Throttle of failed log-ins: counts, records and answers every failure, for all front ends together.

A valid key is never locked out, whatever others do from the same address or with the same key id: the throttle
sees failures alone, after the credential was checked. That is safe because a secret of 256 bits cannot be
guessed at any rate, and so nobody can lock out an honest user behind the same NAT, proxy or host. The cost of a
failure has to be limited: it is a durable record in the trail. It is limited per address (IPv6: per /64), per
claimed name, and for all together, so that changing addresses or inventing names gains nothing. The check
itself costs one read by primary key.

A window begins with the first failure of its kind and lasts a minute; then counting begins anew.

INVARIANT: the memory is bounded: the addresses and names that were seen least recently are forgotten first.
INVARIANT: per window at most `together` failures and one notice are recorded, without exception. INVARIANT: the
refusal depends on how often the client failed, never on why: an unknown key, a wrong secret, an expired or
revoked key and a removed subject read alike. INVARIANT: a failure that cannot be recorded is refused all the
same.
"""

import threading
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from enum import Enum
from ipaddress import IPv6Address, ip_address, ip_network
from typing import Final

from gateway.auth.key_store import Claim, LoginFailed, RecordFailure
from gateway.errors import BackendUnavailable, Code, LimitExceeded, Refusal, Unauthenticated
from gateway.events import Emit, LoginRefused, ignore_event
from gateway.lru_cache import LruCache

_MOST_REMEMBERED: Final = 10_000
_LONGEST_NAME: Final = 128


class Failure(Enum):
    """The treatment of one more failure."""

    COUNTED = "counted"  # an ordinary refusal, recorded
    ONE_TOO_MANY = "one too many"  # throttling begins: say so, and record that once
    THROTTLED = "throttled"  # say so, and record nothing


@dataclass(frozen=True)
class FailureLimits:
    """The numbers of failures that a window may have."""

    address: int = 30
    name: int = 10
    together: int = 300
    window_s: float = 60.0


@dataclass
class _Window:
    began: float
    failures: int = 0


class Throttle:
    """Counts failures; thread-safe."""

    def __init__(
        self,
        limits: FailureLimits = FailureLimits(),  # frozen
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._limits = limits
        self._clock = clock
        self._lock = threading.Lock()
        self._addresses: LruCache[str, _Window] = LruCache(_MOST_REMEMBERED)
        self._names: LruCache[str, _Window] = LruCache(_MOST_REMEMBERED)
        self._together: LruCache[str, _Window] = LruCache(1)

    def failed(self, address: str, name: str | None) -> Failure:
        """Count a failure from `address` with the claimed `name`."""
        limits = self._limits
        with self._lock:
            excess = [
                self._count(self._together, "") - limits.together,
                self._count(self._addresses, _network(address)) - limits.address,
            ]
            if name is not None:
                excess.append(self._count(self._names, name[:_LONGEST_NAME]) - limits.name)
        worst = max(excess)
        if worst <= 0:
            return Failure.COUNTED
        return Failure.ONE_TOO_MANY if worst == 1 else Failure.THROTTLED

    def _count(self, windows: LruCache[str, _Window], who: str) -> int:
        now = self._clock()
        window = windows.find(who)
        if window is None or now - window.began >= self._limits.window_s:
            window = _Window(now)
            windows.put(who, window)
        window.failures += 1
        return window.failures


def _network(address: str) -> str:
    """The network within which one party can choose addresses; a Unix socket or an invalid address is its own
    text.
    """
    try:
        parsed = ip_address(address.partition("%")[0])
    except ValueError:
        return address[:_LONGEST_NAME]
    if not isinstance(parsed, IPv6Address):
        return str(parsed)
    mapped = parsed.ipv4_mapped
    return str(mapped or ip_network((parsed, 64), strict=False))


_LONGEST_NAME_turning_away: Final = (
    128  # a subject's name has at most 63 characters; longer invented names are cut
)


class LoginThrottle:
    """Refuses and records failed log-ins; one object for all front ends, so that they count together."""

    def __init__(
        self,
        record: RecordFailure,
        emit: Emit = ignore_event,
        limits: FailureLimits = FailureLimits(),  # frozen
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._record = record
        self._emit = emit
        self._limits = limits
        self._failed = Throttle(limits, clock)
        # A client without a credential guesses nothing: a monitor's probes must not use up the limit for wrong keys.
        self._empty_handed = Throttle(limits, clock)

    def without_credential(self, *, address: str, front_end: str) -> Refusal:
        """The refusal of a client that shows no credential."""
        failure = self._empty_handed.failed(address, None)
        self._tell(failure, LoginFailed(front_end, address, None, Code.NO_CREDENTIALS))
        return Unauthenticated(
            Code.NO_CREDENTIALS,
            hint="send the header `Authorization: Bearer <API key>`, or give the key as the password",
        )

    def with_bad_credential(self, *, address: str, front_end: str, claimed: str | None) -> Refusal:
        """The refusal of an invalid credential; `claimed` is the name or id that came with it."""
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
        """The same for a client that gave a name and failed to prove it."""
        return self.with_bad_credential(
            address=claim.address,
            front_end=claim.front_end,
            claimed=claim.name[:_LONGEST_NAME_turning_away],
        )

    def _tell(self, failure: Failure, failed: LoginFailed) -> None:
        if failure is not Failure.COUNTED:
            failed = LoginFailed(
                failed.front_end, failed.address, failed.claimed, Code.TOO_MANY_FAILURES
            )
        self._emit(LoginRefused(failed.front_end, failed.code))
        if failure is not Failure.THROTTLED:
            # The journal has reported the loss; nobody is logged in because of it.
            with suppress(BackendUnavailable):
                self._record(failed)
