"""Texts of released values as PostgreSQL writes them; the twin casts them to the types of the result.

INVARIANT: PostgreSQL can read every text as a value of the type, whatever the noise was: a value beyond the
type's end is moved to that end, and one that is too small for a `real` is 0. A text that cannot be read would
be an error that depends on the noise.
"""

from collections.abc import Iterable, Sequence
from datetime import date, datetime
from decimal import Context, Decimal
from fractions import Fraction
from itertools import accumulate, pairwise, starmap
from math import ceil
from typing import Final

from gateway.catalog.types import ColumnType, Family, Kind
from gateway.catalog.values import Value
from gateway.intervals.exact_formulas import Ratios, evaluate_curve, evaluate_ratios
from gateway.noise.add_noise import NoisyTable
from gateway.plan.sql_text import decimal_sql, is_decimal
from gateway.sensitivity.choices import Chosen
from gateway.sensitivity.formulas import CurveFormula, Formula, Linear

_DIGITS: Final = 15
_NUMBERS: Final = frozenset({Family.WHOLE, Family.EXACT, Family.FLOAT})
_ROUNDED: Final = Context(prec=_DIGITS)
_LARGEST: Final = 1e300
_LARGEST_REAL: Final = 1e38
_REAL: Final = 10**37  # a number below its inverse is too small for a `real`


def key_text(value: Value | None) -> str | None:
    """The text of a key value."""
    if value is None:
        return None
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, datetime):
        return value.isoformat(sep=" ")
    if isinstance(value, date):
        return value.isoformat()
    if isinstance(value, Fraction):
        return decimal_sql(value)
    return str(value)


def cell_text(value: Value | None) -> str | None:
    """The text of a public value: exact, if that is a decimal number."""
    if isinstance(value, Fraction) and not is_decimal(value):
        return number_text(value)
    return key_text(value)


def key_texts(values: Iterable[Value | None]) -> list[str | None]:
    """The texts of a key column."""
    given = list(values)
    if set(map(type, given)) <= {int, str}:  # the usual case by far
        return list(map(str, given))
    return list(map(key_text, given))


def column_texts(
    table: NoisyTable, formula: Formula, of: ColumnType, *, clamp: bool = True
) -> Sequence[str | None]:
    """The aggregate of each group; None if it has no value, such as the variance of no rows.

    `clamp` moves it into its domain: a count to at least 0, a mean into the range of its column. The ends of
    the type apply in any case.
    """
    if isinstance(formula, Chosen):
        return _chosen(table.chosen[formula.place], of)
    if isinstance(formula, CurveFormula):
        return _curved(table, formula, of, clamp=clamp)
    return _typed(evaluate_ratios(table.measured, len(table.keys), formula, clamp=clamp), of)


def whole_numbers(table: NoisyTable, formula: Linear, *, in_sums: bool = False) -> Sequence[int]:
    """The whole numbers that the aggregate is shown as, before clamping.

    `in_sums`: sums from the first one on are rounded, and each number is the difference of two: less than 1 from its own.
    """
    column = evaluate_ratios(table.measured, len(table.keys), formula, clamp=False)
    if not in_sums or column.below == 1:
        return _rounded(column)
    sums = _rounded(Ratios(list(accumulate(column.above)), column.below))
    return [one - before for before, one in pairwise((0, *sums))]


def whole_texts(
    column: Sequence[int], formula: Linear, of: ColumnType, *, clamp: bool = True
) -> list[str]:
    """The texts of such numbers, some of which may be sums."""
    if clamp and formula.least is not None:
        column = [max(one, ceil(formula.least)) for one in column]
    return list(map(str, _within_type(column, of)))


def _curved(
    table: NoisyTable, formula: CurveFormula, of: ColumnType, *, clamp: bool
) -> list[str | None]:
    column = evaluate_curve(table.measured, len(table.keys), formula, clamp=clamp)
    there = [one for one in column if one is not None]
    texts = iter(_typed(Ratios([above for above, _ in there], [below for _, below in there]), of))
    return [None if one is None else next(texts) for one in column]


def _chosen(values: Sequence[Value], of: ColumnType) -> list[str]:
    """The texts of chosen values: numbers like any other number, other values like keys."""
    if of.family not in _NUMBERS:
        return [text for text in map(key_text, values) if text is not None]
    return number_texts([Fraction(one) for one in values if isinstance(one, int | Fraction)], of)


def number_texts(exact: Sequence[Fraction], of: ColumnType) -> list[str]:
    """The texts of numbers as values of the type."""
    return _typed(Ratios([one.numerator for one in exact], [one.denominator for one in exact]), of)


def _typed(column: Ratios, of: ColumnType) -> list[str]:
    if of.family is Family.WHOLE:
        return list(map(str, _within_type(_rounded(column), of)))
    if of.family is Family.EXACT:
        return _exact(column, of)
    if of.kind is Kind.REAL:
        return list(map(repr, starmap(_real, column)))
    return list(map(repr, starmap(_double, column)))


def interval_texts(
    column: Sequence[tuple[float, float] | None],
) -> tuple[list[str | None], list[str | None]]:
    """The lower and the upper ends of intervals, as `double precision`; NULL if there is none."""
    return (
        [None if one is None else repr(one[0]) for one in column],
        [None if one is None else repr(one[1]) for one in column],
    )


def _rounded(column: Ratios) -> Sequence[int]:
    """The nearest whole numbers; halves go to the even one."""
    return column.above if column.below == 1 else list(starmap(_nearest, column))


def _nearest(above: int, below: int) -> int:
    whole, rest = divmod(above, below)
    return whole + (2 * rest > below or (2 * rest == below and whole % 2 == 1))


def _within_type(column: Sequence[int], of: ColumnType) -> Sequence[int]:
    if of.bound is None:
        return column
    bound = int(of.bound)
    return _within(column, -bound, bound - 1)


def _within(column: Sequence[int], low: int, high: int) -> Sequence[int]:
    if not column or (low <= min(column) and max(column) <= high):
        return column
    return [max(low, min(high, one)) for one in column]


def _exact(column: Ratios, of: ColumnType) -> list[str]:
    """The number with as many digits as the type has, if the type says how many."""
    if of.precision is None or of.scale is None:
        return _numbers(column)
    under, most = 10**of.scale, 10**of.precision - 1
    steps = _rounded(Ratios([above * under for above in column.above], column.below))
    return _numbers(Ratios(_within(steps, -most, most), under))


def _real(above: int, below: int) -> float:
    """A `real`: PostgreSQL refuses one that is too small, while a `double precision` becomes 0."""
    small = abs(above) * _REAL < below
    return 0.0 if small else _float(above, below, _LARGEST_REAL)


def _double(above: int, below: int) -> float:
    return _float(above, below, _LARGEST)


def _float(above: int, below: int, most: float) -> float:
    """The nearest float, or the end of the type; no exact number beyond an end is nearest to a float within."""
    try:
        found = above / below
    except OverflowError:
        return most if above > 0 else -most
    return max(-most, min(most, found)) + 0.0  # this avoids -0


def number_text(value: Fraction) -> str:
    """A decimal number: exact if it has few digits, otherwise with 15 of them."""
    [text] = _numbers(Ratios([value.numerator], value.denominator))
    return text


def _numbers(column: Ratios) -> list[str]:
    # Decimal writes no trailing 0 of an exact quotient of whole numbers
    found = [_ROUNDED.divide(Decimal(above), Decimal(below)) for above, below in column]
    texts = list(map(str, found))
    return [f"{one:f}" if "E" in text else text for one, text in zip(found, texts, strict=True)]
