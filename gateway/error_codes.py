"""Error codes, each with its class, HTTP status, SQLSTATE and title.

INVARIANT: `REASON`, `HTTP`, `SQLSTATE` and `TITLE` are total over `Code`; a code is never given a new meaning.
Codes are numbered by stage: 1xx binding, 2xx policy, 3xx sensitivity, 4xx overlap, 5xx budget, 6xx source, twin
and state, 7xx authentication and protocol, 8xx running the gateway, 9xx internal.
"""

from collections.abc import Mapping
from enum import StrEnum
from types import MappingProxyType
from typing import NamedTuple

from gateway.error_reasons import Reason


class Code(StrEnum):
    """What went wrong, exactly; the name is for us, the value for everyone."""

    SQL_SYNTAX = "GW101"
    SEVERAL_STATEMENTS = "GW102"
    SQL_TOO_LARGE = "GW103"
    STATEMENT_UNSUPPORTED = "GW104"
    CLAUSE_UNSUPPORTED = "GW105"
    FUNCTION_UNSUPPORTED = "GW106"
    RELATION_UNKNOWN = "GW107"
    COLUMN_UNKNOWN = "GW108"
    NAME_AMBIGUOUS = "GW109"
    PERSON_ROWS = "GW110"
    UNIT_EQUALITY = "GW111"
    ORDER_OF_PERSONS = "GW112"
    CORRELATED = "GW113"
    NOT_GROUPED = "GW114"
    TYPE_MISMATCH = "GW115"
    FAN_OUT = "GW116"
    TEXT_DRIFTS = "GW117"
    PERSON_AS_VALUE = "GW118"
    PATTERN_UNBOUNDED = "GW119"
    OPERATION_NOT_PERMITTED = "GW203"
    PURPOSE_NOT_PERMITTED = "GW204"
    DATASET_NOT_PERMITTED = "GW205"
    SUBJECT_SUSPENDED = "GW206"
    COMBINATION_NOT_PERMITTED = "GW207"
    NO_BOUND = "GW301"
    NOT_ANSWERED_YET = "GW302"
    WORK_OF_A_ROW = "GW304"
    DIFFERENCING = "GW401"
    UNREADABLE_CONDITION = "GW402"
    SMALL_GROUP = "GW403"
    EARLIER_UNREADABLE = "GW404"
    NOT_COMPARED = "GW405"
    BUDGET_EXHAUSTED = "GW501"
    WINDOW_EXHAUSTED = "GW502"
    THRESHOLDS_EXHAUSTED = "GW503"
    ACCOUNT_UNKNOWN = "GW504"
    IDEMPOTENCY_MISMATCH = "GW505"
    STATE_UNAVAILABLE = "GW601"
    ANCHOR_UNAVAILABLE = "GW602"
    TWIN_NOT_PERMITTED = "GW603"
    TWIN_SYNTAX = "GW604"
    TWIN_UNSUPPORTED = "GW605"
    TWIN_LIMIT = "GW606"
    TWIN_TIMEOUT = "GW607"
    TWIN_UNAVAILABLE = "GW608"
    EARLIER_FORGED = "GW609"
    SOURCE_TIMEOUT = "GW610"
    SOURCE_CANCELLED = "GW611"
    SOURCE_UNAVAILABLE = "GW612"
    TABLE_TOO_LARGE = "GW613"
    ASKED_AT_ONCE = "GW614"
    SOURCE_SCHEMA = "GW615"
    SOURCE_PRIVILEGE = "GW616"
    SOURCE_CHANGED = "GW617"
    SOURCE_VERSION = "GW618"
    SOURCE_EXHAUSTED = "GW619"
    NO_CREDENTIALS = "GW701"
    BAD_CREDENTIALS = "GW702"
    TOO_MANY_FAILURES = "GW703"
    ROLE_REQUIRED = "GW704"
    BAD_REQUEST = "GW705"
    NO_SUCH_ENDPOINT = "GW706"
    REQUEST_TOO_LARGE = "GW707"
    METHOD_NOT_ALLOWED = "GW708"
    TOO_MANY_QUESTIONS = "GW709"
    NO_SUCH_FORMAT = "GW710"
    TOO_MANY_CONNECTIONS = "GW711"
    REQUEST_TOO_SLOW = "GW712"
    SETTING_INVALID = "GW801"
    PORT_TAKEN = "GW802"
    HOME_UNUSABLE = "GW803"
    EMBEDDED_SERVER = "GW804"
    STATE_UNREACHABLE = "GW805"
    STATE_VERSION = "GW806"
    STATE_BEHIND_ANCHOR = "GW807"
    AUDIT_KEY_MISMATCH = "GW808"
    SUBJECTS_INVALID = "GW809"
    SUBJECT_UNKNOWN = "GW810"
    KEY_UNKNOWN = "GW811"
    BACKUP_UNUSABLE = "GW812"
    LEDGER_CHANGED = "GW813"
    TRAIL_BROKEN = "GW814"
    ARGUMENT_INVALID = "GW815"
    POLICY_INVALID = "GW816"
    SOURCE_UNUSABLE = "GW817"
    INTERNAL = "GW901"


