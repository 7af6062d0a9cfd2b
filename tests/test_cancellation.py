"""A cancelled query calls back everyone who registered; how long its source computed is recorded."""

import pytest

from gateway.cancellation import CancelEvent, Computation, SourceEnd
from gateway.error_codes import Code
from gateway.errors import SourceStopped


def test_cancel_calls_back_when_it_is_set() -> None:
    """Whoever is within the block is called once for each time it is set."""
    cancel, told = CancelEvent(), list[str]()
    with cancel.telling(lambda: told.append("one")), cancel.telling(lambda: told.append("two")):
        assert not cancel.is_set()
        assert told == []
        cancel.set()
    assert sorted(told) == ["one", "two"]
    assert cancel.is_set()


def test_cancel_calls_back_at_once_when_it_was_set_before() -> None:
    """Who comes late is told all the same."""
    cancel, told = CancelEvent(), list[str]()
    cancel.set()
    with cancel.telling(lambda: told.append("late")):
        assert told == ["late"]


def test_cancel_does_not_call_back_when_the_block_was_left() -> None:
    """A question that has ended is not told."""
    cancel, told = CancelEvent(), list[str]()
    with cancel.telling(lambda: told.append("gone")):
        pass
    cancel.set()
    assert told == []


@pytest.mark.parametrize(
    ("seconds", "ended", "counted"),
    [
        (30.0, SourceEnd.LIMIT, True),
        (14.9, SourceEnd.CANCEL, False),
        (15.0, SourceEnd.CANCEL, True),
        (29.0, SourceEnd.STOP, False),
    ],
)
def test_computation_is_counted_when_it_could_tell_of_a_row(
    seconds: float, ended: SourceEnd, *, counted: bool
) -> None:
    """A time-out counts, and so does a cancel after half of the limit; a stop of the gateway does not."""
    assert Computation(seconds, 30.0, ended).is_counted is counted


def test_stopped_source_has_no_computation_when_it_waited() -> None:
    """Whoever raises it without one says that the source did not compute."""
    assert SourceStopped(Code.SOURCE_CANCELLED).computation is None
