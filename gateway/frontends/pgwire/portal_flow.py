"""Portals of queries: Bind, Describe and Execute in the extended protocol.

Until the client wants rows, a placeholder statement of the gateway's holds the portal on the twin. It has the
portal's name and the client's values, and returns these as texts. So PostgreSQL itself decides whether such a
portal is allowed, whether it still exists, and what is wrong with its values, at the moment when it would.

INVARIANT: no query is asked for a portal that PostgreSQL would not run.
"""

from collections.abc import Generator, Mapping
from typing import Final

from gateway.frontends.pgwire import messages
from gateway.frontends.pgwire.classify import AnalystQuery
from gateway.frontends.pgwire.framing import HEADER
from gateway.frontends.pgwire.messages import Bind, ExecutePortal, NamedObject, Parse
from gateway.frontends.pgwire.portals import Portal
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
    send_aborted,
    send_first_rows,
    settings_query,
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
