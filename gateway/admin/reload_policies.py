"""Reload of a running gateway's policies: when files change, on a signal, or at an administrator's request.

Events and trail records are written here.
"""

import os
import signal
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from types import FrameType
from typing import Any, Final

from gateway.admin.check_policies import (
    check_json,
    check_sources,
    complete_from_sources,
    problem_json,
)
from gateway.admin.open_accounts import open_policies, record_rejection
from gateway.errors import GatewayError, OperatorError
from gateway.events import Emit, PoliciesLoaded, PoliciesRejected, PolicyWarning
from gateway.frontends.rest.gateway_api import PolicyApi
from gateway.policy.files.load import LoadedPolicies, PolicyReading, read_policies
from gateway.policy.in_force import Cause, CurrentPolicies, FileWatch
from gateway.state.journal import Journal
from gateway.trail.append import Trail, utc_now

_GATEWAY: Final = "gateway"
_MOST_WARNINGS: Final = 20


def current_policies(
    journal: Journal,
    trail: Trail,
    directory: Path,
    emit: Emit,
    environment: Mapping[str, str] = os.environ,
) -> CurrentPolicies:
    """The policies of `directory`, not opened yet; opening completes them from their sources."""

    def read() -> PolicyReading:
        return complete_from_sources(read_policies(directory, environment))

    def accept(loaded: LoadedPolicies, before: LoadedPolicies | None, cause: Cause) -> None:
        open_policies(journal, trail, loaded, before=before, cause=cause, now=utc_now())
        emit(PoliciesLoaded(loaded.digest, len(loaded.policies), len(loaded.warnings)))
        for warning in loaded.warnings[:_MOST_WARNINGS]:
            emit(PolicyWarning(warning.detail))

    def reject(
        problems: tuple[OperatorError, ...], in_force: LoadedPolicies | None, cause: Cause
    ) -> None:
        emit(PoliciesRejected(problems[0].detail, len(problems)))
        record_rejection(journal, trail, problems, in_force, cause)

    return CurrentPolicies(read, accept, reject)


@contextmanager
def reload_on_change(
    policies: CurrentPolicies, directory: Path, *, on_signal: bool = True
) -> Iterator[None]:
    """Reload when the files change and, with `on_signal` on the main thread of a process, on SIGHUP."""
    watch = FileWatch(
        directory,
        changed=lambda: _reload(policies, "the files changed"),
        asked=lambda: _reload(policies, "SIGHUP"),
    )

    def hang_up(number: int, frame: FrameType | None) -> None:
        del number, frame
        watch.ask()

    listens = on_signal and threading.current_thread() is threading.main_thread()
    before = signal.signal(signal.SIGHUP, hang_up) if listens else None
    watch.start()
    try:
        yield
    finally:
        if listens:
            signal.signal(signal.SIGHUP, before or signal.SIG_DFL)
        watch.stop()


def policy_api(policies: CurrentPolicies) -> PolicyApi:
    """The policy functions for administrators' endpoints."""

    def check() -> Mapping[str, Any]:
        return check_json(check_sources(policies.check()))

    def reload(subject: str) -> Mapping[str, Any]:
        result = policies.reload(Cause(subject, "an administrator asked"))
        return {
            "valid": not result.problems,
            "changed": result.changed,
            "hash": result.in_force.digest,
            "datasets": sorted(result.in_force.policies),
            "problems": [problem_json(problem) for problem in result.problems],
            "warnings": [problem_json(warning) for warning in result.in_force.warnings],
        }

    return PolicyApi(check, reload)


def _reload(policies: CurrentPolicies, because: str) -> bool:
    """True if the files were dealt with; an unreachable state is tried again at the next check."""
    try:
        policies.reload(Cause(_GATEWAY, because))
    except GatewayError:
        return False
    return True
