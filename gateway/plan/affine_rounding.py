"""How far engines can be from the exact value of an affine expression, and whether that can tell rows apart.

PostgreSQL and DuckDB round doubles to 53 bits and reals to 24. DuckDB computes decimals as doubles where it has no
decimal for them, so every decimal counts as a double here. PostgreSQL's decimals are exact but for quotients, which have
at least twelve digits, and for what was a double, of which a decimal keeps 15 digits. Numbers of which a column says
nothing are taken to be below 1e100, and what engines flush to zero is below 1e-290, or 1e-37 for reals.

A `Form` carries a bound of the error so far and the least width of a column's part in it. Rounding acts as a threshold
only where the error is not small beside such a part: `x * 1e-12 + 2^30 - 2^30` is 0 or 1e-7. Hence

INVARIANT: of a form that does not cut, the error and the resolution of a double at its largest value are at most 2^-20 of
the width that every column's part has in it. Widths of sums do not cancel: x - x has the width of x twice.

Of a number whose ends are not known (a person's sum, a column without a domain) only multiples are taken (`relative`):
their error is small beside each value, whatever that is. A sum with it needs the ends.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from types import MappingProxyType
from typing import Final

from gateway.catalog.types import ColumnType, Family, Kind

NUMBERS: Final = frozenset({Family.WHOLE, Family.EXACT, Family.FLOAT})
_WIDEST: Final = MappingProxyType(
    {Kind.SMALLINT: 2**15 - 1, Kind.INTEGER: 2**31 - 1, Kind.BIGINT: 2**63 - 1}
)
_TOLERATED: Final = Fraction(1, 2**20)
_ROUNDED: Final = MappingProxyType({Kind.REAL: Fraction(1, 2**24)})
_FLUSHED: Final = MappingProxyType({Kind.REAL: Fraction(1, 10**37)})
_DOUBLE: Final = Fraction(1, 2**53)
_VANISHED: Final = Fraction(1, 10**290)
_QUOTIENT: Final = Fraction(1, 10**12)
_SHOWN: Final = MappingProxyType({Kind.DOUBLE: Fraction(1, 10**14), Kind.REAL: Fraction(1, 10**5)})
_FACTORS: Final = (Fraction(1, 10**9), Fraction(10**9))
_WIDTHS: Final = (Fraction(1, 10**12), Fraction(10**24))
_LARGEST: Final = MappingProxyType({Kind.REAL: Fraction(10**37)})
_HUGE: Final = Fraction(10**290)
_LEAST_DECIMAL: Final = Fraction(1, 10**10)
_MOST_DECIMAL: Final = 10**28
_OFFSET: Final = 2**8
_EXACT_WHOLE: Final = 2**53
_PRODUCT: Final = 2
_ONE: Final = (Fraction(1), Fraction(1))

Ends = tuple[Fraction, Fraction]


@dataclass(frozen=True, slots=True)
class Form:
    """`degree`: of how many columns it is a product at most. `ends`: where its values are; None: not known.

    `least` is the least width of a column's part, `error` how far engines may be from the value, `factors` the least and
    the largest product of constants on the way from a column (of a constant: its sizes). `mixed`: not all rows have it
    from the same column. `chosen`: a condition is in it. `cuts`: it is a condition itself.
    """

    degree: int
    ends: Ends | None = None
    least: Fraction | None = None
    error: Fraction = Fraction(0)
    factors: Ends = _ONE
    relative: bool = False
    mixed: bool = False
    chosen: bool = False
    cuts: bool = False

    @property
    def size(self) -> Fraction | None:
        return None if self.ends is None else max(map(abs, self.ends))

    @property
    def scales(self) -> bool:
        """Whether errors that are small beside each value are small beside the column's part."""
        size = self.size
        known = size is not None and self.least is not None
        return self.relative or (known and size <= _OFFSET * self.least)  # type: ignore[operator]


def constant_form(value: Fraction | None) -> Form:
    """None: a constant that is not known here, as a moment."""
    if value is None:
        return Form(0)
    return Form(0, (value, value), factors=(abs(value), abs(value)) if value else _ONE)


def domain_form(ends: Ends, least: Fraction) -> Form:
    """A column with a domain."""
    return Form(1, ends, least)


