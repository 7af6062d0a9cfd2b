"""One's own history: what became of each question, and what one's own account gave for it."""

from collections.abc import Mapping, Sequence
from typing import Any

import pytest

from gateway.datasets.registry import DatasetRegistry
from gateway.datasets.system_tables import OwnRows
from gateway.errors import Code
from gateway.policy.subjects import Subject
from gateway.requests.answer_json import past_json
from gateway.requests.request import PastQuestion
from gateway.trail.record import RecordKind
from gateway.trail.search import RecordFilter
from gateway.units import Epsilon

ALICE = Subject("alice")


def _record(seq: int, query_id: str, kind: RecordKind, **more: object) -> Mapping[str, Any]:
    said = {"seq": seq, "query_id": query_id, "kind": kind.value, "sql": f"SELECT {query_id}"}
    return {**said, "at": "2026-01-31T12:00:00.000000+00:00", "code": None, "price": None, **more}


CLIPPED = {"clipped": [{"over": "visits by day", "limit_squared": 8}]}
RECORDS = (
    _record(1, "measured", RecordKind.CHARGED, price="1/20"),
    _record(2, "measured", RecordKind.ANSWERED, attributes=CLIPPED),
    _record(3, "free", RecordKind.REUSED),
    _record(4, "owed", RecordKind.CHARGED, price="0/1", price_taken="1/40"),
    _record(5, "owed", RecordKind.REUSED),
    _record(
        6,
        "near",
        RecordKind.REFUSED,
        code=Code.DIFFERENCING.value,
        price="1/20",
        attributes=CLIPPED,
    ),
    _record(7, "late", RecordKind.CHARGED, price="1/20"),
    _record(8, "lost", RecordKind.REUSED),
    _record(9, "lost", RecordKind.FAILED, code=Code.TWIN_UNAVAILABLE.value),
)


def _past() -> list[PastQuestion]:
    def records(limit: int, wanted: RecordFilter) -> Sequence[Mapping[str, Any]]:
        assert wanted.subject == ALICE.name
        return RECORDS[-limit:]

    nobody = object.__new__(DatasetRegistry)  # no dataset is looked at
    return OwnRows(lambda _: (), records, nobody).questions(ALICE, 10)


def test_questions_are_told_newest_first_with_what_became_of_them() -> None:
    """Reuse is an outcome of its own; what has no end yet is not there, and of two ends the last counts."""
    assert [(one.query_id, one.outcome) for one in _past()] == [
        ("lost", "failed"),
        *(("near", "refused"), ("owed", "reused"), ("free", "reused"), ("measured", "answered")),
    ]


def test_questions_that_were_reused_cost_what_the_own_account_gave() -> None:
    """Nothing where nothing was charged, else the price of the charge, or what is said to have been given instead."""
    assert {one.query_id: one.charged for one in _past()} == {
        "measured": Epsilon.parse("0.05"),
        "free": Epsilon.zero(),
        "owed": Epsilon.parse("0.025"),
        "near": Epsilon.zero(),
        "lost": Epsilon.zero(),
    }


def test_questions_that_were_refused_for_overlap_tell_the_reason() -> None:
    """The class to program against; the others have none."""
    assert {one.query_id: one.reason for one in _past() if one.reason} == {
        "near": "overlap",
        "lost": "backend_unavailable",
    }


def test_questions_that_were_answered_tell_their_clips() -> None:
    """As the answers told them; what was refused told none, and of most there is none."""
    assert {one.query_id: one.clipped for one in _past() if one.clipped} == {
        "measured": (("visits by day", 8),)
    }
    told = {one.query_id: past_json(one).get("clipped") for one in _past()}
    assert {name: scopes for name, scopes in told.items() if scopes} == {
        "measured": [{"over": "visits by day", "limit": pytest.approx(8**0.5)}]
    }
