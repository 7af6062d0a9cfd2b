"""Request of a wire query for the pipeline: price, purpose, accuracy and notices are settings of the session."""

from collections.abc import Callable, Mapping
from typing import Final, TypeVar

from gateway.binding.text.classify import StatementKind
from gateway.frontends.pgwire.question_flow import Ask
from gateway.frontends.pgwire.session_settings import (
    ACCURACY,
    EPSILON,
    FRESH,
    NOTICES,
    UNSUPPORTED,
    accuracy_of,
    fresh_of,
    notices_of,
    unreadable_setting,
    unsupported_of,
)
from gateway.requests.request import NoticeDetail, Request, UnsupportedItems
from gateway.units import Epsilon, UnitError

_CONSOLES: Final = ("psql", "pgcli", "pgAdmin 4")
_ALL_DIGITS: Final = frozenset({"2", "3"})  # the session's own is 1

Read = TypeVar("Read")


def request_of(ask: Ask, entry: Request) -> Request:
    """The request, or the refusal of an unreadable setting; `entry` has the dataset and the peer of the session."""
    settings, statement = ask.settings, ask.asking.statement
    try:
        epsilon = _read(settings, EPSILON, Epsilon.parse)
        accuracy = _read(settings, ACCURACY, accuracy_of)
        fresh = _read(settings, FRESH, fresh_of) or False
        unsupported = _read(settings, UNSUPPORTED, unsupported_of)
        notices = _read(settings, NOTICES, notices_of)
    except UnitError as error:
        raise unreadable_setting(error) from None
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
