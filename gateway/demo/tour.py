"""The tour: what exists, shown on the running gateway. Every line it prints was answered by it."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from gateway.demo.visitor import Reply, Visitor
from gateway.errors import Code, OperatorError

Say = Callable[[str], None]


@dataclass(frozen=True)
class Stop:
    """One stop: what is asked, by whom, and the status it must come back with."""

    title: str
    who: str | None
    path: str
    expected: int
    show: Callable[[Reply], list[str]]


def walk(url: str, keys: Mapping[str, str], say: Say) -> None:
    """Make every stop; an answer of another kind than the tour promises ends it."""
    visitor = Visitor(url)
    for number, stop in enumerate(_STOPS, 1):
        key = keys.get(stop.who, stop.who) if stop.who else None
        reply = visitor.get(stop.path, key)
        who = "nobody" if stop.who is None else stop.who if stop.who in keys else "a stranger"
        say(f"\n{number}. {stop.title}")
        say(f"   {who}: GET {stop.path} -> {reply.status}")
        for line in stop.show(reply):
            say(f"   {line}")
        if reply.status != stop.expected:
            raise OperatorError(
                Code.ARGUMENT_INVALID, f"the tour expected {stop.expected} at `{stop.path}`"
            )


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


_STOPS = (
    Stop("The gateway is up.", None, "/readyz", 200, _ready),
    Stop("Without a key nobody gets in.", None, "/v1/budget", 401, _refusal),
    Stop("Nor with a key that was never made.", "gwk_guess", "/v1/budget", 401, _refusal),
    Stop(
        "Alice, a researcher, sees what she may spend: her own account and everyone's.",
        "alice",
        "/v1/budget",
        200,
        _accounts,
    ),
    Stop("The trail is not for her.", "alice", "/v1/audit", 403, _refusal),
    Stop(
        "Carol, an auditor, reads what was done so far.",
        "carol",
        "/v1/audit?limit=8",
        200,
        _records,
    ),
    Stop(
        "And lets the gateway prove that nobody changed it.",
        "carol",
        "/v1/audit/verify",
        200,
        _verdict,
    ),
)
