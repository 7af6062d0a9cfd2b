"""Search paths: which ones a session may have, and how PostgreSQL's text of one is read and written.

Takes names of schemas, or the text of the setting. Gives whether a client may set them, and the schemas in which a
name without a schema is looked up. A schema that does not exist is allowed, as in PostgreSQL: nothing is found in it.

INVARIANT: no schema that the system made for temporary objects or for itself is searched by its name, and `pg_catalog`
comes first in every path. So no object that an analyst could have made is found before one of the system.
"""

import re
from collections.abc import Iterable, Sequence
from typing import Final

FIRST_SEARCHED: Final = "pg_catalog"
SYSTEM_PREFIX: Final = "pg_"
# of the text of the setting: a name with quotes or one without; the twin's own `set_config` has the same expression
NAME_IN_PATH: Final = r'\s*("[A-Za-z0-9_$ -]{0,63}"|[A-Za-z0-9_$]{1,63})\s*'
_NAME: Final = re.compile(r"[A-Za-z0-9_$ -]{0,63}")
_PLAIN: Final = re.compile("[a-z_][a-z0-9_]*")
_PART: Final = re.compile(rf"{NAME_IN_PATH}(?:,|$)")


def is_search_path(names: Sequence[str]) -> bool:
    """Whether a session may search these schemas, in this order."""
    rest = names[1:] if names[:1] == [FIRST_SEARCHED] else names
    return all(
        _NAME.fullmatch(one) is not None and not one.strip().lower().startswith(SYSTEM_PREFIX)
        for one in rest
    )


def read_search_path(text: str) -> tuple[str, ...] | None:
    """The schemas of the setting's text that may have tables of a dataset; None if it is no path of plain names."""
    names, place = [], 0
    while place < len(text):
        part = _PART.match(text, place)
        if part is None:
            return None
        name = part[1]
        names.append(name[1:-1] if name.startswith('"') else name.lower())
        place = part.end()
    return tuple(one for one in names if one not in {"", "$user", FIRST_SEARCHED})


def search_path_text(schemas: Iterable[str]) -> str:
    """The text of the setting for these schemas."""
    return ", ".join(one if _PLAIN.fullmatch(one) else f'"{one}"' for one in schemas)
