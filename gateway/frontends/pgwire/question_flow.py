"""Queries on the wire: reading the session's settings, the request to the pipeline, and the statement for the
twin.

Each function is a conversation with the twin. It yields None for the twin's next message, and an `Ask` for the
pipeline's answer; it returns whether the client was told an error.

INVARIANT: the twin receives SQL that the gateway wrote around released constants, or the client's own messages.
Constants are bound as arrays of text; where PostgreSQL takes no parameters, in a COPY, they are literals.
"""

from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Final, TypeAlias

from gateway.binding.text.classify import Kind, Statement, cursor_of, needs_transaction
from gateway.columnar.texts import array_text
from gateway.errors import Refusal
from gateway.frontends.pgwire import messages
from gateway.frontends.pgwire.classify import Asking, ByName, Plain, Script
from gateway.frontends.pgwire.error_response import error_message, notice_message
from gateway.frontends.pgwire.framing import Malformed
from gateway.frontends.pgwire.messages import Bind, Execute, Named, Parse
from gateway.frontends.pgwire.portals import Portal
from gateway.requests.request import Estimate, ExpectedColumn, Reused
from gateway.results.constants import Filled
from gateway.stages.deferred import Handed

_REUSED: Final[Mapping[Reused, str]] = {
    Reused.SAME: "the same was answered before",
    Reused.FILTER: "groups that were answered before",
    Reused.ROLLUP: "groups that were answered before, added up",
}


def plan_lines(estimate: Estimate) -> tuple[str, ...]:
    """An estimate as lines of an EXPLAIN: the price and where it comes from, then the expected error of each
    column.
    """
    delta = f", delta {estimate.delta}" if estimate.delta.value else ""
    head = (
        f"Private Aggregate  (price: epsilon {estimate.price}{delta}; nothing was run or charged)"
    )
    reused = () if estimate.reused is None else (f"Reused: {_REUSED[estimate.reused]}",)
    columns = (f"  ->  {line}" for one in estimate.columns for line in _column(one))
    return (head, *reused, *columns, *(f"Notice: {one}" for one in estimate.notices))


def _column(column: ExpectedColumn) -> Iterator[str]:
    told = []
    if column.expected_margin_95 is not None:
        told.append(f"95 % within ±{column.expected_margin_95:.6g}")
    if column.expected_rank_error_95 is not None:
        told.append(f"95 % within {column.expected_rank_error_95} ranks")
    if column.promised_margin is not None:
        told.append(f"promised ±{column.promised_margin:.6g}")
    yield f"{column.name}: {', '.join(told)}" if told else column.name


IDLE, IN_TRANSACTION, FAILED = b"ITE"
# no client uses this name: drivers number theirs, and people choose readable ones
OWN: Final = b"gateway: its own"
SETTINGS: Final = (
    *("gateway.purpose", "gateway.epsilon", "gateway.accuracy", "gateway.fresh"),
    *("timezone", "client_min_messages"),
)

_TEXTS: Final = 1009  # text[]
_MOMENTS: Final = frozenset({1082, 1114, 1184})  # date, timestamp, timestamptz
_NO_STATEMENT: Final = b"refused"
_READ_SETTINGS: Final = "SELECT " + ", ".join(
    f"pg_catalog.current_setting('{one}', true)" for one in SETTINGS
)
_ALONE: Final = {"C": "25P01", "M": "DECLARE CURSOR can only be used in transaction blocks"}
_ABORTED: Final = {
    "C": "25P02",
    "M": "current transaction is aborted, commands ignored until end of transaction block",
}
_NO_ROW: Final = "SELECT NULL WHERE false"
_PLAN: Final = 'SELECT * FROM pg_catalog.unnest($1) AS t("QUERY PLAN")'
_QUIET: Final = frozenset(
    {messages.PARSE_COMPLETE, messages.BIND_COMPLETE, messages.CLOSE_COMPLETE}
)
# of `client_min_messages`: a client that sets one of them gets no notice at all
_ABOVE_NOTICES: Final = frozenset({"warning", "error"})
# fields that describe the gateway's text rather than the analyst's
_OURS: Final = "PpqWFLRsctdn"


@dataclass(frozen=True, slots=True)
class Ask:
    """A query for the pipeline: values as texts, and the types that PostgreSQL has for them."""

    asking: Asking
    settings: Mapping[str, str]
    values: tuple[str | None, ...] = ()
    types: tuple[int, ...] = ()


Outcome: TypeAlias = Handed | Estimate | Refusal
Given: TypeAlias = tuple[int, bytes] | Outcome
Work: TypeAlias = Generator[Ask | None, Given | None, bool]


@dataclass(slots=True)
class Talk:
    """The bytes to send to either side, and the state of the transaction."""

    to_client: bytearray = field(default_factory=bytearray)
    to_twin: bytearray = field(default_factory=bytearray)
    status: int = IDLE


def refused(talk: Talk, refusal: Refusal, *, simple: bool) -> Work:
    """Send a refusal, and fail the transaction as an error of PostgreSQL would."""
    return (yield from failed(talk, error_message(refusal), simple=simple))


