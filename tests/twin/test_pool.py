"""Lines that clients hold, beside what the gateway borrows."""

from collections.abc import Callable

import pytest
from fix_twin import CLINIC, OTHER, state

from gateway.twin import Twin, TwinRefused
from gateway.twin.pool import HeldConnections, SessionKey
from gateway.twin.settings import BORROWED, IDLE, LINES, LINES_OF_ROLE, SESSIONS, SESSIONS_OF_ROLE

ALICE = SessionKey("alice", CLINIC)


def _held(held: HeldConnections, whose: SessionKey, many: int) -> list[Callable[[], None]]:
    return [held.hold(whose) for _ in range(many)]


def test_lines_of_one_subject_are_limited() -> None:
    """Who holds as many as one may is refused another one, by the words tools know, until one is closed."""
    held = HeldConnections()
    first, *_ = _held(held, ALICE, LINES_OF_ROLE)
    with pytest.raises(TwinRefused, match='too many connections for role "alice"') as refused:
        held.hold(ALICE)
    assert refused.value.sqlstate == "53300"
    held.hold(SessionKey("bob", CLINIC))
    first()
    held.hold(ALICE)


def test_lines_of_all_are_limited() -> None:
    """All together hold as many as there is room for, however many subjects there are."""
    held = HeldConnections()
    for place in range(LINES):
        held.hold(SessionKey(f"subject {place}", CLINIC))
    with pytest.raises(TwinRefused, match="sorry, too many clients already", check=state("53300")):
        held.hold(ALICE)


def test_line_is_counted_off_once_when_it_is_closed_twice() -> None:
    """A line that is closed again makes no room that is not there."""
    held = HeldConnections()
    first, *_ = _held(held, ALICE, LINES_OF_ROLE)
    first()
    first()
    held.hold(ALICE)
    with pytest.raises(TwinRefused):
        held.hold(ALICE)


def test_sessions_have_room_for_questions_when_all_lines_are_held() -> None:
    """What clients hold and what lies idle leaves the server, and each role, sessions to borrow."""
    reserved = 8
    assert SESSIONS - reserved - LINES - IDLE == BORROWED
    assert SESSIONS_OF_ROLE - LINES_OF_ROLE == BORROWED


def test_borrowed_finds_room_when_its_subject_holds_all_lines(twin: Twin) -> None:
    """The server's own limit for a role is above what its subject can hold: a question of hers still runs."""
    lines = []
    try:
        with pytest.raises(TwinRefused, check=state("53300")):  # noqa: PT012  # the last one is refused
            for _ in range(LINES_OF_ROLE + 1):
                lines.append(twin.line("holder", OTHER, {}))  # noqa: PERF401  # each must be closed
        assert len(lines) == LINES_OF_ROLE
        with twin.borrowed("holder", OTHER) as session:
            assert session.run("SELECT 1") == (("1",),)
    finally:
        for line in lines:
            line.close()
    twin.line("holder", OTHER, {}).close()
