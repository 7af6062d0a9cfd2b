"""Nobody waits any more: everyone who asked to be told is told, whenever they asked."""

from gateway.cancellation import CancelEvent


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