def type_form(kind: ColumnType) -> Form:
    """A number of which only the type is known. Whole ones differ by 1 at least."""
    most = _WIDEST.get(kind.kind)
    if most is None:
        return Form(1, relative=True)
    return Form(1, (Fraction(-most - 1), Fraction(most)), Fraction(1), relative=True)


def condition_form(kind: ColumnType) -> Form:
    """A condition: what is above it may take it for a number of its own."""
    return replace(type_form(kind), chosen=True, cuts=True)


def truth_form() -> Form:
    """A condition as 1 and 0."""
    return Form(0, (Fraction(0), Fraction(1)), chosen=True, cuts=True)


def merge_forms(forms: Sequence[Form], kind: ColumnType) -> Form:
    """One of them, in each row."""
    if not forms:
        return Form(0)
    parts = [one for one in forms if one.degree]
    ends = _hull([one.ends for one in forms])
    widths = [one.least for one in parts]
    known = [one for one in widths if one is not None]
    made = Form(
        max(one.degree for one in forms),
        ends if kind.family in NUMBERS else None,
        min(known) if known and len(known) == len(widths) else None,
        max(one.error for one in forms),
        _hull([one.factors for one in parts or forms]) or _ONE,
        relative=any(one.relative for one in parts) and all(one.scales for one in parts),
        mixed=any(one.mixed for one in forms),
        chosen=any(one.chosen for one in forms),
    )
    return made if kind.family in NUMBERS else replace(made, ends=ends)


def _hull(given: Sequence[Ends | None]) -> Ends | None:
    known = [one for one in given if one is not None]
    if len(known) < len(given):
        return None
    return min(low for low, _ in known), max(high for _, high in known)


def add_forms(one: Form, other: Form, kind: ColumnType) -> Form:
    """The sum of two numbers."""
    if one.ends is None or other.ends is None:
        return condition_form(kind)
    ends = one.ends[0] + other.ends[0], one.ends[1] + other.ends[1]
    parts = [form for form in (one, other) if form.degree]
    size = sum(max(map(abs, each)) for each in (one.ends, other.ends, ends))
    widths = [form.least for form in parts if form.least is not None]
    if len(widths) < len(parts):
        return condition_form(kind)
    factors = _hull([form.factors for form in parts]) if parts else _sizes(ends, kind)
    if factors is None:
        return condition_form(kind)
    made = Form(
        max(one.degree, other.degree),
        ends,
        min(widths) if widths else None,
        one.error + other.error + rounding_error(kind, Fraction(size)),
        factors,
        mixed=one.mixed or other.mixed,
        chosen=one.chosen or other.chosen,
    )
    return _checked(made, kind)


def _sizes(ends: Ends, kind: ColumnType) -> Ends | None:
    """How near to zero, and how large, a constant is that is not zero."""
    low, high = sorted(map(abs, ends))
    if ends[0] * ends[1] > 0:
        return low, high
    if ends[0] == ends[1]:
        return _ONE
    return (Fraction(1), high) if kind.family is Family.WHOLE else None


def multiply_forms(one: Form, other: Form, kind: ColumnType) -> Form:
    """The product of two numbers, one of which may be a constant."""
    if one.degree + other.degree > _PRODUCT or None in (
        form.ends for form in (one, other) if not form.degree
    ):
        return condition_form(kind)
    parts = [form for form in (one, other) if form.degree]
    relative = any(form.relative for form in parts)
    if relative and not all(form.scales for form in parts):
        return condition_form(kind)
    factors = one.factors[0] * other.factors[0], one.factors[1] * other.factors[1]
    ends, error = None, Fraction(0)
    if one.ends is not None and other.ends is not None:
        corners = [left * right for left in one.ends for right in other.ends]
        ends = (min(corners), max(corners))
        left, right = (max(map(abs, each)) for each in (one.ends, other.ends))
        error = one.error * right + other.error * left + one.error * other.error
        error += 3 * rounding_error(kind, left * right)
    least: Fraction | None = Fraction(1)
    for form in (one, other):
        width = form.least if form.degree else form.factors[0]
        least = None if least is None or width is None else least * width
    wide = len(parts) < _PRODUCT or kind.family is Family.WHOLE or least is None
    if not wide and not _WIDTHS[0] <= (least or 0) <= _WIDTHS[1]:
        return condition_form(kind)
    mixed, chosen = one.mixed or other.mixed, one.chosen or other.chosen
    degree = one.degree + other.degree
    return _checked(
        Form(degree, ends, least if parts else None, error, factors, relative, mixed, chosen), kind
    )


