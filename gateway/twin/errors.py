"""Errors of the twin as refusals, with PostgreSQL's own SQLSTATE and position.

INVARIANT: a name that is hidden from the analyst does not exist in the analyst's database, so PostgreSQL says
the same for it as for a name that never existed; the gateway adds nothing that could differ. PostgreSQL's text
is shown only if it depends on the statement and the visible schema alone. For an unexpected SQLSTATE the
refusal contains an incident id and nothing else.
"""

import secrets
from collections.abc import Mapping
from types import MappingProxyType

from psycopg.pq import DiagnosticField
from psycopg.pq.abc import PGresult

from gateway.errors import SQLSTATE, Code, Refusal

GONE = "57P01"
CANCELLED = "57014"
_LENGTH = 5
_MISSING = " does not exist"

_STATES: Mapping[str, Code] = MappingProxyType(
    {
        "08P01": Code.TWIN_SYNTAX,  # another number of parameters than the statement has
        "25006": Code.TWIN_UNSUPPORTED,  # would write
        "3D000": Code.TWIN_NOT_PERMITTED,  # a database
        "3F000": Code.TWIN_NOT_PERMITTED,  # a schema
        "42501": Code.TWIN_NOT_PERMITTED,
        "42703": Code.TWIN_NOT_PERMITTED,  # a column
        "42704": Code.TWIN_UNSUPPORTED,  # a type, a collation, a setting
        "42883": Code.TWIN_UNSUPPORTED,  # a function or an operator
        "42P01": Code.TWIN_NOT_PERMITTED,  # a table
        "55P03": Code.TWIN_LIMIT,  # waited too long for a lock
        CANCELLED: Code.TWIN_TIMEOUT,
    }
)
_CLASSES: Mapping[str, Code] = MappingProxyType(
    {
        "08": Code.TWIN_UNAVAILABLE,
        "0A": Code.TWIN_UNSUPPORTED,
        "21": Code.TWIN_SYNTAX,
        "22": Code.TWIN_SYNTAX,
        "24": Code.TWIN_SYNTAX,
        "25": Code.TWIN_SYNTAX,
        "26": Code.TWIN_SYNTAX,
        "34": Code.TWIN_SYNTAX,
        "3B": Code.TWIN_SYNTAX,
        "42": Code.TWIN_SYNTAX,
        "53": Code.TWIN_LIMIT,
        "54": Code.TWIN_LIMIT,
        "57": Code.TWIN_UNAVAILABLE,
    }
)
_INTERNAL = "XX000"
"""What PostgreSQL says where a function is called with values that it is not made for, as in `float8_combine('{}', '{}')`."""
_NO_OBJECT = ("cache lookup failed for ", "42704")
"""What it says of a number that is no object, as in `to_tsvector(-1, 'x')`, and the SQLSTATE of a name of none."""
_UNSUPPORTED = "0A000"
_NOT_MADE_FOR = (
    "PostgreSQL reports an internal error: a function of the statement is not made for its values"
)
_NAMES = frozenset({"3D000", "3F000", "42703", "42P01"})
_TOLD = frozenset({Code.TWIN_NOT_PERMITTED, Code.TWIN_SYNTAX, Code.TWIN_UNSUPPORTED})


class TwinRefused(Refusal):
    """A refusal by the twin. `position` counts the characters of the statement from 1, as PostgreSQL does.

    `unexpected` is for the log: an SQLSTATE that the gateway does not know, behind `incident`.
    """

    def __init__(
        self, sqlstate: str, detail: str = "", hint: str = "", position: int | None = None
    ) -> None:
        code = code_of(sqlstate)
        self.incident, self.unexpected = "", ""
        if code is Code.INTERNAL:
            self.incident, self.unexpected = secrets.token_hex(8), sqlstate
            sqlstate, position = SQLSTATE[code], None
            detail, hint = f"incident {self.incident}", ""
        super().__init__(code, detail, hint)
        self._sqlstate = sqlstate
        self.position = position

    @property
    def sqlstate(self) -> str:
        return self._sqlstate


def code_of(sqlstate: str) -> Code:
    """The code of an SQLSTATE; an unexpected one is an internal error."""
    if len(sqlstate) != _LENGTH:
        return Code.INTERNAL
    return _STATES.get(sqlstate) or _CLASSES.get(sqlstate[:2], Code.INTERNAL)


def twin_refusal(result: PGresult) -> TwinRefused:
    """An error of PostgreSQL as a refusal."""
    sqlstate = _field(result, DiagnosticField.SQLSTATE)
    if sqlstate in {"", GONE}:  # without one it was made up by libpq: the connection is lost
        return session_gone()
    message = _field(result, DiagnosticField.MESSAGE_PRIMARY)
    if sqlstate == _INTERNAL:
        beginning, undefined = _NO_OBJECT
        if not message.startswith(beginning):
            return TwinRefused(
                _UNSUPPORTED, _NOT_MADE_FOR, "call another function, or give it other values"
            )
        sqlstate = undefined
    if code_of(sqlstate) not in _TOLD:
        return TwinRefused(sqlstate)
    if sqlstate in _NAMES and message.endswith(_MISSING):
        message += " or may not be used"
    position = _field(result, DiagnosticField.STATEMENT_POSITION)
    return TwinRefused(
        sqlstate,
        message,
        _field(result, DiagnosticField.MESSAGE_HINT),
        int(position) if position else None,
    )


def session_gone() -> TwinRefused:
    return TwinRefused(GONE, "the connection to the twin is lost", "try again")


def twin_not_running() -> TwinRefused:
    return TwinRefused("57P03", "the twin is not running", "try again")


def _field(result: PGresult, field: DiagnosticField) -> str:
    return (result.error_field(field) or b"").decode(errors="replace")
