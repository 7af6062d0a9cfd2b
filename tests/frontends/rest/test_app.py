"""Every endpoint is open to its roles only, and every refusal has one shape and reveals no more than it may."""

import asyncio
import json
import re
from collections.abc import Callable, Iterator
from contextlib import closing
from datetime import timedelta
from fractions import Fraction
from typing import Any

import httpx
import pytest
from fix_gateway import (
    ALICE,
    BOB,
    CHEMIST,
    CLINIC,
    LABS,
    NASTY,
    TEAM,
    Client,
    Front,
    Installation,
    Serving,
    a_front,
    environment,
    limits,
    new_installation,
)
from fix_state import StateServer
from hypothesis import given
from hypothesis import strategies as st
from laws import for_each
from starlette.responses import StreamingResponse

from gateway.admin.actions import grant
from gateway.app import gateway_api
from gateway.errors import HTTP, TITLE, Code, Reason
from gateway.events import Crashed, LoginRefused
from gateway.frontends.rest.app import create_app
from gateway.requests.answer_json import display_number, display_remaining
from gateway.telemetry.metrics import Metrics
from gateway.units import Epsilon

ENDPOINTS = {"/healthz", "/readyz", "/metrics", "/v1/budget", "/v1/audit", "/v1/audit/verify"}
PROMISED = {
    *("/v1/query", "/v1/estimate", "/v1/datasets", "/v1/queries"),
    *("/v1/policies/check", "/v1/policies/reload"),
    *("/v1/subjects", "/v1/subjects/{name}/suspend", "/v1/subjects/{name}/resume"),
}
GUARDED = ("/v1/budget", "/v1/audit", "/v1/audit/verify")


@pytest.fixture(scope="module")
def open_door(
    state_server: StateServer, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Front]:
    """One front for the tests that only look."""
    with (
        new_installation(state_server, tmp_path_factory.mktemp("front")) as installation,
        a_front(installation) as front,
    ):
        front.clerk.ask(ALICE, "0.1", sql=NASTY)
        front.clerk.ask(CHEMIST, "0.1")
        yield front


def problem(answer: httpx.Response, status: int, code: str) -> dict[str, Any]:
    """The problem document of a refusal, after it was found to be one."""
    assert answer.status_code == status, answer.text
    assert answer.headers["content-type"] == "application/problem+json"
    said: dict[str, Any] = answer.json()
    assert list(said) == ["type", "title", "status", "code", "reason", "detail", "hint", "query_id"]
    assert (said["status"], said["code"]) == (status, code)
    assert said["title"] == TITLE[Code(code)]
    assert said["type"] == f"urn:gateway:error:{code}"
    assert said["detail"]
    Reason(said["reason"])
    return said


# ---- without a key ----


def test_healthz_answers_without_a_key(open_door: Front) -> None:
    """Whoever watches the process needs no key to do it."""
    answer = open_door.get("/healthz")
    assert answer.status_code == 200
    assert answer.json()["status"] == "ok"


def test_readyz_answers_when_questions_can_be_charged(open_door: Front) -> None:
    """Ready means: the state is there and not behind its anchor."""
    assert open_door.get("/readyz").json() == {"status": "ready"}


def test_readyz_refuses_when_the_state_is_down(front: Front) -> None:
    """A state that is gone is a 503, and the process is alive all the same."""
    installation = front.installation
    with installation.server.superuser() as connection:
        database = str(installation.urls.application.database)
        connection.execute(f'ALTER DATABASE "{database}" ALLOW_CONNECTIONS false')
        installation._disconnect(database)
        problem(front.get("/readyz"), 503, "GW601")
        for path in GUARDED:
            problem(front.get(path, "carol"), 503, "GW601")
        assert front.get("/healthz").status_code == 200
        assert front.get("/metrics").status_code == 200
        connection.execute(f'ALTER DATABASE "{database}" ALLOW_CONNECTIONS true')
    assert front.get("/readyz").status_code == 200


