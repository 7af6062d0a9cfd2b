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

from gateway.frontends.rest import schemas as shapes
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
    found = [getattr(shapes, one["$ref"].rpartition("/")[2]) for one in options]
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
    shapes.AnswerShape.model_validate(asking.query().json())
    shapes.EstimateShape.model_validate(asking.query(dry_run=True).json())


def test_docs_load_nothing_from_elsewhere(asking: Asking) -> None:
    """The page comes from this process alone, and its policy lets it be nothing else."""
    answer = asking.get("/docs", None)
    assert answer.status_code == 200
    assert answer.headers["content-type"] == "text/html; charset=utf-8"
    page = answer.text
    assert re.findall(r"""(?:src|href|url|action)\s*[=(]\s*["']?([^"'\s>)]+)""", page) == [
        "openapi.json"
    ]
    assert "//" not in page
    policy = dict(
        part.split(" ", 1) for part in answer.headers["content-security-policy"].split("; ")
    )
    assert policy["default-src"] == "'none'"
    assert policy["connect-src"] == "'self'"
    for name, tag in (("script-src", "script"), ("style-src", "style")):
        ((inline),) = re.findall(rf"<{tag}>(.*?)</{tag}>", page, re.DOTALL)
        digest = base64.b64encode(hashlib.sha256(inline.encode()).digest()).decode()
        assert policy[name] == f"'sha256-{digest}'"
    for forbidden in ("innerHTML", "outerHTML", "insertAdjacent", "document.write", "eval("):
        assert forbidden not in page
    assert not re.search(r"\son[a-z]+\s*=", page)
    assert "style=" not in page


@pytest.mark.parametrize("path", ["/redoc", "/docs/oauth2-redirect"])
def test_pages_of_the_framework_are_not_there(asking: Asking, path: str) -> None:
    """They would load scripts from somebody else's machine."""
    assert asking.get(path, None).status_code == 404
