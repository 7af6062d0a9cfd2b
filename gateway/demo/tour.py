"""The stops of the tour, and its HTTP and wire clients."""

import json
import urllib.error
import urllib.request
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from decimal import Decimal
from http import HTTPStatus
from typing import Any

import psycopg
from psycopg.rows import tuple_row

from gateway.errors import Code, OperatorError
from gateway.intervals.digits import end_texts, margin_text, value_text

_PATIENCE_S = 20
_LEAN = 0.05  # an interval that leans by no more is shown by its larger margin
# A proxy in the environment must not be asked about ourselves.
_DIRECTLY = urllib.request.build_opener(urllib.request.ProxyHandler({}))


@dataclass(frozen=True)
class Reply:
    status: int
    body: dict[str, Any]


class Visitor:
    def __init__(self, url: str) -> None:
        self._url = url

    def get(self, path: str, key: str | None = None) -> Reply:
        return self._asked(path, key, None)

    def post(self, path: str, key: str | None, body: Mapping[str, object]) -> Reply:
        return self._asked(path, key, json.dumps(body).encode())

    def _asked(self, path: str, key: str | None, body: bytes | None) -> Reply:
        headers = {} if key is None else {"Authorization": f"Bearer {key}"}
        if body is not None:
            headers["Content-Type"] = "application/json"
        request = urllib.request.Request(self._url + path, body, headers)  # noqa: S310  # our own URL
        try:
            with _DIRECTLY.open(request, timeout=_PATIENCE_S) as answer:
                return Reply(answer.status, json.load(answer))
        except urllib.error.HTTPError as refused:
            with refused:
                return Reply(refused.code, json.load(refused))


_PATIENCE_S_on_the_wire = 30


@dataclass(frozen=True)
class TourStatement:
    """A statement, its subject, and the SQLSTATE of its refusal, if it is refused."""

    title: str
    who: str
    sql: str
    refused: str | None = None


def run_statement(url: str, key: str, statement: TourStatement) -> list[str]:
    """The gateway's answer, as psql would show it."""
    try:
        with psycopg.connect(
            url, password=key, connect_timeout=_PATIENCE_S_on_the_wire, row_factory=tuple_row
        ) as connection:
            cursor = connection.execute(statement.sql.encode())
            names = [column.name for column in cursor.description or ()]
            lines, state = _table(names, cursor.fetchall()), None
    except psycopg.Error as error:
        found, state = error.diag, error.sqlstate
        given = {"ERROR": found.message_primary, "DETAIL": found.message_detail}
        hint = {"HINT": found.message_hint}
        lines = [f"{name}:  {text}" for name, text in {**given, **hint}.items() if text]
        lines = lines or [str(error).strip()]
    if state != statement.refused:
        raise OperatorError(
            Code.ARGUMENT_INVALID, f"the tour expected something else than {lines[0]}"
        )
    return lines


def _table(names: list[str], rows: list[tuple[object, ...]]) -> list[str]:
    lines = [[str(cell) for cell in row] for row in rows]
    widths = [max(map(len, column)) for column in zip(names, *lines, strict=True)]
    return [
        " | ".join(cell.ljust(width) for cell, width in zip(line, widths, strict=True)).rstrip()
        for line in [names, *lines]
    ]


Say = Callable[[str], None]


@dataclass(frozen=True)
class TourStop:
    """One stop: a request, its subject, and the expected status."""

    title: str
    who: str | None
    path: str
    expected: int
    show: Callable[[Reply], list[str]]
    question: str | None = None
    epsilon: str | None = None


def walk_tour(url: str, wire: str, keys: Mapping[str, str], say: Say) -> None:
    """Make every stop; an unexpected status ends the tour."""
    visitor = Visitor(url)
    for number, stop in enumerate(_STOPS, 1):
        if isinstance(stop, TourStatement):
            say(f"\n{number}. {stop.title}")
            say(f"   {stop.who}: {stop.sql}")
            for line in run_statement(wire, keys[stop.who], stop):
                say(f"   {line}")
            continue
        key = keys.get(stop.who, stop.who) if stop.who else None
        reply = _reply(visitor, stop, key)
        who = "anonymous" if stop.who is None else stop.who if stop.who in keys else "a stranger"
        say(f"\n{number}. {stop.title}")
        if stop.question is None:
            say(f"   {who}: GET {stop.path} -> {reply.status}")
        else:
            price = "" if stop.epsilon is None else f" at epsilon {stop.epsilon}"
            say(f"   {who}: POST {stop.path}{price} -> {reply.status}")
            say(f"   {stop.question}")
        for line in stop.show(reply):
            say(f"   {line}")
        if reply.status != stop.expected:
            raise OperatorError(
                Code.ARGUMENT_INVALID, f"the tour expected {stop.expected} at `{stop.path}`"
            )


