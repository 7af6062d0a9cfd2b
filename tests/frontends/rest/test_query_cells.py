"""Cells as JSON: every type in the form that was promised, whatever PostgreSQL wrote."""

import json
import math
from collections.abc import Iterator
from contextlib import closing
from fractions import Fraction

import pytest
from fix_gateway import Client
from frontends.rest.stub_questions import Asking, Behind, answering, one_cell
from hypothesis import given, settings
from hypothesis import strategies as st
from laws import for_each

from gateway.frontends.rest.response import AsciiJson
from gateway.requests.answer_json import column_json, double_json, doubles_json
from gateway.requests.request import AnswerColumn, Estimate, ExpectedColumn
from gateway.units import Delta, Epsilon


@pytest.fixture(scope="module")
def asking() -> Iterator[Asking]:
    behind = Behind()
    with closing(Client(behind.app())) as client:
        yield Asking(behind, client)


@for_each(
    ("type_name", "text", "written"),
    [
        ("smallint", "-32768", "-32768"),
        ("integer", "0", "0"),
        ("bigint", "9007199254740992", "9007199254740992"),
        ("bigint", "9007199254740993", '"9007199254740993"'),
        ("bigint", "-9007199254740992", "-9007199254740992"),
        ("bigint", "-9007199254740993", '"-9007199254740993"'),
        ("bigint", "-9223372036854775808", '"-9223372036854775808"'),
        ("numeric", "12.3400", "12.34"),
        ("numeric(10,2)", "12.30", "12.3"),
        ("numeric", "0.1", "0.1"),
        ("numeric", "0", "0.0"),
        ("numeric", "-0.00", "0.0"),
        ("numeric", "123456.7890123456789", "123456.789012346"),
        ("numeric", "123456789012345678901234567890", "1.23456789012346e+29"),
        ("numeric", "NaN", '"NaN"'),
        ("numeric", "Infinity", '"Infinity"'),
        ("numeric", "-Infinity", '"-Infinity"'),
        ("numeric", "1" + "0" * 400, f'"1{"0" * 400}"'),
        ("numeric", "0." + "0" * 400 + "1", f'"0.{"0" * 400}1"'),
        ("double precision", "0.30000000000000004", "0.3"),
        ("double precision", "1e+20", "1e+20"),
        ("double precision", "5e-324", "5e-324"),
        ("double precision", "1.7976931348623157e+308", '"1.7976931348623157e+308"'),
        ("double precision", "-0", "0.0"),
        ("double precision", "NaN", '"NaN"'),
        ("double precision", "-Infinity", '"-Infinity"'),
        ("real", "3.1415927", "3.1415927"),
        ("boolean", "t", "true"),
        ("boolean", "f", "false"),
        ("date", "2026-01-31", '"2026-01-31"'),
        ("date", "infinity", '"infinity"'),
        ("date", "0044-03-15 BC", '"0044-03-15 BC"'),
        ("timestamp without time zone", "2026-01-31 12:34:56.789", '"2026-01-31T12:34:56.789"'),
        ("timestamp(0) without time zone", "2026-01-31 12:34:56", '"2026-01-31T12:34:56"'),
        ("timestamp without time zone", "-infinity", '"-infinity"'),
        ("timestamp with time zone", "2026-01-31 12:34:56+00", '"2026-01-31T12:34:56+00:00"'),
        (
            "timestamp(3) with time zone",
            "2026-01-31 12:34:56.7-05:30",
            '"2026-01-31T12:34:56.7-05:30"',
        ),
        ("timestamp with time zone", "12026-01-31 00:00:00+00", '"12026-01-31T00:00:00+00:00"'),
        ("timestamp with time zone", "0044-03-15 00:00:00+00 BC", '"0044-03-15T00:00:00+00:00 BC"'),
        ("time without time zone", "12:34:56", '"12:34:56"'),
        ("time with time zone", "12:34:56+00", '"12:34:56+00"'),
        ("interval", "1 mon 2 days", '"1 mon 2 days"'),
        ("text", "17", '"17"'),
        ("text", "t", '"t"'),
        ("text", "", '""'),
        ("text", "NaN", '"NaN"'),
        ("character varying(10)", "1.50", '"1.50"'),
        ("uuid", "6f0b4d53-8a77-0d4a-3b2c-1e5f4c7e9a12", '"6f0b4d53-8a77-0d4a-3b2c-1e5f4c7e9a12"'),
        ("json", '{"a": 1}', '"{\\"a\\": 1}"'),
        ("integer[]", "{1,2,NULL}", '"{1,2,NULL}"'),
        ("numeric(10,2)[]", "{1.50}", '"{1.50}"'),
        ("bytea", "\\x00ff", '"\\\\x00ff"'),
        ('"weird type"', "17", '"17"'),
        *[(name, None, "null") for name in ("bigint", "numeric", "boolean", "text", "date")],
    ],
)
def test_cell_is_written_as_its_type_says(
    asking: Asking, type_name: str, text: str | None, written: str
) -> None:
    """Byte for byte, on its way to the client."""
    asking.behind.answer = one_cell(type_name, text)
    answer = asking.query()
    assert answer.status_code == 200
    assert f'"rows":[[{written}]]' in answer.text


