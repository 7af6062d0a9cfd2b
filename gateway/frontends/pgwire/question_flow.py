"""Queries on the wire: reading the session's settings, the request to the pipeline, and the statement for the
twin.

Each function is a conversation with the twin. It yields None for the twin's next message, and an `Ask` for the
pipeline's answer; it returns whether an error was sent to the client.

INVARIANT: the twin receives SQL that the gateway wrote around released constants, or the client's own messages.
Constants are bound as arrays of text; where PostgreSQL takes no parameters, in a COPY, they are literals.
"""

from collections.abc import Callable, Generator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Final, TypeAlias

from gateway.binding.text.classify import Statement, StatementKind, cursor_name, needs_transaction
from gateway.columnar.texts import array_text
from gateway.errors import Reason, Refusal
from gateway.frontends.pgwire import messages
from gateway.frontends.pgwire.classify import AnalystQuery, ByName, Plain, Script
from gateway.frontends.pgwire.error_response import (
    Severity,
    error_message,
    malformed_message,
    notice_message,
)
from gateway.frontends.pgwire.explanation import plan_lines
from gateway.frontends.pgwire.framing import Malformed
from gateway.frontends.pgwire.messages import Bind, ExecutePortal, NamedObject, Parse
from gateway.frontends.pgwire.portals import Portal
from gateway.requests.request import Estimate
from gateway.results.constants import FilledSql
from gateway.stages.finish import DeferredStatement

IDLE, IN_TRANSACTION, FAILED = b"ITE"
# no client uses this name: drivers number theirs, and people choose readable ones
OWN: Final = b"gateway: its own"
SETTINGS: Final = (
    *("gateway.purpose", "gateway.epsilon", "gateway.accuracy", "gateway.fresh"),
    *("gateway.unsupported", "gateway.notices"),
    *("timezone", "client_min_messages", "search_path"),
    *("application_name", "extra_float_digits"),
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
_EXPLAINED: Final = frozenset({Reason.NOT_AGGREGATE, Reason.UNBOUNDED, Reason.UNSUPPORTED_SQL})
_ABOVE_NOTICES: Final = frozenset({"warning", "error"})
# fields that describe the gateway's text rather than the analyst's
_OURS: Final = "PpqWFLRsctdn"


@dataclass(frozen=True, slots=True)
class Ask:
    """A query for the pipeline: values as texts, and the types that PostgreSQL has for them."""

    asking: AnalystQuery
    settings: Mapping[str, str]
    values: tuple[str | None, ...] = ()
    types: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True)
class RefusedPlan:
    lines: tuple[str, ...]


Outcome: TypeAlias = DeferredStatement | Estimate | Refusal
Given: TypeAlias = tuple[int, bytes] | Outcome
Work: TypeAlias = Generator[Ask | None, Given | None, bool]


@dataclass(slots=True)
class Talk:
    """The bytes to send to either side, and the state of the transaction."""

    to_client: bytearray = field(default_factory=bytearray)
    to_twin: bytearray = field(default_factory=bytearray)
    status: int = IDLE


def send_refusal(talk: Talk, refusal: Refusal, *, simple: bool) -> Work:
    """Send a refusal, and fail the transaction as an error of PostgreSQL would."""
    return (yield from fail_transaction(talk, error_message(refusal), simple=simple))


def send_malformed(talk: Talk, malformed: Malformed, *, simple: bool) -> Work:
    """Refuse a message with a malformed body; the connection goes on, as in PostgreSQL."""
    error = malformed_message(malformed, Severity.ERROR)
    return (yield from fail_transaction(talk, error, simple=simple))


def send_aborted(talk: Talk) -> Work:
    """Send PostgreSQL's error for a statement in a failed transaction."""
    error = messages.fields_message(messages.ERROR, {"S": "ERROR", "V": "ERROR", **_ABORTED})
    return (yield from fail_transaction(talk, error, simple=False))


def send_first_rows(talk: Talk, one: Portal, execute: ExecutePortal, ask: Ask | None) -> Work:
    """Send the first rows of a portal with this query; with None, the twin answers."""
    ready = None
    if ask is not None:
        if talk.status == IDLE and needs_transaction(ask.asking.statement):
            error = messages.fields_message(messages.ERROR, {"S": "ERROR", "V": "ERROR", **_ALONE})
            return (yield from fail_transaction(talk, error, simple=False))
        outcome = plan_of_refusal(ask, (yield from await_outcome(ask)))
        if isinstance(outcome, Refusal):
            return (yield from send_refusal(talk, outcome, simple=False))
        ready = ready_to_run(talk, ask, outcome)
    if ready is None:
        talk.to_twin += one.bind.write() + execute.write() + messages.FLUSHING
        lost = yield from relay_replies(talk, LAST_OF_ROWS)
    else:
        talk.to_twin += portal_messages(ready, one.bind.portal, one.bind.results)
        talk.to_twin += execute.write() + NamedObject(b"S", OWN).write(messages.CLOSE)
        talk.to_twin += messages.FLUSHING
        lost = yield from relay_replies(talk, frozenset({messages.CLOSE_COMPLETE}))
    one.started = not lost
    return lost


