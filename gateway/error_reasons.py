"""The classes of errors that clients program against."""

from enum import StrEnum


class Reason(StrEnum):
    """The outcome classes users program against, in order of precedence."""

    UNAUTHENTICATED = "unauthenticated"
    LIMIT_EXCEEDED = "limit_exceeded"
    SYNTAX_ERROR = "syntax_error"
    NOT_PERMITTED = "not_permitted"
    UNSUPPORTED_SQL = "unsupported_sql"
    NOT_AGGREGATE = "not_aggregate"
    UNBOUNDED = "unbounded"
    OVERLAP = "overlap"
    BUDGET_EXHAUSTED = "budget_exhausted"
    TIMEOUT = "timeout"
    BACKEND_UNAVAILABLE = "backend_unavailable"
    INTERNAL = "internal"
    OPERATION = "operation"  # never seen by an analyst: see OperatorError
