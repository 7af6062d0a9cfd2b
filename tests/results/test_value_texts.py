"""Texts of released values: whatever the noise was, PostgreSQL reads each as a value of its type."""

from collections.abc import Iterator, Sequence
from datetime import UTC, date, datetime
from decimal import Decimal
from fractions import Fraction
from uuid import UUID

import psycopg
import pytest
from fix_sample import plain
from hypothesis import given
from hypothesis import strategies as st

from gateway.catalog.types import ColumnType, Family, parse_type
from gateway.catalog.values import Value
from gateway.noise.add_noise import NoisyTable
from gateway.noise.mechanism import DiscreteLaplace
from gateway.postgres_server import Lease
from gateway.results.value_texts import cell_text, column_texts, key_text, number_text
from gateway.sensitivity.formulas import Formula, Linear, Quotient

TYPES = (
    *("bigint", "integer", "smallint", "numeric", "numeric(8,2)", "numeric(3,0)", "numeric(2,2)"),
    *("double precision", "real"),
)
NOISE = DiscreteLaplace(Fraction(1))
_EXPONENTS = st.integers(-900, 900)
EXTREMES = st.one_of(
    st.fractions(max_denominator=10**9),
    st.builds(
        lambda digits, exponent: digits * Fraction(10) ** exponent,
        st.integers(-(10**20), 10**20),
        _EXPONENTS,
    ),
    st.builds(Fraction, st.integers(-(2**70), 2**70), st.integers(1, 2**70)),
    st.sampled_from([Fraction(2**bits + off) for bits in (15, 31, 63) for off in (-1, 0, 1)]),
)


@pytest.fixture(scope="module")
def postgresql(sample_server: Lease) -> Iterator[psycopg.Connection]:
    """A server that only reads texts."""
    url = sample_server.address.url(
        user=sample_server.superuser,
        password=sample_server.superuser_password,
        database="postgres",
    )
    with psycopg.connect(plain(url), autocommit=True) as connection:
        connection.execute("SET timezone TO 'UTC'")
        yield connection


def _released(values: Sequence[Fraction], of: ColumnType) -> list[str]:
    """The texts of a column whose aggregates are these values."""
    return [
        text
        for value in values
        for text in column_texts(NoisyTable(((),), ((1,),), (NOISE,)), Linear(((0, value),)), of)
        if text is not None
    ]


def _read(
    connection: psycopg.Connection, texts: Sequence[str | None], of: ColumnType
) -> list[object]:
    found = connection.execute(
        f"SELECT CAST(t AS {of}) FROM unnest(%s::text[]) AS t",
        [list(texts)],
    )
    return [value for (value,) in found]


@pytest.mark.parametrize("name", TYPES)
@given(values=st.lists(EXTREMES, min_size=1, max_size=8))
def test_every_text_is_read_as_a_value_of_its_type_when_the_noise_was_extreme(
    postgresql: psycopg.Connection, name: str, values: list[Fraction]
) -> None:
    """PostgreSQL reads each without an error, as a finite number, and as near as the type and 15 digits allow."""
    of = parse_type(name)
    for value, read in zip(values, _read(postgresql, _released(values, of), of), strict=True):
        assert isinstance(read, int | Decimal | float)
        _is_near(value, Fraction(read), of)  # there is no Fraction of what is not finite


def _is_near(value: Fraction, read: Fraction, of: ColumnType) -> None:
    digits = Fraction(1, 10**6) if of.kind == "real" else Fraction(1, 10**14)
    if of.bound is not None and abs(value) >= of.bound - 1:
        # the end of the type on the same side
        assert abs(read) <= of.bound
        assert read * value >= 0
        assert abs(read) >= min(abs(value), of.bound - 1) - 1
    elif of.family is Family.FLOAT and abs(value) > 10**38:
        assert read * value > 0
    elif of.family is Family.FLOAT:
        assert abs(read - value) <= digits * abs(value) + Fraction(1, 10**37)
    else:
        step = of.resolution or Fraction(0)
        assert abs(read - value) <= digits * abs(value) + step / 2


