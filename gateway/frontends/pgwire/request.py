"""Request of a wire query for the pipeline: price, purpose, accuracy and notices are settings of the session."""

import re
from collections.abc import Callable, Mapping
from typing import Final, TypeVar

from gateway.binding.text.classify import StatementKind
from gateway.errors import Code, SyntaxRefused
from gateway.frontends.pgwire.question_flow import Ask
from gateway.requests.request import Accuracy, NoticeDetail, Request, UnsupportedItems
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

NOTICES: Final = "gateway.notices"
AUTO: Final = "auto"
_CONSOLES: Final = ("psql", "pgcli", "pgAdmin 4")
_ALL_DIGITS: Final = frozenset({"2", "3"})  # the session's own is 1

Read = TypeVar("Read")


def request_of(ask: Ask, entry: Request) -> Request:
    """The request, or the refusal of an unreadable setting; `entry` has the dataset and the peer of the session."""
    settings, statement = ask.settings, ask.asking.statement
    try:
        epsilon = _read(settings, "gateway.epsilon", Epsilon.parse)
        accuracy = _read(settings, "gateway.accuracy", accuracy_of)
        fresh = _read(settings, "gateway.fresh", fresh_of) or False
        unsupported = _read(settings, "gateway.unsupported", unsupported_of)
        notices = _read(settings, NOTICES, notices_of)
    except UnitError as error:
        raise SyntaxRefused(
            Code.BAD_REQUEST,
            f"a session setting is not valid: {error}",
            _HINT,
        ) from None
    return Request(
        statement.query if statement.kind is StatementKind.EXPLAIN else statement.text,
        entry.dataset,
        settings.get("gateway.purpose"),
        epsilon,
        ask.values,
        ask.types,
        address=entry.address,
        accuracy=accuracy,
        zone=settings["timezone"],
        fresh=fresh,
        tls=entry.tls,
        search_path=settings.get("search_path", ""),
        unsupported=unsupported or UnsupportedItems.REFUSE,
        notices=notices or usual_detail(settings),
    )


def _read(settings: Mapping[str, str], name: str, read: Callable[[str], Read]) -> Read | None:
    return read(settings[name]) if name in settings else None


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


def usual_detail(settings: Mapping[str, str]) -> NoticeDetail:
    """How much a client is told that does not say: `brief` where a person reads it or nothing does, else `off`.

    Consoles show a NOTICE to a person. Other programs that name themselves are tools, and among them is every one on
    pgjdbc, which turns a NOTICE into an SQLWarning; frameworks log it. psqlODBC has no name, and returns
    SQL_SUCCESS_WITH_INFO, which some programs take for a failure: it asks for all digits of floats, as drivers do and
    people do not. A program without a name that does not ask is a script, on psycopg, asyncpg, node-postgres or Npgsql:
    it ignores a NOTICE unless it wants to have it.
    """
    name = settings.get("application_name", "")
    if name:
        return NoticeDetail.BRIEF if name.startswith(_CONSOLES) else NoticeDetail.OFF
    of_driver = settings.get("extra_float_digits") in _ALL_DIGITS
    return NoticeDetail.OFF if of_driver else NoticeDetail.BRIEF


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
