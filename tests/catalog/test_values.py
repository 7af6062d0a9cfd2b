"""Values are read exactly, by the type of their column."""

from datetime import UTC, date, datetime
from decimal import Decimal
from fractions import Fraction
from uuid import UUID

import pytest
from hypothesis import given
from hypothesis import strategies as st
from laws import for_each

from gateway.catalog.types import parse_type
from gateway.catalog.values import InvalidValue, Value, read_number, read_value

ID = "00000000-0000-4000-8000-00000000000A"


@for_each(
    ("kind", "text", "value"),
    [
        ("bigint", "-9223372036854775808", -(2**63)),
        ("integer", "1e3", 1000),
        ("integer", "7.0", 7),
        ("numeric", "0.1", Fraction(1, 10)),
        ("numeric(5,2)", "-999.99", Fraction(-99999, 100)),
        ("double precision", "1e-300", Fraction(1, 10**300)),
        ("text", " a ", " a "),
        ("char(3)", "a  ", "a"),
        ("boolean", "true", True),
        ("date", "2024-02-29", date(2024, 2, 29)),
        ("timestamp", "2024-01-01", datetime(2024, 1, 1)),  # noqa: DTZ001  # the type has no zone
        ("timestamptz", "2024-01-01T01:00:00+01:00", datetime(2024, 1, 1, tzinfo=UTC)),
        ("timestamptz", "2024-01-01 00:00", datetime(2024, 1, 1, tzinfo=UTC)),
        ("uuid", ID, UUID(ID)),
    ],
)
def test_value_is_what_the_text_says(kind: str, text: str, value: Value) -> None:
    """Exactly, and of the type that comparing needs."""
    found = read_value(text, parse_type(kind))
    assert found == value
    assert type(found) is type(value)


@for_each(
    ("kind", "text"),
    [
        ("smallint", "32768"),
        ("smallint", "-32769"),
        ("bigint", "9223372036854775808"),
        ("integer", "1.5"),
        ("integer", "0x10"),
        ("integer", "1_000"),
        ("integer", ""),
        ("integer", "one"),
        ("numeric", ".inf"),
        ("numeric", "NaN"),
        ("numeric", "Infinity"),
        ("numeric", "1e999"),
        ("numeric", "\N{ARABIC-INDIC DIGIT ONE}"),
        ("numeric(5,2)", "1000"),
        ("numeric(5,2)", "0.001"),
        ("varchar(2)", "abc"),
        ("boolean", "yes"),
        ("boolean", "True"),
        ("date", "2023-02-29"),
        ("date", "20240229"),
        ("date", "2024-2-29"),
        ("date", "0000-01-01"),
        ("timestamp", "2024-01-01T25:00"),
        ("timestamp", "2024-01-01T00:00Z"),
        ("timestamp", "now"),
        ("uuid", ID.replace("-", "")),
    ],
)
def test_value_that_does_not_fit_is_refused(kind: str, text: str) -> None:
    """Neither rounded nor wrapped around."""
    with pytest.raises(InvalidValue):
        read_value(text, parse_type(kind))


@given(
    st.decimals(
        allow_nan=False, allow_infinity=False, min_value=-(10**20), max_value=10**20, places=12
    )
)
def test_number_is_exact(number: Decimal) -> None:
    """Whatever decimal is written, that fraction it is."""
    assert read_number(f"{number:f}") == Fraction(number)