def test_readyz_refuses_when_the_state_is_behind_its_anchor(front: Front) -> None:
    """A state that was put back under a running gateway is noticed; the operator's words stay inside."""
    front.clerk.turn_away()
    front.installation.change(
        "DELETE FROM trail_records WHERE seq = (SELECT max(seq) FROM trail_records)"
    )
    said = problem(front.get("/readyz"), 503, "GW601")
    assert "anchor" not in str(said)
    assert str(front.installation.home) not in str(said)


def test_readyz_refuses_when_the_anchor_cannot_be_read(front: Front) -> None:
    """No charge could be anchored, so the gateway is not ready."""
    anchor = front.installation.home / "anchor"
    anchor.rename(front.installation.home / "kept")
    anchor.mkdir()
    problem(front.get("/readyz"), 503, "GW602")
    anchor.rmdir()
    (front.installation.home / "kept").rename(anchor)
    assert front.get("/readyz").status_code == 200


def test_metrics_count_events_and_say_nothing_else(front: Front) -> None:
    """Names and numbers of events: no subject, account, address, query or duration."""
    front.get("/v1/budget", headers={"Authorization": "Bearer wrong"})
    front.get("/v1/budget", "alice")
    front.clerk.ask(ALICE, "0.1")
    text = front.get("/metrics").text
    assert re.search(r'^gateway_events_total\{event="login.refused"\} 1.0$', text, re.MULTILINE)
    assert re.search(
        r'^gateway_events_total\{event="journal.committed"\} [1-9]', text, re.MULTILINE
    )
    assert set(re.findall(r"(\w+)=\"", text)) == {"event", "version", "outcome", "code"}
    names = {line.split("{")[0].split(" ")[0] for line in text.splitlines() if line[0] != "#"}
    assert names == {
        *("gateway_events_total", "gateway_events_created"),
        *("gateway_journal_steps_total", "gateway_journal_steps_created", "gateway_info"),
        *("gateway_questions_total", "gateway_questions_created"),
        *("gateway_overlap_refusals_total", "gateway_overlap_refusals_created"),
    }
    for forbidden in ("alice", "clinic", "192.0.2.7", "q-0001", "seconds", "duration"):
        assert forbidden not in text


def test_metrics_count_steps_when_several_share_a_commit(open_door: Front) -> None:
    """Steps divided by commits tell how well commits are shared."""

    def steps() -> float:
        text = open_door.get("/metrics").text
        found = re.search(r"^gateway_journal_steps_total (\S+)$", text, re.MULTILINE)
        assert found is not None
        return float(found[1])

    before = steps()
    open_door.clerk.turn_away()
    assert steps() == before + 1


# ---- who is calling ----


@for_each("path", GUARDED)
@for_each(
    "header",
    [
        None,
        "",
        "Basic YWxpY2U6eA==",
        "gwk_aaaaaaaaaaaa_" + "B" * 43,
        "Token x",
        "Bearer",
        "Bearer ",
    ],
)
def test_caller_is_refused_when_no_key_is_shown(
    open_door: Front, path: str, header: str | None
) -> None:
    """No credential of ours: 401, and the header says what is wanted."""
    headers = {} if header is None else {"Authorization": header}
    answer = open_door.get(path, headers=headers)
    said = answer.json()
    assert said["code"] in {"GW701", "GW703"}
    if said["code"] == "GW701":
        problem(answer, 401, "GW701")
        assert answer.headers["www-authenticate"] == "Bearer"


@pytest.mark.parametrize(
    "credential",
    [
        "wrong",
        "gwk_aaaaaaaaaaaa_" + "B" * 43,
        "gwk_" + "\xff" * 12,
        "x" * 30_000,
        "nullnull",
        "gwk_aaaaaaaaaaaa_" + "B" * 43 + ",x",
        "%00",
        "' OR 1=1 --",
    ],
)
def test_caller_is_refused_when_the_key_is_wrong(front: Front, credential: str) -> None:
    """A credential that is none of ours is a 401 whatever it looks like, and is not repeated."""
    header = b"Bearer " + credential.encode("latin-1")
    answer = front.client.get("/v1/budget", headers=[(b"authorization", header)])
    problem(answer, 401, "GW702")
    assert answer.headers["www-authenticate"] == "Bearer"
    assert credential not in answer.text
    assert credential not in str(front.records())


