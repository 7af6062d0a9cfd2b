"""The cost class of every function over rows: how long it takes at most, from the sizes of its arguments.

Takes a call with what is known of its arguments and gives nanoseconds of one core. Coefficients are the slower of both
engines, measured on the worst texts and numbers that were found (`tests/privacy/long_work.py`), with room above.

INVARIANT: a function that binds has an entry here (`tests/bounding/test_work_bound.py` holds that), and its cost is
bounded by a polynomial of enforced sizes that is evaluated before anything runs. See docs/proofs/row_work.md.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from types import MappingProxyType
from typing import Final, TypeAlias

from gateway.catalog.types import Family
from gateway.plan.like_pattern import read_pattern, words
from gateway.plan.scalars import Call, Literal, Scalar


@dataclass(frozen=True, slots=True)
class Size:
    """How large values are at most: characters of a text, digits of a decimal number before and behind the point."""

    characters: int = 0
    before: int = 0
    behind: int = 0

    @property
    def digits(self) -> int:
        return self.before + self.behind


Sizes: TypeAlias = Sequence[Size]
Cost: TypeAlias = Callable[[Call, Sizes], int]

STEP: Final = 60  # one operator, comparison or branch
NUMBER: Final = 600  # arithmetic with its guards, in the widest type
MOMENT: Final = 700  # dates and timestamps
RESULT_DIGITS: Final = 300  # powers and exponentials end at 1e300


def _characters(sizes: Sizes) -> int:
    return sum(one.characters for one in sizes)


def _linear(each: int) -> Cost:
    """So many nanoseconds for each character of the arguments."""
    return lambda _, sizes: 2 * STEP + each * _characters(sizes)


def _fixed(cost: int) -> Cost:
    return lambda _, __: cost


def _compared(call: Call, sizes: Sizes) -> int:
    digits = sum(one.digits for one in sizes)
    return STEP * len(call.parts) + (_characters(sizes) + digits) // 2


def _listed(call: Call, sizes: Sizes) -> int:
    return STEP + 15 * len(call.parts) + 2 * sizes[0].characters


def sought(needle: int, text: int) -> int:
    """A needle sought at every place of a text: PostgreSQL compares it from its end, byte by byte."""
    most = min(needle, (text + 1) // 2)
    return most * (text - most + 1) * 11 // 10


def _position(call: Call, sizes: Sizes) -> int:
    needle, text = (sizes[0], sizes[1]) if call.function == "position" else (sizes[1], sizes[0])
    return 6 * _characters(sizes) + sought(needle.characters, text.characters)


def _replaced(_: Call, sizes: Sizes) -> int:
    return 12 * sizes[0].characters + sought(sizes[1].characters, sizes[0].characters)


def _trimmed(call: Call, sizes: Sizes) -> int:
    signs = sizes[1].characters if len(call.parts) > 1 else 1
    return (8 + 2 * signs) * sizes[0].characters + 12 * signs


def _pattern(call: Call, sizes: Sizes) -> int:
    """PostgreSQL tries the longest floating piece at every place; DuckDB seeks one piece after the other."""
    text, pattern = sizes[0].characters, call.parts[1]
    if not isinstance(pattern, Literal) or not isinstance(pattern.value, str):
        raise TypeError("a computed pattern")
    found = read_pattern(pattern.value)
    anchored = sum(1 for piece in (found.start, found.end or ()) for _ in words(piece))
    steps = sum(1 + one.gap for one in found.floating) + found.gap
    fold = 8 * text if "ilike" in call.function else 0
    plain = 6 * text + 6 * found.longest * text // 5
    automaton = 12 * text if any(one.literal is None for one in found.floating) else 6 * text
    cut = automaton + 800 * steps + (anchored + 1) * (STEP + text)
    return STEP + fold + max(plain, cut)


def _arithmetic(call: Call, sizes: Sizes) -> int:
    if call.type.family is not Family.EXACT:
        return NUMBER
    digits = [one.digits for one in sizes]
    if call.function in {"+", "-", "negate"}:
        return NUMBER + sum(digits)
    return NUMBER + digits[0] * digits[-1] // 3


def _real(call: Call, sizes: Sizes) -> int:  # noqa: PLR0911 - one answer for each function
    """Decimals are computed with as many digits as argument and result have; the time grows with their square."""
    if call.type.family is not Family.EXACT:
        return NUMBER
    digits = sizes[0].digits
    match call.function:
        case "sqrt":
            return 2 * NUMBER + digits * digits // 50
        case "ln":
            return _logarithm(digits)
        case "log":
            return 2 * _logarithm(digits)
        case "exp":
            return _exponential(digits + (RESULT_DIGITS if sizes[0].before > 1 else 0))
        case _:
            exponent = call.parts[1]
            value = exponent.value if isinstance(exponent, Literal) else None
            if isinstance(value, int | Fraction) and value.denominator == 1:
                return 3 * NUMBER + digits * 16
            digits += sizes[1].digits
            return _logarithm(digits) + _exponential(digits + RESULT_DIGITS)


def _logarithm(digits: int) -> int:
    return 4_000 + digits * digits * 13 // 10


def _exponential(digits: int) -> int:
    return 4_000 + digits * digits * 8 // 10


_CLASSES: Final[dict[str, Cost]] = {
    **dict.fromkeys(("and", "or"), lambda call, _: STEP * len(call.parts)),
    **dict.fromkeys(
        (
            *("not", "is null", "is not null", "is true", "is not true"),
            *("is false", "is not false", "is unknown", "is not unknown"),
        ),
        _fixed(STEP),
    ),
    **dict.fromkeys(
        (
            *("=", "<>", "<", "<=", ">", ">=", "is distinct from", "is not distinct from"),
            *("coalesce", "nullif", "greatest", "least"),
        ),
        _compared,
    ),
    "in": _listed,
    **dict.fromkeys(("+", "-", "*", "/", "%", "mod", "negate", "abs", "sign"), _arithmetic),
    **dict.fromkeys(("floor", "ceil", "ceiling", "round", "trunc", "width_bucket"), _arithmetic),
    **dict.fromkeys(("sqrt", "ln", "log", "exp", "power", "^"), _real),
    **dict.fromkeys(("lower", "upper"), _linear(8)),
    **dict.fromkeys(("length", "char_length"), _linear(3)),
    **dict.fromkeys(("left", "right", "substr"), _linear(6)),
    **dict.fromkeys(("||", "concat", "starts_with"), _linear(2)),
    **dict.fromkeys(("btrim", "ltrim", "rtrim"), _trimmed),
    **dict.fromkeys(("replace", "split_part"), _replaced),
    **dict.fromkeys(("position", "strpos"), _position),
    **dict.fromkeys(("like", "ilike", "not like", "not ilike"), _pattern),
    **dict.fromkeys(("extract", "date_trunc", "make_date"), _fixed(MOMENT)),
    "age_in": _fixed(2 * MOMENT),
}
CLASSES: Final = MappingProxyType(_CLASSES)


def cost_of(call: Call, sizes: Sizes) -> int:
    """Nanoseconds that the call itself takes at most, without its arguments."""
    return CLASSES[call.function](call, sizes)


def cost_of_cast(of: Scalar, size: Size, to: Family) -> int:
    """Texts are read by a regular expression without alternatives that overlap."""
    if of.type.family is not Family.TEXT:
        return NUMBER + size.digits
    return STEP + size.characters if to is Family.TEXT else 3 * NUMBER + 8 * size.characters
