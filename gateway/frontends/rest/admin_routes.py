"""Endpoints for administrators: check and reload policies; list, suspend and resume subjects."""

from collections.abc import Callable, Mapping, Sequence
from typing import Annotated, Any

from fastapi import Depends, FastAPI, Query
from pydantic import BaseModel, ConfigDict, Field

from gateway.errors import BackendUnavailable, Code, OperatorError, SyntaxRefused
from gateway.frontends.rest.gateway_api import (
    GatewayApi,
    PolicyApi,
    SubjectApi,
    caller_dependency,
    require_role,
)
from gateway.policy.subjects import Subject


def add_policies(app: FastAPI, doors: GatewayApi) -> None:
    @app.post("/v1/policies/check", tags=["policies"])
    def check(
        subject: Annotated[Subject, Depends(caller_dependency(doors.authenticator))],
    ) -> Mapping[str, Any]:
        """What a reload would find: every problem with its place; nothing changes."""
        require_role(subject, "admin")
        return _policies(doors).check()

    @app.post("/v1/policies/reload", tags=["policies"])
    def reload(
        subject: Annotated[Subject, Depends(caller_dependency(doors.authenticator))],
    ) -> Mapping[str, Any]:
        """Put the files in force, all or none; with problems, what was in force still is."""
        require_role(subject, "admin")
        return _policies(doors).reload(subject.name)


def _policies(doors: GatewayApi) -> PolicyApi:
    if doors.policies is None:
        raise BackendUnavailable(Code.STATE_UNAVAILABLE, "no policies are loaded")
    return doors.policies


_TAGS: list[Any] = ["subjects"]  # FastAPI's own type


class DatasetScope(BaseModel):
    """The dataset; without one, all of them."""

    model_config = ConfigDict(extra="forbid")

    dataset: Annotated[str | None, Field(min_length=1, max_length=63)] = None


def add_subjects(app: FastAPI, doors: GatewayApi) -> None:
    authenticated = caller_dependency(doors.authenticator)
    caller_of = Annotated[Subject, Depends(authenticated)]

    @app.get("/v1/subjects", tags=_TAGS)
    def subjects(subject: caller_of) -> dict[str, Sequence[Mapping[str, Any]]]:
        """Everybody that the policies know, and whose questions are suspended."""
        require_role(subject, "admin")
        return {"subjects": _subjects(doors).subjects()}

    @app.post("/v1/subjects/{name}/suspend", tags=_TAGS)
    def suspend(
        name: str, subject: caller_of, scope: Annotated[DatasetScope, Query()]
    ) -> Mapping[str, Any]:
        """Refuse the queries of a subject until they are resumed; the subject still gets cached answers."""
        require_role(subject, "admin")
        return _changed(_subjects(doors).suspend, name, scope.dataset, subject.name)

    @app.post("/v1/subjects/{name}/resume", tags=_TAGS)
    def resume(
        name: str, subject: caller_of, scope: Annotated[DatasetScope, Query()]
    ) -> Mapping[str, Any]:
        """Answer the queries of a subject again; stopped queries are counted from zero."""
        require_role(subject, "admin")
        return _changed(_subjects(doors).resume, name, scope.dataset, subject.name)


def _changed(
    change: Callable[[str, str | None, str], Sequence[str]],
    name: str,
    dataset: str | None,
    actor: str,
) -> Mapping[str, Any]:
    try:
        datasets = change(name, dataset, actor)
    except OperatorError as error:
        what = (
            error.detail
            if error.code is Code.ARGUMENT_INVALID
            else f"subject `{name}` does not exist"
        )
        raise SyntaxRefused(Code.BAD_REQUEST, what, error.hint) from error
    return {"subject": name, "changed": bool(datasets), "datasets": list(datasets)}


def _subjects(doors: GatewayApi) -> SubjectApi:
    if doors.subjects is None:
        raise BackendUnavailable(Code.STATE_UNAVAILABLE, "no policies are loaded")
    return doors.subjects
