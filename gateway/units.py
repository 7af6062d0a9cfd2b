"""Epsilon, Rho and Delta: amounts of privacy as exact, frozen values that do not mix.

Every amount is a rational number, read from text and never through a float: `0.1` is one tenth. Adding an
Epsilon to a Rho is a type error, here and for mypy.

INVARIANT: an amount is finite and not negative. No other amount can be constructed, so no charge can refill an
account.
"""

import re
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from typing import ClassVar, Self

_DECIMAL = re.compile(
    r"(?P<whole>[0-9]{1,30})(?:\.(?P<part>[0-9]{1,30}))?(?:[eE](?P<exp>[+-]?[0-9]{1,2}))?"
)
_RATIO = re.compile(r"(?P<over>[0-9]{1,4000})/(?P<under>[1-9][0-9]{0,3999})")
_LONGEST_TEXT = 64
_LONGEST_EXPONENT = 40
_SHOWN_DIGITS = 15


class UnitError(ValueError):
    """A text that is no amount of privacy; the message says what would be one."""


@dataclass(frozen=True, order=False, slots=True)
class _Amount:
    """An exact amount of one currency; subclasses only name the currency."""

    value: Fraction
    unit: ClassVar[str] = "amount"

    def __post_init__(self) -> None:
        if not isinstance(self.value, Fraction):
            raise TypeError(
                f"{self.unit} is built from a Fraction, not from {type(self.value).__name__}"
            )
        if self.value < 0:
            raise UnitError(f"{self.unit} must not be negative")

    @classmethod
    def parse(cls, text: object) -> Self:
        """Read a decimal such as `0.1`, `2` or `1e-6` exactly.

        Floats are refused rather than repaired: by the time a float is seen, `0.1` is lost.
        """
        if isinstance(text, bool):
            raise UnitError(f"{cls.unit} must be a decimal number such as 0.1, not true or false")
        if isinstance(text, float):
            raise UnitError(f"{cls.unit} must be given as text or as a decimal, not as a float")
        if isinstance(text, int) and text.bit_length() > 4 * _LONGEST_TEXT:
            raise UnitError(f"{cls.unit} has too many digits")
        if not isinstance(text, str | int | Decimal):
            raise UnitError(f"{cls.unit} must be a decimal number such as 0.1")
        return cls(exact_decimal(str(text), cls.unit))

    @classmethod
    def zero(cls) -> Self:
        return cls(Fraction(0))

    @classmethod
    def from_ratio(cls, text: str) -> Self:
        """Read what `ratio` wrote."""
        match = _RATIO.fullmatch(text)
        if match is None:
            raise UnitError(f"a stored {cls.unit} must read like 1/20")
        return cls(Fraction(int(match["over"]), int(match["under"])))

    @property
    def ratio(self) -> str:
        """The exact value as `numerator/denominator`, the form in which it is stored."""
        return f"{self.value.numerator}/{self.value.denominator}"

    def __str__(self) -> str:
        """Say the value to a person: exactly when 15 digits suffice, else rounded to them."""
        return format_decimal(self.value)

    def __add__(self, other: Self) -> Self:
        return type(self)(self.value + self._same(other))

    def __sub__(self, other: Self) -> Self:
        """What is left; taking more than there is raises, it never wraps around."""
        return type(self)(self.value - self._same(other))

    def __mul__(self, factor: Fraction | int) -> Self:
        if isinstance(factor, bool) or not isinstance(factor, Fraction | int):
            raise TypeError(f"{self.unit} can be scaled by a Fraction or an int alone")
        return type(self)(self.value * factor)

    def __truediv__(self, other: Self) -> Fraction:
        """How many times `other` fits: a plain ratio, no longer an amount."""
        return self.value / self._same(other)

    def __lt__(self, other: Self) -> bool:
        return self.value < self._same(other)

    def __le__(self, other: Self) -> bool:
        return self.value <= self._same(other)

    def __gt__(self, other: Self) -> bool:
        return self.value > self._same(other)

    def __ge__(self, other: Self) -> bool:
        return self.value >= self._same(other)

    def __bool__(self) -> bool:
        return self.value.numerator != 0

    def _same(self, other: object) -> Fraction:
        if type(other) is not type(self):
            raise TypeError(f"{self.unit} does not mix with {type(other).__name__}")
        return other.value


class Epsilon(_Amount):
    """The price of a question in pure differential privacy, and the size of every cap."""

    unit = "epsilon"


class Rho(_Amount):
    """The price of a question in zero-concentrated differential privacy."""

    unit = "rho"


class Delta(_Amount):
    """The probability with which the promise may fail; below 1."""

    unit = "delta"

    def __post_init__(self) -> None:
        # dataclass(slots=True) makes a new class, so super() without arguments would not find it
        _Amount.__post_init__(self)
        if self.value >= 1:
            raise UnitError("delta must be below 1")


def format_decimal(value: Fraction) -> str:
    """At most 15 significant digits, as a plain decimal where that is short."""
    shown = f"{Decimal(value.numerator) / Decimal(value.denominator):.{_SHOWN_DIGITS}g}"
    if "e" in shown:
        mantissa, _, exponent = shown.partition("e")
        return f"{_without_tail(mantissa)}e{int(exponent)}"
    return _without_tail(shown)


def format_down(value: Fraction) -> str:
    """The same, never rounded up: of what is left, this much can be had."""
    text = format_decimal(value)
    if Fraction(text) <= value:
        return text
    return format_decimal(value * (1 - Fraction(1, 10 ** (_SHOWN_DIGITS - 1))))


def _without_tail(digits: str) -> str:
    return digits.rstrip("0").rstrip(".") if "." in digits else digits


def exact_decimal(text: str, unit: str) -> Fraction:
    """A decimal such as `0.1`, not negative, as the fraction it is; `unit` says what it is for, in an error."""
    if len(text) > _LONGEST_TEXT:
        raise UnitError(f"{unit} has too many digits")
    match = _DECIMAL.fullmatch(text)
    if match is None:
        raise UnitError(f"{unit} must be a decimal number such as 0.1, not negative and finite")
    exponent = int(match["exp"] or 0)
    if abs(exponent) > _LONGEST_EXPONENT:
        raise UnitError(f"{unit} has an exponent beyond ±{_LONGEST_EXPONENT}")
    part = match["part"] or ""
    return Fraction(int(match["whole"] + part)) * Fraction(10) ** (exponent - len(part))
