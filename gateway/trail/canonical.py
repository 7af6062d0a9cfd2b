"""One value, one text: the bytes that are chained.

Keys are sorted and everything outside printable ASCII is escaped, so a record is one line whatever
an analyst wrote: no newline, escape sequence, control or direction character survives as itself.
Floats are refused, because two programs may print one float in two ways.
"""

import json
from collections.abc import Mapping, Sequence
from typing import TypeAlias

Json: TypeAlias = str | int | bool | Sequence["Json"] | Mapping[str, "Json"] | None

_DELETE = "\x7f"  # the one unprintable ASCII character that json leaves alone


def canonical(value: Json) -> str:
    text = json.dumps(
        value,
        ensure_ascii=True,
        sort_keys=True,
        separators=(",", ":"),
        allow_nan=False,
        default=_refuse,
    )
    return text.replace(_DELETE, "\\u007f")


def _refuse(value: object) -> Json:
    raise TypeError(f"a {type(value).__name__} has no canonical form")
