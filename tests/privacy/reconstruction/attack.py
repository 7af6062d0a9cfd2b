"""A gateway that listens, and somebody with an ordinary key who asks it about subsets until the budget is gone."""

import json
import threading
from collections.abc import Iterable, Iterator, Mapping
from contextlib import closing, contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime
from http.client import HTTPConnection
from itertools import islice
from pathlib import Path
from typing import Any

from fix_state import AUDIT_SECRET, StateServer, settings_on
from privacy.reconstruction.guessing import guessed, right
from privacy.reconstruction.people import SUBJECTS, Bools, People, in_duckdb, policy
from privacy.reconstruction.subsets import Subset, subsets
from pydantic import SecretStr

from gateway.admin.instance import Foundation, open_foundation
from gateway.admin.key_actions import create_key
from gateway.app import gateway_api, open_policies, open_query_api
from gateway.auth.key_store import KeyOrder
from gateway.frontends.rest.app import create_app
from gateway.frontends.rest.listen import StopSignal, bind_socket, serve_until
from gateway.telemetry.metrics import Metrics
from gateway.twin import Twin

_PATIENCE_S = 60
_REFUSED = frozenset({403, 422, 429})  # anything else is no answer to a question


@dataclass(frozen=True)
class Way:
    """A dataset: how its noise is made, what there is to spend, and whether questions are held against each other."""

    mechanism: str
    budget: str
    price: str
    audit: str


@dataclass(frozen=True)
class Attacked:
    """Where it listens, and who is in it."""

    port: int
    key: str = field(repr=False)
    people: People = field(repr=False)


@contextmanager
def attacked(
    server: StateServer, twin: Twin, home: Path, people: People, ways: Mapping[str, Way]
) -> Iterator[Attacked]:
    """The same people in every dataset."""
    policies, environment = home / "policies", {}
    policies.mkdir()
    (policies / "subjects.yaml").write_text(SUBJECTS)
    for name, way in ways.items():
        url = in_duckdb(people, home / f"{name}.duckdb")
        environment[name.upper()] = url.render_as_string(hide_password=False)
        text = policy(name, way.mechanism, budget=way.budget, price=way.price, audit=way.audit)
        (policies / f"{name}.yaml").write_text(text)
    secret = SecretStr(AUDIT_SECRET.decode())
    with (
        server.database() as state,
        open_foundation(
            settings_on(state, home / "home", policies=policies, audit_key=secret)
        ) as foundation,
        bind_socket("127.0.0.1", 0, "GATEWAY_REST_PORT") as listener,
    ):
        current = open_policies(foundation, environment=environment)
        with open_query_api(foundation, current, twin, "rest") as questions:
            doors = gateway_api(
                foundation, Metrics(), policies=current, twin=twin, questions=questions
            )
            stop, app = StopSignal(), create_app(doors)
            given = (stop, app, listener, foundation.settings, foundation.lines.cut)
            thread = threading.Thread(target=serve_until, args=given)
            thread.start()
            try:
                yield Attacked(int(listener.getsockname()[1]), _key(foundation), people)
            finally:
                stop.ask()
                thread.join()


def _key(foundation: Foundation) -> str:
    order = KeyOrder("alice", "os:op", datetime.now(UTC))
    create_key(foundation.journal, foundation.trail, order, lambda _: True)
    return order.key.reveal()


@dataclass
class Learned:
    """What was told, and what it cost; `reasons` are why questions were refused."""

    members: list[Bools] = field(default_factory=list)
    counts: list[float] = field(default_factory=list)
    deviations: list[float] = field(default_factory=list)
    spent: float = 0.0
    rho: float = 0.0
    reasons: dict[str, int] = field(default_factory=dict)

    def right(self, people: People) -> int:
        return right(guessed(self.members, self.counts, self.deviations), people.secret)


def learned(gateway: Attacked, dataset: str, questions: int, *, seed: int) -> Learned:
    """From so many questions; or fewer, when nothing is left to spend."""
    return told_about(gateway, dataset, islice(subsets(gateway.people, seed), questions))


def told_about(gateway: Attacked, dataset: str, asked: Iterable[Subset]) -> Learned:
    """From these questions, as far as they are answered."""
    found = Learned()
    connection = HTTPConnection("127.0.0.1", gateway.port, timeout=_PATIENCE_S)
    with closing(connection):
        for subset in asked:
            status, body = _asked(connection, gateway.key, subset.sql, dataset)
            if status == 200:
                column = body["columns"][0]
                found.members.append(subset.members)
                found.counts.append(float(body["rows"][0][0]))
                found.deviations.append(float(column["scale"]))
                found.rho += float(body["privacy"].get("rho", 0))
                found.spent = _spent(body)
            else:
                assert status in _REFUSED, body
                reason = str(body["code"])
                found.reasons[reason] = found.reasons.get(reason, 0) + 1
                if body["reason"] == "budget_exhausted":
                    break
    return found


def _asked(
    connection: HTTPConnection, key: str, sql: str, dataset: str
) -> tuple[int, Mapping[str, Any]]:
    headers = {"Authorization": f"Bearer {key}", "Content-Type": "application/json"}
    body = json.dumps({"sql": sql, "dataset": dataset})
    connection.request("POST", "/v1/query", body, headers)
    response = connection.getresponse()
    return response.status, json.loads(response.read())


def _spent(body: Mapping[str, Any]) -> float:
    """By the dataset's own account: whatever was released counts."""
    accounts = body["budget"]["accounts"]
    return max(float(one["epsilon_spent"]) for one in accounts)