def test_caller_is_refused_alike_whatever_is_wrong_with_the_key(front: Front) -> None:
    """Unknown, wrong, expired, revoked, and of nobody any more: one answer, word for word."""
    expiring = front.clerk
    expiring.now -= timedelta(days=2)
    expired = expiring.key("alice", days=1).key.reveal()
    revoked = front.clerk.key("alice").key
    front.clerk.revoke(revoked.id)
    gone = front.clerk.key("ghost").key.reveal()
    real = front.keys["alice"].reveal()
    answers = {
        front.client.get("/v1/budget", headers={"Authorization": f"Bearer {shown}"}).text
        for shown in (
            "gwk_aaaaaaaaaaaa_" + "B" * 43,
            real[:-1] + ("A" if real[-1] != "A" else "B"),
            expired,
            revoked.reveal(),
            gone,
        )
    }
    assert len(answers) == 1
    assert json.loads(answers.pop())["code"] == "GW702"


def test_caller_is_refused_at_once_when_the_key_is_revoked(front: Front) -> None:
    """From one request to the next, without a restart."""
    assert front.get("/v1/budget", "alice").status_code == 200
    front.clerk.revoke(front.keys["alice"].id)
    problem(front.get("/v1/budget", "alice"), 401, "GW702")


def test_caller_is_refused_when_the_subject_was_removed(front: Front) -> None:
    """A key outlives its subject and opens nothing."""
    subjects = front.installation.home / "policies" / "subjects.yaml"
    subjects.write_text("bob: {}\n")
    app = create_app(gateway_api(front.foundation, Metrics()))
    with closing(Client(app)) as client:
        headers = {"Authorization": f"Bearer {front.keys['alice'].reveal()}"}
        problem(client.get("/v1/budget", headers=headers), 401, "GW702")


def test_caller_is_told_to_wait_when_it_fails_too_often(front: Front) -> None:
    """Too many failures are a 429 with `Retry-After`; a valid key still opens the door."""
    answers = [
        front.client.get("/v1/budget", headers={"Authorization": "Bearer wrong"}) for _ in range(40)
    ]
    assert [answer.status_code for answer in answers[:30]] == [401] * 30
    said = problem(answers[-1], 429, "GW703")
    assert said["reason"] == "limit_exceeded"
    assert answers[-1].headers["retry-after"] == "60"
    assert front.get("/v1/budget", "alice").status_code == 200
    refused = [record for record in front.records() if record["kind"] == "login_refused"]
    assert len(refused) == 31
    assert sum(isinstance(event, LoginRefused) for event in front.told) == 40


def test_failure_is_recorded_with_address_and_key_id_alone(front: Front) -> None:
    """The trail says from where somebody claimed to be which key, and never the secret."""
    front.get("/v1/budget", headers={"Authorization": "Bearer gwk_aaaaaaaaaaaa_" + "B" * 43})
    record = front.records()[-1]
    assert record["kind"] == "login_refused"
    assert record["about"] == {
        "front_end": "rest",
        "address": "192.0.2.7",
        "claimed": "aaaaaaaaaaaa",
        "code": "GW702",
    }
    assert "BBBB" not in str(record)


# ---- who may what ----


@for_each("who", ["alice", "bob", "dave", "eve", "chemist"])
@for_each("path", ["/v1/audit", "/v1/audit/verify"])
def test_trail_is_closed_when_the_role_is_another(open_door: Front, path: str, who: str) -> None:
    """Auditors read the trail; an administrator, who could have something to hide, does not."""
    said = problem(open_door.get(path, who), 403, "GW704")
    assert said["reason"] == "not_permitted"


