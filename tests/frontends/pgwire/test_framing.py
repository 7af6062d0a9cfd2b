"""Bytes to messages and back, however they are cut; malformed messages; runs of rows in a server's stream."""

import random
import struct

import pytest
from frontends.pgwire.fuzz import Kinds, fuzz
from frontends.pgwire.packets import message, told
from hypothesis import given, settings
from hypothesis import strategies as st
from laws import for_each
from samples import draws

from gateway.frontends.pgwire import messages
from gateway.frontends.pgwire.framing import Frame, Frames, Malformed, Runs, frame_message
from gateway.frontends.pgwire.messages import Bind, ExecutePortal, NamedObject, Parse

LONGEST = 10_000
FRAMES = st.lists(st.builds(Frame, st.integers(0, 255), st.binary(max_size=40)), max_size=8)
NAMES = st.binary(max_size=20).map(lambda one: one.replace(b"\0", b""))
INT16 = st.integers(0, 65_535)
VALUES = st.lists(st.none() | st.binary(max_size=20), max_size=5).map(tuple)
FORMATS = st.lists(INT16, max_size=5).map(tuple)


@given(FRAMES, st.lists(st.integers(1, 30), max_size=20))
@settings(max_examples=draws(200), deadline=None)
def test_messages_are_the_same_however_they_are_cut(sent: list[Frame], cuts: list[int]) -> None:
    """Nothing is lost, doubled or put in another order, wherever the stream is cut."""
    stream, frames = b"".join(one.raw for one in sent), Frames(LONGEST)
    got: list[Frame] = []
    for cut in [*cuts, len(stream)]:
        got += frames.feed(stream[:cut])
        stream = stream[cut:]
    assert got == sent
    assert frames.waiting == 0


@pytest.mark.parametrize("length", [0, 3, LONGEST + 1, 1 << 30, 0xFFFFFFFF])
def test_impossible_length_is_refused_before_its_body_comes(length: int) -> None:
    """Five bytes are enough to say no: a gigabyte is neither waited for nor kept."""
    frames = Frames(LONGEST)
    with pytest.raises(Malformed):
        list(frames.feed(b"Q" + struct.pack("!I", length)))
    assert frames.waiting <= 5


def test_half_a_message_is_kept_and_no_more() -> None:
    """What is not whole waits, byte for byte."""
    frames = Frames(LONGEST)
    half = frame_message(messages.QUERY, b"SELECT 1\0")[:-1]
    assert list(frames.feed(half)) == []
    assert frames.waiting == len(half)
    assert list(frames.feed(b"\0")) == [Frame(messages.QUERY, b"SELECT 1\0")]


@given(NAMES, NAMES, st.lists(st.integers(0, 2**32 - 1), max_size=5).map(tuple))
def test_parse_is_read_as_it_was_written(name: bytes, text: bytes, types: tuple[int, ...]) -> None:
    """Names, text and types come through."""
    one = Parse(name, text, types)
    assert Parse.read(one.write()[5:]) == one


@given(NAMES, NAMES, FORMATS, VALUES, FORMATS)
def test_bind_is_read_as_it_was_written(
    portal: bytes,
    statement: bytes,
    formats: tuple[int, ...],
    values: tuple[bytes | None, ...],
    results: tuple[int, ...],
) -> None:
    """NULL is not the empty value, and formats stay where they were."""
    one = Bind(portal, statement, formats, values, results)
    assert Bind.read(one.write()[5:]) == one


@given(st.sampled_from([b"S", b"P"]), NAMES, st.integers(-(2**31), 2**31 - 1))
def test_small_messages_are_read_as_they_were_written(what: bytes, name: bytes, most: int) -> None:
    """Describe, Close, Execute and Query."""
    assert NamedObject.read(NamedObject(what, name).write(messages.DESCRIBE)[5:]) == NamedObject(
        what, name
    )
    assert ExecutePortal.read(ExecutePortal(name, most).write()[5:]) == ExecutePortal(name, most)
    assert messages.read_query(messages.query(name)[5:]) == name


@given(st.dictionaries(st.sampled_from("SVCMDHP"), st.text(min_size=1, max_size=30)))
def test_fields_are_read_as_they_were_written(fields: dict[str, str]) -> None:
    """Errors and notices; a zero is left out, and so is a field with nothing in it."""
    clean = {name: text.replace("\0", "") for name, text in fields.items()}
    written = messages.fields_message(messages.ERROR, fields)[5:]
    told = {name: text for name, text in clean.items() if text}
    encoded = {name: text.encode("utf-8", "replace").decode() for name, text in told.items()}
    assert messages.read_fields(written) == encoded


@pytest.mark.parametrize("seed", range(4))
def test_decoder_survives_broken_bytes(seed: int) -> None:
    """Random and mutated streams end in messages or in Malformed, and what is kept stays below the limit."""
    kinds = fuzz(random.Random(seed), rounds=1500)  # noqa: S311  # it has to be the same again
    assert kinds.whole > 500
    assert kinds.understood > 500
    assert kinds.malformed > 300
    assert kinds.most_kept <= kinds.limit


def test_fuzzing_finds_a_reader_that_crashes(monkeypatch: pytest.MonkeyPatch) -> None:
    """A reader that trusts its bytes does not survive the same streams."""

    def trusting(body: bytes) -> bytes:
        return body[: body.index(b"\0")]

    monkeypatch.setattr(messages, "read_query", trusting)
    with pytest.raises(ValueError, match="subsection not found"):
        fuzz(random.Random(0), rounds=1500)  # noqa: S311  # see above


def test_fuzzing_counts_start_from_nothing() -> None:
    """No round means no message, so that the counts above say something."""
    assert fuzz(random.Random(0), rounds=0) == Kinds()  # noqa: S311  # see above


LONGEST_RUN = 1 << 20
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
    runs, pieces = Runs(LONGEST_RUN), list[tuple[int, bytes]]()
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
    pieces = list(Runs(LONGEST_RUN).feed(message("T") + rows + message("C")))
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
            list(Runs(LONGEST_RUN).feed(b"D" + length))
