"""Settings of the gateway as a session has them: texts, and the values that they are read as.

PostgreSQL takes any text for a setting with a point in its name. So a text that no query could be asked with is refused
where it is set, by SET and at the start of a connection, with the values that are allowed.

INVARIANT: SET and a query read a text with the same function: what was accepted is readable.
"""

import re
from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Final

from gateway.errors import Code, SyntaxRefused
from gateway.requests.request import Accuracy, NoticeDetail, UnsupportedItems
from gateway.units import Epsilon, UnitError

_PAIR: Final = re.compile(r"\s*([a-z_]+)\s*[=:\s]\s*([^\s,;=]+)\s*(?:[,;]|$|\s)")
_LONGEST: Final = 200
_HINT: Final = (
    "SET gateway.epsilon = '0.1'; SET gateway.accuracy = 'margin=30, confidence=0.95';"
    " SET gateway.fresh = on; SET gateway.unsupported = 'null'; SET gateway.notices = brief"
)
# as PostgreSQL reads a boolean: any unambiguous beginning of the word
_ON: Final = frozenset({"on", "1", "t", "tr", "tru", "true", "y", "ye", "yes"})
_OFF: Final = frozenset({"off", "of", "0", "f", "fa", "fal", "fals", "false", "n", "no"})

EPSILON: Final = "gateway.epsilon"
ACCURACY: Final = "gateway.accuracy"
FRESH: Final = "gateway.fresh"
UNSUPPORTED: Final = "gateway.unsupported"
NOTICES: Final = "gateway.notices"
AUTO: Final = "auto"


def fresh_of(text: str) -> bool:
    """The boolean, read as PostgreSQL reads its own settings."""
    word = text.lower()
    if word not in _ON | _OFF:
        raise UnitError("`gateway.fresh` must be `on` or `off`")
    return word in _ON


def unsupported_of(text: str) -> UnsupportedItems:
    """What becomes of items that cannot be answered."""
    try:
        return UnsupportedItems(text.lower())
    except ValueError:
        raise UnitError("`gateway.unsupported` must be `refuse` or `null`") from None


def notices_of(text: str) -> NoticeDetail | None:
    """How much the connection is told; None leaves it to the kind of client."""
    word = text.lower()
    try:
        return None if word == AUTO else NoticeDetail(word)
    except ValueError:
        raise UnitError("`gateway.notices` must be `off`, `brief`, `full` or `auto`") from None


def accuracy_of(text: str) -> Accuracy:
    """Read `margin=30, confidence=0.95`."""
    said, place = dict[str, str](), 0
    while place < len(text) <= _LONGEST:
        pair = _PAIR.match(text, place)
        if pair is None or pair[1] in said:
            break
        said[pair[1]], place = pair[2], pair.end()
    known = set(Accuracy.__dataclass_fields__)
    if place < len(text) or not said or not set(said) <= known:
        names = ", ".join(f"`{name}`" for name in Accuracy.__dataclass_fields__)
        raise UnitError(
            f"`gateway.accuracy` must be pairs such as `margin=30`, with the names {names}"
        )
    return Accuracy.parse(said)


_READERS: Final[Mapping[str, Callable[[str], object]]] = MappingProxyType(
    {
        EPSILON: Epsilon.parse,
        ACCURACY: accuracy_of,
        FRESH: fresh_of,
        UNSUPPORTED: unsupported_of,
        NOTICES: notices_of,
    }
)
"""The settings that are read; a purpose may be any text, and the policy decides on it."""


def require_readable(name: str, value: str) -> None:
    """Refuse a text that the setting cannot have; without a text it is not set."""
    read = _READERS.get(name)
    if read is None or not value:
        return
    try:
        read(value)
    except UnitError as error:
        raise unreadable_setting(error) from None


def unreadable_setting(error: UnitError) -> SyntaxRefused:
    """The refusal of a setting with such a text."""
    return SyntaxRefused(Code.BAD_REQUEST, f"a session setting is not valid: {error}", _HINT)
