"""What a stopped statement says of the source's computing."""

import pytest

from gateway.cancellation import Computation, SourceEnd
from gateway.error_codes import Code
from gateway.errors import SourceStopped


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
