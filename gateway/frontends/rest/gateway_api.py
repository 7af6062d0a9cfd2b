"""The gateway's interface for the REST front end: a few functions, wired in `app.py`."""

import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any, Final

from gateway.auth.authenticator import Authenticator
from gateway.budget.report import AccountBalance
from gateway.events import Emit
from gateway.frontends.workers import Workers
from gateway.policy.subjects import Subject
from gateway.requests.request import Answer, Estimate, PastQuestion, Request
from gateway.trail.search import RecordFilter
from gateway.trail.verify import Verdict

_WORKERS: Final = 8


@dataclass(frozen=True)
class PolicyApi:
    """Check the policy files, or put them in force; both return JSON."""

    check: Callable[[], Mapping[str, Any]]
    reload: Callable[[str], Mapping[str, Any]]


@dataclass(frozen=True)
class SubjectApi:
    """List subjects; suspend and resume them: a name, a dataset or None for all, and the acting subject."""

    subjects: Callable[[], Sequence[Mapping[str, Any]]]
    suspend: Callable[[str, str | None, str], Sequence[str]]
    resume: Callable[[str, str | None, str], Sequence[str]]


@dataclass(frozen=True)
class QueryApi:
    """Answer queries, and list what can be queried. All of it waits for databases: call it from a thread that
    may wait.

    The event of `answer` is set when the client has disconnected; the source query is then cancelled.
    `accounts` are those of a query's path; without a dataset, of the only one the subject has.
    """

    answer: Callable[[Subject, Request, threading.Event], Answer]
    estimate: Callable[[Subject, Request], Estimate]
    accounts: Callable[[Subject, str | None], Sequence[AccountBalance]]
    datasets: Callable[[Subject], Mapping[str, Any]]
    queries: Callable[[Subject, int, str | None], Sequence[PastQuestion]]
    require_ready: Callable[[], None] = lambda: None


@dataclass(frozen=True)
class GatewayApi:
    authenticator: Authenticator[Subject]
    accounts: Callable[[], Sequence[AccountBalance]]
    accounts_of: Callable[[Subject], Sequence[AccountBalance]]
    records: Callable[[int, RecordFilter], Sequence[Mapping[str, Any]]]
    verify_trail: Callable[[], Verdict]
    require_ready: Callable[[], None]
    metrics: Callable[[], bytes]
    metrics_type: str
    emit: Emit
    policies: PolicyApi | None = None
    questions: QueryApi | None = None
    subjects: SubjectApi | None = None
    workers: Workers = field(default_factory=partial(Workers, _WORKERS))
