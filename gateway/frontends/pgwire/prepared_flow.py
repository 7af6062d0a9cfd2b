"""EXECUTE of a query that was prepared before, by its name and with values.

The twin says which statement has the name, the types of its parameters, and the values of the arguments: they
are passed to a statement of the gateway's in the same way, and come back as texts. Then it is a query like any
other.

INVARIANT: an argument becomes a value on the twin, where there is no data; its text is in no plan. INVARIANT:
each EXECUTE of a query is asked, and charged, once; PREPARE runs and charges nothing.
"""

from collections.abc import Generator
from typing import Final, TypeAlias

from gateway.frontends.pgwire import messages
from gateway.frontends.pgwire.classify import AnalystQuery, ExecuteQuery, PrepareQuery
from gateway.frontends.pgwire.framing import Malformed
from gateway.frontends.pgwire.messages import Bind, ExecutePortal, NamedObject, Parse
from gateway.frontends.pgwire.portal_flow import open_portal
from gateway.frontends.pgwire.portals import Portal
from gateway.frontends.pgwire.prepared_names import PreparedNames
from gateway.frontends.pgwire.question_flow import (
    FAILED,
    OWN,
    Ask,
    Given,
    Talk,
    Work,
    read_message,
    read_one_row,
    read_settings,
    relay_text,
    send_all_rows,
    send_first_rows,
    settings_query,
    skip_to_ready,
    strip_positions,
    text_query,
)

_CALL: Final = b"gateway: its own call"
_NAMES: Final = b"SELECT name, statement, from_sql::int FROM pg_catalog.pg_prepared_statements"
_CLOSED: Final = 5  # sent by the gateway: two before, three after

# the query; or whether an error was told: if not, the twin answers
Found: TypeAlias = Ask | bool


def run_simple(talk: Talk, recalled: PreparedNames, part: PrepareQuery | ExecuteQuery) -> Work:
    """Run a PREPARE or EXECUTE in a simple query."""
    if isinstance(part, PrepareQuery):
        return (yield from relay_text(talk, recalled.told(part)))
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
    """The parameter types of a prepared statement; None after an error, which the client was told."""
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
