"""CSV response (RFC 4180): texts as PostgreSQL's COPY writes them.

A NULL is an empty field, an empty text is `""`: the two differ, as in `COPY … WITH (FORMAT csv, HEADER)`.
"""

import re
from collections.abc import Iterable, Iterator, Sequence
from typing import Final

from gateway.columnar.texts import TextRows
from gateway.requests.request import Answer

MEDIA_TYPE: Final = "text/csv; charset=utf-8; header=present"
_QUOTED: Final = re.compile(r'[",\r\n]|^$|^\s|\s$|^\\\.$')


def csv_chunks(answer: Answer) -> Iterator[bytes]:
    """The header line, then some thousand rows at a time."""
    yield _lines([[column.name for column in answer.columns]])
    for many, columns in TextRows.of(answer.rows).parts():
        yield _lines(zip(*columns, strict=True) if columns else [()] * many)


def _lines(rows: Iterable[Sequence[str | None]]) -> bytes:
    return "".join(",".join(map(_field, row)) + "\r\n" for row in rows).encode()


def _field(text: str | None) -> str:
    if text is None:
        return ""
    if _QUOTED.search(text):
        doubled = text.replace('"', '""')
        return f'"{doubled}"'
    return text