def run_script(talk: Talk, parts: Script, named: Callable[[ByName], Work]) -> Work:
    """Run the statements of one message, until one fails; `named` runs PREPARE and EXECUTE."""
    for part in parts:
        if isinstance(part, Plain):
            failed = yield from relay_text(talk, part.text)
        elif isinstance(part, ByName):
            failed = yield from named(part)
        elif talk.status == FAILED:  # PostgreSQL reports this before it looks at the statement
            failed = yield from relay_text(talk, part.statement.text.encode())
        else:
            failed = yield from _question(talk, part)
        if failed:
            return True
    return False


def filter_reply(kind: int, raw: bytes, shown: Mapping[bytes, bytes]) -> bytes:
    """A notice or parameter status as the client may see it; it gets none that another connection caused."""
    if kind == messages.NOTIFICATION:
        return b""
    if kind == messages.PARAMETER_STATUS:
        name = raw[5:].split(b"\0", 1)[0]
        if name in shown:
            return messages.parameter_status(name, shown[name])
    return raw


def _question(talk: Talk, asked: AnalystQuery) -> Work:
    # a simple query ends the statement without a name, and leaves no portal without one
    unnamed = NamedObject(b"S", b"").write(messages.CLOSE)
    talk.to_twin += settings_query() + unnamed + messages.SYNCING
    settings = yield from read_settings(talk)
    yield from skip_to_ready(talk)
    if settings is None or (yield from _tried(talk, asked.statement)):
        return True
    return (yield from send_all_rows(talk, Ask(asked, settings), asked.statement.text.encode()))


def _tried(talk: Talk, statement: Statement) -> Work:
    """Try a cursor or a COPY over no row: what PostgreSQL refuses in any case is refused before the query is
    asked.
    """
    if statement.kind not in {StatementKind.CURSOR, StatementKind.COPY}:
        return False
    empty = f"{statement.head} {_NO_ROW} {statement.tail}"
    failed = yield from relay_text(talk, empty.encode(), quiet=True)
    if statement.kind is StatementKind.CURSOR and not failed:
        yield from relay_text(talk, f"CLOSE {cursor_name(statement)}".encode(), quiet=True)
    return failed


def send_all_rows(talk: Talk, ask: Ask, text: bytes) -> Work:
    """Send all rows of a query in a simple query; `text` is what the client sent."""
    outcome = plan_of_refusal(ask, (yield from await_outcome(ask)))
    if isinstance(outcome, Refusal):
        return (yield from send_refusal(talk, outcome, simple=True))
    ready = ready_to_run(talk, ask, outcome)
    if ready is None:
        return (yield from relay_text(talk, text))
    talk.to_twin += portal_messages(ready, b"", ())
    talk.to_twin += NamedObject(b"P", b"").write(messages.DESCRIBE) + ExecutePortal(b"").write()
    talk.to_twin += NamedObject(b"P", b"").write(messages.CLOSE)
    talk.to_twin += NamedObject(b"S", OWN).write(messages.CLOSE) + messages.SYNCING
    return (yield from relay_replies(talk, READY_AGAIN, quiet=_QUIET | {messages.NO_DATA}))


READY_AGAIN: Final = frozenset({messages.READY})
LAST_OF_ROWS: Final = frozenset(
    {messages.COMMAND_COMPLETE, messages.PORTAL_SUSPENDED, messages.EMPTY_QUERY}
)


def relay_text(talk: Talk, text: bytes, *, quiet: bool = False) -> Work:
    """Relay the twin's answer to a text; with `quiet`, for texts of the gateway's, the error alone."""
    talk.to_twin += messages.query(text)
    failed = False
    while True:
        kind, raw = yield from read_message()
        if kind == messages.READY:
            talk.status = raw[5]
            return failed
        failed = failed or kind == messages.ERROR
        if not quiet:
            talk.to_client += raw
        elif kind == messages.ERROR:
            talk.to_client += strip_positions(raw)


def skip_to_ready(talk: Talk) -> Generator[Ask | None, Given | None, None]:
    """Skip the twin's messages up to ReadyForQuery."""
    while True:
        kind, raw = yield from read_message()
        if kind == messages.READY:
            talk.status = raw[5]
            return


def fail_transaction(talk: Talk, error: bytes, *, simple: bool) -> Work:
    """Fail the transaction on the twin, and send this error in the place of the twin's."""
    if not simple:
        talk.to_twin += Parse(OWN, _NO_STATEMENT).write() + messages.FLUSHING
        while (yield from read_message())[0] != messages.ERROR:
            pass
    elif talk.status == IN_TRANSACTION:
        talk.to_twin += messages.query(_NO_STATEMENT)
        yield from skip_to_ready(talk)
    talk.to_client += error
    return True


