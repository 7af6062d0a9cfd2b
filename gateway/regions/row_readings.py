"""Numbers of a person, such as `MAX(cost * 2)`, read as numbers of one row and of rows that are all alike.

Two spellings of a number are two axes: `MAX(cost) > 1000` and `MAX(coalesce(cost, 0)) > 1000.01` would be compared by their texts.
Here a number is read as it is for a person with one row: MIN, MAX, SUM and AVG are the argument, COUNT is 1 or 0. So the condition
on the number is a condition on the row, and the predicate's solver finds its region however the argument is written. For sums
and counts a second reading takes all rows of the person as alike: `SUM(CASE WHEN c THEN 2 * cost END)` is twice the sum of the
costs where c is true. Products and differences of several columns become one value, up to a factor and a constant.

INVARIANT: a reading is for comparison alone. It is no release, and readings are compared with readings only: a person with
several rows can have other numbers than one with a single row.
INVARIANT: a number over rows of which each person has one has the region of its reading exactly.
See `person_values.py`, which names the numbers, and `scope.py`, which yields the readings.
"""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from enum import Enum
from fractions import Fraction
from math import lcm
from typing import Final

from gateway.catalog.types import ColumnType, Family
from gateway.functions.exact_values import exact_number
from gateway.functions.range_arithmetic import OPEN, Bounds
from gateway.plan.aggregates import Measure
from gateway.plan.fields import BIGINT, BOOLEAN, NUMERIC
from gateway.plan.scalars import Call, Case, Cast, Literal, Ref, Scalar, column_ids, map_parts
from gateway.plan.sql_text import is_decimal, scalar_sql
from gateway.regions.choices import as_choice
from gateway.regions.normal_form import conjunction, normal

_NUMBERS: Final = frozenset({Family.WHOLE, Family.EXACT, Family.FLOAT})
_WHOLE: Final = frozenset({Family.WHOLE, Family.DATE})
_COUNTED: Final = _NUMBERS | {Family.DATE}
_ARITHMETIC: Final = frozenset({"+", "-", "*", "negate"})
_VALUES: Final = frozenset({"sum", "avg", "min", "max"})
_MOST_TERMS: Final = 64
_MOST_NESTED: Final = 8
_MOST_ARMS: Final = 64

Polynomial = Mapping[tuple[str, ...], Fraction]
"""The coefficients of products of columns; the empty product is the constant."""


class ReadingKind(Enum):
    """Whether a number is that of a person with one row, or with rows that are all alike."""

    ONE = "one"
    ALIKE = "alike"

    @property
    def every(self) -> str:
        """The same of all numbers at once."""
        return f"every {self.value}"


EVERY_NUMBER: Final = ReadingKind.ONE.every
"""The reading that has no numbers of persons."""


@dataclass(frozen=True, slots=True)
class RowReading:
    """A number of a person as an expression over rows. None: all readings are that of one row."""

    one: Scalar
    alike: Scalar | None = None

    def of(self, kind: ReadingKind) -> Scalar | None:
        """The reading of this kind."""
        return self.one if kind is ReadingKind.ONE else self.alike


@dataclass(frozen=True, slots=True)
class RowValue:
    """A value of rows that readings name: its text, the bases that it is made of, its type and its bounds."""

    text: str
    uses: frozenset[str]
    type: ColumnType
    bounds: Bounds