def test_role_is_asked_for_before_the_parameters_are_understood(open_door: Front) -> None:
    """Without a key nobody learns what an endpoint takes, not even from a mistake."""
    answer = open_door.get("/v1/audit?limit=abc")
    assert answer.json()["code"] in {"GW701", "GW703"}


@pytest.mark.parametrize(
    ("who", "accounts"),
    [
        ("alice", {ALICE, TEAM, CLINIC}),
        ("bob", {BOB, CLINIC}),
        ("chemist", {CHEMIST, LABS}),
        ("eve", set()),
        ("carol", {ALICE, BOB, CHEMIST, TEAM, CLINIC, LABS}),
        ("dave", {ALICE, BOB, CHEMIST, TEAM, CLINIC, LABS}),
    ],
)
def test_budget_shows_the_accounts_that_concern_the_caller(
    open_door: Front, who: str, accounts: set[str]
) -> None:
    """An analyst sees what its questions are charged to, never a colleague's account."""
    found = open_door.get("/v1/budget", who).json()["accounts"]
    assert {one["account"] for one in found} == accounts


def test_budget_shows_nobody_elses_account_when_a_name_is_the_beginning_of_another(
    front: Front,
) -> None:
    """`al` is not `alice`, and what is in a name is no pattern."""
    (front.installation.home / "policies" / "subjects.yaml").write_text(
        "al: {}\nali_e: {}\nalice.b: {}\n"
    )
    app = create_app(gateway_api(front.foundation, Metrics()))
    with closing(Client(app)) as client:
        for name in ("al", "ali_e", "alice.b"):
            key = front.clerk.key(name).key.reveal()
            answer = client.get("/v1/budget", headers={"Authorization": f"Bearer {key}"})
            assert answer.json() == {"accounts": []}


@pytest.mark.parametrize(
    ("account", "who"), [(ALICE, "alice"), (CHEMIST, "chemist"), (TEAM, "alice")]
)
def test_budget_lists_accounts_with_limits_of_zero(front: Front, account: str, who: str) -> None:
    """An account that was closed after it spent fails no listing: its owner's, a team's, an administrator's."""
    front.clerk.ask(CHEMIST if account == CHEMIST else ALICE, "0.1")
    grant(
        front.foundation.journal,
        front.foundation.trail,
        account,
        limits("0", "0"),
        actor="dave",
        now=front.clerk.now,
    )
    for reader in (who, "carol", "dave"):
        answer = front.get("/v1/budget", reader)
        assert answer.status_code == 200, answer.text
        [one] = [one for one in answer.json()["accounts"] if one["account"] == account]
        assert (one["epsilon_limit"], one["epsilon_remaining"]) == (0, 0)
        assert one["promised"]["epsilon"] >= one["released"]["epsilon"] > 0
        assert one["released"]["delta"] == 1e-6


def test_budget_says_what_was_promised_of_an_account(open_door: Front) -> None:
    """The fields are those of the contract, in numbers."""
    found = {one["account"]: one for one in open_door.get("/v1/budget", "alice").json()["accounts"]}
    alice = found[ALICE]
    assert list(alice) == [
        *("account", "dataset", "epsilon_limit", "epsilon_spent", "epsilon_remaining"),
        *("delta_limit", "window", "promised", "released"),
    ]
    assert alice["promised"] == {"epsilon": 2, "delta": 1e-6}
    assert alice["released"] == {"epsilon": 0.1, "delta": 1e-6}
    assert (alice["dataset"], alice["epsilon_limit"], alice["delta_limit"]) == ("clinic", 2, 1e-6)
    assert (alice["epsilon_spent"], alice["epsilon_remaining"]) == (0.1, 1.9)
    window = alice["window"]
    assert (window["every"], window["epsilon_limit"], window["epsilon_remaining"]) == (
        "month",
        1.5,
        1.4,
    )
    assert window["reopens_at"].endswith("-01T00:00:00+00:00")
    assert found[TEAM]["window"] is None


