"""REST application: the endpoints for probes, budgets and the audit trail. Each calls one function of the
gateway.
"""

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from typing import Annotated, Any

from fastapi import Depends, FastAPI, Query, Response
from fastapi.responses import PlainTextResponse
from pydantic import BaseModel, ConfigDict, Field

from gateway import __version__
from gateway.budget.report import AccountBalance
from gateway.datasets.system_tables import SEES_ALL
from gateway.frontends.rest.admin_routes import add_policies, add_subjects
from gateway.frontends.rest.gateway_api import GatewayApi, caller_dependency, require_role
from gateway.frontends.rest.openapi import DocumentedApp, add_documentation
from gateway.frontends.rest.problem_details import PROBLEM, Incidents, add_problem_handlers
from gateway.frontends.rest.query_routes import add_questions
from gateway.frontends.rest.response import AsciiJson
from gateway.policy.subjects import Subject
from gateway.requests.answer_json import balance_json
from gateway.trail.search import RecordFilter


class AuditQuery(BaseModel):
    """The filter of trail records; times without an offset are UTC."""

    model_config = ConfigDict(extra="forbid")

    subject: str | None = None
    kind: str | None = None
    dataset: str | None = None
    query_id: str | None = None
    since: datetime | None = None
    until: datetime | None = None
    before: Annotated[int | None, Field(ge=1)] = None
    limit: Annotated[int, Field(ge=1, le=10_000)] = 100

    def wanted(self) -> RecordFilter:
        return RecordFilter(
            subject=self.subject,
            kind=self.kind,
            dataset=self.dataset,
            query_id=self.query_id,
            since=_utc(self.since),
            until=_utc(self.until),
            before=self.before,
        )


def create_app(doors: GatewayApi) -> FastAPI:
    app = DocumentedApp(
        title="Gateway",
        version=__version__,
        summary="Ordinary SQL in, differentially private aggregates out.",
        responses={"default": PROBLEM},
        default_response_class=AsciiJson,
        docs_url=None,  # FastAPI's own pages load scripts from elsewhere
        redoc_url=None,
    )
    app.add_middleware(Incidents, emit=doors.emit)
    add_problem_handlers(app)
    add_documentation(app)
    add_questions(app, doors)
    _add_probes(app, doors)
    _add_budget(app, doors)
    _add_audit(app, doors)
    add_policies(app, doors)
    add_subjects(app, doors)
    return app


def _add_probes(app: FastAPI, doors: GatewayApi) -> None:
    @app.get("/healthz", tags=["operation"])
    def healthz() -> dict[str, str]:
        """The process answers."""
        return {"status": "ok", "version": __version__}

    @app.get("/readyz", tags=["operation"])
    def readyz() -> dict[str, str]:
        """Questions can be charged: the state is reachable and not behind its anchor."""
        doors.require_ready()
        return {"status": "ready"}

    @app.get("/metrics", tags=["operation"], response_class=PlainTextResponse)
    def metrics() -> Response:
        """Counters for Prometheus."""
        return Response(doors.metrics(), media_type=doors.metrics_type)


def _add_budget(app: FastAPI, doors: GatewayApi) -> None:
    @app.get("/v1/budget", tags=["budget"])
    def budget(
        subject: Annotated[Subject, Depends(caller_dependency(doors.authenticator))],
    ) -> dict[str, Any]:
        """The accounts your questions are charged to; everybody's for admins and auditors."""
        sees_all = subject.role in SEES_ALL
        found = doors.accounts() if sees_all else doors.accounts_of(subject)
        return {"accounts": _accounts(found)}


def _add_audit(app: FastAPI, doors: GatewayApi) -> None:
    @app.get("/v1/audit", tags=["audit"])
    def audit(
        subject: Annotated[Subject, Depends(caller_dependency(doors.authenticator))],
        asked: Annotated[AuditQuery, Query()],
    ) -> dict[str, Sequence[Mapping[str, Any]]]:
        """The newest trail records that match, oldest of them first."""
        require_role(subject, "auditor")
        return {"records": doors.records(asked.limit, asked.wanted())}

    @app.get("/v1/audit/verify", tags=["audit"])
    def verify(
        subject: Annotated[Subject, Depends(caller_dependency(doors.authenticator))],
    ) -> dict[str, Any]:
        """Read the whole trail and say whether it is the one that was written."""
        require_role(subject, "auditor")
        verdict = doors.verify_trail()
        return {"intact": verdict.intact, **vars(verdict)}


def _accounts(found: Sequence[AccountBalance]) -> list[dict[str, Any]]:
    return [balance_json(standing) for standing in found]


def _utc(moment: datetime | None) -> datetime | None:
    return moment.replace(tzinfo=UTC) if moment and moment.tzinfo is None else moment
