"""Answers as CSV and as Arrow streams, read again by the readers of others."""

import csv
import io
from collections.abc import Sequence
from datetime import UTC, date, datetime
from math import isnan

import pyarrow as pa
import pytest
from laws import for_each

from gateway.columnar.intervals import IntervalRows
from gateway.columnar.texts import TextRows
from gateway.errors import Code, SyntaxRefused
from gateway.frontends.rest.arrow_response import arrow_chunks
from gateway.frontends.rest.response import Format, csv_chunks, format_of
from gateway.requests.request import Answer, AnswerColumn
from gateway.units import Delta, Epsilon

_CELLS: list[tuple[str, list[str | None], pa.DataType, list[object]]] = [
    ("smallint", ["-3", None], pa.int16(), [-3, None]),
    ("integer", ["7", "0"], pa.int32(), [7, 0]),
    ("bigint", ["9223372036854775807", None], pa.int64(), [2**63 - 1, None]),
    ("numeric", ["1.50", "-12345678901.25"], pa.float64(), [1.5, -12345678901.25]),
    ("numeric(10,2)", ["0.10", None], pa.float64(), [0.1, None]),
    ("double precision", ["1e-05", "-0.5"], pa.float64(), [1e-05, -0.5]),
    ("real", ["0.5", None], pa.float32(), [0.5, None]),
    ("boolean", ["t", None], pa.bool_(), [True, None]),
    ("date", ["2024-02-29", None], pa.date32(), [date(2024, 2, 29), None]),
    (
        "timestamp without time zone",
        ["2024-01-31 12:30:00.5", "1969-12-31 23:59:59"],
        pa.timestamp("us"),
        [datetime(2024, 1, 31, 12, 30, 0, 500_000), datetime(1969, 12, 31, 23, 59, 59)],  # noqa: DTZ001
    ),
    (
        "timestamp with time zone",
        ["2024-01-31 12:30:00+00", None],
        pa.timestamp("us", "UTC"),
        [datetime(2024, 1, 31, 12, 30, tzinfo=UTC), None],
    ),
    ("text", ["grün, rot", None], pa.string(), ["grün, rot", None]),
    ("interval", ["1 year 2 mons", None], pa.string(), ["1 year 2 mons", None]),
]


@for_each(("type_name", "texts", "kind", "values"), _CELLS, ids=[one[0] for one in _CELLS])
def test_a_column_in_an_arrow_stream_has_arrows_own_type(
    type_name: str, texts: list[str | None], kind: pa.DataType, values: list[object]
) -> None:
    """Every type that Arrow has is Arrow's, NULL stays NULL, and the values are the same."""
    table = _read(_answer([type_name], [(text,) for text in texts]))
    assert table.schema.field(0).type == kind
    assert table.column(0).to_pylist() == values


def test_numbers_that_are_none_stay_in_a_column_of_doubles() -> None:
    """NaN and the infinities of PostgreSQL are those of doubles."""
    values = _read(_answer(["numeric"], [("NaN",), ("Infinity",), ("-Infinity",)]))[0].to_pylist()
    assert isnan(values[0])
    assert values[1:] == [float("inf"), float("-inf")]


@pytest.mark.parametrize("text", ["infinity", "0044-03-15 BC", "10000-01-01"])
def test_a_date_that_arrow_has_no_number_for_makes_its_column_text(text: str) -> None:
    """Nothing is lost or guessed: the column is PostgreSQL's own text."""
    table = _read(_answer(["date"], [(text,), ("2024-01-31",)]))
    assert table.column(0).to_pylist() == [text, "2024-01-31"]


@pytest.mark.parametrize("count", [0, 1, 8_192, 8_193, 20_000])
def test_an_arrow_stream_has_every_row_in_its_order(count: int) -> None:
    """A stream of any length, also of no rows at all, is whole."""
    rows = [(str(place), f"group {place}") for place in range(count)]
    table = _read(_answer(["bigint", "text"], rows))
    assert table.schema.names == ["c0", "c1"]
    assert table.column(0).to_pylist() == list(range(count))
    assert table.column(1).to_pylist() == [text for _, text in rows]


