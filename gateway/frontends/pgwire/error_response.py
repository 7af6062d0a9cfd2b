"""Refusals as PostgreSQL's ErrorResponse: an SQLSTATE, one line, and a DETAIL that begins with the code.

The SQLSTATE is the refusal's own, from the total table of `gateway.errors`. The line is its title, with two
exceptions: an error of the twin keeps PostgreSQL's words, by which tools recognise it, and a failed log-in
reads as PostgreSQL's.

INVARIANT: of an exception that is no refusal, the client sees an incident id and nothing else.
"""

import re
import secrets
import traceback
from collections.abc import Callable, Mapping
from enum import StrEnum
from types import MappingProxyType
from typing import Final

from gateway.errors import (
    BackendUnavailable,
    Code,
    InternalError,
    OperatorError,
    Refusal,
    UnsupportedSql,
)
from gateway.events import Crashed, Emit
from gateway.frontends.pgwire.framing import Malformed
from gateway.frontends.pgwire.messages import ERROR, NOTICE, fields_message, read_fields
from gateway.requests.request import Notice
from gateway.twin import TwinRefused

PROTOCOL_VIOLATION: Final = "08P01"
NO_FUNCTION_CALLS: Final = UnsupportedSql(
    Code.STATEMENT_UNSUPPORTED,
    "the FunctionCall message is not supported",
    "call the function in a SELECT",
)
_SUCCESS: Final = "00000"
_HEADER: Final = 5  # of a message: its letter and its length


class Severity(StrEnum):
    """The severity of an error; after `FATAL` the connection ends."""

    ERROR = "ERROR"
    FATAL = "FATAL"


def is_fatal(raw: bytes) -> bool:
    """True if the connection ends after this error, which is a whole message."""
    return read_fields(raw[_HEADER:]).get("V") == Severity.FATAL


def error_fields(
    refusal: Refusal,
    severity: Severity = Severity.ERROR,
    *,
    message: str | None = None,
    sqlstate: str | None = None,
) -> Mapping[str, str]:
    """The fields of an ErrorResponse; `message` and `sqlstate` override the refusal's, where PostgreSQL has its
    own.
    """
    title, detail = refusal.title, refusal.detail or refusal.title
    position = ""
    if isinstance(refusal, TwinRefused) and not refusal.incident:
        title, detail = detail, title
        position = "" if refusal.position is None else str(refusal.position)
    return MappingProxyType(
        {
            "S": severity,
            "V": severity,
            "C": sqlstate or refusal.sqlstate,
            "M": _one_line(message or title),
            "D": f"{refusal.code}: {detail}",
            "H": refusal.hint,
            "P": position,
        }
    )


def error_message(
    refusal: Refusal,
    severity: Severity = Severity.ERROR,
    *,
    message: str | None = None,
    sqlstate: str | None = None,
) -> bytes:
    """A refusal as an ErrorResponse."""
    fields = error_fields(refusal, severity, message=message, sqlstate=sqlstate)
    return fields_message(ERROR, fields)


def malformed_message(malformed: Malformed, severity: Severity = Severity.FATAL) -> bytes:
    """The error for a malformed message; it quotes nothing of the message."""
    return fields_message(
        ERROR,
        {
            "S": severity,
            "V": severity,
            "C": PROTOCOL_VIOLATION,
            "M": "protocol violation",
            "D": f"{Code.BAD_REQUEST}: {malformed}",
        },
    )


def no_such_database(refusal: Refusal, database: str) -> bytes:
    """The error for a dataset that does not exist, or not for this subject, as PostgreSQL says it of a
    database.
    """
    line = f'database "{database}" does not exist'
    return error_message(refusal, Severity.FATAL, message=line, sqlstate="3D000")


def notice_message(notice: Notice) -> bytes:
    """A notice, which a client may ignore."""
    said = {"S": "NOTICE", "V": "NOTICE", "C": _SUCCESS, "M": _one_line(notice.message)}
    more = {"D": notice.detail, "H": notice.hint}
    lines = {letter: "\n".join(map(_one_line, texts)) for letter, texts in more.items()}
    return fields_message(NOTICE, {**said, **lines})


def refusal_of(error: Exception, emit: Emit) -> Refusal:
    """The refusal for any exception: one that is no refusal is an internal error, or an operator's error."""
    if isinstance(error, Refusal):
        return error
    if isinstance(error, OperatorError):
        return BackendUnavailable(Code.STATE_UNAVAILABLE, hint="the operator's log says why")
    incident = secrets.token_hex(8)
    emit(Crashed(incident, "".join(traceback.format_exception(error))))
    return InternalError(incident)


def _one_line(text: str) -> str:
    return " ".join(text.split())


_UNDEFINED_TABLE: Final = "42P01"
_NO_RELATION: Final = re.compile(r'relation "(.*)" does not exist', re.DOTALL)


def with_close_relation(raw: bytes, hint_for: Callable[[str], str]) -> bytes:
    """PostgreSQL's error of an unknown relation, with a hint; every other error as it is."""
    fields = read_fields(raw[_HEADER:])
    named = _NO_RELATION.match(fields.get("M", ""))
    if fields.get("C") != _UNDEFINED_TABLE or "H" in fields or named is None:
        return raw
    hint = hint_for(named[1])
    return fields_message(ERROR, {**fields, "H": hint}) if hint else raw
