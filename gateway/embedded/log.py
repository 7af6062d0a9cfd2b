"""The server's log: appended to by the server, cut off by us, quoted when a start fails."""

import os
from pathlib import Path
from typing import BinaryIO

from gateway.embedded.places import Place

_LARGEST = 1_000_000
_QUOTED_LINES = 5
_QUOTED_CHARACTERS = 1000


def open_log(place: Place) -> BinaryIO:
    """The log for the server to append to; what is too large becomes the previous log."""
    if place.log.exists() and place.log.stat().st_size > _LARGEST:
        place.log.replace(place.log.with_suffix(".log.1"))
    flags = os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW
    return os.fdopen(os.open(place.log, flags, 0o600), "ab")


def said_since(place: Place, offset: int) -> str:
    """The last lines since `offset`, as one."""
    lines = [line.strip() for line in _text(place.log, offset).splitlines() if line.strip()]
    return " | ".join(lines[-_QUOTED_LINES:])[-_QUOTED_CHARACTERS:] or "it said nothing"


def _text(log: Path, offset: int) -> str:
    with log.open("rb") as stream:
        stream.seek(offset)
        return stream.read(_LARGEST).decode(errors="replace")
