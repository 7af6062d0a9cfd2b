"""Compare a stored moment with the text that a record says it is.

It is compared as text that the database writes, because a tampered one need not be a moment that
Python can hold: `infinity` and years before Christ are timestamps too.
"""

from datetime import UTC, datetime

from sqlalchemy import ColumnElement, func

_PATTERN = 'BC YYYY-MM-DD"T"HH24:MI:SS.US'


def stored(moment: ColumnElement[datetime]) -> ColumnElement[str]:
    """A column as text; NULL for a moment that is none."""
    return func.to_char(func.timezone("UTC", moment), _PATTERN)


def said(text: str) -> str:
    """The text that `stored` gives for this ISO 8601 moment."""
    moment = datetime.fromisoformat(text).astimezone(UTC).replace(tzinfo=None)
    return f"AD {moment.isoformat(timespec='microseconds')}"


def read(text: str) -> datetime:
    """The moment that `said` and `stored` give this text for."""
    return datetime.fromisoformat(text.removeprefix("AD ")).replace(tzinfo=UTC)