def test_interval_is_written_as_numbers_of_fifteen_digits(asking: Asking) -> None:
    """Where an end is no number that there is, it is a string."""
    ends = [(0.1 + 0.2, 1e300), (-math.inf, math.inf), (math.nan, -0.0), None]
    asking.behind.answer = answering(
        columns=tuple(AnswerColumn(f"c{place}", "numeric", noisy=True) for place in range(4)),
        rows=(("1", "2", "3", None),),
        intervals=(tuple(ends),),
    )
    assert asking.query().json()["intervals"] == [
        [[0.3, 1e300], ["-Infinity", "Infinity"], ["NaN", 0.0], None]
    ]


def test_answer_without_rows_keeps_its_columns(asking: Asking) -> None:
    """Nothing tells how many groups there might have been."""
    asking.behind.answer = answering(rows=(), intervals=())
    told = asking.query().json()
    assert (told["rows"], told["intervals"], len(told["columns"])) == ([], [], 2)


def test_text_leaves_whole_whatever_is_in_it(asking: Asking) -> None:
    """Columns and cells may hold any Unicode; the body is ASCII all the same."""
    nasty = "\x00\x1b[2J\u2028\u202e🌍é\x7f</script>"
    asking.behind.answer = answering(
        columns=(AnswerColumn(nasty, "text", noisy=False),), rows=((nasty,),), intervals=((None,),)
    )
    answer = asking.query()
    assert answer.text.isprintable()
    assert answer.json()["columns"][0]["name"] == answer.json()["rows"][0][0] == nasty


def test_rank_error_is_told_of_what_is_chosen(asking: Asking) -> None:
    """In rows, with the answer and with the estimate; of what is measured there is none."""
    chosen = AnswerColumn("m", "date", noisy=True, mechanism="exponential", rank_error=7)
    asking.behind.answer = answering(
        columns=(chosen,), rows=(("2026-01-31",),), intervals=((None,),)
    )
    assert asking.query().json()["columns"] == [
        {
            "name": "m",
            "type": "date",
            "noisy": True,
            "mechanism": "exponential",
            "rank_error": 7,
        }
    ]
    column = ExpectedColumn("m", None, expected_rank_error_95=7)
    behind = Behind()
    behind.estimates = lambda *_: Estimate(Epsilon.parse("1"), Delta.zero(), (column,))  # type: ignore[method-assign]
    with closing(Client(behind.app())) as client:
        told = Asking(behind, client).query(dry_run=True).json()
    assert told["columns"] == [
        {"name": "m", "expected_margin_95": None, "expected_rank_error_95": 7}
    ]