class _Row(NamedTuple):
    reason: Reason
    http: int
    sqlstate: str
    title: str


_ROWS: Mapping[Code, _Row] = MappingProxyType(
    {
        Code.SQL_SYNTAX: _Row(Reason.SYNTAX_ERROR, 400, "42601", "syntax error in the SQL text"),
        Code.SEVERAL_STATEMENTS: _Row(
            Reason.SYNTAX_ERROR, 400, "42601", "only one statement is allowed here"
        ),
        Code.SQL_TOO_LARGE: _Row(
            Reason.LIMIT_EXCEEDED, 413, "54000", "the SQL text is too long or too deeply nested"
        ),
        Code.STATEMENT_UNSUPPORTED: _Row(
            Reason.UNSUPPORTED_SQL, 422, "0A000", "this kind of statement is not supported"
        ),
        Code.CLAUSE_UNSUPPORTED: _Row(
            Reason.UNSUPPORTED_SQL, 422, "0A000", "this clause or expression is not supported"
        ),
        Code.FUNCTION_UNSUPPORTED: _Row(
            Reason.UNSUPPORTED_SQL, 422, "0A000", "this function is not supported here"
        ),
        Code.RELATION_UNKNOWN: _Row(
            Reason.NOT_PERMITTED, 403, "42P01", "the table does not exist, or you may not use it"
        ),
        Code.COLUMN_UNKNOWN: _Row(
            Reason.NOT_PERMITTED, 403, "42703", "the column does not exist, or you may not use it"
        ),
        Code.NAME_AMBIGUOUS: _Row(
            Reason.SYNTAX_ERROR, 400, "42601", "the name is ambiguous or too long"
        ),
        Code.PERSON_ROWS: _Row(
            Reason.NOT_AGGREGATE, 403, "42501", "individual rows are never returned"
        ),
        Code.UNIT_EQUALITY: _Row(
            Reason.UNSUPPORTED_SQL,
            422,
            "0A000",
            "two protected tables can only be joined on the unit key",
        ),
        Code.ORDER_OF_PERSONS: _Row(
            Reason.UNSUPPORTED_SQL, 422, "0A000", "rows of different persons cannot be ordered"
        ),
        Code.CORRELATED: _Row(
            Reason.UNSUPPORTED_SQL, 422, "0A000", "this correlated subquery is not supported"
        ),
        Code.NOT_GROUPED: _Row(
            Reason.SYNTAX_ERROR, 400, "42601", "invalid grouping or misplaced aggregate"
        ),
        Code.TYPE_MISMATCH: _Row(
            Reason.SYNTAX_ERROR,
            400,
            "42601",
            "the data types or the number of arguments do not match",
        ),
        Code.FAN_OUT: _Row(
            Reason.UNBOUNDED,
            422,
            "0A000",
            "the join multiplies the rows of a person without a bound",
        ),
        Code.TEXT_DRIFTS: _Row(
            Reason.UNSUPPORTED_SQL, 422, "0A000", "the statement cannot be translated exactly"
        ),
        Code.PERSON_AS_VALUE: _Row(
            Reason.NOT_AGGREGATE, 403, "42501", "values of individual persons are never returned"
        ),
        Code.PATTERN_UNBOUNDED: _Row(
            Reason.UNSUPPORTED_SQL, 422, "0A000", "this LIKE pattern is not supported"
        ),
        Code.OPERATION_NOT_PERMITTED: _Row(
            Reason.NOT_PERMITTED, 403, "42501", "the policy does not permit this use of a column"
        ),
        Code.PURPOSE_NOT_PERMITTED: _Row(
            Reason.NOT_PERMITTED, 403, "42501", "you may not query for this purpose"
        ),
        Code.DATASET_NOT_PERMITTED: _Row(
            Reason.NOT_PERMITTED,
            403,
            "42501",
            "the dataset does not exist, or you may not query it",
        ),
        Code.COMBINATION_NOT_PERMITTED: _Row(
            Reason.NOT_PERMITTED, 403, "42501", "these columns may not be used together"
        ),
        Code.SUBJECT_SUSPENDED: _Row(
            Reason.NOT_PERMITTED, 403, "42501", "your queries are suspended"
        ),
        Code.NO_BOUND: _Row(Reason.UNBOUNDED, 422, "0A000", "the values have no declared bounds"),
        Code.NOT_ANSWERED_YET: _Row(
            Reason.UNSUPPORTED_SQL, 422, "0A000", "this query is valid, but not supported"
        ),
        Code.WORK_OF_A_ROW: _Row(
            Reason.UNSUPPORTED_SQL, 422, "0A000", "processing one row could take too long"
        ),
        Code.DIFFERENCING: _Row(
            Reason.OVERLAP,
            403,
            "42501",
            "differencing risk: with earlier answers, this would isolate a few people",
        ),
        Code.UNREADABLE_CONDITION: _Row(
            Reason.OVERLAP,
            403,
            "42501",
            "the condition cannot be compared with earlier queries",
        ),
        Code.SMALL_GROUP: _Row(
            Reason.OVERLAP,
            403,
            "42501",
            "the query selects fewer people than the policy allows",
        ),
        Code.EARLIER_UNREADABLE: _Row(
            Reason.OVERLAP,
            403,
            "42501",
            "an earlier answer cannot be read, so this query cannot be compared with it",
        ),
        Code.NOT_COMPARED: _Row(
            Reason.OVERLAP,
            403,
            "42501",
            "this query could not be compared with earlier ones",
        ),
        Code.BUDGET_EXHAUSTED: _Row(
            Reason.BUDGET_EXHAUSTED, 429, "53400", "the privacy budget does not cover this query"
        ),
        Code.WINDOW_EXHAUSTED: _Row(
            Reason.BUDGET_EXHAUSTED,
            429,
            "53400",
            "the budget of this period does not cover this query",
        ),
        Code.THRESHOLDS_EXHAUSTED: _Row(
            Reason.BUDGET_EXHAUSTED,
            429,
            "53400",
            "the delta reserved for group thresholds does not cover this query",
        ),
        Code.ACCOUNT_UNKNOWN: _Row(
            Reason.NOT_PERMITTED, 403, "42501", "no budget account is open for this query"
        ),
        Code.IDEMPOTENCY_MISMATCH: _Row(
            Reason.SYNTAX_ERROR, 400, "22023", "this idempotency key cannot be used again"
        ),
        Code.STATE_UNAVAILABLE: _Row(
            Reason.BACKEND_UNAVAILABLE, 503, "58000", "the gateway's state cannot be reached"
        ),
        Code.ANCHOR_UNAVAILABLE: _Row(
            Reason.BACKEND_UNAVAILABLE, 503, "58000", "the gateway's anchor cannot be written"
        ),
        Code.TWIN_NOT_PERMITTED: _Row(
            Reason.NOT_PERMITTED, 403, "42501", "the statement uses an object that you may not use"
        ),
        Code.TWIN_SYNTAX: _Row(
            Reason.SYNTAX_ERROR, 400, "42601", "the statement is not valid in PostgreSQL"
        ),
        Code.TWIN_UNSUPPORTED: _Row(
            Reason.UNSUPPORTED_SQL,
            422,
            "0A000",
            "the statement uses a PostgreSQL feature that is disabled here",
        ),
        Code.TWIN_LIMIT: _Row(
            Reason.LIMIT_EXCEEDED, 413, "54000", "the statement exceeds a resource limit"
        ),
        Code.TWIN_TIMEOUT: _Row(Reason.TIMEOUT, 504, "57014", "the statement took too long"),
        Code.TWIN_UNAVAILABLE: _Row(
            Reason.BACKEND_UNAVAILABLE, 503, "58000", "the gateway's twin cannot be reached"
        ),
        Code.EARLIER_FORGED: _Row(
            Reason.BACKEND_UNAVAILABLE, 503, "58000", "a stored answer failed its integrity check"
        ),
        Code.SOURCE_TIMEOUT: _Row(
            Reason.TIMEOUT, 504, "57014", "the source exceeded the time limit of a statement"
        ),
        Code.SOURCE_CANCELLED: _Row(Reason.TIMEOUT, 504, "57014", "the statement was cancelled"),
        Code.SOURCE_UNAVAILABLE: _Row(
            Reason.BACKEND_UNAVAILABLE, 503, "58000", "the source cannot be reached"
        ),
        Code.TABLE_TOO_LARGE: _Row(
            Reason.LIMIT_EXCEEDED, 413, "54000", "a public table is too large to read"
        ),
        Code.ASKED_AT_ONCE: _Row(
            Reason.BACKEND_UNAVAILABLE,
            503,
            "58000",
            "too many queries to this dataset at the same time",
        ),
        Code.SOURCE_SCHEMA: _Row(
            Reason.BACKEND_UNAVAILABLE,
            503,
            "58000",
            "the source's tables differ from the policy",
        ),
        Code.SOURCE_PRIVILEGE: _Row(
            Reason.BACKEND_UNAVAILABLE, 503, "58000", "the gateway may not read the source's tables"
        ),
        Code.SOURCE_CHANGED: _Row(
            Reason.BACKEND_UNAVAILABLE,
            503,
            "58000",
            "the source's tables were changed during the query",
        ),
        Code.SOURCE_VERSION: _Row(
            Reason.BACKEND_UNAVAILABLE, 503, "58000", "the source's version is not supported"
        ),
        Code.SOURCE_EXHAUSTED: _Row(
            Reason.BACKEND_UNAVAILABLE,
            503,
            "58000",
            "the source ran out of memory for the statement",
        ),
        Code.NO_CREDENTIALS: _Row(Reason.UNAUTHENTICATED, 401, "28000", "no API key was given"),
        Code.BAD_CREDENTIALS: _Row(
            Reason.UNAUTHENTICATED, 401, "28P01", "the API key is not valid"
        ),
        Code.TOO_MANY_FAILURES: _Row(
            Reason.LIMIT_EXCEEDED, 429, "53300", "too many failed log-ins"
        ),
        Code.ROLE_REQUIRED: _Row(
            Reason.NOT_PERMITTED, 403, "42501", "this needs a role that you do not have"
        ),
        Code.BAD_REQUEST: _Row(Reason.SYNTAX_ERROR, 400, "22023", "the request is malformed"),
        Code.NO_SUCH_ENDPOINT: _Row(Reason.SYNTAX_ERROR, 404, "42601", "there is no such endpoint"),
        Code.REQUEST_TOO_LARGE: _Row(
            Reason.LIMIT_EXCEEDED, 413, "54000", "the request is too large"
        ),
        Code.METHOD_NOT_ALLOWED: _Row(
            Reason.SYNTAX_ERROR, 405, "42601", "the endpoint does not allow this method"
        ),
        Code.TOO_MANY_QUESTIONS: _Row(
            Reason.LIMIT_EXCEEDED, 429, "53300", "too many queries at the same time"
        ),
        Code.NO_SUCH_FORMAT: _Row(
            Reason.SYNTAX_ERROR, 406, "22023", "this response format is not supported"
        ),
        Code.TOO_MANY_CONNECTIONS: _Row(
            Reason.LIMIT_EXCEEDED, 429, "53300", "too many connections"
        ),
        Code.REQUEST_TOO_SLOW: _Row(
            Reason.LIMIT_EXCEEDED, 408, "54000", "the request did not arrive in time"
        ),
        Code.SETTING_INVALID: _Row(Reason.OPERATION, 500, "58000", "a setting is not valid"),
        Code.PORT_TAKEN: _Row(Reason.OPERATION, 500, "58000", "the port cannot be used"),
        Code.HOME_UNUSABLE: _Row(
            Reason.OPERATION, 500, "58000", "the home directory cannot be used"
        ),
        Code.EMBEDDED_SERVER: _Row(
            Reason.OPERATION, 500, "58000", "the embedded PostgreSQL does not start or stop"
        ),
        Code.STATE_UNREACHABLE: _Row(
            Reason.OPERATION, 500, "58000", "the state database cannot be reached"
        ),
        Code.STATE_VERSION: _Row(
            Reason.OPERATION, 500, "58000", "the state database has an incompatible version"
        ),
        Code.STATE_BEHIND_ANCHOR: _Row(
            Reason.OPERATION, 500, "58000", "the state is older than its anchor"
        ),
        Code.AUDIT_KEY_MISMATCH: _Row(
            Reason.OPERATION, 500, "58000", "the audit key does not match the trail"
        ),
        Code.SUBJECTS_INVALID: _Row(
            Reason.OPERATION, 500, "58000", "the subjects file is not valid"
        ),
        Code.SUBJECT_UNKNOWN: _Row(Reason.OPERATION, 500, "58000", "there is no such subject"),
        Code.KEY_UNKNOWN: _Row(Reason.OPERATION, 500, "58000", "there is no such key"),
        Code.BACKUP_UNUSABLE: _Row(Reason.OPERATION, 500, "58000", "the backup cannot be used"),
        Code.LEDGER_CHANGED: _Row(
            Reason.OPERATION, 500, "58000", "the ledger cannot be changed in this way"
        ),
        Code.TRAIL_BROKEN: _Row(Reason.OPERATION, 500, "58000", "the trail failed verification"),
        Code.ARGUMENT_INVALID: _Row(Reason.OPERATION, 500, "58000", "an argument is not valid"),
        Code.POLICY_INVALID: _Row(Reason.OPERATION, 500, "58000", "a policy is not valid"),
        Code.SOURCE_UNUSABLE: _Row(
            Reason.OPERATION, 500, "58000", "the source of a dataset cannot be used"
        ),
        Code.INTERNAL: _Row(
            Reason.INTERNAL, 500, "XX000", "internal error; the operator's log has the incident id"
        ),
    }
)

REASON: Mapping[Code, Reason] = MappingProxyType({code: row.reason for code, row in _ROWS.items()})
HTTP: Mapping[Code, int] = MappingProxyType({code: row.http for code, row in _ROWS.items()})
SQLSTATE: Mapping[Code, str] = MappingProxyType({code: row.sqlstate for code, row in _ROWS.items()})
TITLE: Mapping[Code, str] = MappingProxyType({code: row.title for code, row in _ROWS.items()})
