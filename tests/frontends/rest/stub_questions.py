"""A REST interface whose doors for questions lead to what a test says, without a database behind them."""

import json
import threading
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from typing import Any

import httpx
from fastapi import FastAPI
from fix_gateway import Client

from gateway.budget.account import Account, Currency, Ledger, Limits
from gateway.budget.guarantees import Guarantee, LargestLimits
from gateway.budget.report import AccountBalance
from gateway.columnar.intervals import IntervalRows
from gateway.columnar.texts import TextRows
from gateway.errors import Code, Unauthenticated
from gateway.events import Event
from gateway.frontends.rest.app import create_app
from gateway.frontends.rest.gateway_api import GatewayApi, QueryApi
from gateway.frontends.workers import MOST_OF_ONE, Workers
from gateway.policy.subjects import Subject
from gateway.requests.request import (
    Answer,
    AnswerColumn,
    Estimate,
    ExpectedColumn,
    PastQuestion,
    Request,
)
from gateway.trail.verify import Verdict
from gateway.units import Delta, Epsilon

COUNT = "SELECT count(*) FROM patients"
DATASETS: Mapping[str, Any] = {
    "datasets": [
        {
            "dataset": "clinic",
            "tables": [
                {
                    "table": "patients",
                    "columns": [{"name": "region", "type": "text", "use": ["group_by"]}],
                }
            ],
        }
    ]
}
ANSWER = Answer(
    query_id="q-1",
    columns=(
        AnswerColumn("region", "text", noisy=False),
        AnswerColumn("count", "bigint", noisy=True, mechanism="discrete_laplace", scale=20.0),
    ),
    rows=TextRows.of((("north", "2517"), (None, "12"))),
    intervals=IntervalRows.of(((None, (2457.0, 2577.0)), (None, (-48.0, 72.0)))),
    price=Epsilon.parse("0.05"),
    charged=Epsilon.parse("0.05"),
    rho=None,
    delta=Delta.zero(),
    notices=("as it is",),
)
ESTIMATE = Estimate(
    Epsilon.parse("0.05"),
    Delta.zero(),
    (ExpectedColumn("region", None), ExpectedColumn("count", 59.914645471079815)),
)


def answering(**changes: Any) -> Answer:  # noqa: ANN401  # any field
    if "rows" in changes:
        changes["rows"] = TextRows.of(changes["rows"])
    if "intervals" in changes:
        changes["intervals"] = IntervalRows.of(changes["intervals"])
    return replace(ANSWER, **changes)


def one_cell(type_name: str, text: str | None) -> Answer:
    return answering(
        columns=(AnswerColumn("it", type_name, noisy=False),), rows=((text,),), intervals=((None,),)
    )


def standing(account: str = "dataset:clinic", spent: str = "0.05") -> AccountBalance:
    limit = Epsilon.parse("10")
    gone = Epsilon.parse(spent)
    delta = Delta.parse("1e-6")
    ledger = Ledger("dataset:clinic", "duckdb:///x", "patient", Currency.PURE, Fraction(1))
    owner = Account(account, ledger, ledger.name, Limits(limit, delta))
    promised, released = Guarantee(limit, delta), Guarantee(gone, delta)
    return AccountBalance(
        account,
        "clinic",
        limit,
        gone,
        limit - gone,
        delta,
        None,
        promised,
        released,
        owner,
        LargestLimits(owner.cap, delta.value),
    )


class Names:
    """Whoever shows `key-of-NAME` is NAME."""

    def authenticate(self, credential: str | None, *, address: str, front_end: str) -> Subject:
        del address, front_end
        if credential is None or not credential.startswith("key-of-"):
            raise Unauthenticated(Code.NO_CREDENTIALS)
        return Subject(credential.removeprefix("key-of-"))


@dataclass
class Behind:
    """What stands behind the doors, and what came through them."""

    answer: Answer = ANSWER
    estimate: Estimate = ESTIMATE
    refusal: Exception | None = None
    lost_accounts: Exception | None = None
    past: Sequence[PastQuestion] = ()
    asked: list[tuple[str, Request]] = field(default_factory=list)
    estimated: list[tuple[str, Request]] = field(default_factory=list)
    looked: list[tuple[str, int, str | None]] = field(default_factory=list)
    listed: list[Request] = field(default_factory=list)
    of_accounts: list[tuple[str, str | None]] = field(default_factory=list)
    told: list[Event] = field(default_factory=list)
    workers: Workers = field(default_factory=lambda: Workers(2 * MOST_OF_ONE))

    def answers(self, subject: Subject, request: Request, gone: threading.Event) -> Answer:
        del gone
        self.asked.append((subject.name, request))
        if self.refusal is not None:
            raise self.refusal
        return self.answer

    def estimates(self, subject: Subject, request: Request) -> Estimate:
        self.estimated.append((subject.name, request))
        if self.refusal is not None:
            raise self.refusal
        return self.estimate

    def accounts(self, subject: Subject, dataset: str | None) -> Sequence[AccountBalance]:
        self.of_accounts.append((subject.name, dataset))
        if self.lost_accounts is not None:
            raise self.lost_accounts
        return [standing(f"analyst:{subject.name}@clinic"), standing()]

    def datasets(self, subject: Subject, request: Request) -> Mapping[str, Any]:
        del subject
        self.listed.append(request)
        return DATASETS

    def queries(self, subject: Subject, limit: int, before: str | None) -> Sequence[PastQuestion]:
        self.looked.append((subject.name, limit, before))
        return self.past

    def door(self) -> QueryApi:
        return QueryApi(self.answers, self.estimates, self.accounts, self.datasets, self.queries)

    def app(self) -> FastAPI:
        return create_app(self.doors(self.door()))

    def doors(self, questions: QueryApi | None) -> GatewayApi:
        return GatewayApi(
            authenticator=Names(),
            accounts=list,
            accounts_of=lambda _: [],
            records=lambda _, __: [],
            verify_trail=lambda: Verdict(0, None),
            require_ready=lambda: None,
            metrics=bytes,
            metrics_type="text/plain",
            emit=self.told.append,
            questions=questions,
            workers=self.workers,
        )


@dataclass(frozen=True)
class Asking:
    """Somebody who asks over REST, and what is behind it."""

    behind: Behind
    client: Client

    def post(
        self, path: str, body: object = None, who: str | None = "alice", **headers: str
    ) -> httpx.Response:
        """A body that is bytes is sent as it is, anything else as JSON."""
        content = body if isinstance(body, bytes) else json.dumps(body).encode()
        sent = {name.replace("_", "-"): value for name, value in headers.items()}
        return self.client.request("POST", path, content=content, headers=_known(who) | sent)

    def query(self, who: str | None = "alice", **body: object) -> httpx.Response:
        return self.post("/v1/query", {"sql": COUNT, **body}, who)

    def get(self, path: str, who: str | None = "alice") -> httpx.Response:
        return self.client.get(path, headers=_known(who))

    @property
    def request(self) -> Request:
        """The last that was asked."""
        return self.behind.asked[-1][1]

    @property
    def price(self) -> Fraction | None:
        price = self.request.epsilon
        return None if price is None else price.value


def _known(who: str | None) -> dict[str, str]:
    return {} if who is None else {"Authorization": f"Bearer key-of-{who}"}


def refused(answer: httpx.Response, status: int, code: str) -> dict[str, Any]:
    """The problem document, after it was found to be one."""
    assert (answer.status_code, answer.json()["code"]) == (status, code), answer.text
    assert answer.headers["content-type"] == "application/problem+json"
    assert len(answer.content) < 2000
    said: dict[str, Any] = answer.json()
    return said
