"""OpenAPI of the REST front end: the response schemas of the query endpoints, and the page `/docs`.

Each schema has an example on the sample clinic. Tests hold every answer against these schemas. The page is
FastAPI's, with Swagger UI from a wheel, all from this process.

INVARIANT: the page loads nothing but `openapi.json` and two files of that wheel, and runs no other script: its
policy names the hash of the one that starts it, and lets nothing be evaluated or asked for elsewhere.
"""

import base64
import hashlib
import re
from importlib.metadata import distribution
from typing import Annotated, Any, Final, Literal

from fastapi import FastAPI
from fastapi.openapi.docs import get_swagger_ui_html
from fastapi.responses import FileResponse, HTMLResponse
from pydantic import BaseModel, ConfigDict, Field

Cell = bool | int | float | str | None
Way = Literal["same", "rollup", "filter"]
Ends = Annotated[list[float | str], Field(min_length=2, max_length=2)]


class _Shape(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True)


class ColumnShape(_Shape):
    """`type` is PostgreSQL's name; of what is exact there is no mechanism and no scale.

    `rank_error` is there for quantiles, MIN, MAX, MODE and DP_TOP, and for arrays of them.
    """

    name: str
    type: str
    noisy: bool
    mechanism: str | None = None
    scale: float | str | None = None
    rank_error: int | None = None


class ClippedShape(_Shape):
    """The norm up to which a unit counts in full, and over which tables and keys; null where a share is not known."""

    over: str
    limit: float
    units: float | None
    units_at_most: float | None
    rows: float | None


class PrivacyShape(_Shape):
    """`reused` is how the answer came from answers that were given before, null where something was measured anew.

    `clipped` is null where every unit counts in full.
    """

    epsilon: float
    charged_epsilon: float
    rho: float | None = None
    delta: float
    reused: Way | None
    clipped: list[ClippedShape] | None


class WindowShape(_Shape):
    every: str
    epsilon_limit: float
    epsilon_spent: float
    epsilon_remaining: float
    reopens_at: str


class GuaranteeShape(_Shape):
    """`epsilon` is null where no epsilon holds."""

    epsilon: float | None
    delta: float


class AccountShape(_Shape):
    account: str
    dataset: str
    epsilon_limit: float
    epsilon_spent: float
    epsilon_remaining: float
    delta_limit: float
    window: WindowShape | None
    promised: GuaranteeShape
    released: GuaranteeShape


class AccountsShape(_Shape):
    accounts: list[AccountShape]


class AnswerShape(_Shape):
    """`intervals` are 95 % and shaped like `rows`."""

    query_id: str
    columns: list[ColumnShape]
    rows: list[list[Cell]]
    intervals: list[list[Ends | None]]
    privacy: PrivacyShape
    budget: AccountsShape
    notices: list[str]


class ExpectedShape(_Shape):
    """`promised_margin` is there with `accuracy`: the margin at its confidence, at this price. `expected_loss` is the share of
    its rows that a total loses to weights, where a histogram of norms tells it. `before_histogram`: the query would buy a histogram
    first, so its margin may be much larger or smaller than this one.
    """

    name: str
    expected_margin_95: float | str | None
    promised_margin: float | str | None = None
    expected_rank_error_95: int | None = None
    expected_loss: float | None = None
    before_histogram: bool = False


class EstimateShape(_Shape):
    """`price` is what would be charged now, `reused` how the question would be answered from earlier answers."""

    decision: Literal["permit"]
    price: float
    reused: Way | None
    columns: list[ExpectedShape]
    notices: list[str]


class UsableColumnShape(_Shape):
    """`domain` is there when the policy bounds the column; `use` says what it may be used for, and `levels` how coarsely."""

    model_config = ConfigDict(extra="allow", strict=True)

    name: str
    type: str
    use: list[str]


class UsableTableShape(_Shape):
    table: str
    columns: list[UsableColumnShape]


class DatasetShape(_Shape):
    dataset: str
    tables: list[UsableTableShape]