def aborted(talk: Talk) -> Work:
    """Send PostgreSQL's error for a statement in a failed transaction."""
    error = messages.fields_message(messages.ERROR, {"S": "ERROR", "V": "ERROR", **_ABORTED})
    return (yield from failed(talk, error, simple=False))


def first_rows(talk: Talk, one: Portal, execute: Execute, ask: Ask | None) -> Work:
    """Send the first rows of a portal with this query; with None, the twin answers."""
    ready = None
    if ask is not None:
        if talk.status == IDLE and needs_transaction(ask.asking.statement):
            error = messages.fields_message(messages.ERROR, {"S": "ERROR", "V": "ERROR", **_ALONE})
            return (yield from failed(talk, error, simple=False))
        outcome = yield from answered(ask)
        if isinstance(outcome, Refusal):
            return (yield from refused(talk, outcome, simple=False))
        ready = ready_to_run(talk, ask, outcome)
    if ready is None:
        talk.to_twin += one.bind.write() + execute.write() + messages.FLUSHING
        lost = yield from relayed(talk, LAST_OF_ROWS)
    else:
        talk.to_twin += running(ready, one.bind.portal, one.bind.results)
        talk.to_twin += execute.write() + Named(b"S", OWN).write(messages.CLOSE)
        talk.to_twin += messages.FLUSHING
        lost = yield from relayed(talk, frozenset({messages.CLOSE_COMPLETE}))
    one.started = not lost
    return lost


def script(talk: Talk, parts: Script, named: Callable[[ByName], Work]) -> Work:
    """Run the statements of one message, until one fails; `named` runs PREPARE and EXECUTE."""
    for part in parts:
        if isinstance(part, Plain):
            failed = yield from plain(talk, part.text)
        elif isinstance(part, ByName):
            failed = yield from named(part)
        elif talk.status == FAILED:  # PostgreSQL reports this before it looks at the statement
            failed = yield from plain(talk, part.statement.text.encode())
        else:
            failed = yield from _question(talk, part)
        if failed:
            return True
    return False


def let_through(kind: int, raw: bytes, shown: Mapping[bytes, bytes]) -> bytes:
    """A notice or parameter status as the client may see it; it gets none that another connection caused."""
    if kind == messages.NOTIFICATION:
        return b""
    if kind == messages.PARAMETER_STATUS:
        name = raw[5:].split(b"\0", 1)[0]
        if name in shown:
            return messages.parameter_status(name, shown[name])
    return raw


def _question(talk: Talk, asked: Asking) -> Work:
    # a simple query ends the statement without a name, and leaves no portal without one
    unnamed = Named(b"S", b"").write(messages.CLOSE)
    talk.to_twin += reading_settings() + unnamed + messages.SYNCING
    settings = yield from settings_read(talk)
    yield from until_ready(talk)
    if settings is None or (yield from _tried(talk, asked.statement)):
        return True
    return (yield from all_rows(talk, Ask(asked, settings), asked.statement.text.encode()))


def _tried(talk: Talk, statement: Statement) -> Work:
    """Try a cursor or a COPY over no row: what PostgreSQL refuses in any case is refused before the query is
    asked.
    """
    if statement.kind not in {Kind.CURSOR, Kind.COPY}:
        return False
    empty = f"{statement.head} {_NO_ROW} {statement.tail}"
    failed = yield from plain(talk, empty.encode(), quiet=True)
    if statement.kind is Kind.CURSOR and not failed:
        yield from plain(talk, f"CLOSE {cursor_of(statement)}".encode(), quiet=True)
    return failed


def all_rows(talk: Talk, ask: Ask, text: bytes) -> Work:
    """Send all rows of a query in a simple query; `text` is what the client sent."""
    outcome = yield from answered(ask)
    if isinstance(outcome, Refusal):
        return (yield from refused(talk, outcome, simple=True))
    ready = ready_to_run(talk, ask, outcome)
    if ready is None:
        return (yield from plain(talk, text))
    talk.to_twin += running(ready, b"", ())
    talk.to_twin += Named(b"P", b"").write(messages.DESCRIBE) + Execute(b"").write()
    talk.to_twin += Named(b"P", b"").write(messages.CLOSE)
    talk.to_twin += Named(b"S", OWN).write(messages.CLOSE) + messages.SYNCING
    return (yield from relayed(talk, READY_AGAIN, quiet=_QUIET | {messages.NO_DATA}))


READY_AGAIN: Final = frozenset({messages.READY})
LAST_OF_ROWS: Final = frozenset(
    {messages.COMMAND_COMPLETE, messages.PORTAL_SUSPENDED, messages.EMPTY_QUERY}
)


def plain(talk: Talk, text: bytes, *, quiet: bool = False) -> Work:
    """Relay the twin's answer to a text; with `quiet`, for texts of the gateway's, the error alone."""
    talk.to_twin += messages.query(text)
    failed = False
    while True:
        kind, raw = yield from next_message()
        if kind == messages.READY:
            talk.status = raw[5]
            return failed
        failed = failed or kind == messages.ERROR
        if not quiet:
            talk.to_client += raw
        elif kind == messages.ERROR:
            talk.to_client += without_places(raw)