def divide_form(one: Form, by: Fraction, kind: ColumnType) -> Form:
    """The quotient of a number and a constant, which is not zero; of fractions, not of whole numbers."""
    times = 1 / by
    ends = None
    if one.ends is not None:
        low, high = sorted(end * times for end in one.ends)
        ends = (low, high)
    size = Fraction(0) if ends is None else max(map(abs, ends))
    made = replace(
        one,
        ends=ends,
        least=None if one.least is None else one.least * abs(times),
        error=one.error * abs(times) + size * _QUOTIENT + rounding_error(kind, size),
        factors=(one.factors[0] * abs(times), one.factors[1] * abs(times)),
        cuts=False,
    )
    return _checked(made, kind)


def convert_form(form: Form, of: ColumnType, to: ColumnType) -> Form:
    """The number in another type, where nothing is cut."""
    made = replace(form, cuts=False)
    size = form.size
    match to.family:
        case Family.WHOLE:
            return _checked(made, to) if of.family is Family.WHOLE else condition_form(to)
        case Family.EXACT if not _holds(form.ends, of, to):
            return condition_form(to)
    if of.kind is Kind.REAL and to.family is Family.EXACT and form.degree and size is None:
        return condition_form(to)  # six digits are left of it
    if size is not None and not _is_exact(size, of, to):
        error = rounding_error(to, size) + _SHOWN.get(of.kind, 0) * size
        made = replace(made, error=form.error + error)
    if of.kind is Kind.REAL and to.family is Family.EXACT:
        made = replace(made, relative=False)
    return _checked(made, to)


def decimal_form(form: Form, kind: ColumnType) -> Form:
    """The sum or mean of a person's rows: DuckDB keeps ten digits of a decimal behind the point, and 28 before it."""
    if kind.family is not Family.EXACT:
        return form
    if form.size is not None and form.size >= _MOST_DECIMAL:
        return condition_form(kind)
    return replace(form, error=form.error + _LEAST_DECIMAL)


def _is_exact(size: Fraction, of: ColumnType, to: ColumnType) -> bool:
    if to.family is Family.FLOAT and of.family is Family.FLOAT:
        return to.kind is Kind.DOUBLE
    if of.family is not Family.WHOLE:
        return False
    return size <= (2**24 if to.kind is Kind.REAL else _EXACT_WHOLE)


def _holds(ends: Ends | None, of: ColumnType, to: ColumnType) -> bool:
    """Whether the decimal has digits enough before and behind the point."""
    if to.precision is None:
        return True
    if of.resolution is None or to.resolution is None or of.resolution < to.resolution:
        return False
    most = to.resolution * 10**to.precision
    return ends is not None and -most < ends[0] and ends[1] < most


def rounding_error(kind: ColumnType, size: Fraction) -> Fraction:
    """How far a result of this size may be from the value."""
    if kind.family is Family.WHOLE:
        return Fraction(0)
    return size * _ROUNDED.get(kind.kind, _DOUBLE) + _FLUSHED.get(kind.kind, _VANISHED)


def _checked(form: Form, kind: ColumnType) -> Form:
    """The form, where its type holds it and rounding cannot tell rows apart."""
    size = form.size
    if kind.family is Family.WHOLE:
        most = _WIDEST[kind.kind]
        if form.ends is None or form.ends[0] < -most - 1 or form.ends[1] > most:
            return condition_form(kind)
    elif size is not None and size > _LARGEST.get(kind.kind, _HUGE):
        return condition_form(kind)
    far = form.factors[0] < _FACTORS[0] or form.factors[1] > _FACTORS[1]
    if form.degree and far:
        return condition_form(kind)
    if not form.degree or (form.relative and kind.kind is not Kind.REAL):
        return form
    if size is None or form.least is None:
        return condition_form(kind)
    resolution = 2 * (size * _DOUBLE if kind.family is Family.WHOLE else rounding_error(kind, size))
    return form if form.error + resolution <= _TOLERATED * form.least else condition_form(kind)