def test_an_arrow_stream_and_a_csv_come_in_parts_of_some_thousand_rows() -> None:
    """Whoever reads slowly keeps no more than one part of them waiting."""
    answer = _answer(["bigint"], [(str(place),) for place in range(100_000)])
    for parts in (list(arrow_chunks(answer)), list(csv_chunks(answer))):
        assert len(parts) > 10
        assert max(map(len, parts)) < 200_000


def test_columns_of_one_name_stay_two_in_an_arrow_stream() -> None:
    """PostgreSQL allows it, so nothing is dropped."""
    answer = _answer(["bigint", "text"], [("1", "a")], names=["x", "x"])
    assert _read(answer).schema.names == ["x", "x"]


def test_a_csv_is_read_again_as_it_was() -> None:
    """Commas, quotes, line ends and empty texts survive."""
    rows = [("a,b", 'say "x"', "two\nlines"), ("", " space ", "\\."), ("plain", "é", "-1.5")]
    text = b"".join(csv_chunks(_answer(["text"] * 3, rows))).decode()
    assert [tuple(row) for row in csv.reader(io.StringIO(text, newline=""))] == [
        ("c0", "c1", "c2"),
        *rows,
    ]


def test_null_and_an_empty_text_stay_apart_in_a_csv() -> None:
    """As PostgreSQL's own COPY writes them."""
    text = b"".join(csv_chunks(_answer(["text", "text"], [(None, "")]))).decode()
    assert text == 'c0,c1\r\n,""\r\n'


@for_each(
    ("accept", "wanted"),
    [
        (None, Format.JSON),
        ("", Format.JSON),
        ("*/*", Format.JSON),
        ("application/json", Format.JSON),
        ("text/csv", Format.CSV),
        ("Text/CSV; charset=utf-8", Format.CSV),
        ("text/*", Format.CSV),
        ("application/*", Format.JSON),
        ("application/vnd.apache.arrow.stream", Format.ARROW),
        ("application/vnd.apache.arrow.stream, application/json;q=0.5", Format.ARROW),
        ("text/csv;q=0.2, application/json;q=0.9", Format.JSON),
        ("*/*;q=0.1, text/csv", Format.CSV),
        ("text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8", Format.JSON),
        ("application/json;q=0, */*", Format.CSV),
        ("text/csv;q=0.5, */*;q=0.5", Format.CSV),
    ],
)
def test_a_format_is_chosen_by_what_is_liked_best(accept: str | None, wanted: Format) -> None:
    """By quality first, then by how exactly it is named, as HTTP says."""
    assert format_of(accept) is wanted


@pytest.mark.parametrize("accept", ["image/png", "text/csv;q=0", "a" * 5_000, "text/csv;q=x"])
def test_a_format_that_there_is_not_is_refused(accept: str) -> None:
    """The refusal names the formats there are."""
    with pytest.raises(SyntaxRefused) as refused:
        format_of(accept)
    assert refused.value.code is Code.NO_SUCH_FORMAT
    assert "text/csv" in refused.value.hint


def _answer(
    types: list[str], rows: Sequence[tuple[str | None, ...]], names: list[str] | None = None
) -> Answer:
    given = names or [f"c{place}" for place in range(len(types))]
    return Answer(
        query_id="0123",
        columns=tuple(
            AnswerColumn(name, type_name, noisy=True)
            for name, type_name in zip(given, types, strict=True)
        ),
        rows=TextRows.of(rows),
        intervals=IntervalRows.of(()),
        price=Epsilon.zero(),
        charged=Epsilon.zero(),
        rho=None,
        delta=Delta.zero(),
    )


def _read(answer: Answer) -> pa.Table:
    return pa.ipc.open_stream(b"".join(arrow_chunks(answer))).read_all()
