"""The anchor: what it was told it knows, whoever told it, whatever crashed, whoever tampered."""

import json
import os
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from warm_python import forks

from gateway.errors import Code, OperatorError
from gateway.state import anchor as module
from gateway.state.anchor import Anchor, AnchorContent, Fact, Position

KEY = b"a key of the tests"


def at(seq: int) -> Position:
    return Position(seq, f"{seq:064x}")


def spent(amount: int) -> dict[str, str | None]:
    return {"spent": f"{amount}/1"}


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "anchor"


@pytest.fixture
def anchor(path: Path) -> Iterator[Anchor]:
    made = Anchor(path, KEY)
    yield made
    made.close()


def read(path: Path, key: bytes = KEY) -> AnchorContent | None:
    """What somebody who comes now reads."""
    fresh = Anchor(path, key)
    try:
        return fresh.read()
    finally:
        fresh.close()


def known(path: Path) -> AnchorContent:
    found = read(path)
    assert found is not None
    return found


def test_anchor_that_was_never_written_holds_nothing(path: Path, anchor: Anchor) -> None:
    """No file, no claim; and reading makes none."""
    assert anchor.read() is None
    assert not path.exists()


def test_anchor_knows_the_last_position_and_every_fact(path: Path, anchor: Anchor) -> None:
    """A fact stays until it is told anew, with the number at which it was told."""
    anchor.advance(at(1), {"account:a": spent(1), "ledger:l": {"unit": "patient", "x": None}})
    anchor.advance(at(2), {"account:a": spent(2)})
    anchor.advance(at(5), {})
    for found in (anchor.read(), read(path)):
        assert found == AnchorContent(
            at(5),
            {
                "account:a": Fact(2, spent(2)),
                "ledger:l": Fact(1, {"unit": "patient", "x": None}),
            },
        )


def test_anchor_keeps_the_later_word_when_gateways_write_out_of_order(
    path: Path, anchor: Anchor
) -> None:
    """Of two lines about one fact the one with the higher number counts, in whatever order."""
    anchor.advance(at(7), {"account:a": spent(7)})
    anchor.advance(at(6), {"account:a": spent(6), "account:b": spent(1)})
    assert known(path).position == at(7)
    assert known(path).facts == {"account:a": Fact(7, spent(7)), "account:b": Fact(6, spent(1))}
    assert anchor.read() == known(path)


def test_anchor_is_private_and_its_key_is_nowhere_in_it(path: Path, anchor: Anchor) -> None:
    """Only the gateway's own user reads it, and the key cannot be read out of it."""
    anchor.advance(at(1), {})
    assert path.stat().st_mode & 0o777 == 0o600
    assert KEY not in path.read_bytes()
    assert KEY.decode() not in repr(vars(anchor))


