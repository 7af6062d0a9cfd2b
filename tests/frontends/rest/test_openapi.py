"""The document of the interface: every endpoint for questions is there with examples that are true."""

import base64
import hashlib
import re
from collections.abc import Iterator, Mapping
from contextlib import closing
from typing import Any

import pytest
from fix_gateway import Client
from frontends.rest.stub_questions import Asking, Behind
from pydantic import TypeAdapter, ValidationError

from gateway.frontends.rest import openapi
from gateway.frontends.rest.request_body import QueryBody

ENDPOINTS = {
    ("/v1/query", "post"),
    ("/v1/estimate", "post"),
    ("/v1/datasets", "get"),
    ("/v1/queries", "get"),
}


@pytest.fixture(scope="module")
def asking() -> Iterator[Asking]:
    behind = Behind()
    with closing(Client(behind.app())) as client:
        yield Asking(behind, client)


@pytest.fixture(scope="module")
def document(asking: Asking) -> Mapping[str, Any]:
    told: Mapping[str, Any] = asking.get("/openapi.json", None).json()
    return told


def _operations(document: Mapping[str, Any]) -> dict[tuple[str, str], Mapping[str, Any]]:
    return {
        (path, method): one
        for path, methods in document["paths"].items()
        for method, one in methods.items()
        if one.get("tags") == ["questions"]
    }


def _shape(content: Mapping[str, Any]) -> TypeAdapter[Any]:
    """The model that the document says an answer is of."""
    options = content["schema"].get("anyOf", [content["schema"]])
    found = [getattr(openapi, one["$ref"].rpartition("/")[2]) for one in options]
    union: Any = found[0]
    for one in found[1:]:
        union |= one
    return TypeAdapter(union)


def test_openapi_shows_an_example_of_every_answer_that_fits_its_own_model(
    document: Mapping[str, Any],
) -> None:
    """Whoever copies an example has something that is right; a field too many is noticed."""
    operations = _operations(document)
    assert set(operations) == ENDPOINTS
    for one in operations.values():
        content = one["responses"]["200"]["content"]["application/json"]
        adapter = _shape(content)
        adapter.validate_python(content["example"])
        with pytest.raises(ValidationError):
            adapter.validate_python(content["example"] | {"suppressed": 3})
        assert one["security"]


def test_openapi_shows_a_question_that_can_be_asked(
    asking: Asking, document: Mapping[str, Any]
) -> None:
    """The example of a body is accepted, and the schema names every field there is."""
    for (path, method), one in _operations(document).items():
        if method != "post":
            continue
        content = one["requestBody"]["content"]["application/json"]
        assert set(content["schema"]["properties"]) == set(QueryBody.model_fields)
        assert set(content["example"]) < set(QueryBody.model_fields)
        assert content["schema"]["required"] == ["sql"]
        assert content["schema"]["additionalProperties"] is False
        assert asking.post(path, content["example"]).status_code == 200
        names = [each["name"] for each in one["parameters"]]
        assert names == (["Idempotency-Key"] if path == "/v1/query" else [])
    assert asking.request.parameters == ("1960",)


def test_answers_fit_the_models_of_the_document(asking: Asking) -> None:
    """What is told of an answer is what it is."""
    openapi.AnswerShape.model_validate(asking.query().json())
    openapi.EstimateShape.model_validate(asking.query(dry_run=True).json())


def test_docs_load_nothing_from_elsewhere(asking: Asking) -> None:
    """The page and what it loads come from this process alone, and its policy lets it be nothing else."""
    answer = asking.get("/docs", None)
    assert answer.status_code == 200
    assert answer.headers["content-type"] == "text/html; charset=utf-8"
    page = answer.text
    loaded = re.findall(r"""\b(?:src|href|url|action)\s*[=:(]\s*["']?([^"'\s>)]+)""", page)
    assert sorted(loaded) == [
        *("data:,", "docs/swagger-ui-bundle.js", "docs/swagger-ui.css"),
        "openapi.json",
    ]
    assert "//" not in page
    assert '"validatorUrl": null' in page
    policy = dict(
        part.split(" ", 1) for part in answer.headers["content-security-policy"].split("; ")
    )
    ((inline),) = re.findall(r"<script>(.*?)</script>", page, re.DOTALL)
    digest = base64.b64encode(hashlib.sha256(inline.encode()).digest()).decode()
    assert policy == {
        "default-src": "'none'",
        "script-src": f"'self' 'sha256-{digest}'",
        "style-src": "'self'",
        "img-src": "data:",
        "connect-src": "'self'",
        **dict.fromkeys(("base-uri", "form-action", "frame-ancestors"), "'none'"),
    }
    assert not re.search(r"\son[a-z]+\s*=", page)
    assert "style" not in page.replace("stylesheet", "")


@pytest.mark.parametrize(
    ("name", "media_type", "has"),
    [
        ("swagger-ui-bundle.js", "text/javascript", b"SwaggerUIBundle"),
        ("swagger-ui.css", "text/css", b".swagger-ui"),
    ],
)
def test_docs_have_their_files_at_hand(
    asking: Asking, name: str, media_type: str, has: bytes
) -> None:
    """What the page names is there, of the kind that a browser takes from it, without a network."""
    answer = asking.get(f"/docs/{name}", None)
    assert answer.status_code == 200
    assert answer.headers["content-type"].partition(";")[0] == media_type
    assert answer.headers["x-content-type-options"] == "nosniff"
    assert has in answer.content
    assert b"url(http" not in answer.content


@pytest.mark.parametrize("path", ["/redoc", "/docs/oauth2-redirect"])
def test_pages_of_the_framework_are_not_there(asking: Asking, path: str) -> None:
    """They would load scripts from somebody else's machine."""
    assert asking.get(path, None).status_code == 404