def test_a_text_that_was_not_made_fit_is_refused_by_postgresql(
    postgresql: psycopg.Connection,
) -> None:
    """The check above can fail: the plain numbers are errors."""
    plainly = {
        "bigint": str(2**63),
        "smallint": str(2**15),
        "numeric(8,2)": "1000000",
        "real": "1e-60",
        "double precision": "1e310",
    }
    for name, text in plainly.items():
        with pytest.raises(psycopg.errors.NumericValueOutOfRange):
            _read(postgresql, [text], parse_type(name))


@pytest.mark.parametrize(("name", "bits"), [("smallint", 15), ("integer", 31), ("bigint", 63)])
def test_integers_beyond_the_type_are_moved_to_its_end(name: str, bits: int) -> None:
    """The ends themselves are kept."""
    values = [Fraction(one) for one in (2**bits, 2**bits - 1, -(2**bits), -(2**bits) - 1, 10**30)]
    ends = [2**bits - 1, 2**bits - 1, -(2**bits), -(2**bits), 2**bits - 1]
    assert _released(values, parse_type(name)) == [str(end) for end in ends]


@given(
    digits=st.integers(-(10**15) + 1, 10**15 - 1), places=st.integers(0, 12), more=st.integers(0, 9)
)
def test_numbers_of_up_to_15_digits_are_written_exactly(
    digits: int, places: int, more: int
) -> None:
    """No digit is lost, none is invented, and there is no exponent."""
    value = Fraction(digits, 10**places)
    text = number_text(value)
    assert Fraction(text) == value
    assert "E" not in text.upper()
    longer = value + Fraction(more, 10**40)
    assert len(number_text(longer).strip("-0.").replace(".", "")) <= 15


def test_zero_has_no_sign_when_a_tiny_negative_number_is_rounded() -> None:
    """-0 is no number that anybody asked for."""
    for name in ("double precision", "real", "bigint"):
        texts = _released([Fraction(-1, 10**400), Fraction(0)], parse_type(name))
        assert [float(text) for text in texts] == [0.0, 0.0]
        assert not any(text.startswith("-") for text in texts)


def test_aggregates_are_written_in_their_domain() -> None:
    """A count is not below 0, a mean not outside of its column's domain."""
    table = NoisyTable(((1,), (2,)), ((-5, 5), (-900, 900)), (NOISE, NOISE))
    count = Linear(((0, Fraction(1)),), Fraction(0))
    mean: Formula = Quotient(Linear(((1, Fraction(1)),)), count, Fraction(-10), Fraction(10))
    assert column_texts(table, count, parse_type("bigint")) == ["0", "5"]
    assert column_texts(table, mean, parse_type("numeric")) == ["-10", "10"]


KEYS: list[tuple[str, Value]] = [
    ("bigint", -7),
    ("numeric", Fraction(-1234567, 1000)),
    ("numeric", Fraction(10**30)),
    ("text", 'it\'s "quoted" \\ {NULL} , é'),
    ("text", ""),
    ("boolean", True),
    ("boolean", False),
    ("date", date(1, 2, 3)),
    ("timestamp without time zone", datetime(2026, 2, 28, 23, 59, 59, 999_999)),  # noqa: DTZ001 - without zone
    ("timestamp with time zone", datetime(2026, 2, 28, tzinfo=UTC)),
    ("uuid", UUID(int=5)),
]


@pytest.mark.parametrize(("name", "value"), KEYS)
def test_keys_are_read_as_they_are(postgresql: psycopg.Connection, name: str, value: Value) -> None:
    """A key of any type comes back as the value it was, and NULL as NULL."""
    of = parse_type(name)
    read, null = _read(postgresql, [key_text(value), key_text(None)], of)
    assert null is None
    assert (Fraction(read) if isinstance(read, Decimal) else read) == value


def test_public_values_are_exact_where_they_are_decimals() -> None:
    """A third is rounded to 15 digits, a decimal number of any length is not."""
    long = Fraction(10**40 + 1, 10**20)
    assert Fraction(str(cell_text(long))) == long
    assert cell_text(Fraction(1, 3)) == "0.333333333333333"
    assert cell_text("north") == "north"
    assert cell_text(None) is None
