"""Comparison of a stored moment with the text that a record has for it.

The texts that the database writes are compared, because a tampered moment need not be one that Python can hold:
`infinity` and years before Christ are timestamps too.
"""

from datetime import UTC, datetime

from sqlalchemy import ColumnElement, func

_PATTERN = 'BC YYYY-MM-DD"T"HH24:MI:SS.US'


def moment_column(moment: ColumnElement[datetime]) -> ColumnElement[str]:
    """A column as text; NULL if it has no moment."""
    return func.to_char(func.timezone("UTC", moment), _PATTERN)


def moment_text(text: str) -> str:
    """The text of `moment_column` for this ISO 8601 moment."""
    moment = datetime.fromisoformat(text).astimezone(UTC).replace(tzinfo=None)
    return f"AD {moment.isoformat(timespec='microseconds')}"


def parse_moment(text: str) -> datetime:
    """The moment for which `moment_text` and `moment_column` give this text."""
    return datetime.fromisoformat(text.removeprefix("AD ")).replace(tzinfo=UTC)
