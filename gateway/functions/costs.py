"""How long a call takes at most, from the sizes of its arguments: the formulas that the rows of the table name.

Takes a call with what is known of its arguments and gives nanoseconds of one core. Coefficients are the slower of both
engines, measured on the worst texts and numbers that were found (`tests/privacy/long_work.py`), with room above.

INVARIANT: every function has a cost (`tests/functions/test_table.py` holds that), and it is bounded by a polynomial of
enforced sizes that is evaluated before anything runs. See docs/proofs/row_work.md.
"""

from collections.abc import Callable, Sequence
from fractions import Fraction
from typing import Final, TypeAlias

from gateway.catalog.types import Family
from gateway.functions.result_sizes import RESULT_DIGITS, Size
from gateway.plan.like_pattern import piece_texts, read_pattern
from gateway.plan.scalars import Call, Literal, Scalar

Sizes: TypeAlias = Sequence[Size]
Cost: TypeAlias = Callable[[Call, Sizes], int]

STEP: Final = 60  # one operator, comparison or branch
NUMBER: Final = 600  # arithmetic with its guards, in the widest type
MOMENT: Final = 700  # dates and timestamps


def _characters(sizes: Sizes) -> int:
    return sum(one.characters for one in sizes)


def per_character(each: int) -> Cost:
    """So many nanoseconds for each character of the arguments."""
    return lambda _, sizes: 2 * STEP + each * _characters(sizes)


def constant(cost: int) -> Cost:
    return lambda _, __: cost


def connective(call: Call, _: Sizes) -> int:
    return STEP * len(call.parts)


def comparison(call: Call, sizes: Sizes) -> int:
    digits = sum(one.digits for one in sizes)
    return STEP * len(call.parts) + (_characters(sizes) + digits) // 2


def membership(call: Call, sizes: Sizes) -> int:
    return STEP + 15 * len(call.parts) + 2 * sizes[0].characters


def search_time(needle: int, text: int) -> int:
    """A needle sought at every place of a text: PostgreSQL compares it from its end, byte by byte."""
    most = min(needle, (text + 1) // 2)
    return most * (text - most + 1) * 11 // 10


def search(*, needle: int, text: int) -> Cost:
    """Of a needle in a text, which stand at these places."""
    return lambda _, sizes: (
        6 * _characters(sizes) + search_time(sizes[needle].characters, sizes[text].characters)
    )


def replacement(_: Call, sizes: Sizes) -> int:
    return 12 * sizes[0].characters + search_time(sizes[1].characters, sizes[0].characters)


def trim(call: Call, sizes: Sizes) -> int:
    signs = sizes[1].characters if len(call.parts) > 1 else 1
    return (8 + 2 * signs) * sizes[0].characters + 12 * signs


def pattern(*, folded: bool) -> Cost:
    """PostgreSQL tries the longest floating piece at every place; DuckDB seeks one piece after the other."""

    def cost(call: Call, sizes: Sizes) -> int:
        text, sign = sizes[0].characters, call.parts[1]
        if not isinstance(sign, Literal) or not isinstance(sign.value, str):
            raise TypeError("a computed pattern")
        found = read_pattern(sign.value)
        anchored = sum(1 for piece in (found.start, found.end or ()) for _ in piece_texts(piece))
        steps = sum(1 + one.gap for one in found.floating) + found.gap
        plain = 6 * text + 6 * found.longest * text // 5
        automaton = 12 * text if any(one.literal is None for one in found.floating) else 6 * text
        cut = automaton + 800 * steps + (anchored + 1) * (STEP + text)
        return STEP + (8 * text if folded else 0) + max(plain, cut)

    return cost


def addition(call: Call, sizes: Sizes) -> int:
    if call.type.family is not Family.EXACT:
        return NUMBER
    return NUMBER + sum(one.digits for one in sizes)


def multiplication(call: Call, sizes: Sizes) -> int:
    if call.type.family is not Family.EXACT:
        return NUMBER
    return NUMBER + sizes[0].digits * sizes[-1].digits // 3


def of_decimals(cost: Cost) -> Cost:
    """Decimals are computed with as many digits as argument and result have; the time grows with their square."""
    return lambda call, sizes: cost(call, sizes) if call.type.family is Family.EXACT else NUMBER


def root(_: Call, sizes: Sizes) -> int:
    return 2 * NUMBER + sizes[0].digits * sizes[0].digits // 50


def logarithm(times: int) -> Cost:
    return lambda _, sizes: times * _logarithm(sizes[0].digits)


def exponential(_: Call, sizes: Sizes) -> int:
    return _exponential(sizes[0].digits + (RESULT_DIGITS if sizes[0].before > 1 else 0))


def power(call: Call, sizes: Sizes) -> int:
    digits, exponent = sizes[0].digits, call.parts[1]
    value = exponent.value if isinstance(exponent, Literal) else None
    if isinstance(value, int | Fraction) and value.denominator == 1:
        return 3 * NUMBER + digits * 16
    digits += sizes[1].digits
    return _logarithm(digits) + _exponential(digits + RESULT_DIGITS)


def _logarithm(digits: int) -> int:
    return 4_000 + digits * digits * 13 // 10


def _exponential(digits: int) -> int:
    return 4_000 + digits * digits * 8 // 10


def cast_cost(of: Scalar, size: Size, to: Family) -> int:
    """Texts are read by a regular expression without alternatives that overlap."""
    if of.type.family is not Family.TEXT:
        return NUMBER + size.digits
    return STEP + size.characters if to is Family.TEXT else 3 * NUMBER + 8 * size.characters
