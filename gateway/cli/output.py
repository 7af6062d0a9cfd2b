"""Output of commands: aligned tables, warnings on standard error, and failures as one line, a hint and an exit
code.
"""

import errno
import sys
import traceback
from collections.abc import Sequence
from pathlib import Path

from gateway.errors import Code, GatewayError, OperatorError
from gateway.events import Event, Level


def print_table(header: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
    widths = [max(len(row[place]) for row in [header, *rows]) for place in range(len(header))]
    for row in [header, ["-" * width for width in widths], *rows]:
        cells = (cell.ljust(width) for cell, width in zip(row, widths, strict=True))
        print("  ".join(cells).rstrip())


def print_warning(event: Event) -> None:
    """Print events that concern the user of a command; the others are for a log."""
    if event.level is not Level.INFO:
        said = ", ".join(f"{name} {value}" for name, value in event.said().items())
        print(f"gateway: {event.level}: {event.name}: {said}", file=sys.stderr)


# Errors that the user of the command can correct; everything else is a failure of the work itself.
_USAGE = frozenset(
    {
        Code.SETTING_INVALID,
        Code.PORT_TAKEN,
        Code.HOME_UNUSABLE,
        Code.SUBJECTS_INVALID,
        Code.POLICY_INVALID,
        Code.SUBJECT_UNKNOWN,
        Code.KEY_UNKNOWN,
        Code.ARGUMENT_INVALID,
        Code.ANCHOR_UNAVAILABLE,
    }
)

_DATABASES = frozenset({"sqlalchemy", "psycopg", "duckdb", "duckdb_engine", "_duckdb"})
_LONGEST = 200  # of a path in a message


def exit_code(error: GatewayError) -> int:
    return 2 if error.code in _USAGE else 1


def error_text(error: GatewayError) -> str:
    hint = f"\n  hint: {error.hint}" if error.hint else ""
    return f"gateway: {printable(str(error))}{printable(hint, keep_newline=True)}"


def unexpected_error_text(error: Exception) -> str:
    """An unexpected error: a file, a disk, a lost database, or an internal error."""
    if isinstance(error, OSError):
        if error.errno == errno.ENOSPC:
            return "gateway: there is no space left where this is written to"
        named = "" if error.filename is None else f"`{error.filename}`: "
        why = error.strerror or type(error).__name__
        return printable(
            f"gateway: {named[:_LONGEST]}{why}\n  hint: check the path and its permissions",
            keep_newline=True,
        )
    kinds = {one.__module__.partition(".")[0] for one in type(error).__mro__}
    if kinds & _DATABASES:
        lost = OperatorError(
            Code.STATE_UNREACHABLE, type(error).__name__, "check that the database is running"
        )
        return error_text(lost)
    place = traceback.extract_tb(error.__traceback__)[-1]
    where = f"{type(error).__name__} at {Path(place.filename).name}:{place.lineno}"
    return f"gateway: {Code.INTERNAL}: the gateway failed: {where}\n  hint: this is a bug of the gateway, please report it"


def printable(text: str, *, keep_newline: bool = False) -> str:
    """The text without control characters, which a bad input could send to the terminal."""
    return "".join(
        sign
        if sign.isprintable() or (keep_newline and sign == "\n")
        else "\N{REPLACEMENT CHARACTER}"
        for sign in text
    )
