"""Places for connections."""

import pytest

from gateway.frontends.workers import Admission


def test_connections_are_bounded_in_all_and_for_each_address() -> None:
    """One address leaves places to others, and a place that is given back is free."""
    admission = Admission(3, 2)
    assert [admission.enter("192.0.2.1") for _ in range(3)] == [True, True, False]
    assert [admission.enter(f"192.0.2.{one}") for one in (2, 3)] == [True, False]
    admission.leave("192.0.2.1")
    assert admission.enter("192.0.2.3")


@pytest.mark.parametrize(
    ("one", "other", "same"),
    [
        ("2001:db8::1", "2001:db8::ffff:2", True),
        ("2001:db8::1", "2001:db8:0:1::1", False),
        ("::ffff:192.0.2.1", "192.0.2.1", True),
        ("::ffff:192.0.2.1", "::ffff:192.0.2.2", False),
        ("fe80::1%eth0", "fe80::2%eth0", True),
        ("unknown", "unknown", True),
    ],
)
def test_addresses_of_one_client_count_together(one: str, other: str, *, same: bool) -> None:
    """A client of IPv6 has a whole network, and cannot fill the places from its addresses."""
    admission = Admission(9, 1)
    assert admission.enter(one)
    assert admission.enter(other) is not same
