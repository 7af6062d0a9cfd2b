"""Epsilon, Rho and Delta: exact, finite, never negative, and never mixed."""

import copy
import enum
import operator
import pickle
from collections.abc import Callable
from contextlib import suppress
from dataclasses import FrozenInstanceError
from decimal import Decimal
from fractions import Fraction
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from laws import for_each

from gateway.units import Delta, Epsilon, Rho, UnitError, format_decimal

Amount = type[Any]  # to do what mypy would not let us do
TYPES: list[Amount] = [Epsilon, Rho, Delta]
EACH = for_each("kind", TYPES)

amounts = st.fractions(min_value=0, max_value=10**6, max_denominator=10**9)
texts = st.from_regex(r"[0-9]{1,30}(\.[0-9]{1,20})?([eE][+-]?[0-9])?", fullmatch=True)


@for_each(
    ("text", "value"),
    [
        ("0.1", Fraction(1, 10)),
        ("1e-6", Fraction(1, 10**6)),
        ("1E-06", Fraction(1, 10**6)),
        ("2", Fraction(2)),
        ("0", Fraction(0)),
        ("000.100", Fraction(1, 10)),
        ("1.5e2", Fraction(150)),
        ("9" * 30, Fraction(10**30 - 1)),
        ("0." + "0" * 29 + "1", Fraction(1, 10**30)),
        ("1e40", Fraction(10**40)),
        ("1e-40", Fraction(1, 10**40)),
        (3, Fraction(3)),
        (Decimal("0.1"), Fraction(1, 10)),
        (Decimal("1E+3"), Fraction(1000)),
    ],
)
def test_epsilon_reads_decimals_exactly(text: object, value: Fraction) -> None:
    """One tenth is one tenth, never the float next to it."""
    assert Epsilon.parse(text).value == value


_BAD: list[object] = [
    *("NaN", "nan", "sNaN", "inf", "Infinity", "-inf", "-1", "-0", "-0.0", "+1", "- 1"),
    *("", " ", "1 ", " 1", "1\n", "\t1", "1 000", "1,000", "1_000", "0x10", "0b1", "0o7", "1/3"),
    *("1.", ".5", "1..2", "1.2.3", "e5", "1e", "1e+", "1e1.5", "1e100", "1e-41", "1e41", "1ee2"),
    *("1e999999999", "9" * 5000, "0." + "9" * 5000, "1e" + "9" * 5000, "1" * 31, "0." + "1" * 31),
    *(
        "\u0661",
        "\uff11",
        "\u00b2",
        "\u00bd",
        "1\u0660",
        "\u2081",
        "0\u066b1",
        "١٢",
    ),  # digits all of them
    *("1\0", "\ufeff1", "\u200b1", "1\u2212", "True", "None", "one", "0.1f", "1j", "1%", "ε"),
    *(True, False, None, 0.1, 1.0, float("nan"), float("inf"), 1j, b"1", [], {}, object()),
    *(Fraction(1, 3), Decimal("NaN"), Decimal(-1), Decimal("Infinity"), Decimal("1e-50")),
    *(-1, 10**5000, -(10**5000), 2**256, Decimal(10) ** 200, Decimal("-0")),
]


@EACH
@for_each("text", _BAD, ids=range(len(_BAD)))
def test_amount_refuses_what_is_no_plain_decimal(kind: Amount, text: object) -> None:
    """Everything else is one clear, short error that does not repeat the input."""
    with pytest.raises(UnitError) as caught:
        kind.parse(text)
    message = str(caught.value)
    assert message.startswith(kind.unit)
    assert len(message) < 100


def test_epsilon_refuses_a_numpy_float_and_takes_an_enumerated_int() -> None:
    """What merely behaves like a float or an int is treated as what it is."""
    number = enum.IntEnum("number", {"TWO": 2})
    assert Epsilon.parse(number["TWO"]).value == 2

    class Sly(float):
        pass

    with pytest.raises(UnitError):
        Epsilon.parse(Sly(1))


@pytest.mark.parametrize("kind", TYPES)
@given(text=texts)
def test_amount_reads_what_python_reads(kind: Amount, text: str) -> None:
    """Whatever is accepted has the value that Decimal gives it."""
    expected = Fraction(Decimal(text))
    if kind is Delta and expected >= 1:
        with pytest.raises(UnitError):
            kind.parse(text)
    else:
        assert kind.parse(text).value == expected


@pytest.mark.parametrize("kind", TYPES)
@given(text=st.text(max_size=80))
@example("1e-99")
def test_amount_reads_any_text_or_refuses_it(kind: Amount, text: str) -> None:
    """No text does anything else than to be read or to raise UnitError."""
    with suppress(UnitError):
        assert kind.parse(text).value >= 0


@EACH
def test_amount_is_never_negative_and_delta_below_one(kind: Amount) -> None:
    """Nothing can be constructed, added, subtracted or scaled that is out of range."""
    half = kind(Fraction(1, 2))
    for bad in (Fraction(-1), Fraction(-1, 10**30)):
        with pytest.raises(UnitError):
            kind(bad)
        with pytest.raises(UnitError):
            half * bad
    with pytest.raises(UnitError):
        kind.zero() - half
    with pytest.raises(UnitError):
        half - kind(Fraction(1, 2) + Fraction(1, 10**60))
    if kind is Delta:
        with pytest.raises(UnitError):
            Delta(Fraction(1))
        with pytest.raises(UnitError):
            half + half
        with pytest.raises(UnitError):
            half * 2
    assert half - half == kind.zero()


@EACH
@for_each("value", [0.5, 1, "1/2", Decimal("0.5"), True, None])
def test_amount_is_built_from_a_fraction_alone(kind: Amount, value: object) -> None:
    """There is no way around parsing."""
    with pytest.raises(TypeError):
        kind(value)