@dataclass(frozen=True, slots=True)
class RowReader:
    """Reads the numbers of one grouping, or of one window. `value` and `summed` give bases for values of its rows and for their
    sums, `rows` that for the number of rows. `bounds` are those of an expression over bases.
    """

    value: Callable[[RowValue], Ref]
    summed: Callable[[RowValue], Ref]
    rows: Callable[[], Ref]
    bounds: Callable[[Scalar], Bounds]
    is_single: Callable[[Scalar], bool]

    def read(self, measure: Measure) -> RowReading | None:
        """The readings of an aggregate over bases; None if it is no count, sum, mean, least or greatest value."""
        if measure.function == "count":
            return self._count(measure)
        if measure.function not in _VALUES:
            return None
        [argument] = measure.arguments
        one = _where(measure, self._one(argument))
        if measure.function != "sum" or argument.type.family not in _NUMBERS:
            return RowReading(one)
        return RowReading(one, _where(measure, _over_arms(argument, self._sum)))

    def _count(self, measure: Measure) -> RowReading:
        met = [_is_there(each) for one in measure.arguments for each in _read_by(one)]
        if measure.where is not None:
            met.append(measure.where)
        if not met:
            return RowReading(_number(Fraction(1)), self.rows())
        asked = conjunction(normal(one) for one in met)

        def counted(one: Scalar) -> Scalar:
            return Case(((asked, one),), _number(Fraction(0)), NUMERIC)

        alike = None if measure.distinct else counted(self.rows())
        return RowReading(counted(_number(Fraction(1))), alike)

    def _one(self, argument: Scalar) -> Scalar:
        """The argument; arithmetic in it is a factor, a value and a constant."""
        if argument.type.family not in _NUMBERS:
            return argument
        return _over_arms(argument, self._value)

    def _value(self, scalar: Scalar) -> Scalar:
        factor, rest, constant = _apart(_polynomial(scalar))
        if not rest:
            return _number(constant)
        if self.is_single(scalar):
            atoms = {scalar_sql(one): one for one in _atoms(scalar)}
            [product, *others] = rest
            if others or len(product) != 1 or product[0] not in atoms:
                return scalar
            if atoms[product[0]].type.family is Family.DATE:
                return scalar  # a day plus a number that is no whole number is no expression of SQL
            return _moved(atoms[product[0]], factor, constant)
        return _moved(self.value(self._named(scalar, factor, rest, constant)), factor, constant)

    def _named(
        self, scalar: Scalar, factor: Fraction, rest: Polynomial, constant: Fraction
    ) -> RowValue:
        """What the factor multiplies, with the bounds that follow from those of the expression."""
        whole = all(one.type.family in _WHOLE for one in _atoms(scalar))
        whole &= all(number.denominator == 1 for number in rest.values())
        found = self.bounds(scalar).range
        bounds = OPEN
        if found is not None:
            low, high = sorted((one - constant) / factor for one in (found.low, found.high))
            step = None if found.step is None or constant else found.step / abs(factor)
            bounds = Bounds(low, high, Fraction(1) if whole else step)
        return RowValue(_text(rest), column_ids(scalar), BIGINT if whole else NUMERIC, bounds)

    def _sum(self, scalar: Scalar) -> Scalar:
        if isinstance(scalar, Literal) and scalar.value is None:
            return Literal(None, NUMERIC)
        factor, rest, constant = _apart(_polynomial(scalar))
        if not rest:
            return _moved(self.rows(), constant, Fraction(0))
        made = _moved(self.summed(self._named(scalar, factor, rest, constant)), factor, Fraction(0))
        if not constant:
            return made
        # a constant for each row adds the number of rows: a condition on both is opaque
        return Call("+", (made, _moved(self.rows(), constant, Fraction(0))), NUMERIC)


def _read_by(argument: Scalar) -> list[Scalar]:
    """What must not be NULL for the expression not to be NULL: arithmetic is NULL with its columns."""
    atoms = list(_atoms(argument))
    plain = argument.type.family in _NUMBERS and all(isinstance(one, Ref) for one in atoms)
    return atoms if plain and atoms else [argument]


def _is_there(value: Scalar) -> Scalar:
    return Call("is not null", (value,), BOOLEAN, nullable=False)


def substitute(scalar: Scalar, read: Mapping[str, Scalar]) -> Scalar:
    """The normal expression with these readings in the places of numbers."""

    def again(one: Scalar) -> Scalar:
        if isinstance(one, Ref):
            return read.get(one.field.id, one)
        return map_parts(one, again)

    return normal(again(scalar))


def _where(measure: Measure, value: Scalar) -> Scalar:
    if measure.where is None:
        return value
    return Case(((measure.where, value),), Literal(None, value.type), value.type)


def _over_arms(scalar: Scalar, read: Callable[[Scalar], Scalar]) -> Scalar:
    """The reading of each result of a choice; with more results than `_MOST_ARMS`, the aggregate itself is opaque."""
    left = _MOST_ARMS

    def arm(one: Scalar) -> Scalar:
        nonlocal left
        left -= 1
        found = _arms(one, 0) if left > 0 else one
        return _each(found, arm) if isinstance(found, Case) else read(found)

    return arm(scalar)


def _each(case: Case, change: Callable[[Scalar], Scalar]) -> Case:
    branches = tuple((when, change(then)) for when, then in case.branches)
    return Case(branches, change(case.otherwise), NUMERIC)


def _arms(scalar: Scalar, depth: int) -> Scalar:
    """The expression as a choice, if it is one or arithmetic of one."""
    if depth > _MOST_NESTED:
        return scalar
    if isinstance(scalar, Cast) and _keeps_value(scalar):
        return _arms(scalar.what, depth + 1)
    if not isinstance(scalar, Call) or scalar.function not in _ARITHMETIC:
        return as_choice(scalar)
    parts = tuple(_arms(one, depth + 1) for one in scalar.parts)
    places = [place for place, one in enumerate(parts) if isinstance(one, Case)]
    if len(places) != 1:
        return scalar
    [place] = places
    case = parts[place]
    assert isinstance(case, Case)  # noqa: S101 - by its place

    def beside(one: Scalar) -> Scalar:
        if isinstance(one, Literal) and one.value is None:
            return Literal(None, NUMERIC)
        return normal(replace(scalar, parts=(*parts[:place], one, *parts[place + 1 :])))

    return _each(case, beside)