def until_ready(talk: Talk) -> Generator[Ask | None, Given | None, None]:
    """Skip the twin's messages up to ReadyForQuery."""
    while True:
        kind, raw = yield from next_message()
        if kind == messages.READY:
            talk.status = raw[5]
            return


def failed(talk: Talk, error: bytes, *, simple: bool) -> Work:
    """Fail the transaction on the twin, and send this error in the place of the twin's."""
    if not simple:
        talk.to_twin += Parse(OWN, _NO_STATEMENT).write() + messages.FLUSHING
        while (yield from next_message())[0] != messages.ERROR:
            pass
    elif talk.status == IN_TRANSACTION:
        talk.to_twin += messages.query(_NO_STATEMENT)
        yield from until_ready(talk)
    talk.to_client += error
    return True


def relayed(talk: Talk, last: frozenset[int], quiet: frozenset[int] = _QUIET) -> Work:
    """Relay the twin's messages up to the last one, without answers to the gateway's own statements."""
    failed = False
    while True:
        kind, raw = yield from next_message()
        if kind == messages.ERROR:
            talk.to_client += without_places(raw)
            failed = True
            if last is not READY_AGAIN:  # nothing more comes before the client's Sync
                return True
        elif kind == messages.READY:
            talk.status = raw[5]
        elif kind not in quiet:
            talk.to_client += raw
        if kind in last:
            return failed


def without_places(raw: bytes) -> bytes:
    """An error without positions in a text that the analyst did not write."""
    fields = messages.read_fields(raw[5:])
    for letter in _OURS:
        fields.pop(letter, None)
    return messages.fields_message(messages.ERROR, fields)


def ready_to_run(talk: Talk, ask: Ask, outcome: Handed | Estimate) -> Filled | None:
    """The statement for the twin; None means the client's text."""
    statement = ask.asking.statement
    if isinstance(outcome, Estimate):
        return Filled(_PLAN, (array_text(plan_lines(outcome)),))
    if ask.settings.get("client_min_messages") not in _ABOVE_NOTICES:
        for line in outcome.notices:
            talk.to_client += notice_message(line)
    if outcome.finishing is None:
        return None
    if statement.kind is Kind.COPY:
        query = outcome.finishing.with_literals()
        return Filled(f"{statement.head}{query}{statement.tail}", ())
    filled = outcome.finishing.with_parameters()
    return replace(filled, text=f"{statement.head}{filled.text}{statement.tail}")


def running(ready: Filled, name: bytes, results: Sequence[int]) -> bytes:
    """Parse and Bind under the name of a portal."""
    values = tuple(None if one is None else one.encode() for one in ready.parameters)
    parse = Parse(OWN, ready.text.encode(), (_TEXTS,) * len(values))
    return parse.write() + Bind(name, OWN, (), values, tuple(results)).write()


def reading_settings() -> bytes:
    # after an error the twin skips what was to be closed: what an earlier question left goes first
    leftover = Named(b"S", OWN).write(messages.CLOSE)
    return leftover + asked_once(Parse(OWN, _READ_SETTINGS.encode()), Bind(OWN, OWN, (), (), ()))


def asked_once(parse: Parse, bind: Bind) -> bytes:
    """The messages that run a statement of the gateway's own and leave nothing behind."""
    closing = [Named(what, OWN).write(messages.CLOSE) for what in (b"P", b"S")]
    return b"".join([parse.write(), bind.write(), Execute(OWN).write(), *closing])


def settings_read(talk: Talk) -> Generator[Ask | None, Given | None, Mapping[str, str] | None]:
    row = yield from one_row(talk, closed=3)
    if row is None:
        return None
    named = zip(SETTINGS, row, strict=True)
    return {name: value.decode() for name, value in named if value}


def showing(types: Sequence[int]) -> bytes:
    """A query of parameters as texts."""
    shown = ", ".join(
        f"pg_catalog.to_json(${place + 1}) #>> '{{}}'" if of in _MOMENTS else f"${place + 1}::text"
        for place, of in enumerate(types)
    )
    return f"SELECT {shown}".encode()


def one_row(
    talk: Talk, closed: int = 2
) -> Generator[Ask | None, Given | None, tuple[bytes | None, ...] | None]:
    """The one row of a statement of the gateway's own; None after an error, which the client was told.

    `closed` is the number of Close messages: its portal and its statement, at least.
    """
    came = bytearray()  # a long row arrives in parts
    while closed:
        kind, raw = yield from next_message()
        if kind == messages.ERROR:
            talk.to_client += without_places(raw)
            return None
        if kind == messages.DATA_ROW:
            came += raw
        closed -= kind == messages.CLOSE_COMPLETE
    return next(messages.read_rows(bytes(came)), ())


def answered(ask: Ask) -> Generator[Ask | None, Given | None, Outcome]:
    given = yield ask
    if given is None or isinstance(given, tuple):
        raise Malformed("a message where an answer was expected")
    return given


def next_message() -> Generator[Ask | None, Given | None, tuple[int, bytes]]:
    given = yield None
    if not isinstance(given, tuple):
        raise Malformed("an answer where a message was expected")
    return given