class DatasetsShape(_Shape):
    datasets: list[DatasetShape]


class PastClippedShape(_Shape):
    over: str
    limit: float


class PastShape(_Shape):
    query_id: str
    at: str
    sql: str
    outcome: str
    reason: str | None = None
    charged_epsilon: float
    clipped: list[PastClippedShape] | None = None


class QueriesShape(_Shape):
    queries: list[PastShape]


QUESTION: Final[dict[str, Any]] = {
    "sql": "SELECT region, count(*) FROM patients WHERE birth_year < $1 GROUP BY region",
    "dataset": "clinic",
    "purpose": "care-quality",
    "epsilon": 0.05,
    "params": [1960],
}
_ACCOUNT: Final[dict[str, Any]] = {
    "account": "analyst:alice@clinic",
    "dataset": "clinic",
    "epsilon_limit": 2.0,
    "epsilon_spent": 0.05,
    "epsilon_remaining": 1.95,
    "delta_limit": 1e-6,
    "window": {
        "every": "month",
        "epsilon_limit": 0.5,
        "epsilon_spent": 0.05,
        "epsilon_remaining": 0.45,
        "reopens_at": "2026-02-01T00:00:00+00:00",
    },
    "promised": {"epsilon": 5.61, "delta": 1e-6},
    "released": {"epsilon": 0.988, "delta": 1e-6},
}
ANSWER: Final[dict[str, Any]] = {
    "query_id": "5d1f0c6a9b7e4c2233445566",
    "columns": [
        {"name": "region", "type": "text", "noisy": False},
        {
            "name": "count",
            "type": "bigint",
            "noisy": True,
            "mechanism": "discrete_laplace",
            "scale": 20.0,
        },
    ],
    "rows": [["east", 2489], ["north", 2517]],
    "intervals": [[None, [2429.0, 2549.0]], [None, [2457.0, 2577.0]]],
    "privacy": {
        "epsilon": 0.05,
        "charged_epsilon": 0.05,
        "delta": 0.0,
        "reused": None,
        "clipped": None,
    },
    "budget": {"accounts": [_ACCOUNT]},
    "notices": [],
}
ESTIMATE: Final[dict[str, Any]] = {
    "decision": "permit",
    "price": 0.05,
    "reused": None,
    "columns": [
        {"name": "region", "expected_margin_95": None},
        {"name": "count", "expected_margin_95": 60.0},
    ],
    "notices": [],
}
DATASETS: Final[dict[str, Any]] = {
    "datasets": [
        {
            "dataset": "clinic",
            "tables": [
                {
                    "table": "patients",
                    "columns": [
                        {
                            "name": "region",
                            "type": "text",
                            "domain": {"in": ["north", "east", "south", "west"]},
                            "use": ["aggregate", "group_by", "filter"],
                        }
                    ],
                }
            ],
        }
    ]
}
QUERIES: Final[dict[str, Any]] = {
    "queries": [
        {
            "query_id": "445566778899aabbccddeeff",
            "at": "2026-01-31T12:30:00+00:00",
            "sql": QUESTION["sql"],
            "outcome": "reused",
            "charged_epsilon": 0.0,
        },
        {
            "query_id": "5d1f0c6a9b7e4c2233445566",
            "at": "2026-01-31T12:00:00+00:00",
            "sql": QUESTION["sql"],
            "outcome": "answered",
            "charged_epsilon": 0.05,
        },
        {
            "query_id": "0a9b7e4c22334455665d1f0c",
            "at": "2026-01-31T11:59:00+00:00",
            "sql": "SELECT * FROM patients",
            "outcome": "refused",
            "reason": "not_aggregate",
            "charged_epsilon": 0.0,
        },
    ]
}
EXAMPLES: Final[dict[str, tuple[str, dict[str, Any]]]] = {
    "/v1/query": ("post", ANSWER),
    "/v1/estimate": ("post", ESTIMATE),
    "/v1/datasets": ("get", DATASETS),
    "/v1/queries": ("get", QUERIES),
}


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
