"""REST authentication: the bearer key of a request, and the role that an endpoint requires."""

from collections.abc import Callable
from typing import Annotated

from fastapi import Depends, Request
from fastapi.security import HTTPBearer
from fastapi.security.http import HTTPAuthorizationCredentials

from gateway.auth.authenticator import Authenticator
from gateway.errors import Code, NotPermitted
from gateway.policy.subjects import Subject

_bearer = HTTPBearer(auto_error=False, description="an API key: `gateway key create`")


def caller_dependency(authenticator: Authenticator[Subject]) -> Callable[..., Subject]:
    """The FastAPI dependency that returns an endpoint's subject."""

    def authenticated(
        request: Request,
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
