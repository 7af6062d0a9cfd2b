"""The gateway's interface for the REST front end, wired in `app.py`; the bearer key of a request, and the role that
an endpoint requires.
"""

import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Annotated, Any, Final

from fastapi import Depends
from fastapi import Request as HttpRequest
from fastapi.security import HTTPBearer
from fastapi.security.http import HTTPAuthorizationCredentials

from gateway.auth.authenticator import Authenticator
from gateway.budget.report import AccountBalance
from gateway.errors import Code, NotPermitted
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
    `datasets` takes the purpose and the peer as a request without a statement.
    `accounts` are those of a query's path; without a dataset, of the only one the subject has.
    """

    answer: Callable[[Subject, Request, threading.Event], Answer]
    estimate: Callable[[Subject, Request], Estimate]
    accounts: Callable[[Subject, str | None], Sequence[AccountBalance]]
    datasets: Callable[[Subject, Request], Mapping[str, Any]]
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


_bearer = HTTPBearer(auto_error=False, description="an API key: `gateway key create`")


def caller_dependency(authenticator: Authenticator[Subject]) -> Callable[..., Subject]:
    """The FastAPI dependency that returns an endpoint's subject."""

    def authenticated(
        request: HttpRequest,
        credentials: Annotated[HTTPAuthorizationCredentials | None, Depends(_bearer)],
    ) -> Subject:
        address = request.client.host if request.client else "unknown"
        shown = None if credentials is None else credentials.credentials
        return authenticator.authenticate(shown, address=address, front_end="rest")

    return authenticated


def require_role(subject: Subject, *roles: str) -> None:
    if subject.role not in roles:
        wanted = " or ".join(f"`{role}`" for role in roles)
        raise NotPermitted(
            Code.ROLE_REQUIRED,
            f"this endpoint needs the role {wanted}",
            "ask an administrator for it",
        )