def test_budget_numbers_have_at_most_15_digits_when_the_amounts_have_more(front: Front) -> None:
    """Every client reads the numbers as they were written, whatever it keeps numbers in."""
    front.clerk.limit(CHEMIST, limits("1.23456789012345678901", "1.2345678901234567e-7"))
    for price in ("0.1", "0.033333333333333333", "1e-9"):
        front.clerk.ask(CHEMIST, price)
    text = front.get("/v1/budget", "carol").text
    numbers = re.findall(r":(-?[0-9][0-9.eE+-]*)", text)
    assert len(numbers) >= 6 * 4
    for number_ in numbers:
        digits = re.sub(r"[eE].*", "", number_).replace(".", "").lstrip("0")
        assert len(digits.rstrip("0")) <= 15, number_


@given(
    value=st.fractions(min_value=0, max_value=10**6, max_denominator=10**30),
)
def test_remaining_is_never_more_than_there_is(value: Fraction) -> None:
    """What is shown as left can be had: it is rounded down, by less than a part in 10^13."""
    shown = Fraction(repr(display_remaining(Epsilon(value))))
    assert value * (1 - Fraction(1, 10**13)) <= shown <= value
    assert abs(Fraction(repr(display_number(Epsilon(value)))) - value) <= value * Fraction(
        1, 10**14
    )


# ---- the trail ----


def test_audit_gives_the_newest_records_oldest_first(open_door: Front) -> None:
    """As the command line does, with the same fields."""
    everything = open_door.records()
    records = open_door.get("/v1/audit", "carol").json()["records"]
    assert records == everything[-len(records) :]
    two = open_door.get("/v1/audit?limit=2", "carol").json()["records"]
    assert two == everything[-2:]
    page = open_door.get(f"/v1/audit?limit=3&before={two[0]['seq']}", "carol").json()["records"]
    assert page == everything[-5:-2]


def test_audit_filters_when_it_is_asked_to(open_door: Front) -> None:
    """Each filter narrows; text is matched as it is, however strange."""

    def found(**query: str) -> list[dict[str, Any]]:
        answer = open_door.get("/v1/audit", "carol", params=query)
        assert answer.status_code == 200, answer.text
        records: list[dict[str, Any]] = answer.json()["records"]
        return records

    assert {one["subject"] for one in found(subject="alice")} == {"alice"}
    (charged,) = found(kind="charged", subject="alice")
    assert charged["sql"] == NASTY
    assert found(query_id=charged["query_id"]) == [charged]
    assert found(kind="charged", dataset="clinic")
    assert found(since="2200-01-01") == []
    assert found(until="2000-01-01T00:00:00+02:00") == []
    assert found(since="2000-01-01", until="2200-01-01T00:00")
    for nothing in ("\0", "'; --", "%", "\u202e", "x" * 5000):
        assert found(subject=nothing) == []
        assert found(kind=nothing, query_id=nothing) == []
    assert found(before=str(10**40))


@for_each(
    "query",
    [
        *("limit=0", "limit=10001", "limit=abc", "limit=-1", "limit=1e3", "limit=", "limit=1.5"),
        *("before=0", "before=-1", "before=x", "limit=" + "9" * 5000),
        *("since=garbage", "since=", "until=2026-13-01", "since=infinity", "since=1e400"),
        *("unknown=1", "limit=1&Limit=2", "subject=a&frob=%00"),
    ],
)
def test_audit_is_refused_when_a_parameter_is_malformed(open_door: Front, query: str) -> None:
    """A mistake is a 400 that names the parameter, never a filter that is silently left out."""
    said = problem(open_door.get(f"/v1/audit?{query}", "carol"), 400, "GW705")
    name = query.rpartition("&")[2].partition("=")[0]
    assert said["detail"].startswith(f"query.{name}: ")
    assert len(said["detail"]) < 300


