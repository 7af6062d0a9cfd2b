"""Administrators check and reload policies over REST; nobody else does."""

import asyncio
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

import httpx
import pytest
from fastapi import FastAPI
from fix_policy import BASE
from fix_state import settings_on
from pydantic import SecretStr

from gateway.admin.instance import open_foundation
from gateway.admin.key_actions import create_key
from gateway.app import gateway_api, open_policies
from gateway.auth.key_store import KeyOrder
from gateway.frontends.rest.app import create_app
from gateway.state.open import StateUrls
from gateway.telemetry.metrics import Metrics

SUBJECTS = "alice: {role: researcher, region: north}\ndave: {role: admin}\n"


@dataclass
class Office:
    place: Path
    app: FastAPI
    keys: dict[str, str]

    def post(self, path: str, who: str | None) -> httpx.Response:
        return self.ask("POST", f"/v1/policies/{path}", who)

    def ask(self, method: str, path: str, who: str | None) -> httpx.Response:
        headers = {} if who is None else {"Authorization": f"Bearer {self.keys[who]}"}

        async def ask() -> httpx.Response:
            wire = httpx.ASGITransport(self.app)
            async with httpx.AsyncClient(transport=wire, base_url="http://gateway") as client:
                return await client.request(method, path, headers=headers)

        return asyncio.run(ask())

    def write(self, old: str, new: str) -> None:
        (self.place / "clinic.yaml").write_text(BASE.replace(old, new))


@contextmanager
def open_office(urls: StateUrls, place: Path) -> Iterator[Office]:
    policies = place / "policies"
    policies.mkdir()
    (policies / "clinic.yaml").write_text(BASE)
    (policies / "subjects.yaml").write_text(SUBJECTS)
    settings = settings_on(
        urls, place, policies=policies, audit_key=SecretStr("the audit key of the tests, 32 b")
    )
    with open_foundation(settings) as foundation:
        current = open_policies(
            foundation, environment={"CLINIC_URL": f"duckdb:///{place}/nothing.duckdb"}
        )
        keys = {}
        for name in current.value.subjects:
            order = KeyOrder(name, "os:op", datetime.now(UTC))
            create_key(foundation.journal, foundation.trail, order, lambda _: True)
            keys[name] = order.key.reveal()
        app = create_app(gateway_api(foundation, Metrics(), policies=current))
        yield Office(policies, app, keys)


@pytest.fixture
def office(state_urls: StateUrls, tmp_path: Path) -> Iterator[Office]:
    with open_office(state_urls, tmp_path) as office:
        yield office


def test_policies_are_for_administrators(office: Office) -> None:
    """An analyst learns nothing of policies, and changes nothing."""
    for path in ("check", "reload"):
        assert office.post(path, "alice").status_code == 403
        assert office.post(path, None).status_code == 401


def test_check_tells_what_a_reload_would_find(office: Office) -> None:
    """Every problem with its place; nothing changes."""
    answer = office.post("check", "dave").json()
    assert (answer["valid"], answer["datasets"], answer["problems"]) == (False, ["clinic"], [])
    assert [one["dataset"] for one in answer["unreachable"]] == ["clinic"]
    office.write("step: 1}", "step: 3}")
    answer = office.post("check", "dave").json()
    assert not answer["valid"]
    (problem,) = answer["problems"]
    assert (problem["line"], problem["column"]) == (16, 87)


def test_reload_puts_files_in_force_or_says_why_not(office: Office) -> None:
    """Old policies stay in force; new subjects may log in at once, gone ones no more."""
    first = office.post("reload", "dave").json()
    assert (first["valid"], first["changed"]) == (True, False)
    office.write("step: 1}", "step: 3}")
    second = office.post("reload", "dave").json()
    assert (second["valid"], second["hash"]) == (False, first["hash"])
    office.write("unit: patient", "unit: household")
    third = office.post("reload", "dave").json()
    assert (third["valid"], third["hash"]) == (False, first["hash"])
    office.write("{epsilon: 10,", "{epsilon: 9,")
    (office.place / "subjects.yaml").write_text("dave: {role: admin}\n")
    fourth = office.post("reload", "dave").json()
    assert (fourth["valid"], fourth["changed"]) == (True, True)
    assert fourth["hash"] != first["hash"]
    assert office.post("check", "alice").status_code == 401


def test_administrators_suspend_and_resume_subjects(office: Office) -> None:
    """They see everybody, suspend somebody on one dataset or on all, and lift it; unknown names are told."""

    def change(path: str) -> object:
        answer = office.ask("POST", f"/v1/subjects/{path}", "dave")
        assert answer.status_code == 200, answer.text
        return answer.json()["datasets"]

    assert change("alice/suspend?dataset=clinic") == ["clinic"]
    assert change("alice/suspend?dataset=clinic") == []
    assert change("alice/suspend") == ["*"]
    told = office.ask("GET", "/v1/subjects", "dave").json()["subjects"]
    assert {one["subject"]: one["role"] for one in told} == {"alice": "researcher", "dave": "admin"}
    suspended = {one["subject"]: one["suspended"] for one in told}
    assert [(one["dataset"], one["by"]) for one in suspended["alice"]] == [
        (None, "dave"),
        ("clinic", "dave"),
    ]
    assert change("alice/resume") == ["*", "clinic"]
    assert change("alice/resume") == []
    assert office.ask("POST", "/v1/subjects/nobody/suspend", "dave").status_code == 400
    mistyped = office.ask("POST", "/v1/subjects/alice/suspend?dataset=clinik", "dave")
    assert mistyped.status_code == 400
    assert "clinik" in mistyped.json()["detail"]


@pytest.mark.parametrize("path", ["", "/alice/suspend", "/alice/resume"])
def test_subjects_are_for_administrators(office: Office, path: str) -> None:
    """Nobody else sees who is suspended, or changes it."""
    method = "POST" if path else "GET"
    assert office.ask(method, f"/v1/subjects{path}", "alice").status_code == 403
    assert office.ask(method, f"/v1/subjects{path}", None).status_code == 401
