"""A server's stream cut into pieces: rows together, long ones in parts, all else message by message."""

import random

import pytest
from frontends.pgwire.packets import message, told
from laws import for_each

from gateway.frontends.pgwire.framing import Malformed, Runs

LONGEST = 1 << 20
KINDS = "DDDDDDddTCZNSE123"


def _stream(draw: random.Random, many: int) -> bytes:
    """Messages of all lengths around those where the code goes another way."""
    lengths = (0, 1, 7, 30, 250, 251, 252, 253, 1_000, 65_531, 65_532, 65_533, 90_000)
    weights = (5, 5, 50, 50, 5, 5, 5, 5, 10, 1, 1, 1, 1)
    return b"".join(
        message(draw.choice(KINDS), draw.randbytes(draw.choices(lengths, weights)[0]))
        for _ in range(many)
    )


def _cut(draw: random.Random, stream: bytes) -> list[bytes]:
    pieces = []
    while stream:
        size = draw.choice((1, 3, 5, 100, 4_096, 65_536, 262_144))
        pieces.append(stream[:size])
        stream = stream[size:]
    return pieces


@for_each("seed", range(40))
def test_pieces_are_the_stream_when_put_together(seed: int) -> None:
    """Whatever comes in whatever cuts: no byte is changed, left out or out of turn, and what is no row is whole."""
    draw = random.Random(seed)  # noqa: S311 - to be repeated
    stream = _stream(draw, 200)
    runs, pieces = Runs(LONGEST), list[tuple[int, bytes]]()
    for part in _cut(draw, stream):
        pieces += runs.feed(part)
    assert b"".join(raw for _, raw in pieces) == stream
    assert runs.missing == 0
    others = [(chr(kind), raw[5:]) for kind, raw in pieces if kind not in b"Dd"]
    assert others == [one for one in told(stream) if one[0] not in "Dd"]
    assert all(len(told(raw)) == 1 for kind, raw in pieces if kind not in b"Dd")


def test_rows_are_one_piece_when_they_come_at_once() -> None:
    """What comes of a result in one read is handed on in one piece: nothing is done row by row."""
    rows = b"".join(message("D", b"x" * length) for length in (9, 300, 0, 251, 252, 9))
    pieces = list(Runs(LONGEST).feed(message("T") + rows + message("C")))
    assert pieces == [(84, message("T")), (68, rows), (67, message("C"))]


def test_row_is_handed_on_in_parts_when_it_is_long() -> None:
    """Of a row that would take memory nothing is kept: each part goes on as it comes."""
    runs, row = Runs(1 << 29), message("D", bytes(1 << 22))
    for start in range(0, len(row), 1 << 16):
        part = row[start : start + (1 << 16)]
        assert list(runs.feed(part)) == [(68, part)]
        assert runs.missing == len(row) - start - len(part)
    assert list(runs.feed(message("C"))) == [(67, message("C"))]


def test_parts_begin_with_a_row_when_the_kinds_of_a_copy_and_of_rows_are_mixed() -> None:
    """A part is of the kind of its row."""
    runs = Runs(1 << 29)
    long = message("d", bytes(100_000))
    assert [kind for kind, _ in runs.feed(message("H") + long[:10])] == [72, 100]
    assert list(runs.feed(long[10:])) == [(100, long[10:])]


def test_length_is_refused_when_no_message_has_it() -> None:
    """A length that counts less than itself, or more than anything may have, ends it."""
    for length in (b"\0\0\0\3", b"\xff\xff\xff\xff"):
        with pytest.raises(Malformed):
            list(Runs(LONGEST).feed(b"D" + length))