def test_audit_verify_says_what_the_command_says(front: Front) -> None:
    """An auditor needs no shell to know whether the trail is whole."""
    count = len(front.records())
    assert front.get("/v1/audit/verify", "carol").json() == {
        "intact": True,
        "records": count,
        "anchored": count,
        "problem": None,
        "first_bad": None,
    }
    front.installation.change("UPDATE trail_records SET body = body || ' ' WHERE seq = 3")
    verdict = front.get("/v1/audit/verify", "carol").json()
    assert (verdict["intact"], verdict["first_bad"], verdict["records"]) == (False, 3, 2)


# ---- what is not there, and what goes wrong ----


@for_each(
    "path",
    [
        *("/", "/v1", "/v1/", "/v2/budget", "/V1/budget", "/favicon.ico", "/v1/budget/alice"),
        *("/..%2f..%2fetc/passwd", "/%00", "/%ff%fe", "/v1/audit/verify/x", "/" + "x" * 20_000),
        *("/\u202e", "/%1b[2J"),
    ],
)
def test_endpoint_is_not_found_in_the_shape_of_a_problem(open_door: Front, path: str) -> None:
    """What is not there is a 404 like any other refusal, and needs no key to be one."""
    answer = open_door.get(path)
    problem(answer, 404, "GW706")
    assert answer.text.isprintable()


@for_each("method", ["POST", "PUT", "DELETE", "PATCH"])
@for_each("path", sorted(ENDPOINTS))
def test_endpoint_refuses_a_method_and_says_which_it_takes(
    open_door: Front, path: str, method: str
) -> None:
    """A wrong method is a 405 with the header `Allow`, whatever body comes with it."""
    answer = open_door.client.request(method, path, content=b"\xff" * 100_000)
    problem(answer, 405, "GW708")
    assert answer.headers["allow"] == "GET"


def test_endpoint_reads_no_body_and_takes_large_headers(open_door: Front) -> None:
    """What is not asked for is not looked at."""
    answer = open_door.client.request(
        "GET",
        "/v1/budget",
        content=b"{" * 1_000_000,
        headers={
            "Authorization": f"Bearer {open_door.keys['eve'].reveal()}",
            "X-Large": "x" * 50_000,
            "Content-Type": "application/json",
        },
    )
    assert answer.json() == {"accounts": []}


def test_incident_tells_an_id_and_nothing_else_when_we_have_a_bug(front: Front) -> None:
    """What we did wrong is in the operator's log, under the id that the client was given."""

    @front.app.get("/bug")
    def bug() -> None:
        raise ValueError(f"secret {NASTY}")

    answer = front.get("/bug")
    said = problem(answer, 500, "GW901")
    assert "secret" not in answer.text
    assert "ValueError" not in answer.text
    incident = re.fullmatch(r"incident ([0-9a-f]{16})", said["detail"])
    assert incident is not None
    (crashed,) = (event for event in front.told if isinstance(event, Crashed))
    assert crashed.incident == incident[1]
    assert "ValueError: secret" in crashed.problem
    again = problem(front.get("/bug"), 500, "GW901")
    assert again["detail"] != said["detail"]
    assert 'event="gateway.crashed"} 2.0' in front.get("/metrics").text


def test_incident_is_logged_when_the_answer_had_begun(front: Front) -> None:
    """A bug in the middle of an answer cannot become a 500, and is not lost either."""

    @front.app.get("/half")
    def half() -> StreamingResponse:
        def lines() -> Iterator[str]:
            yield "one\n"
            raise ValueError("secret")

        return StreamingResponse(lines())

    sent: list[Any] = []

    async def receive() -> Any:  # noqa: ANN401  # an ASGI message
        await asyncio.sleep(0)
        return {"type": "http.request"}

    async def send(message: Any) -> None:  # noqa: ANN401  # an ASGI message
        await asyncio.sleep(0)
        sent.append(message)

    scope = {"type": "http", "method": "GET", "path": "/half", "headers": [], "query_string": b""}
    asyncio.run(front.app(scope, receive, send))
    assert [message["type"] for message in sent] == ["http.response.start", "http.response.body"]
    assert "secret" not in str(sent)
    assert [event.problem for event in front.told if isinstance(event, Crashed)]


