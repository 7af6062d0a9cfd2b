"""Locks between gateways: who has one, who waits, who may give it back."""

import subprocess
import threading
from pathlib import Path

import pytest

from gateway.errors import Code, OperatorError
from gateway.postgres_server.files import Hold, hold_lock, inherit_lock, is_free


def test_hold_is_shared_and_counted_when_taken_twice(tmp_path: Path) -> None:
    """Two holds in one process are two; the lock is free when both are released."""
    path = tmp_path / "lock"
    first, second = Hold(path), Hold(path)
    first.release()
    first.release()
    assert not is_free(path)
    second.release()
    assert is_free(path)


def test_exclusive_lock_excludes_threads_when_one_is_inside(tmp_path: Path) -> None:
    """Of two threads one is inside at a time."""
    path, inside, most = tmp_path / "lock", [0], [0]

    def enter() -> None:
        for _ in range(20):
            with hold_lock(path, 10):
                inside[0] += 1
                most[0] = max(most[0], inside[0])
                inside[0] -= 1

    threads = [threading.Thread(target=enter) for _ in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert most == [1]


def test_exclusive_lock_gives_up_when_it_is_held_for_long(tmp_path: Path) -> None:
    """Somebody who hangs inside is reported, not waited for without end."""
    path = tmp_path / "lock"
    with (
        hold_lock(path, 1),
        pytest.raises(OperatorError, match="has held") as refused,
        hold_lock(path, 0.05),
    ):
        pytest.fail("two were inside")
    assert refused.value.code is Code.EMBEDDED_SERVER
    with hold_lock(path, 0.05):
        assert not is_free(path)


def test_inherited_lock_stays_when_its_taker_has_left(tmp_path: Path) -> None:
    """A program that inherited the lock keeps it until it ends."""
    path = tmp_path / "lock"
    with inherit_lock(path) as file:
        heir = subprocess.Popen(["/bin/sleep", "60"], pass_fds=[file])
    assert not is_free(path)
    heir.kill()
    heir.wait()
    assert is_free(path)
