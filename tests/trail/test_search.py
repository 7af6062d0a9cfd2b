"""Searching the trail finds what matches, all of it and nothing else, in order."""

import json
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta, timezone
from functools import partial

import pytest
from fix_gateway import NASTY, Past
from fix_state import AUDIT_SECRET
from laws import for_each
from sqlalchemy import Connection

from gateway.state.anchor import GENESIS
from gateway.state.open import State
from gateway.trail.chain import ChainKey, canonical_json
from gateway.trail.record import ActRecord, AskedQuestion, QuestionRecord, RecordKind, Trail
from gateway.trail.search import RecordFilter, all_records, json_line, latest_records
from gateway.trail.verify import verify

NOON = datetime(2026, 3, 18, 12, tzinfo=UTC)
SUBJECTS = ("alice", "bob", None)
DATASETS = ("clinic", "labs")


@pytest.fixture(scope="module")
def library(past: Past) -> Iterator[Connection]:
    with past.superuser.connect() as connection:
        yield connection


@pytest.fixture
def shelf(state: State) -> Iterator[Connection]:
    """Twenty-four records, one a minute, of every combination of subject, dataset and kind."""
    now = [NOON]
    trail = Trail(ChainKey(AUDIT_SECRET), lambda: now[0])
    for number in range(24):
        subject, dataset = SUBJECTS[number % 3], DATASETS[number // 3 % 2]
        act = ActRecord(
            RecordKind.POLICY_LOADED if number % 2 else RecordKind.POLICY_REJECTED,
            "x",
            {},
            subject,
            dataset,
        )
        asked = AskedQuestion(
            f"q-{number}", subject or "nobody", dataset, "SELECT 1", "rest", "::1"
        )
        record = act if number % 4 else QuestionRecord(RecordKind.ANSWERED, asked)
        state.journal.commit(partial(trail.append, record=record))
        now[0] += timedelta(minutes=1)
    with state.engine.connect() as connection:
        yield connection


def seqs(connection: Connection, wanted: RecordFilter, limit: int = 1000) -> list[int]:
    return [record["seq"] for record in latest_records(connection, limit, wanted)]


def test_search_finds_everything_when_nothing_is_asked_for(shelf: Connection) -> None:
    """Without conditions all records come, oldest first, streamed or not."""
    assert seqs(shelf, RecordFilter()) == list(range(1, 25))
    assert [record["seq"] for record in all_records(shelf)] == list(range(1, 25))


@pytest.mark.parametrize(
    "conditions",
    [
        {"subject": "alice"},
        {"subject": "nobody"},
        {"kind": "policy_loaded"},
        {"dataset": "labs"},
        {"query_id": "q-8"},
        {"subject": "bob", "dataset": "clinic", "kind": "policy_loaded"},
        {"subject": "bob", "dataset": "no such"},
        {"kind": "POLICY_LOADED"},
        {"subject": "ali%"},
        {"subject": ""},
    ],
)
def test_search_finds_exactly_what_matches(shelf: Connection, conditions: dict[str, str]) -> None:
    """Every condition that is given must hold, exactly as it is written."""
    everything = latest_records(shelf, 1000)
    expected = [
        record["seq"]
        for record in everything
        if all(record[name] == value for name, value in conditions.items())
    ]
    wanted = RecordFilter(**conditions)  # type: ignore[arg-type]  # names of text fields alone
    assert seqs(shelf, wanted) == expected
    assert [record["seq"] for record in all_records(shelf, wanted)] == expected


def test_search_includes_since_and_excludes_until(shelf: Connection) -> None:
    """Two searches that meet at a moment share no record and miss none."""
    at = NOON + timedelta(minutes=10)
    assert seqs(shelf, RecordFilter(since=at)) == list(range(11, 25))
    assert seqs(shelf, RecordFilter(until=at)) == list(range(1, 11))
    assert seqs(shelf, RecordFilter(since=at, until=at)) == []
    elsewhere = at.astimezone(timezone(timedelta(hours=-7)))
    assert seqs(shelf, RecordFilter(since=elsewhere)) == list(range(11, 25))


def test_search_pages_backwards_when_before_is_given(shelf: Connection) -> None:
    """Page by page, newest first, each record comes once; within a page the oldest is first."""
    pages, before = [], None
    while page := seqs(shelf, RecordFilter(before=before), limit=7):
        pages.append(page)
        before = page[0]
    assert pages[0] == list(range(18, 25))
    assert [seq for page in reversed(pages) for seq in page] == list(range(1, 25))


@pytest.mark.parametrize("before", [1, 10**30])
def test_search_takes_any_number_as_before(shelf: Connection, before: int) -> None:
    """A number that no record can have is no error."""
    assert seqs(shelf, RecordFilter(before=before)) == ([] if before == 1 else list(range(1, 25)))


@pytest.mark.parametrize(
    "moment", [datetime.min.replace(tzinfo=UTC), datetime.max.replace(tzinfo=UTC)]
)
def test_search_takes_any_moment(shelf: Connection, moment: datetime) -> None:
    """Neither does the first nor the last moment there is stop a search."""
    assert (
        len(seqs(shelf, RecordFilter(since=moment))) + len(seqs(shelf, RecordFilter(until=moment)))
        == 24
    )


@for_each("text", ["\0", "\ud800", "al\0ice", "'; DROP TABLE trail_records; --"])
@for_each("name", ["subject", "kind", "dataset", "query_id"])
def test_search_finds_nothing_when_the_text_cannot_be_there(
    library: Connection, name: str, text: str
) -> None:
    """Text that PostgreSQL cannot hold is no error: nothing matches it."""
    wanted = RecordFilter(**{name: text})  # type: ignore[arg-type]  # see above
    assert latest_records(library, 10, wanted) == []
    assert list(all_records(library, wanted)) == []


def test_record_is_found_when_its_names_are_nasty(state: State, trail: Trail) -> None:
    """What PostgreSQL cannot hold is filed under what stands in its place, and found by the original."""
    nasty = "ali\0ce\ud800\n\x1b[2J"
    asked = AskedQuestion("q-1", nasty, nasty, NASTY, "rest", "::1", nasty, {nasty: nasty})
    record = QuestionRecord(RecordKind.REFUSED, asked, because=(NASTY,))
    state.journal.commit(lambda draft: trail.append(draft, record))
    with state.engine.connect() as connection:
        (found,) = latest_records(connection, 10, RecordFilter(subject=nasty, dataset=nasty))
        assert verify(connection, ChainKey(AUDIT_SECRET), None).intact
    assert found["sql"] == NASTY
    assert found["subject"] == nasty
    assert found["attributes"] == {nasty: nasty}


def test_exported_lines_are_the_records_when_they_are_chained_again(past: Past) -> None:
    """An export is evidence: whoever has the key computes every MAC from its lines alone."""
    key, position = ChainKey(AUDIT_SECRET), GENESIS
    with past.superuser.connect() as connection:
        lines = [json_line(record) for record in all_records(connection)]
    assert len(lines) == past.last
    for line in lines:
        assert line.isprintable()
        assert line.isascii()
        said = json.loads(line)
        seq, mac = said.pop("seq"), said.pop("mac")
        position = key.link(position, canonical_json(said))
        assert (position.seq, position.mac) == (seq, mac)
    assert position == past.anchored.position


def test_stream_can_be_left_when_enough_was_read(past: Past) -> None:
    """A reader that stops early leaves the connection usable and nothing open on it."""
    with past.superuser.connect() as connection:
        records = all_records(connection)
        assert next(records)["seq"] == 1
        records.close()
        assert len(latest_records(connection, 5)) == 5