def test_anchor_is_rewritten_when_it_is_full_and_loses_nothing(
    path: Path, anchor: Anchor, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Many times its size goes through it; size, facts and position stay right."""
    monkeypatch.setattr(module, "_CAPACITY", 2048)
    inodes = set()
    for seq in range(1, 200):
        anchor.advance(at(seq), {f"account:{seq % 7}": spent(seq)})
        inodes.add(path.stat().st_ino)
    assert known(path).position == at(199)
    assert {name: fact.seq for name, fact in known(path).facts.items()} == {
        f"account:{seq % 7}": seq for seq in range(193, 200)
    }
    assert len(inodes) > 1
    assert path.stat().st_size < 8192
    assert sorted(os.listdir(path.parent)) == ["anchor", "anchor.lock"]  # noqa: PTH208  # names alone


def test_anchor_grows_when_its_facts_do_not_fit(
    path: Path, anchor: Anchor, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A line longer than the file makes the file longer."""
    monkeypatch.setattr(module, "_CAPACITY", 512)
    for seq in range(1, 60):
        anchor.advance(at(seq), {f"account:{'x' * 50}{seq}": spent(seq)})
    assert len(known(path).facts) == 59


def test_anchors_of_two_gateways_see_each_other(
    path: Path, anchor: Anchor, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each sees the other's lines, also after the other has replaced the file."""
    monkeypatch.setattr(module, "_CAPACITY", 1024)
    other = Anchor(path, KEY)
    for seq in range(1, 100):
        (anchor, other)[seq % 2].advance(at(seq), {f"account:{seq % 3}": spent(seq)})
        assert anchor.read() == other.read()
    other.close()
    assert known(path).position == at(99)


_WRITER = """
import sys
from pathlib import Path
from gateway.state import anchor
from gateway.state.anchor import Position
anchor._CAPACITY = 4096
mine = anchor.Anchor(Path(sys.argv[1]), sys.argv[2].encode())
name, count = sys.argv[3], int(sys.argv[4])
sys.stdin.readline()
for number in range(1, count + 1):
    mine.advance(Position(number, f"{number:064x}"), {f"{name}:{number % 5}": {"spent": f"{number}/1"}})
"""


@pytest.mark.gateway
def test_anchor_loses_no_line_when_processes_and_threads_write_at_once(path: Path) -> None:
    """Three processes and two threads append and rewrite together; every last word is there."""
    processes = []
    for number in range(3):
        with forks():
            arguments = [str(path), KEY.decode(), f"process-{number}", "150"]
            processes.append(
                subprocess.Popen(
                    [sys.executable, "-c", _WRITER, *arguments], stdin=subprocess.PIPE, text=True
                )
            )
    shared = Anchor(path, KEY)

    def write(name: str) -> None:
        for number in range(1, 151):
            shared.advance(at(number), {f"{name}:{number % 5}": spent(number)})

    threads = [threading.Thread(target=write, args=(f"thread-{number}",)) for number in range(2)]
    for process in processes:
        assert process.stdin is not None
        process.stdin.write("go\n")
        process.stdin.flush()
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for process in processes:
        process.communicate(timeout=60)
        assert process.returncode == 0
    shared.close()
    found = known(path)
    assert found.position == at(150)
    names = [f"process-{number}" for number in range(3)] + ["thread-0", "thread-1"]
    assert {name: fact.seq for name, fact in found.facts.items()} == {
        f"{name}:{number % 5}": number for name in names for number in range(146, 151)
    }


# ---- crashes ----


@settings(
    max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(begin=st.integers(0, 400), end=st.integers(0, 400), zeros=st.booleans())
def test_anchor_ignores_and_overwrites_a_torn_last_line(
    tmp_path: Path, begin: int, end: int, *, zeros: bool
) -> None:
    """Whatever part of the last line reached the disk: the lines before it count, a shorter or longer
    line takes its place, and that one counts.
    """
    path = tmp_path / "torn"
    path.unlink(missing_ok=True)
    writer = Anchor(path, KEY)
    writer.advance(at(1), {"account:a": spent(1)})
    good = writer._end
    writer.advance(at(2), {f"account:{'torn' * 40}": spent(2)})
    torn = bytearray(path.read_bytes())
    keep = range(good + min(begin, end), min(good + max(begin, end), writer._end))
    intact = len(keep) == writer._end - good
    for place in range(good, writer._end):
        if place not in keep:
            torn[place] = 0 if zeros else 0xAA
    writer.close()
    path.write_bytes(torn)
    assert known(path).position == at(2 if intact else 1)
    for seq, name in ((3, "b"), (4, "b" * 300), (5, "c")):
        fresh = Anchor(path, KEY)
        fresh.advance(at(seq), {f"account:{name}": spent(seq)})
        fresh.close()
        assert known(path).position == at(seq)
        assert known(path).facts["account:a"] == Fact(1, spent(1))


def test_anchor_takes_no_notice_of_a_rewrite_that_did_not_finish(
    path: Path, anchor: Anchor
) -> None:
    """What a crash left beside the anchor is not the anchor."""
    anchor.advance(at(1), {"account:a": spent(1)})
    path.with_name("anchor.new").write_bytes(b"half a li")
    assert known(path).position == at(1)
    path.unlink()
    anchor.advance(at(2), {})
    assert known(path).facts == {"account:a": Fact(1, spent(1))}


def test_anchor_that_could_not_be_written_goes_on_when_it_can(
    path: Path, anchor: Anchor, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A disk that fills up in the middle of a line is an error, and the next line stands in its place."""
    anchor.advance(at(1), {"account:a": spent(1)})
    real = module._write_all

    def full(file: int, data: bytes, offset: int = 0) -> None:
        real(file, data[:70], offset)
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(module, "_write_all", full)
    with pytest.raises(OSError, match="No space"):
        anchor.advance(at(2), {"account:a": spent(2)})
    assert known(path).position == at(1)
    monkeypatch.setattr(module, "_write_all", real)
    anchor.advance(at(3), {"account:b": spent(3)})
    assert known(path).position == at(3)
    assert known(path).facts["account:b"] == Fact(3, spent(3))


# ---- tampering ----


def three_lines(anchor: Anchor) -> list[int]:
    """Where each of three lines ends."""
    ends = []
    for seq in (1, 2, 3):
        anchor.advance(at(seq), {"account:a": spent(seq)})
        ends.append(anchor._end)
    return ends


def test_anchor_of_another_key_is_refused(path: Path, anchor: Anchor) -> None:
    """Whoever lacks the audit key can neither read the anchor as theirs nor write on."""
    three_lines(anchor)
    other = Anchor(path, b"another key")
    for _ in range(2):
        with pytest.raises(OperatorError) as caught:
            other.read()
        assert caught.value.code is Code.AUDIT_KEY_MISMATCH
        with pytest.raises(OperatorError):
            other.advance(at(9), {})
    other.close()
    assert known(path).position == at(3)


@pytest.mark.parametrize("line", [0, 1])
@pytest.mark.parametrize("damage", ["flipped", "zeroed", "shortened"])
def test_anchor_is_refused_when_a_line_in_its_middle_is_not_as_written(
    path: Path, anchor: Anchor, line: int, damage: str
) -> None:
    """A changed or lost line is not taken for the end: the lines behind it would be
    forgotten, and an older state would pass.
    """
    ends = three_lines(anchor)
    begin, end = (0, *ends)[line], ends[line]
    data = bytearray(path.read_bytes())
    if damage == "flipped":
        data[(begin + end) // 2] ^= 1
    elif damage == "zeroed":
        data[begin:end] = bytes(end - begin)
    else:
        del data[begin + 100 : begin + 101]
    path.write_bytes(data)
    fresh = Anchor(path, KEY)
    for _ in range(2):
        with pytest.raises(OperatorError):
            fresh.read()
        with pytest.raises(OperatorError):
            fresh.advance(at(9), {})
    fresh.close()


def test_anchor_gains_nothing_from_a_line_without_the_key(path: Path, anchor: Anchor) -> None:
    """A line with another's signature, or an old one's, is no line."""
    end = three_lines(anchor)[-1]
    payload = json.dumps({"seq": 9, "head": "0" * 64, "facts": {}}).encode()
    data = bytearray(path.read_bytes())
    forged = data[:64] + b" " + payload + b"\n"
    data[end : end + len(forged)] = forged
    path.write_bytes(data)
    assert known(path).position == at(3)


def test_anchor_repeated_lines_tell_nothing_new(path: Path, anchor: Anchor) -> None:
    """An old line put at the end again does not bring the old word back."""
    ends = three_lines(anchor)
    data = bytearray(path.read_bytes())
    data[ends[2] : ends[2] + ends[0]] = data[: ends[0]]
    path.write_bytes(data)
    assert known(path) == AnchorContent(at(3), {"account:a": Fact(3, spent(3))})


def test_anchor_follows_the_file_that_stands_under_its_name(path: Path, anchor: Anchor) -> None:
    """When the file is replaced, by a rewrite or by a person, the new one counts, and is written to."""
    three_lines(anchor)
    elsewhere = path.with_name("elsewhere")
    writer = Anchor(elsewhere, KEY)
    writer.advance(at(8), {"account:z": spent(8)})
    writer.close()
    elsewhere.replace(path)
    assert anchor.read() == AnchorContent(at(8), {"account:z": Fact(8, spent(8))})
    anchor.advance(at(9), {})
    assert known(path).position == at(9)


def test_anchor_begun_anew_keeps_the_old_one_aside(path: Path, anchor: Anchor) -> None:
    """A restore's last act: the new word counts, the old file is kept as it was."""
    three_lines(anchor)
    previous = path.with_name("previous")
    anchor.begin(AnchorContent(at(2), {"account:a": Fact(2, spent(2))}), previous)
    assert known(path) == AnchorContent(at(2), {"account:a": Fact(2, spent(2))})
    assert known(previous).position == at(3)
    anchor.advance(at(3), {})
    assert known(path).position == at(3)
