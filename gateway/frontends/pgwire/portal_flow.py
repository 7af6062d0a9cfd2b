"""Portals of queries, in the extended protocol and by EXECUTE of a prepared statement.

Until the client wants rows, a placeholder statement of the gateway's holds the portal on the twin. It has the
portal's name and the client's values, and returns these as texts. So PostgreSQL itself decides whether such a
portal is allowed, whether it still exists, and what is wrong with its values, at the moment when it would.

EXECUTE names a query that was prepared before, and gives it values. The twin says which statement has the name,
the types of its parameters, and the values of the arguments: they are passed to a statement of the gateway's in
the same way, and come back as texts. Then it is a query like any other.

INVARIANT: no query is asked for a portal that PostgreSQL would not run.
INVARIANT: an argument becomes a value on the twin, where there is no data; its text is in no plan.
INVARIANT: each EXECUTE of a query is asked, and charged, once; PREPARE runs and charges nothing.
"""

from collections.abc import Generator, Mapping
from typing import Final, TypeAlias

from gateway.frontends.pgwire import messages
from gateway.frontends.pgwire.classify import AnalystQuery, ExecuteQuery, PrepareQuery
from gateway.frontends.pgwire.framing import HEADER, Malformed
from gateway.frontends.pgwire.messages import Bind, ExecutePortal, NamedObject, Parse
from gateway.frontends.pgwire.portals import Portal, PreparedNames
from gateway.frontends.pgwire.question_flow import (
    FAILED,
    OWN,
    Ask,
    Given,
    Talk,
    Work,
    fail_transaction,
    read_message,
    read_one_row,
    read_settings,
    relay_text,
    send_aborted,
    send_all_rows,
    send_first_rows,
    settings_query,
    skip_to_ready,
    strip_positions,
    text_query,
)

_VIOLATION: Final = "08P01"
_FORMATS: Final = frozenset({0, 1})  # text and binary

# types of the parameters, and the message that describes the columns
Described = tuple[tuple[int, ...], bytes]
# the settings of the session, and the portal's values
Opened = tuple[Mapping[str, str], tuple[str | None, ...]]


def bind_portal(talk: Talk, one: Portal) -> Work:
    """Handle Bind of a query."""
    bind = one.bind
    talk.to_twin += NamedObject(b"S", bind.statement).write(messages.DESCRIBE) + messages.FLUSHING
    described = yield from _described(talk)
    if described is None:
        return True
    one.types, one.columns = described
    wrong = _wrong_values(bind, len(one.types))
    if wrong:
        return (yield from _refused(talk, wrong))
    leftover = NamedObject(b"S", OWN).write(messages.CLOSE)
    talk.to_twin += leftover + Parse(OWN, text_query(one.types), one.types).write()
    talk.to_twin += Bind(bind.portal, OWN, bind.formats, bind.values, ()).write()
    talk.to_twin += leftover + messages.FLUSHING
    closed = 0
    while closed < 2:  # noqa: PLR2004 - before and after
        kind, raw = yield from read_message()
        if kind == messages.ERROR:
            talk.to_client += strip_positions(raw)
            return True
        closed += kind == messages.CLOSE_COMPLETE
    wrong = _wrong_formats(bind, one.columns)
    if wrong:
        return (yield from _refused(talk, wrong))
    talk.to_client += messages.BOUND
    return False


def describe_portal(talk: Talk, one: Portal) -> Work:
    """Handle Describe of a portal."""
    name = NamedObject(b"P", one.bind.portal)
    talk.to_twin += name.write(messages.DESCRIBE) + messages.FLUSHING
    kind, raw = yield from read_message()
    if kind == messages.ERROR:
        talk.to_client += raw
        return True
    if one.columns[0] == messages.ROW_DESCRIPTION:
        talk.to_client += messages.with_formats(one.columns[HEADER:], one.bind.results)
    else:
        talk.to_client += one.columns
    return False