def _reply(visitor: Visitor, stop: TourStop, key: str | None) -> Reply:
    if stop.question is None:
        return visitor.get(stop.path, key)
    body = {"sql": stop.question}
    return visitor.post(
        stop.path, key, body if stop.epsilon is None else {**body, "epsilon": stop.epsilon}
    )


def _answer(reply: Reply) -> list[str]:
    """Rows with the margin of every noisy cell."""
    if reply.status != HTTPStatus.OK:
        return _refusal(reply)
    names = [one["name"] for one in reply.body["columns"]]
    lines = [
        [_cell(cell, interval) for cell, interval in zip(row, intervals, strict=True)]
        for row, intervals in zip(reply.body["rows"], reply.body["intervals"], strict=True)
    ]
    widths = [max(map(len, column)) for column in zip(names, *lines, strict=True)]
    text = [
        "  ".join(cell.ljust(width) for cell, width in zip(line, widths, strict=True)).rstrip()
        for line in [names, *lines]
    ]
    taken = reply.body["privacy"]["charged_epsilon"]
    return [*text, f"charged: epsilon {taken:g}", *reply.body["notices"]]


def _cell(value: object, interval: list[float] | None) -> str:
    if interval is None or not isinstance(value, int | float):
        return f"{value:,.2f}".removesuffix(".00") if isinstance(value, int | float) else str(value)
    low, high = interval
    shown = f"{Decimal(value_text(value, (high - low) / 2)):,}"
    if abs(high + low - 2 * value) > _LEAN * (high - low):
        return f"{shown} [{', '.join(f'{Decimal(end):,}' for end in end_texts(low, high))}]"
    return f"{shown} ± {Decimal(margin_text(max(value - low, high - value))):,}"


def _ready(reply: Reply) -> list[str]:
    return [f"the gateway is {reply.body['status']}"]


def _refusal(reply: Reply) -> list[str]:
    return [
        f"{reply.body['code']} {reply.body['reason']}: {reply.body['detail']}",
        f"hint: {reply.body['hint']}",
    ]


def _accounts(reply: Reply) -> list[str]:
    header = f"{'account':24}{'limit':>8}{'spent':>8}{'remaining':>11}   this month"
    rows = [
        f"{one['account']:24}{one['epsilon_limit']:>8g}{one['epsilon_spent']:>8g}"
        f"{one['epsilon_remaining']:>11g}"
        + (f"   {one['window']['epsilon_remaining']:g} left" if one["window"] else "")
        for one in reply.body["accounts"]
    ]
    return [header, *rows]


def _records(reply: Reply) -> list[str]:
    return [
        f"{one['seq']:>3}  {one['at'][11:19]}  {one['kind']:16}{one.get('subject') or ''}".rstrip()
        for one in reply.body["records"]
    ]


def _verdict(reply: Reply) -> list[str]:
    body = reply.body
    if not body["intact"]:
        return [f"NOT intact: {body['problem']}"]
    return [
        f"intact: {body['records']} records, chained and in agreement with the ledger,",
        f"anchored at record {body['anchored']} outside the database",
    ]


