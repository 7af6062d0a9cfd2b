"""What a connection keeps goes with its transactions, by what the twin says of them."""

from gateway.binding.text.temp_tables import TempTable
from gateway.frontends.pgwire import messages
from gateway.frontends.pgwire.framing import frame_message
from gateway.frontends.pgwire.temp_table_flow import MOST_BYTES, TempTables

ONE = TempTable(1, (("a", "text"),), 10)
IDLE, INSIDE = frame_message(messages.READY, b"I"), frame_message(messages.READY, b"T")
ERROR = frame_message(messages.ERROR, b"\0")


def tag(text: str) -> bytes:
    return frame_message(messages.COMMAND_COMPLETE, text.encode() + b"\0")


def hear(keeping: TempTables, *said: bytes) -> list[str]:
    for raw in said:
        keeping.heard(raw[0], raw)
    return list(keeping.answers)


def test_what_is_kept_is_there_after_its_end() -> None:
    """With a transaction of its own, or after a commit; what others do wrong later does not matter."""
    keeping = TempTables()
    keeping.keep("t", ONE)
    assert hear(keeping, tag("SET"), IDLE, ERROR, IDLE) == ["t"]
    hear(keeping, tag("BEGIN"), INSIDE)
    keeping.keep("u", ONE)
    assert hear(keeping, tag("COMMIT"), IDLE, ERROR, IDLE) == ["t", "u"]


def test_what_is_undone_is_as_before() -> None:
    """By a rollback, by an error outside of a transaction, and by a commit of one that failed."""
    for end in ([tag("ROLLBACK")], [ERROR], [ERROR, tag("ROLLBACK")]):
        keeping = TempTables()
        keeping.keep("t", ONE)
        hear(keeping, IDLE)
        keeping.give_up(("t",))
        keeping.keep("u", ONE)
        assert hear(keeping, *end, IDLE) == ["t"]


def test_a_savepoint_that_was_undone_does_not_undo_a_commit() -> None:
    """What was kept before it is there."""
    keeping = TempTables()
    keeping.keep("t", ONE)
    said = [INSIDE, ERROR, tag("ROLLBACK"), INSIDE, tag("COMMIT"), IDLE]
    assert hear(keeping, *said) == ["t"]


def test_the_end_of_everything_is_the_end_of_it() -> None:
    """DISCARD of all, or of what is temporary; and there is room again."""
    for end in ("DISCARD ALL", "DISCARD TEMP"):
        keeping = TempTables()
        keeping.keep("t", ONE)
        assert keeping.room() == MOST_BYTES - 10
        assert hear(keeping, tag(end), IDLE) == []
        assert keeping.room() == MOST_BYTES


def test_no_number_is_given_twice() -> None:
    """Whatever is undone in between."""
    keeping = TempTables()
    numbers = [keeping.next_number()]
    hear(keeping, ERROR, IDLE)
    assert keeping.next_number() not in numbers
