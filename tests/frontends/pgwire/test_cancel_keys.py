"""A cancel key stops what its own connection does, and any other key stops nothing."""

import struct
from collections.abc import Iterator

import pytest
from frontends.pgwire.packets import told

from gateway.frontends.pgwire.startup import CancelKey, CancelRegistry


@pytest.mark.parametrize(("minor", "length"), [(0, 4), (1, 4), (2, 32)])
def test_key_is_as_long_as_the_version_has_room_for(minor: int, length: int) -> None:
    """Four bytes for protocol 3.0, thirty-two since 3.2, and a number that drivers take for positive."""
    key = CancelRegistry().register(minor, list)
    assert told(key.message) == [("K", struct.pack("!i", key.pid) + key.secret)]
    assert (len(key.secret), key.pid > 0) == (length, True)
    assert key.secret.hex() not in repr(key)
    assert repr(key.secret) not in repr(key)


def test_right_key_alone_cancels() -> None:
    """Its own connection, and no other; a secret that begins or ends rightly is wrong."""
    cancelling, stopped = CancelRegistry(), list[str]()
    one = cancelling.register(2, lambda: stopped.append("one"))
    other = cancelling.register(0, lambda: stopped.append("other"))
    wrong = [b"", one.secret[:4], one.secret[:-1], one.secret + b"\0", other.secret, bytes(32)]
    for secret in wrong:
        cancelling.cancel(one.pid, secret)
    for pid in (0, -1, one.pid ^ 1, other.pid):
        cancelling.cancel(pid, one.secret)
    assert stopped == []
    cancelling.cancel(one.pid, one.secret)
    cancelling.cancel(one.pid, one.secret)
    cancelling.cancel(other.pid, other.secret)
    assert stopped == ["one", "one", "other"]


def test_key_of_a_connection_that_ended_cancels_nothing() -> None:
    """Not even what got the same number afterwards; and to forget twice is no mistake."""
    cancelling, stopped = CancelRegistry(lambda _: 6), list[str]()
    old = cancelling.register(0, lambda: stopped.append("old"))
    cancelling.forget(old)
    cancelling.forget(old)
    new = cancelling.register(0, lambda: stopped.append("new"))
    assert new.pid == old.pid == 7
    cancelling.cancel(old.pid, old.secret)
    cancelling.cancel(old.pid, CancelKey(1, b"").secret)
    assert stopped == []


def test_numbers_of_connections_differ() -> None:
    """A number that is taken is drawn again."""
    drawn: Iterator[int] = iter([3, 3, 3, 4])
    cancelling = CancelRegistry(lambda _: next(drawn))
    assert [cancelling.register(0, list).pid for _ in range(2)] == [4, 5]


def test_secrets_are_drawn_anew() -> None:
    """No two connections share one."""
    cancelling = CancelRegistry()
    keys = [cancelling.register(2, list) for _ in range(200)]
    assert len({key.secret for key in keys}) == len({key.pid for key in keys}) == 200