def _keeps_value(cast: Cast) -> bool:
    """Whether it changes no number, but for the last digits of a float."""
    of, to = cast.what.type, cast.type
    if of.family not in _NUMBERS or to.family not in _NUMBERS:
        return False
    if to.family is Family.WHOLE:
        return of.family is Family.WHOLE
    return to.family is Family.FLOAT or to.precision is None


def _polynomial(scalar: Scalar) -> Polynomial:
    """The expression as a sum of products of columns, or of what is no arithmetic."""
    found = _terms(scalar)
    return {(scalar_sql(scalar),): Fraction(1)} if found is None else found


def _terms(scalar: Scalar) -> Polynomial | None:  # noqa: PLR0911 - one answer for each kind of expression
    match scalar:
        case Literal(value) if value is not None and scalar.type.family in _COUNTED:
            number = exact_number(value)
            return None if number is None else {(): number}
        case Cast(what) if _keeps_value(scalar):
            return _terms(what)
        case Call("negate", (one,)):
            return _scaled(_terms(one), Fraction(-1))
        case Call("+" | "-" as function, (one, other)):
            sign = Fraction(1 if function == "+" else -1)
            return _added(_terms(one), _scaled(_terms(other), sign))
        case Call("*", (one, other)):
            return _product(_terms(one), _terms(other))
        case Call("/", (one, by)) if scalar.type.family is not Family.WHOLE:
            divisor = _terms(by)
            if divisor is None or set(divisor) != {()} or not divisor[()]:
                return None
            return _scaled(_terms(one), 1 / divisor[()])
        case _:
            return {(scalar_sql(scalar),): Fraction(1)}


def _atoms(scalar: Scalar) -> Iterator[Scalar]:
    """What the polynomial takes for columns."""
    match scalar:
        case Literal():
            return
        case Cast(what) if _keeps_value(scalar):
            yield from _atoms(what)
        case Call("negate" | "+" | "-" | "*" | "/", parts):
            for one in parts:
                yield from _atoms(one)
        case _:
            yield scalar


def _scaled(of: Polynomial | None, by: Fraction) -> Polynomial | None:
    return None if of is None else {product: number * by for product, number in of.items()}


def _added(one: Polynomial | None, other: Polynomial | None) -> Polynomial | None:
    if one is None or other is None:
        return None
    made = dict(one)
    for product, number in other.items():
        made[product] = made.get(product, Fraction(0)) + number
    return _few({product: number for product, number in made.items() if number})


def _product(one: Polynomial | None, other: Polynomial | None) -> Polynomial | None:
    if one is None or other is None or len(one) * len(other) > _MOST_TERMS:
        return None
    made: Polynomial | None = {}
    for left, number in one.items():
        for right, times in other.items():
            made = _added(made, {tuple(sorted((*left, *right))): number * times})
    return made


def _few(terms: Polynomial) -> Polynomial | None:
    return terms if len(terms) <= _MOST_TERMS else None


def _apart(of: Polynomial) -> tuple[Fraction, Polynomial, Fraction]:
    """A factor, what it multiplies, in one form for all multiples of it, and the constant beside."""
    rest = {product: number for product, number in sorted(of.items()) if product and number}
    constant = of.get((), Fraction(0))
    if not rest:
        return Fraction(1), {}, constant
    factor = next(iter(rest.values()))
    return factor, {product: number / factor for product, number in rest.items()}, constant


def _text(of: Polynomial) -> str:
    terms = (
        " * ".join(product if number == 1 else (str(number), *product))
        for product, number in of.items()
    )
    return " + ".join(terms)


def _number(value: Fraction) -> Literal:
    return Literal(value, NUMERIC)


def _moved(value: Scalar, factor: Fraction, constant: Fraction) -> Scalar:
    """The value times the factor, plus the constant; a quotient where these are no decimal numbers."""
    divisor = 1
    for one in (factor, constant):
        if not is_decimal(one):
            divisor = lcm(divisor, one.denominator)
    made = value
    if factor * divisor != 1:
        made = Call("*", (made, _number(factor * divisor)), NUMERIC)
    if constant:
        made = Call("+", (made, _number(constant * divisor)), NUMERIC)
    return made if divisor == 1 else Call("/", (made, _number(Fraction(divisor))), NUMERIC)