_OPERATIONS: list[Callable[[Any, Any], object]] = [
    *(operator.add, operator.sub, operator.truediv),
    *(operator.lt, operator.le, operator.gt, operator.ge),
]
_MIXED = [(a, b) for a in TYPES for b in TYPES if a is not b]


@for_each(("one", "other"), _MIXED)
@for_each("does", _OPERATIONS)
def test_amounts_of_different_currencies_do_not_mix(
    one: Amount, other: Amount, does: Callable[[Any, Any], object]
) -> None:
    """Epsilon, Rho and Delta neither add, subtract, divide nor compare with each other."""
    with pytest.raises(TypeError, match="does not mix"):
        does(one(Fraction(1, 2)), other(Fraction(1, 2)))
    assert one(Fraction(1, 2)) != other(Fraction(1, 2))


@EACH
@for_each("number", [1, 0.5, Fraction(1, 2), Decimal("0.5"), "0.5", None])
@for_each("does", _OPERATIONS)
def test_amounts_do_not_mix_with_plain_numbers(
    kind: Amount, number: object, does: Callable[[Any, Any], object]
) -> None:
    """Not from the left, not from the right."""
    with pytest.raises(TypeError):
        does(kind(Fraction(1, 2)), number)
    with pytest.raises(TypeError):
        does(number, kind(Fraction(1, 2)))
    assert kind(Fraction(1, 2)) != number


@EACH
@for_each("factor", [0.5, True, Decimal(2), "2", None])
def test_amount_is_scaled_by_exact_numbers_alone(kind: Amount, factor: object) -> None:
    """A float has lost what it stood for, a bool is no number."""
    with pytest.raises(TypeError):
        kind(Fraction(1, 4)) * factor
    assert (kind(Fraction(1, 4)) * 2).value == Fraction(1, 2)
    assert (kind(Fraction(1, 4)) * Fraction(1, 3)).value == Fraction(1, 12)


@given(amounts, amounts, amounts)
def test_amounts_obey_the_laws_of_arithmetic(a: Fraction, b: Fraction, c: Fraction) -> None:
    """Addition is exact, associative and commutative, subtraction undoes it, order follows it."""
    x, y, z = Epsilon(a), Epsilon(b), Epsilon(c)
    assert (x + y) + z == x + (y + z)
    assert x + y == y + x
    assert (x + y) - y == x
    assert x + Epsilon.zero() == x
    assert x <= x + y
    assert (x < y) == (a < b)
    assert (x >= y) == (a >= b)
    assert (x * 2) == x + x
    assert bool(x) == (a > 0)
    if b:
        assert (x / y) == a / b
    assert hash(Epsilon(a)) == hash(Epsilon(Fraction(a)))


@given(st.fractions(min_value=0, max_value=Fraction(999, 1000)))
def test_amount_comes_back_from_how_it_is_stored(value: Fraction) -> None:
    """`ratio` and `from_ratio` are each other's inverse, exactly."""
    for kind in TYPES:
        amount = kind(value)
        assert kind.from_ratio(amount.ratio) == amount
        assert pickle.loads(pickle.dumps(amount)) == amount  # noqa: S301  # our own
        assert copy.deepcopy(amount) == amount


@for_each(
    "text",
    [
        *("1", "1/0", "-1/2", "1/-2", "1/2 ", " 1/2", "1/2\n", "1/02", "0.5/1", "1//2", "", "/"),
        *("1/" + "9" * 5000, "9" * 5000 + "/1", "\u0661/2", "1e3/1", "1_0/3", "½", "a/b"),
    ],
)
def test_amount_is_not_read_from_anything_else_that_was_stored(text: str) -> None:
    """What the database would refuse is refused here, too."""
    with pytest.raises(UnitError):
        Epsilon.from_ratio(text)


@given(st.integers(0, 10**15 - 1), st.integers(0, 20))
def test_amount_says_itself_exactly_when_15_digits_suffice(digits: int, places: int) -> None:
    """What a person reads can be typed in again, and is the same."""
    amount = Epsilon(Fraction(digits, 10**places))
    assert Epsilon.parse(str(amount)) == amount


@given(st.fractions(min_value=Fraction(1, 10**30), max_value=10**30))
def test_amount_says_itself_within_15_digits(value: Fraction) -> None:
    """Where it has to be rounded it is off by less than a unit of the 15th digit."""
    said = Epsilon.parse(format_decimal(value)).value
    assert abs(said - value) <= value / 10**14
    assert len(format_decimal(value)) < 40


@for_each(
    ("value", "text"),
    [
        (Fraction(0), "0"),
        (Fraction(100), "100"),
        (Fraction(1, 10), "0.1"),
        (Fraction(1, 3), "0.333333333333333"),
        (Fraction(2, 3), "0.666666666666667"),
        (Fraction(1, 10**6), "0.000001"),
        (Fraction(1, 10**7), "1e-7"),
        (Fraction(10**15), "1e15"),
        (Fraction(123, 10), "12.3"),
    ],
)
def test_amount_is_said_plainly(value: Fraction, text: str) -> None:
    """No trailing zeros, no plus signs, an exponent only where it is shorter."""
    assert format_decimal(value) == text
    assert str(Epsilon(value)) == text


@EACH
def test_amount_is_frozen_and_its_repr_rounds_nothing(kind: Amount) -> None:
    """A value is a value: it cannot be changed, and its repr shows all of it."""
    amount = kind(Fraction(1, 3))
    with pytest.raises(FrozenInstanceError):
        amount.value = Fraction(0)
    assert repr(amount) == f"{kind.__name__}(value=Fraction(1, 3))"
    assert {amount: 1}[kind(Fraction(2, 6))] == 1
