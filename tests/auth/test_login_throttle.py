"""Failures are counted per address, per name and together, in bounded memory."""

from collections import Counter

import pytest
from fix_auth import Clock
from hypothesis import given
from hypothesis import strategies as st

from gateway.auth import login_throttle as module
from gateway.auth.login_throttle import Failure, FailureLimits, Throttle

LIMITS = FailureLimits(address=5, name=3, together=12, window_s=60)
COUNTED, ONE_TOO_MANY, THROTTLED = Failure.COUNTED, Failure.ONE_TOO_MANY, Failure.THROTTLED


@pytest.fixture
def throttle(clock: Clock) -> Throttle:
    return Throttle(LIMITS, clock.steady)


def test_address_is_throttled_after_its_limit(throttle: Throttle) -> None:
    """An address has its failures, then one notice, then silence; another address is not affected."""
    failures = [throttle.failed("10.0.0.1", None) for _ in range(8)]
    assert failures == [COUNTED] * 5 + [ONE_TOO_MANY] + [THROTTLED] * 2
    assert throttle.failed("10.0.0.2", None) is COUNTED


def test_name_is_throttled_wherever_it_is_claimed(throttle: Throttle) -> None:
    """Failures with one key id add up over all addresses."""
    failures = [throttle.failed(f"10.0.0.{n}", "abc") for n in range(5)]
    assert failures == [COUNTED] * 3 + [ONE_TOO_MANY, THROTTLED]
    assert throttle.failed("10.0.0.1", "xyz") is COUNTED


def test_everybody_together_is_throttled(throttle: Throttle) -> None:
    """Who changes address and name with every attempt meets the limit for all."""
    failures = [throttle.failed(f"10.0.0.{n}", str(n)) for n in range(14)]
    assert failures == [COUNTED] * 12 + [ONE_TOO_MANY, THROTTLED]


def test_counting_begins_anew_after_the_window(throttle: Throttle, clock: Clock) -> None:
    """A window lasts from its first failure, and what happens in it does not prolong it."""
    for _ in range(7):
        throttle.failed("10.0.0.1", None)
        clock.forward(seconds=8)
    assert throttle.failed("10.0.0.1", None) is THROTTLED
    clock.forward(seconds=4)
    assert throttle.failed("10.0.0.1", None) is COUNTED


@pytest.mark.parametrize(
    ("one", "other", "same"),
    [
        ("2001:db8::1", "2001:db8::ffff:1", True),
        ("2001:db8::1", "2001:db8:0:1::1", False),
        ("fe80::1%eth0", "fe80::2%eth1", True),
        ("::ffff:10.0.0.1", "10.0.0.1", True),
        ("10.0.0.1", "10.0.0.2", False),
        ("unix", "unix", True),
    ],
)
def test_addresses_of_one_network_count_together(
    throttle: Throttle,
    one: str,
    other: str,
    same: bool,  # noqa: FBT001
) -> None:
    """An IPv6 host, which has a /64 to choose from, counts as one address."""
    for _ in range(6):
        throttle.failed(one, None)
    assert (throttle.failed(other, None) is THROTTLED) == same


def test_memory_is_bounded_when_addresses_are_cycled(
    clock: Clock, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Old addresses and names go when there are too many, and names of any length are cut."""
    monkeypatch.setattr(module, "_MOST_REMEMBERED", 50)
    throttle = Throttle(LIMITS, clock.steady)
    for n in range(500):
        throttle.failed(f"10.1.{n // 250}.{n % 250}", f"{n}" * 1000)
    assert len(throttle._addresses) == 50
    assert len(throttle._names) == 50
    assert max(map(len, throttle._names)) <= 128
    assert "10.1.1.249" in throttle._addresses


def test_recently_seen_address_is_kept(clock: Clock, monkeypatch: pytest.MonkeyPatch) -> None:
    """Who goes on failing is not forgotten because others come."""
    monkeypatch.setattr(module, "_MOST_REMEMBERED", 3)
    limits = FailureLimits(address=5, together=1000)
    throttle = Throttle(limits, clock.steady)
    seen = Counter[Failure]()
    for n in range(20):
        seen[throttle.failed("10.0.0.1", None)] += 1
        throttle.failed(f"10.2.0.{n}", None)
    assert seen == {COUNTED: 5, ONE_TOO_MANY: 1, THROTTLED: 14}


@given(
    st.lists(
        st.tuples(st.sampled_from("abcdefgh"), st.sampled_from(["x", "y", "z", None])), max_size=80
    )
)
def test_records_of_a_window_are_bounded(attempts: list[tuple[str, str | None]]) -> None:
    """Whatever addresses and names are used, a window records its limit and one notice at most."""
    throttle = Throttle(LIMITS, Clock().steady)
    recorded = [throttle.failed(*attempt) is not THROTTLED for attempt in attempts]
    assert sum(recorded) <= LIMITS.together + 1
