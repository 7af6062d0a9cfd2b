"""Unreadable events refuse the queries that they touch, and nothing else."""

import json
from dataclasses import replace
from fractions import Fraction

import pytest
from release_cache.log_entries import ACCOUNTS, entry, scope

from gateway.errors import Code, OverlapRefused
from gateway.overlap.auditor import NewQuery, audit
from gateway.policy.policy import Auditing, UnreadableConditions
from gateway.regions.scope import ReleaseScope
from gateway.release_cache.audit_history import Histories
from gateway.release_cache.events import (
    ContentStored,
    DataRefreshed,
    EntryCharged,
    UnreadableEvent,
    body_of,
    read_event,
)

A, B = frozenset({"alice"}), frozenset({"bob"})
_RULES = Auditing(10, 1, (), UnreadableConditions.REFUSE)
_SHEET = entry(1)
_BODY = body_of(EntryCharged(_SHEET, ACCOUNTS["alice"]))


def _of_another_version(body: str) -> str:
    said = json.loads(body)
    said["sheet"]["v"] = 99
    return json.dumps(said)


def _refused(histories: Histories, members: frozenset[str], about: ReleaseScope) -> bool:
    try:
        audit([NewQuery(about, Fraction(1))], histories.of(members), _RULES)
    except OverlapRefused as refused:
        return refused.code is Code.EARLIER_UNREADABLE
    return False


@pytest.mark.parametrize(
    "body", ["", "[]", "{}", '{"sheet": 1}', "nothing", '{"sheet": {"v": 1}}', "9" * 5000]
)
def test_event_that_cannot_be_read_says_so(body: str) -> None:
    """Whatever stands there: it is an event, and no error."""
    assert read_event("bought", "r", body) == UnreadableEvent("bought", "r", None)
    assert read_event("told", "r", body) == UnreadableEvent("told", "r", None)
    assert read_event("answered", "r", body) == ContentStored("r", None)
    assert isinstance(read_event("refreshed", None, body), DataRefreshed)
    assert read_event("of another kind", "r", body) == UnreadableEvent("of another kind", "r", None)


def test_tables_of_an_entry_of_another_version_are_known() -> None:
    """They stand where they always stood."""
    found = read_event("bought", _SHEET.release, _of_another_version(_BODY))
    assert found == UnreadableEvent("bought", _SHEET.release, _SHEET.scope.tables)


def test_unreadable_answer_refuses_its_tables_to_its_group_alone() -> None:
    """Other tables go on, and so does everybody else; who is told of it later is touched as well."""
    histories, mine = Histories(), scope()
    other = replace(mine, shape="elsewhere", tables=frozenset({"elsewhere"}))
    histories.unread(UnreadableEvent("bought", "q-1.r1.1", mine.tables), "alice")
    histories.answered(ContentStored("q-1.r1.1", (4,), 0, Fraction(1), whole=True))
    assert _refused(histories, A, mine)
    assert not _refused(histories, A, other)
    assert not _refused(histories, B, mine)
    histories.add_recipient("q-1.r1.1", "bob", [0])
    assert _refused(histories, B, mine)
    assert not _refused(histories, B, other)


def test_unreadable_telling_of_a_known_release_is_about_its_tables() -> None:
    """What it was about is known, if not what of it was told."""
    histories, one = Histories(), entry(1)
    histories.bought(one, "alice")
    histories.unread(UnreadableEvent("told", one.release, None), "bob")
    other = replace(one.scope, shape="elsewhere", tables=frozenset({"elsewhere"}))
    assert _refused(histories, B, one.scope)
    assert not _refused(histories, B, other)


def test_answer_whose_tables_nobody_knows_refuses_its_group_everything() -> None:
    """And nobody else anything."""
    histories, mine = Histories(), scope()
    histories.unread(UnreadableEvent("bought", "q-1.r1.1", None), "alice")
    assert _refused(histories, A, mine)
    assert not _refused(histories, B, mine)


def test_size_that_was_kept_without_its_noise_is_unknown() -> None:
    """As it was written before sizes had noise: read, and nothing is said of how many there are."""
    found = read_event("answered", "r", '{"counts": [3], "rows": 1, "slot": 0}')
    assert found == ContentStored("r", (3,), 0)
    histories, one = Histories(), entry(1)
    histories.bought(one, "alice")
    histories.answered(ContentStored(one.release, (3,), 0))
    audit([NewQuery(one.scope, Fraction(1))], histories.of(A), _RULES)
