"""What goes between the gateway and a DuckDB process."""

import math
from datetime import UTC, date, datetime, timedelta, timezone
from decimal import Decimal
from uuid import UUID

import pytest

from gateway.engines.duckdb_process.frames import (
    HEADER,
    LONGEST,
    BrokenFrame,
    FrameKind,
    Row,
    decode,
    decode_parameters,
    decode_rows,
    encode,
    encode_parameters,
    encode_rows,
    read_header,
)

MOMENT = datetime(2026, 11, 19, 4, 1, 31, 527926)  # noqa: DTZ001 - a timestamp without zone
INDIA = timezone(timedelta(hours=5, minutes=30))


def through(rows: list[Row]) -> list[Row]:
    frame = encode_rows(rows)
    length, kind = read_header(frame[: HEADER.size])
    assert (length, kind) == (len(frame) - HEADER.size, FrameKind.ROWS)
    return decode_rows(frame[HEADER.size :])


def test_rows_come_back_as_they_were() -> None:
    """Every value has the type and the value that DuckDB gave, NULLs and whole numbers of any length included."""
    rows: list[Row] = [
        (
            1,
            10**37,
            -0.0,
            "it's \u2028 \x00 ü",
            True,
            Decimal("1.500"),
            date(1, 1, 1),
            MOMENT,
            UUID(int=7),
        ),
        (None, None, None, None, None, None, None, None, None),
        (-(2**63), -(10**37), 1e-320, "", False, Decimal("-0.001"), date.max, MOMENT, UUID(int=8)),
    ]
    found = through(rows)
    assert found == rows
    assert [list(map(type, row)) for row in found] == [list(map(type, row)) for row in rows]
    assert math.copysign(1, found[0][2]) == -1


def test_rows_without_columns_and_odd_floats_come_back() -> None:
    """What is no number stays none, and a row of nothing is a row."""
    ((nan, high),) = through([(math.nan, math.inf)])
    assert math.isnan(nan)
    assert high == math.inf
    assert through([(), ()]) == [(), ()]


def test_moments_with_a_zone_come_back_as_the_same_moments() -> None:
    """In UTC, whatever library the zone was of."""
    ((found,),) = through([(MOMENT.replace(tzinfo=INDIA),)])
    assert found == MOMENT.replace(tzinfo=INDIA)
    assert found.tzinfo == UTC


def test_values_of_other_types_raise_when_they_are_encoded() -> None:
    """A value that nobody declared is never turned into a text."""
    for rows in ([(b"x",)], [([1],)], [({"a": 1},)]):
        with pytest.raises((TypeError, KeyError)):
            encode_rows(rows)
    with pytest.raises(TypeError):
        encode_rows([(Decimal(1),), (1,)])


def test_parameters_come_back_as_they_were() -> None:
    """Also lists of texts, and an interval."""
    given = [
        1,
        None,
        "a",
        Decimal("2.50"),
        date(2026, 1, 2),
        timedelta(1, 2, 3),
        ["a", None],
        10**30,
    ]
    assert decode_parameters(encode_parameters(given)) == given


@pytest.mark.parametrize(
    "payload",
    [
        b"",
        b"{",
        b"[" * 100_000,
        b'{"count":2,"tags":[""],"columns":[[1]]}',
        b'{"count":1,"tags":["pickle"],"columns":[["x"]]}',
        b'{"count":1,"tags":["decimal"],"columns":[["x"]]}',
        b'{"count":1,"tags":[""],"columns":[[{"a":1}]]}',
        b'{"count":1,"tags":[["a"]],"columns":[[1]]}',
        b'{"count":1,"tags":[""],"columns":[1]}',
    ],
)
def test_frame_that_is_broken_raises_when_it_is_read(payload: bytes) -> None:
    """The gateway believes nothing of a process beyond what a frame of rows is."""
    with pytest.raises(BrokenFrame):
        decode_rows(payload)


def test_header_that_is_broken_raises_when_it_is_read() -> None:
    """Too long, or of no kind: nothing is read after it."""
    for header in (HEADER.pack(LONGEST + 1, FrameKind.ROWS), HEADER.pack(1, 99)):
        with pytest.raises(BrokenFrame):
            read_header(header)
    assert decode(encode(FrameKind.END, None)[HEADER.size :]) is None