def test_every_code_has_a_status_that_a_client_understands() -> None:
    """Statuses follow the contract: 4xx for what the caller can change, 5xx for what it cannot."""
    for code, status in HTTP.items():
        assert 400 <= status < 600, code


# ---- the document that describes it all ----


def test_openapi_lists_every_endpoint_and_can_be_followed(open_door: Front) -> None:
    """The document is complete, each reference in it leads somewhere, and refusals are problems."""
    document = open_door.get("/openapi.json").json()
    assert document["openapi"].startswith("3.")
    assert set(document["paths"]) >= ENDPOINTS
    assert set(document["paths"]) <= ENDPOINTS | PROMISED
    operations = [one for path in document["paths"].values() for one in path.values()]
    ids = [one["operationId"] for one in operations]
    assert len(set(ids)) == len(ids)
    for reference in re.findall(r'"\$ref": ?"#/([^"]+)"', json.dumps(document)):
        place = document
        for step in reference.split("/"):
            place = place[step]
    for one in operations:
        assert one["summary"]
        assert "422" not in one["responses"]
        assert "application/problem+json" in one["responses"]["default"]["content"]
    for path in GUARDED:
        assert document["paths"][path]["get"]["security"]
    parameters = {one["name"] for one in document["paths"]["/v1/audit"]["get"]["parameters"]}
    assert {
        "subject",
        "kind",
        "dataset",
        "query_id",
        "since",
        "until",
        "before",
        "limit",
    } == parameters
    content = document["paths"]["/metrics"]["get"]["responses"]["200"]["content"]
    assert set(content) == {"text/plain"}
    assert open_door.get("/docs").status_code == 200


# ---- through a real socket ----


def test_rest_answers_over_a_real_socket_and_believes_no_header(
    installation: Installation, serve: Callable[..., Serving]
) -> None:
    """The address in the trail is the peer's, never what the peer says it is."""
    serving = serve(env=environment(installation))
    url = serving.url()
    forged = {
        "X-Forwarded-For": "203.0.113.66",
        "Forwarded": "for=203.0.113.66",
        "X-Real-IP": "203.0.113.66",
        "Authorization": "Bearer wrong",
    }
    problem(httpx.get(f"{url}/v1/budget", headers=forged), 401, "GW702")
    ((about,),) = installation.rows(
        "SELECT body::jsonb -> 'about' FROM trail_records WHERE kind = 'login_refused'"
    )
    assert isinstance(about, dict)
    assert about["address"] == "127.0.0.1"
    answer = httpx.get(f"{url}/healthz")
    assert "server" not in answer.headers


def test_rest_survives_what_is_no_http(
    installation: Installation, serve: Callable[..., Serving]
) -> None:
    """Garbage, endless headers and half a request end that connection and nothing else."""
    serving = serve(env=environment(installation))
    url = httpx.URL(serving.url())

    async def throw(garbage: bytes) -> bytes:
        reader, writer = await asyncio.open_connection(url.host, url.port)
        try:
            writer.write(garbage)
            await writer.drain()
            return await asyncio.wait_for(reader.read(1 << 16), 10)
        except ConnectionError:
            return b""
        finally:
            writer.close()

    for garbage in (
        b"\x00" * 1000,
        b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03" + b"\xff" * 500,
        b"GET / HTTP/9.9\r\n\r\n",
        b"GET /healthz HTTP/1.1\r\n" + b"X: " + b"y" * 300_000 + b"\r\n\r\n",
        b"GET /" + b"x" * 300_000 + b" HTTP/1.1\r\nHost: x\r\n\r\n",
        b"POST /v1/budget HTTP/1.1\r\nHost: x\r\nContent-Length: -1\r\n\r\n",
        b"POST /v1/budget HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n",
    ):
        answer = asyncio.run(throw(garbage))
        assert b" 200 " not in answer.split(b"\r\n")[0]
        assert b"Traceback" not in answer
    assert httpx.get(f"{url}/healthz").status_code == 200
    assert not [line for line in serving.log if line["event"] == "gateway.crashed"]
