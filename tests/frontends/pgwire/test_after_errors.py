"""Statements that the gateway inserts between a client's messages leave nothing behind, even after an error."""

import random

import pytest
from frontends.pgwire.conversations import COUNT, OF_REGION, Shown, gatewayed, shown

from gateway.frontends.pgwire import messages
from gateway.frontends.pgwire.messages import Bind, ExecutePortal, Parse
from gateway.twin import Twin

_END = messages.query(b"SELECT 'this was all'")
NOT_UTF8 = b"\xff"


def _asked(value: bytes, name: bytes = b"", *, formats: tuple[int, ...] = (1,)) -> bytes:
    """A question with a parameter, as drivers send it."""
    parts = (
        Parse(name, OF_REGION.encode()).write(),
        Bind(b"", name, formats, (value,), ()).write(),
        ExecutePortal(b"").write(),
        messages.SYNCING,
    )
    return b"".join(parts)


def _said(twin: Twin, *given: bytes) -> tuple[list[Shown], int]:
    """What is said to messages that are sent one after the answer to another, and how many questions were put."""
    with gatewayed(twin, random.Random(1)) as ours:  # noqa: S311 - when who is heard is no secret
        told = [one for each in given for one in shown(ours.converse([each, _END]))]
        return told, ours.asked


def _errors(said: list[Shown]) -> list[object]:
    return [body for kind, body in said if kind == "E"]


def _counted(said: list[Shown]) -> list[object]:
    rows = [
        messages.read_row(body) for kind, body in said if kind == "D" and isinstance(body, bytes)
    ]
    return [row[1] for row in rows if row[0] == b"asked"]


@pytest.mark.parametrize("again", [1, 3])
def test_question_is_answered_after_one_that_failed(twin: Twin, again: int) -> None:
    """A value that PostgreSQL cannot read fails its own question, and none of those that come later."""
    given = [_asked(NOT_UTF8)] * again + [_asked(b"north")] * again
    said, asked = _said(twin, *given)
    assert _errors(said) == ["22021"] * again
    assert _counted(said) == [b"3"] * again
    assert asked == again


def test_question_is_answered_after_names_were_forgotten(twin: Twin) -> None:
    """When the twin is asked for its names first, that is over before values are read, in one message too."""
    said, asked = _said(
        twin,
        _asked(b"north", b"a"),
        messages.query(b"DEALLOCATE a"),
        _asked(b"south", b"a"),
        messages.query(f"PREPARE b AS {COUNT}".encode()),
        _asked(b"east", b"c"),
    )
    assert _errors(said) == []
    assert _counted(said) == [b"3", b"2", b"1"]
    assert asked == 3