_STOPS: tuple[TourStop | TourStatement, ...] = (
    TourStop("The gateway is up.", None, "/readyz", 200, _ready),
    TourStop("A request without a key is refused.", None, "/v1/budget", 401, _refusal),
    TourStop("A request with an invalid key is refused.", "gwk_guess", "/v1/budget", 401, _refusal),
    TourStop(
        "Alice, a researcher, sees her budget: her own account and the dataset's.",
        "alice",
        "/v1/budget",
        200,
        _accounts,
    ),
    TourStop(
        "She sends a query. Every number is noisy; ± gives its 95 % interval.",
        "alice",
        "/v1/query",
        200,
        _answer,
        "SELECT region, COUNT(*) AS patients FROM patients GROUP BY region ORDER BY 2 DESC",
    ),
    TourStop(
        "A query that follows from an earlier answer is answered from the cache and is free.",
        "alice",
        "/v1/query",
        200,
        _answer,
        "SELECT COUNT(*) AS patients FROM patients WHERE region IN ('north', 'south')",
    ),
    TourStop(
        "A query whose result would differ from an earlier one by only a few people is refused.",
        "alice",
        "/v1/query",
        403,
        _answer,
        "SELECT COUNT(*) AS patients FROM patients WHERE NOT birth_year = 1961",
    ),
    TourStop(
        "Groups that are found in the data are returned if they contain enough people.",
        "alice",
        "/v1/query",
        200,
        _answer,
        "SELECT diagnosis, COUNT(*) AS visits, AVG(cost) AS mean_cost FROM visits GROUP BY diagnosis"
        " ORDER BY visits DESC LIMIT 5",
        "0.5",
    ),
    TourStop(
        "Months can be groups too. A query with a higher price has less noise.",
        "alice",
        "/v1/query",
        200,
        _answer,
        "SELECT to_char(visit_date, 'YYYY-MM') AS month, AVG(cost) AS mean_cost FROM visits"
        " WHERE visit_date >= '2026-01-01' AND visit_date < '2026-05-01' GROUP BY 1 ORDER BY 1",
        "1",
    ),
    TourStop(
        "Prescriptions name no patient: each has the patient of its visit. Patients with very many of them count with less"
        " weight, and the answer says so.",
        "alice",
        "/v1/query",
        200,
        _answer,
        "SELECT p.drug, COUNT(*) AS prescriptions, AVG(v.cost) AS mean_cost FROM prescriptions p"
        " JOIN visits v ON p.visit_id = v.visit_id GROUP BY p.drug ORDER BY prescriptions DESC LIMIT 4",
        "0.5",
    ),
    TourStop(
        "Times of day are read on the session's clock, which begins with the clinic's time zone.",
        "alice",
        "/v1/query",
        200,
        _answer,
        "SELECT extract(hour FROM prescribed_at) AS hour, COUNT(*) AS prescriptions FROM prescriptions"
        " GROUP BY hour HAVING COUNT(*) > 5000 ORDER BY hour",
        "0.5",
    ),
    TourStop(
        "Individual rows are never returned.",
        "alice",
        "/v1/query",
        403,
        _answer,
        "SELECT * FROM patients",
    ),
    TourStop(
        "Bob's team has a small budget. One query uses it up.",
        "bob",
        "/v1/query",
        200,
        _answer,
        "SELECT COUNT(*) AS patients FROM patients WHERE birth_year < 1950",
        "0.1",
    ),
    TourStop(
        "His next query is refused before it reaches the data.",
        "bob",
        "/v1/query",
        429,
        _answer,
        "SELECT COUNT(*) AS patients FROM patients WHERE birth_year < 1960",
    ),
    TourStatement(
        "Alice's own tools connect to the gateway like to a PostgreSQL. Catalog queries are free.",
        "alice",
        "SELECT current_user, current_database(), table_name FROM information_schema.tables"
        " WHERE table_schema = 'public' ORDER BY table_name",
    ),
    TourStatement(
        "Queries over this connection get the same answers.",
        "alice",
        "SELECT diagnosis, ROUND(AVG(cost), 2) AS mean_cost FROM visits GROUP BY diagnosis"
        " ORDER BY mean_cost DESC LIMIT 3",
    ),
    TourStatement(
        "A query that is not permitted returns an error with its reason.",
        "alice",
        "SELECT * FROM visits LIMIT 100",
        "42501",
    ),
    TourStop(
        "Alice sees what remains of her budget, and the dataset's in tenths of its limit.",
        "alice",
        "/v1/budget",
        200,
        _accounts,
    ),
    TourStop("Alice may not read the trail.", "alice", "/v1/audit", 403, _refusal),
    TourStop(
        "Carol, an auditor, reads the latest records of the trail.",
        "carol",
        "/v1/audit?limit=8",
        200,
        _records,
    ),
    TourStop(
        "She lets the gateway verify that the trail is unchanged.",
        "carol",
        "/v1/audit/verify",
        200,
        _verdict,
    ),
)