def execute_portal(talk: Talk, one: Portal, asking: AnalystQuery, execute: ExecutePortal) -> Work:
    """The first rows of a portal."""
    opening = yield from open_portal(talk, one)
    if opening is None:
        return True
    settings, values = opening
    return (
        yield from send_first_rows(talk, one, execute, Ask(asking, settings, values, one.types))
    )


def open_portal(talk: Talk, one: Portal) -> Generator[Ask | None, Given | None, Opened | None]:
    """Close the placeholder of the portal and return its values; None after an error, which the client was
    told.
    """
    if talk.status == FAILED:
        yield from send_aborted(talk)
        return None
    name = one.bind.portal
    talk.to_twin += settings_query() + ExecutePortal(name).write()
    talk.to_twin += NamedObject(b"P", name).write(messages.CLOSE) + messages.FLUSHING
    settings = yield from read_settings(talk)
    if settings is None:
        return None
    row = yield from read_one_row(talk, 1)
    if row is None:
        return None
    return settings, tuple(value if value is None else value.decode() for value in row)


def await_replies(talk: Talk) -> Work:
    """Wait until everything before has been answered."""
    del talk
    yield from ()
    return False


def _described(talk: Talk) -> Generator[Ask | None, Given | None, Described | None]:
    types: tuple[int, ...] = ()
    while True:
        kind, raw = yield from read_message()
        if kind == messages.ERROR:
            talk.to_client += raw
            return None
        if kind != messages.PARAMETER_DESCRIPTION:
            return types, raw
        types = messages.read_types(raw[HEADER:])


def _wrong_values(bind: Bind, many: int) -> str:
    """PostgreSQL's error for a wrong number of values."""
    if len(bind.formats) > 1 and len(bind.formats) != len(bind.values):
        return f"bind message has {len(bind.formats)} parameter formats but {len(bind.values)} parameters"
    if len(bind.values) != many:
        name = bind.statement.decode("utf-8", "replace")
        return f'bind message supplies {len(bind.values)} parameters, but prepared statement "{name}" requires {many}'
    return ""


def _wrong_formats(bind: Bind, columns: bytes) -> str:
    if columns[0] != messages.ROW_DESCRIPTION:
        return ""
    many = int.from_bytes(columns[HEADER : HEADER + 2])
    unknown = next((one for one in bind.results if one not in _FORMATS), None)
    if unknown is not None:
        return f"unsupported format code: {unknown}"
    if len(bind.results) > 1 and len(bind.results) != many:
        return f"bind message has {len(bind.results)} result formats but query has {many} columns"
    return ""


def _refused(talk: Talk, line: str) -> Work:
    said = {"S": "ERROR", "V": "ERROR", "C": _VIOLATION, "M": line}
    return (
        yield from fail_transaction(
            talk, messages.fields_message(messages.ERROR, said), simple=False
        )
    )


_CALL: Final = b"gateway: its own call"
_NAMES: Final = b"SELECT name, statement, from_sql::int FROM pg_catalog.pg_prepared_statements"
_CLOSED: Final = 5  # sent by the gateway: two before, three after

# the query; or whether an error was sent: if not, the twin answers
Found: TypeAlias = Ask | bool


def run_simple(talk: Talk, recalled: PreparedNames, part: PrepareQuery | ExecuteQuery) -> Work:
    """Run a PREPARE or EXECUTE in a simple query."""
    if isinstance(part, PrepareQuery):
        return (yield from relay_text(talk, recalled.prepare_text(part)))
    if talk.status == FAILED:
        return (yield from relay_text(talk, part.text))
    found = yield from _found(talk, recalled, part, messages.SYNCING)
    if isinstance(found, Ask):
        return (yield from send_all_rows(talk, found, part.text))
    return found or (yield from relay_text(talk, part.text))


def execute_named(
    talk: Talk, recalled: PreparedNames, one: Portal, called: ExecuteQuery, execute: ExecutePortal
) -> Work:
    """The first rows of a portal over an EXECUTE."""
    if (yield from open_portal(talk, one)) is None:
        return True
    found = yield from _found(talk, recalled, called, messages.FLUSHING)
    if found is True:
        return True
    return (yield from send_first_rows(talk, one, execute, found or None))


