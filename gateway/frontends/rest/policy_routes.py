"""Policy endpoints for administrators: check the policy files, and put them in force."""

from collections.abc import Mapping
from typing import Annotated, Any

from fastapi import Depends, FastAPI

from gateway.errors import BackendUnavailable, Code
from gateway.frontends.rest.auth import caller_dependency, require_role
from gateway.frontends.rest.gateway_api import GatewayApi, PolicyApi
from gateway.policy.subjects import Subject


def add_policies(app: FastAPI, doors: GatewayApi) -> None:
    @app.post("/v1/policies/check", tags=["policies"])
    def check(
        subject: Annotated[Subject, Depends(caller_dependency(doors.authenticator))],
    ) -> Mapping[str, Any]:
        """What a reload would find: every problem with its place; nothing changes."""
        require_role(subject, "admin")
        return _door(doors).check()

    @app.post("/v1/policies/reload", tags=["policies"])
    def reload(
        subject: Annotated[Subject, Depends(caller_dependency(doors.authenticator))],
    ) -> Mapping[str, Any]:
        """Put the files in force, all or none; with problems, what was in force still is."""
        require_role(subject, "admin")
        return _door(doors).reload(subject.name)


def _door(doors: GatewayApi) -> PolicyApi:
    if doors.policies is None:
        raise BackendUnavailable(Code.STATE_UNAVAILABLE, "no policies are loaded")
    return doors.policies
