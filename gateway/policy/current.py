"""The policies in force, and how others take their place: all at once, or not at all.

INVARIANT: `value` is always a whole `LoadedPolicies` that was accepted: its accounts are open and its trail
record is durable. What is refused changes nothing but the trail.
"""

import threading
from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeAlias

from gateway.errors import OperatorError
from gateway.policy.load import LoadedPolicies, Reading

Read: TypeAlias = Callable[[], Reading]


@dataclass(frozen=True)
class Cause:
    """Who wants the policies read again, and why."""

    actor: str
    because: str


Accept: TypeAlias = Callable[[LoadedPolicies, LoadedPolicies | None, Cause], None]
Reject: TypeAlias = Callable[[tuple[OperatorError, ...], LoadedPolicies | None, Cause], None]


@dataclass(frozen=True)
class Reloaded:
    """What became of a reload. With problems, what was in force still is."""

    changed: bool
    in_force: LoadedPolicies
    problems: tuple[OperatorError, ...] = ()


class CurrentPolicies:
    """Holds what is in force; reading it takes no lock."""

    def __init__(self, read: Read, accept: Accept, reject: Reject) -> None:
        self._read = read
        self._accept = accept
        self._reject = reject
        self._reloading = threading.Lock()
        self._value: LoadedPolicies | None = None

    @property
    def value(self) -> LoadedPolicies:
        if self._value is None:
            raise RuntimeError("policies are opened before anybody asks for them")
        return self._value

    def open(self, cause: Cause) -> LoadedPolicies:
        """Load for the first time; the first problem is raised, as there is nothing to fall back on."""
        with self._reloading:
            reading = self._read()
            if reading.loaded is None:
                self._reject(reading.problems, None, cause)
                raise reading.problems[0]
            try:
                self._accept(reading.loaded, None, cause)
            except OperatorError as error:
                self._reject((error,), None, cause)
                raise
            self._value = reading.loaded
            return reading.loaded

    def check(self) -> Reading:
        """What a reload would find; nothing changes."""
        return self._read()

    def reload(self, cause: Cause) -> Reloaded:
        """Put what the files say now in force; an unreachable state is raised, and nothing changes."""
        with self._reloading:
            before = self.value
            reading = self._read()
            if reading.loaded is None:
                self._reject(reading.problems, before, cause)
                return Reloaded(changed=False, in_force=before, problems=reading.problems)
            same = reading.loaded.digest == before.digest
            if same and not _tells_more(reading.loaded, before):
                return Reloaded(changed=False, in_force=before)
            try:
                self._accept(reading.loaded, before, cause)
            except OperatorError as error:
                self._reject((error,), before, cause)
                return Reloaded(changed=False, in_force=before, problems=(error,))
            self._value = reading.loaded
            return Reloaded(changed=True, in_force=reading.loaded)


def _tells_more(now: LoadedPolicies, before: LoadedPolicies) -> bool:
    """Whether a source said of a public table, with the same files, what it had not said before."""
    return any(
        table.public and table.columns and table not in before.policies[name].dataset.tables
        for name, policy in now.policies.items()
        for table in policy.dataset.tables
    )
