"""Columns that are read from a JSON document of the same row: which document, which keys, and how long it may be.

INVARIANT: what is read depends on the row alone. A document that is longer than `longest` bytes is read as NULL before it
is parsed; PostgreSQL's `jsonb` is measured as it is stored.
"""

import re
from dataclasses import dataclass
from typing import Final

MOST_KEYS: Final = 3
LONGEST_KEY: Final = 100
LONGEST_JSON: Final = 1_000
"""Bytes of a `json` that are parsed where a policy says nothing."""
LONGEST_JSONB: Final = 10_000
_KEY: Final = r"'(?:[^']|'')*'"
_WRITTEN: Final = re.compile(
    rf"\s*(?P<document>\w+|\"(?:[^\"]|\"\")+\")\s*(?P<keys>(?:->\s*{_KEY}\s*)*->>\s*{_KEY})\s*"
)


class InvalidPath(ValueError):
    """A text that is no path into a document; the message says why."""


@dataclass(frozen=True)
class JsonSource:
    """The value at `keys` of the document in the column `document`, as `document ->> 'key'` reads it."""

    document: str
    keys: tuple[str, ...]
    longest: int
    is_binary: bool

    def __str__(self) -> str:
        return write_path(self.document, self.keys)


def read_path(text: str) -> tuple[str, tuple[str, ...]]:
    """The column and the keys of `details -> 'labs' ->> 'weight'`."""
    written = _WRITTEN.fullmatch(text)
    if written is None:
        raise InvalidPath("it is not of the form `details ->> 'key'`")
    keys = tuple(one[1:-1].replace("''", "'") for one in re.findall(_KEY, written["keys"]))
    if len(keys) > MOST_KEYS:
        raise InvalidPath(f"it has more than {MOST_KEYS} keys")
    for key in keys:
        if not 0 < len(key) <= LONGEST_KEY or not key.isprintable():
            raise InvalidPath(f"a key has 1 to {LONGEST_KEY} printable characters")
    document = written["document"]
    if document.startswith('"'):
        document = document[1:-1].replace('""', '"')
    return document, keys


def write_path(document: str, keys: tuple[str, ...]) -> str:
    """As a policy writes it."""
    shown = document if re.fullmatch(r"\w+", document) else '"' + document.replace('"', '""') + '"'
    quoted = ["'" + key.replace("'", "''") + "'" for key in keys]
    return f"{shown} {' '.join(f'-> {one}' for one in quoted[:-1])}{' ' if quoted[1:] else ''}->> {quoted[-1]}"
