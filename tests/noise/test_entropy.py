"""The source of randomness: enough of it, and never the same twice."""

import os
import subprocess
import sys
import threading

import pytest

from gateway.noise.entropy import SYSTEM_ENTROPY, SystemEntropy
from gateway.noise.entropy import _forks as forks

_FORKING = """
import os
from gateway.noise.entropy import SYSTEM_ENTROPY
SYSTEM_ENTROPY.bits(8)
read, write = os.pipe()
child = os.fork()
mine = SYSTEM_ENTROPY.bits(128)
if child == 0:
    os.write(write, mine.to_bytes(16))
    os._exit(0)
os.waitpid(child, 0)
print(int.from_bytes(os.read(read, 16)) == mine)
"""


def test_system_entropy_gives_numbers_of_the_asked_width() -> None:
    """Bits are counted exactly, from none to more than the reserve holds."""
    for count in (0, 1, 7, 64, 8192, 8193, 20_000):
        drawn = [SYSTEM_ENTROPY.bits(count) for _ in range(3)]
        assert all(0 <= one < 1 << count for one in drawn)
    assert len(SYSTEM_ENTROPY.bytes(1000)) == 1000


def test_system_entropy_never_repeats_itself_across_refills() -> None:
    """Words of 64 bits drawn one after the other are all different (false alarm: 2^-36)."""
    drawn = [SYSTEM_ENTROPY.bits(64) for _ in range(10_000)]
    assert len(set(drawn)) == len(drawn)


def test_system_entropy_sets_every_bit_of_a_number() -> None:
    """Each place of a 100-bit number is set about half the time (false alarm below 1e-9)."""
    drawn = [SYSTEM_ENTROPY.bits(100) for _ in range(10_000)]
    for place in range(100):
        assert abs(sum(one >> place & 1 for one in drawn) - 5_000) < 400  # 8 standard deviations


@pytest.mark.gateway
def test_system_entropy_is_not_shared_when_the_process_forks() -> None:
    """Parent and child draw different bits although the reserve was filled before the fork."""
    done = subprocess.run([sys.executable, "-c", _FORKING], capture_output=True, check=True)
    assert done.stdout.strip() == b"False"


@pytest.mark.parametrize("noticed", ["by its number", "by the hook"])
def test_reserve_is_dropped_when_either_sign_of_a_fork_is_seen(
    noticed: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A changed process number alone or the hook alone is enough."""
    entropy = SystemEntropy()
    entropy.bits(8)
    before, reserved = entropy._reserve.value, entropy._reserve.left
    if noticed == "by its number":
        monkeypatch.setattr(os, "getpid", lambda: -1)
    else:
        monkeypatch.setattr(forks, "seen", forks.seen + 1)
    assert entropy.bits(128) != before & ((1 << 128) - 1)
    assert entropy._reserve.left == 8 * 1024 - 128 != reserved - 128


def test_reserve_is_used_when_no_fork_happened() -> None:
    """Negative control: without a sign of a fork the next bits do come from the reserve."""
    entropy = SystemEntropy()
    entropy.bits(8)
    before = entropy._reserve.value
    assert entropy.bits(128) == before & ((1 << 128) - 1)


def test_threads_have_reserves_of_their_own() -> None:
    """Two threads never draw from one reserve."""
    entropy = SystemEntropy()
    entropy.bits(8)
    seen: list[int] = []
    other = threading.Thread(target=lambda: seen.append(entropy._reserve.left))
    other.start()
    other.join()
    assert seen == [0]