def refresh_names(talk: Talk, recalled: PreparedNames, end: bytes = messages.FLUSHING) -> Work:
    """Ask the twin for its prepared statements."""
    leftover = NamedObject(b"S", OWN).write(messages.CLOSE)
    talk.to_twin += leftover + Parse(OWN, _NAMES).write() + Bind(OWN, OWN, (), (), ()).write()
    # a portal outlives its statement, up to the end of the transaction
    talk.to_twin += (
        ExecutePortal(OWN).write() + NamedObject(b"P", OWN).write(messages.CLOSE) + leftover + end
    )
    came, closed = bytearray(), 0  # a long row arrives in parts
    while closed < 3:  # noqa: PLR2004 - one before, two after
        kind, raw = yield from read_message()
        if kind == messages.ERROR:
            talk.to_client += strip_positions(raw)
            yield from _ended(talk, end)
            return True
        if kind == messages.DATA_ROW:
            came += raw
        closed += kind == messages.CLOSE_COMPLETE
    yield from _ended(talk, end)
    rows = messages.read_rows(bytes(came))
    recalled.refresh([(name or b"", text or b"", by == b"1") for name, text, by in rows])
    return False


def _found(
    talk: Talk, recalled: PreparedNames, called: ExecuteQuery, end: bytes
) -> Generator[Ask | None, Given | None, Found]:
    if recalled.stale and (yield from refresh_names(talk, recalled, end)):
        return True
    prepared = recalled.get(called.name)
    if prepared is None or not isinstance(prepared.asking, AnalystQuery):
        return False
    talk.to_twin += settings_query() + NamedObject(b"S", called.name).write(messages.DESCRIBE) + end
    settings = yield from read_settings(talk)
    types = None if settings is None else (yield from _types(talk))
    yield from _ended(talk, end)
    if settings is None or types is None:
        return True
    if len(types) != called.count:
        return False  # PostgreSQL reports this error before it looks at the tables
    values: tuple[str | None, ...] = ()
    if called.arguments:
        talk.to_twin += _evaluating(called, types) + end
        row = yield from read_one_row(talk, _CLOSED)
        yield from _ended(talk, end)
        if row is None:
            return True
        values = tuple(one if one is None else one.decode() for one in row)
    return Ask(prepared.asking, settings, values, types)


def _evaluating(called: ExecuteQuery, types: tuple[int, ...]) -> bytes:
    """A statement that returns the arguments as PostgreSQL passes them to parameters of these types."""
    closing = [NamedObject(b"S", name).write(messages.CLOSE) for name in (_CALL, OWN)]
    return b"".join(
        [
            *closing,
            Parse(OWN, text_query(types), types).write(),
            Parse(_CALL, b'EXECUTE "' + OWN + b'"' + called.arguments).write(),
            Bind(OWN, _CALL, (), (), ()).write(),
            ExecutePortal(OWN).write(),
            NamedObject(b"P", OWN).write(messages.CLOSE),
            *closing,
        ]
    )


def _types(talk: Talk) -> Generator[Ask | None, Given | None, tuple[int, ...] | None]:
    """The parameter types of a prepared statement; None after an error, which was sent to the client."""
    types: tuple[int, ...] = ()
    while True:
        kind, raw = yield from read_message()
        if kind == messages.ERROR:
            talk.to_client += strip_positions(raw)
            return None
        if kind == messages.PARAMETER_DESCRIPTION:
            types = messages.read_types(raw[5:])
        elif kind in {messages.ROW_DESCRIPTION, messages.NO_DATA}:
            return types
        else:
            raise Malformed("a description was expected")


def _ended(talk: Talk, end: bytes) -> Generator[Ask | None, Given | None, None]:
    if end == messages.SYNCING:
        yield from skip_to_ready(talk)