def test_margin_is_a_string_when_nothing_bounds_it(asking: Asking) -> None:
    """An estimate never fails for want of a number."""
    estimate = Estimate(Epsilon.parse("1"), Delta.zero(), (ExpectedColumn("it", math.inf),))
    behind = Behind()
    behind.estimates = lambda *_: estimate  # type: ignore[method-assign]
    with closing(Client(behind.app())) as client:
        told = Asking(behind, client).query(dry_run=True).json()
    assert told["columns"] == [{"name": "it", "expected_margin_95": "Infinity"}]


@given(st.floats())
def test_double_can_always_be_sent_and_has_fifteen_digits(value: float) -> None:
    """Whatever a release says can be said; a number is within half a unit of its 15th digit."""
    shown = double_json(value)
    assert json.loads(bytes(AsciiJson(shown).body)) == shown
    if isinstance(shown, str):
        assert not math.isfinite(value) or abs(value) > 1.797e308
        return
    digits = repr(shown).lstrip("-").partition("e")[0].replace(".", "").lstrip("0")
    assert len(digits.rstrip("0")) <= 15
    if abs(value) > 1e-290:
        assert abs(Fraction(shown) - Fraction(value)) <= abs(Fraction(value)) / 10**14


@given(st.decimals(allow_nan=False, allow_infinity=False, places=6))
def test_numeric_is_never_off_by_more_than_its_fifteenth_digit(value: object) -> None:
    """Rounding to what a double keeps is all that happens to a number."""
    text = f"{value:f}"
    [shown] = column_json([text], "numeric")
    if isinstance(shown, float):
        assert abs(Fraction(repr(shown)) - Fraction(text)) <= abs(Fraction(text)) / 10**14
    else:
        assert shown == text


@given(st.integers(min_value=-(2**63), max_value=2**63 - 1))
def test_integer_keeps_every_digit(value: int) -> None:
    """A reader that keeps numbers in doubles sees the integer that was meant."""
    [shown] = column_json([str(value)], "bigint")
    assert int(shown or 0) == value
    assert isinstance(shown, str) or int(float(shown or 0)) == value


_NUMBERS = st.one_of(
    st.floats(),
    st.floats(-1e9, 1e9),
    st.builds(
        lambda digits, places: digits / 10**places,
        st.integers(-(10**15), 10**15),
        st.integers(0, 22),
    ),
    st.builds(
        lambda power, bits: 10.0**power * (1 + bits * 2**-52),
        st.integers(-8, 17),
        st.integers(-9, 9),
    ),
    st.builds(lambda half: half / 2, st.integers(2 * 10**14, 2 * 10**15)),
)


@settings(deadline=None)
@given(st.lists(_NUMBERS, min_size=70, max_size=90))
def test_doubles_are_the_same_one_by_one_and_many_at_once(values: list[float]) -> None:
    """A long column is rounded as its cells are, to the last bit."""
    assert [repr(one) for one in doubles_json(values)] == [repr(double_json(one)) for one in values]


@pytest.mark.parametrize("type_name", ["bigint", "numeric", "double precision", "boolean", "text"])
def test_long_columns_are_written_as_their_cells_are(type_name: str) -> None:
    """Whatever stands beside a cell, and with NULL among them."""
    texts = {
        "bigint": ["9007199254740993", "-7", "0", None],
        "numeric": [
            "0.5",
            None,
            "0",
            "-0.00",
            "NaN",
            "Infinity",
            "1" + "0" * 400,
            "123456.7890123456789",
        ],
        "double precision": [
            "-0",
            "1e-320",
            "1e+20",
            "NaN",
            "-Infinity",
            "0.30000000000000004",
            None,
        ],
        "boolean": ["t", None, "f"],
        "text": ["t", None, "17"],
    }[type_name]
    alone = [column_json([text], type_name)[0] for text in texts]
    together = column_json(texts * 50, type_name)
    assert list(map(repr, together)) == list(map(repr, alone * 50))
