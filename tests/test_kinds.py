"""Every test is of one kind, and a unit test starts nothing."""

import subprocess
import sys

import pytest
from kinds import KINDS, UnitGuard


def test_every_test_of_this_run_has_one_kind(request: pytest.FixtureRequest) -> None:
    """`make test-unit` leaves out what starts something, and nothing is left out of everything."""
    for item in request.session.items:
        kinds = [kind for kind in KINDS if item.get_closest_marker(kind)]
        assert len(kinds) == 1, item.nodeid


def test_unit_test_fails_when_it_starts_a_process(request: pytest.FixtureRequest) -> None:
    """This one is a unit test: it is told what to do."""
    assert request.node.get_closest_marker("unit")
    with pytest.raises(AssertionError, match="starts a process: mark it `server` or `gateway`"):
        subprocess.run([sys.executable, "-c", ""], check=True)


@pytest.mark.gateway
def test_other_tests_may_start_processes(request: pytest.FixtureRequest) -> None:
    """The guard is for unit tests alone, and is gone after each."""
    guard = UnitGuard()
    with guard.watching(request.node):
        guard.refuse()
    assert guard.test == ""
    subprocess.run([sys.executable, "-c", ""], check=True)