def relay_replies(talk: Talk, last: frozenset[int], quiet: frozenset[int] = _QUIET) -> Work:
    """Relay the twin's messages up to the last one, without answers to the gateway's own statements."""
    failed = False
    while True:
        kind, raw = yield from read_message()
        if kind == messages.ERROR:
            talk.to_client += strip_positions(raw)
            failed = True
            if last is not READY_AGAIN:  # nothing more comes before the client's Sync
                return True
        elif kind == messages.READY:
            talk.status = raw[5]
        elif kind not in quiet:
            talk.to_client += raw
        if kind in last:
            return failed


def strip_positions(raw: bytes) -> bytes:
    """An error without positions in a text that the analyst did not write."""
    fields = messages.read_fields(raw[5:])
    for letter in _OURS:
        fields.pop(letter, None)
    return messages.fields_message(messages.ERROR, fields)


def plan_of_refusal(ask: Ask, outcome: Outcome) -> Outcome | RefusedPlan:
    """The outcome; for EXPLAIN, a refusal that depends on the text alone becomes lines of the plan.

    Rights, names, earlier queries and budgets stay errors.
    """
    explains = ask.asking.statement.kind is StatementKind.EXPLAIN
    if explains and isinstance(outcome, Refusal) and outcome.reason in _EXPLAINED:
        hint = (f"Hint: {outcome.hint}",) if outcome.hint else ()
        return RefusedPlan((f"Refused: {outcome}", *hint))
    return outcome


def ready_to_run(
    talk: Talk, ask: Ask, outcome: DeferredStatement | Estimate | RefusedPlan
) -> FilledSql | None:
    """The statement for the twin; None means the client's text."""
    statement = ask.asking.statement
    if isinstance(outcome, RefusedPlan):
        return FilledSql(_PLAN, (array_text(outcome.lines),))
    if isinstance(outcome, Estimate):
        return FilledSql(_PLAN, (array_text(plan_lines(outcome)),))
    if ask.settings.get("client_min_messages") not in _ABOVE_NOTICES:
        for notice in outcome.notices:
            talk.to_client += notice_message(notice)
    if outcome.finishing is None:
        return None
    if statement.kind is StatementKind.COPY:
        query = outcome.finishing.with_literals()
        return FilledSql(f"{statement.head}{query}{statement.tail}", ())
    filled = outcome.finishing.with_parameters()
    return replace(filled, text=f"{statement.head}{filled.text}{statement.tail}")


def portal_messages(ready: FilledSql, name: bytes, results: Sequence[int]) -> bytes:
    """Parse and Bind under the name of a portal."""
    values = tuple(None if one is None else one.encode() for one in ready.parameters)
    parse = Parse(OWN, ready.text.encode(), (_TEXTS,) * len(values))
    return parse.write() + Bind(name, OWN, (), values, tuple(results)).write()


def settings_query() -> bytes:
    # after an error the twin skips what was to be closed: what an earlier question left goes first
    leftover = NamedObject(b"S", OWN).write(messages.CLOSE)
    return leftover + run_once(Parse(OWN, _READ_SETTINGS.encode()), Bind(OWN, OWN, (), (), ()))


def run_once(parse: Parse, bind: Bind) -> bytes:
    """The messages that run a statement of the gateway's own and leave nothing behind."""
    closing = [NamedObject(what, OWN).write(messages.CLOSE) for what in (b"P", b"S")]
    return b"".join([parse.write(), bind.write(), ExecutePortal(OWN).write(), *closing])


def read_settings(talk: Talk) -> Generator[Ask | None, Given | None, Mapping[str, str] | None]:
    row = yield from read_one_row(talk, closed=3)
    if row is None:
        return None
    named = zip(SETTINGS, row, strict=True)
    return {name: value.decode() for name, value in named if value}


def text_query(types: Sequence[int]) -> bytes:
    """A query of parameters as texts."""
    shown = ", ".join(
        f"pg_catalog.to_json(${place + 1}) #>> '{{}}'" if of in _MOMENTS else f"${place + 1}::text"
        for place, of in enumerate(types)
    )
    return f"SELECT {shown}".encode()


def read_one_row(
    talk: Talk, closed: int = 2
) -> Generator[Ask | None, Given | None, tuple[bytes | None, ...] | None]:
    """The one row of a statement of the gateway's own; None after an error, which was sent to the client.

    `closed` is the number of Close messages: its portal and its statement, at least.
    """
    came = bytearray()  # a long row arrives in parts
    while closed:
        kind, raw = yield from read_message()
        if kind == messages.ERROR:
            talk.to_client += strip_positions(raw)
            return None
        if kind == messages.DATA_ROW:
            came += raw
        closed -= kind == messages.CLOSE_COMPLETE
    return next(messages.read_rows(bytes(came)), ())


def await_outcome(ask: Ask) -> Generator[Ask | None, Given | None, Outcome]:
    given = yield ask
    if given is None or isinstance(given, tuple):
        raise Malformed("a message where an answer was expected")
    return given


def read_message() -> Generator[Ask | None, Given | None, tuple[int, bytes]]:
    given = yield None
    if isinstance(given, tuple):
        return given
    raise Malformed("an answer where a message was expected")
