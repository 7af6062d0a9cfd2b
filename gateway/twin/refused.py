"""What the twin said no to, in our outcome classes, with PostgreSQL's own SQLSTATE and position.

INVARIANT: a name that is hidden from the analyst is not in his database, so for it and for one that
nobody ever used PostgreSQL itself says the same; nothing is added to its text that could differ.
"""

from collections.abc import Mapping
from types import MappingProxyType

from psycopg.pq import DiagnosticField
from psycopg.pq.abc import PGresult

from gateway.errors import Reason

GONE = "57P01"
CANCELLED = "57014"
_MISSING = " does not exist"

_STATES: Mapping[str, Reason] = MappingProxyType(
    {
        "25006": Reason.UNSUPPORTED_SQL,  # would write
        "3D000": Reason.NOT_PERMITTED,  # a database
        "3F000": Reason.NOT_PERMITTED,  # a schema
        "42501": Reason.NOT_PERMITTED,
        "42703": Reason.NOT_PERMITTED,  # a column
        "42704": Reason.UNSUPPORTED_SQL,  # a type, a collation, a setting
        "42883": Reason.UNSUPPORTED_SQL,  # a function or an operator
        "42P01": Reason.NOT_PERMITTED,  # a table
        "55P03": Reason.LIMIT_EXCEEDED,  # waited too long for a lock
        CANCELLED: Reason.TIMEOUT,
    }
)
_CLASSES: Mapping[str, Reason] = MappingProxyType(
    {
        "08": Reason.BACKEND_UNAVAILABLE,
        "0A": Reason.UNSUPPORTED_SQL,
        "21": Reason.SYNTAX_ERROR,
        "22": Reason.SYNTAX_ERROR,
        "24": Reason.SYNTAX_ERROR,
        "25": Reason.SYNTAX_ERROR,
        "26": Reason.SYNTAX_ERROR,
        "34": Reason.SYNTAX_ERROR,
        "3B": Reason.SYNTAX_ERROR,
        "42": Reason.SYNTAX_ERROR,
        "53": Reason.LIMIT_EXCEEDED,
        "54": Reason.LIMIT_EXCEEDED,
        "57": Reason.BACKEND_UNAVAILABLE,
    }
)
_NAMES = frozenset({"3D000", "3F000", "42703", "42P01"})


class TwinRefused(Exception):
    """The twin's no. `position` counts the characters of the statement from 1, as PostgreSQL does."""

    def __init__(
        self, sqlstate: str, message: str, hint: str = "", position: int | None = None
    ) -> None:
        super().__init__(sqlstate, message)
        self.sqlstate = sqlstate
        self.message = message
        self.hint = hint
        self.position = position

    @property
    def reason(self) -> Reason:
        return reason_of(self.sqlstate)

    def __str__(self) -> str:
        return f"{self.sqlstate}: {self.message}"


def reason_of(sqlstate: str) -> Reason:
    """The outcome class of an SQLSTATE; what we did not expect is a failure of ours."""
    return _STATES.get(sqlstate) or _CLASSES.get(sqlstate[:2], Reason.INTERNAL)


def refused_by(result: PGresult) -> TwinRefused:
    """An error of PostgreSQL as a refusal."""
    sqlstate = _field(result, DiagnosticField.SQLSTATE)
    if not sqlstate:  # made up by libpq: the connection is lost
        return gone()
    message = _field(result, DiagnosticField.MESSAGE_PRIMARY)
    if sqlstate in _NAMES and message.endswith(_MISSING):
        message += " or may not be used"
    position = _field(result, DiagnosticField.STATEMENT_POSITION)
    return TwinRefused(
        sqlstate,
        message,
        _field(result, DiagnosticField.MESSAGE_HINT),
        int(position) if position else None,
    )


def gone() -> TwinRefused:
    return TwinRefused(GONE, "the connection to the twin is lost", "try again")


def _field(result: PGresult, field: DiagnosticField) -> str:
    return (result.error_field(field) or b"").decode(errors="replace")
