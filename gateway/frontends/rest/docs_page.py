"""`/docs`: FastAPI's page over the OpenAPI document, with Swagger UI from a wheel, all from this process.

INVARIANT: the page loads nothing but `openapi.json` and two files of that wheel, and runs no other script: its
policy names the hash of the one that starts it, and lets nothing be evaluated or asked for elsewhere.
"""

import base64
import hashlib
import re
from importlib.metadata import distribution
from typing import Any, Final

from fastapi import FastAPI
from fastapi.openapi.docs import get_swagger_ui_html
from fastapi.responses import FileResponse, HTMLResponse

from gateway.frontends.rest.schemas import EXAMPLES

_ASSETS: Final = {"swagger-ui-bundle.js": "text/javascript", "swagger-ui.css": "text/css"}
_PLACE: Final = distribution("fastapi-swagger").locate_file("fastapi_swagger/resources")
_NO_SNIFFING: Final = {"X-Content-Type-Options": "nosniff"}


class DocumentedApp(FastAPI):
    """Adds the examples last: FastAPI leaves out their null values."""

    def openapi(self) -> dict[str, Any]:
        document = super().openapi()
        for path, (method, example) in EXAMPLES.items():
            content = document["paths"][path][method]["responses"]["200"]["content"]
            content["application/json"]["example"] = example
        return document


def add_documentation(app: FastAPI) -> None:
    @app.get("/docs", include_in_schema=False, response_class=HTMLResponse)
    def docs() -> HTMLResponse:
        return _page()

    for name, media_type in _ASSETS.items():
        _add_asset(app, name, media_type)


def _add_asset(app: FastAPI, name: str, media_type: str) -> None:
    @app.get(f"/docs/{name}", include_in_schema=False, response_class=FileResponse)
    def asset() -> FileResponse:
        return FileResponse(f"{_PLACE}/{name}", media_type=media_type, headers=_NO_SNIFFING)


def _page() -> HTMLResponse:
    """Its addresses are relative, so that it works behind a proxy that puts a path before them."""
    page = get_swagger_ui_html(
        openapi_url="openapi.json",
        title="Gateway: the REST interface",
        swagger_js_url="docs/swagger-ui-bundle.js",
        swagger_css_url="docs/swagger-ui.css",
        swagger_favicon_url="data:,",
        # no document is sent to a validator elsewhere; no address of the page names another document
        swagger_ui_parameters={"validatorUrl": None, "queryConfigEnabled": False},
    )
    page.headers.update(_NO_SNIFFING)
    page.headers["Referrer-Policy"] = "no-referrer"
    page.headers["Content-Security-Policy"] = _policy(bytes(page.body).decode())
    return page


def _policy(page: str) -> str:
    """What the page may load and run: this process's files, and the one script that stands in it."""
    (script,) = re.findall(r"<script>(.*?)</script>", page, re.DOTALL)
    digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    return "; ".join(
        (
            "default-src 'none'",
            f"script-src 'self' 'sha256-{digest}'",
            "style-src 'self'",
            "img-src data:",
            "connect-src 'self'",
            "base-uri 'none'",
            "form-action 'none'",
            "frame-ancestors 'none'",
        )
    )
