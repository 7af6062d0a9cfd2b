"""What a question on the wire takes with it: its terms are settings of the connection."""

from collections.abc import Mapping
from dataclasses import replace
from fractions import Fraction
from typing import Final

import pytest
from laws import for_each

from gateway.binding.text.classify import classify
from gateway.errors import Code, SyntaxRefused
from gateway.frontends.pgwire.classify import AnalystQuery
from gateway.frontends.pgwire.explanation import plan_lines
from gateway.frontends.pgwire.question_flow import SETTINGS, Ask
from gateway.frontends.pgwire.request import request_of
from gateway.requests.request import (
    Accuracy,
    CacheUse,
    Estimate,
    ExpectedColumn,
    NoticeDetail,
    Request,
    UnsupportedItems,
)
from gateway.units import Delta, Epsilon

COUNT = "SELECT count(*) FROM patients"
ESTIMATE = Estimate(Epsilon.parse("0.05"), Delta.zero(), (ExpectedColumn("count", 60.0),))


def _request(text: str = COUNT, **settings: str) -> Request:
    return _request_of({f"gateway.{name}": value for name, value in settings.items()}, text)


def _request_of(settings: Mapping[str, str], text: str = COUNT) -> Request:
    ask = Ask(AnalystQuery(classify(text), b""), {"timezone": "UTC", **settings})
    return request_of(ask, Request("", "clinic", address="192.0.2.7", tls=True))


def test_request_has_the_terms_of_its_connection() -> None:
    """Each setting is one of them, read exactly; what is not set is left to the policy."""
    expected = Request(
        COUNT,
        "clinic",
        zone="UTC",
        address="192.0.2.7",
        tls=True,
        search_path="",
        notices=NoticeDetail.BRIEF,
    )
    assert _request() == expected
    said = _request(purpose="care-quality", epsilon="0.1", fresh="on")
    assert (said.purpose, said.epsilon, said.fresh) == ("care-quality", Epsilon.parse("0.1"), True)
    assert _request(accuracy="margin=30").accuracy == Accuracy(Fraction(30))
    assert _request(f"EXPLAIN {COUNT}", fresh="on") == replace(_request(), fresh=True)


def test_request_is_asked_for_every_setting_that_it_reads() -> None:
    """What the twin is asked for before each question has all of them."""
    own = ("purpose", "epsilon", "accuracy", "fresh", "unsupported", "notices")
    others = {"application_name", "extra_float_digits"}
    assert {f"gateway.{name}" for name in own} | others < set(SETTINGS)


@pytest.mark.parametrize("written", ["on", "ON", "true", "Tr", "t", "yes", "y", "1"])
def test_request_is_fresh_when_the_setting_is_on(written: str) -> None:
    """In every spelling that PostgreSQL takes for a boolean."""
    assert _request(fresh=written).fresh


@pytest.mark.parametrize("written", ["off", "OF", "false", "f", "no", "n", "0"])
def test_request_is_not_fresh_when_the_setting_is_off(written: str) -> None:
    """In every spelling that PostgreSQL takes for a boolean."""
    assert not _request(fresh=written).fresh


@pytest.mark.parametrize("written", ["o", "2", "maybe", "onn", " on", "null"])
def test_request_is_refused_when_the_setting_is_neither(written: str) -> None:
    """Nobody who believes to pay for a fresh answer is given an old one."""
    with pytest.raises(SyntaxRefused) as caught:
        _request(fresh=written)
    assert caught.value.code is Code.BAD_REQUEST
    assert (
        caught.value.detail
        == "a session setting is not valid: `gateway.fresh` must be `on` or `off`"
    )
    assert "SET gateway.fresh = on" in caught.value.hint


def test_request_says_what_becomes_of_items_that_cannot_be_answered() -> None:
    """Refused by default; NULL by the setting; another word is refused."""
    assert _request().unsupported is UnsupportedItems.REFUSE
    assert _request(unsupported="Null").unsupported is UnsupportedItems.NULL
    with pytest.raises(SyntaxRefused) as caught:
        _request(unsupported="skip")
    assert caught.value.detail.endswith("`gateway.unsupported` must be `refuse` or `null`")


@pytest.mark.parametrize("way", list(CacheUse))
def test_plan_says_when_the_answer_would_be_reused(way: CacheUse) -> None:
    """A line below the price, which is then what is charged now."""
    lines = plan_lines(replace(ESTIMATE, price=Epsilon.zero(), reused=way))
    assert lines[0].endswith("(price: epsilon 0; nothing was run or charged)")
    assert lines[1].startswith("Reused: ")
    assert len({plan_lines(replace(ESTIMATE, reused=one))[1] for one in CacheUse}) == len(CacheUse)


def test_plan_says_nothing_of_reuse_when_it_would_be_measured() -> None:
    """The negative control."""
    assert not any("Reused" in line for line in plan_lines(ESTIMATE))


@for_each("written", ["off", "BRIEF", "Full"])
def test_request_has_the_detail_that_is_set(written: str) -> None:
    """Whatever the client is called."""
    for name in ("", "psql", "PostgreSQL JDBC Driver"):
        asked = _request_of({"gateway.notices": written, "application_name": name})
        assert asked.notices is NoticeDetail(written.lower())


@pytest.mark.parametrize("written", ["on", "none", "of", "verbose", " off", "0"])
def test_request_is_refused_when_the_detail_is_another_word(written: str) -> None:
    """Before the charge, with the words that it may be."""
    with pytest.raises(SyntaxRefused) as caught:
        _request(notices=written)
    assert caught.value.code is Code.BAD_REQUEST
    expected = "`gateway.notices` must be `off`, `brief`, `full` or `auto`"
    assert caught.value.detail == f"a session setting is not valid: {expected}"
    assert "SET gateway.notices = brief" in caught.value.hint


# What clients are called, which digits they ask for, and how much they are told.
CLIENTS: Final = [
    ("psql", "1", NoticeDetail.BRIEF),
    ("pgcli", "1", NoticeDetail.BRIEF),
    ("pgAdmin 4 - CONN:7654321", "1", NoticeDetail.BRIEF),
    ("", "1", NoticeDetail.BRIEF),  # psycopg, asyncpg, node-postgres, Npgsql, Superset
    ("", "2", NoticeDetail.OFF),  # psqlODBC
    ("", "3", NoticeDetail.OFF),
    ("PostgreSQL JDBC Driver", "3", NoticeDetail.OFF),
    ("DBeaver 24.1 - Main", "3", NoticeDetail.OFF),
    ("Metabase v0.50", "3", NoticeDetail.OFF),
    ("dbt", "1", NoticeDetail.OFF),
    ("a nightly job", "1", NoticeDetail.OFF),
]


@for_each("client", CLIENTS)
def test_client_that_does_not_say_is_told_by_its_kind(
    client: tuple[str, str, NoticeDetail],
) -> None:
    """The same with `auto` and without the setting."""
    name, digits, expected = client
    said = {"application_name": name, "extra_float_digits": digits}
    for own in ({}, {"gateway.notices": "auto"}):
        assert _request_of({**said, **own}).notices is expected
