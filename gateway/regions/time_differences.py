"""The difference of two times of a row as a value with an axis of its own.

`discharged - admitted < interval '2 days'`, `shipped > ordered + interval '3 days'` and `left_at::date - came_at::date > 7` are
conditions on how far two times are apart. Each is written as a condition on that difference: in days if both are dates, in
seconds otherwise. The earlier name in the alphabet comes first, so both directions of writing have one axis.

INVARIANT: the written condition has the value of the given one for every row, NULL included; of a quotient such as
`seconds / 86400 > 2.5` for every row that is not within ten microseconds of the bound, where the sources round. What moves a
time by months, or by so much that it could leave the calendar, is not written.
INVARIANT: the axes of two times and of their difference are not independent: the corner of a box over all three can be one
person, however wide each side is. So it is with three differences of three times, and with two forms of one difference, such as
in days and in seconds: with every cycle of times that the sides of a box tie to each other or to the calendar. `dependent_axes`
names the differences that close one, and the auditor takes them for opaque.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from datetime import date
from fractions import Fraction
from types import MappingProxyType
from typing import Final

from gateway.catalog.domains import Anything, Domain, Interval
from gateway.catalog.types import ColumnType, Family, Kind
from gateway.catalog.values import Value
from gateway.catalog.zones import UTC_NAME
from gateway.functions.exact_values import exact_number
from gateway.plan.fields import INTEGER, NUMERIC, TIMES, Field
from gateway.plan.scalars import Call, Cast, Literal, Ref, Scalar, Shift, column_ids, map_parts
from gateway.regions.axis import RegionAxis
from gateway.regions.base_columns import Base, Bases
from gateway.regions.cells import Cells, all_cells, without_null
from gateway.regions.grid import axis_of
from gateway.regions.region import Region

_COMPARING: Final = frozenset(
    {"=", "<>", "<", "<=", ">", ">=", "is distinct from", "is not distinct from"}
)
_MIRRORED: Final = MappingProxyType({"<": ">", "<=": ">=", ">": "<", ">=": "<="})
_NUMBERS: Final = frozenset({Family.EXACT, Family.FLOAT})
_BETWEEN: Final = " - "
_OF_DAY: Final = "::date"
_CALENDAR: Final = ""
_SECOND: Final = 1_000_000  # a microsecond is the unit of an axis of times
_DAY: Final = 86_400 * _SECOND
_DAY_SECONDS: Final = 86_400
_MINUTE_CELLS: Final = 2 * 60 * _SECOND  # every other cell lies between two microseconds
_MOST_DAYS: Final = 36_525
_FIRST_YEAR: Final = 200
_LAST_YEAR: Final = 9_800
"""Times between these years do not leave the calendar when they are moved by a hundred years."""
_PAIR: Final = 2
_MOST_SECONDS: Final = Fraction(2**52, _SECOND)  # of which a double tells the microseconds apart
_MOST_FACTOR: Final = 1_000_000


def over_one_base(scalar: Scalar, bases: Bases) -> tuple[Scalar, Base] | None:
    """The expression over one base, which may be the difference of two times; None if it is over several."""
    names = column_ids(scalar)
    if len(names) == 1:
        return scalar, bases[next(iter(names))]
    return write_difference(scalar, bases)


def write_difference(scalar: Scalar, bases: Bases) -> tuple[Scalar, Base] | None:
    """The expression over the difference of two times, and that difference; None if it is not over one."""
    names = column_ids(scalar)
    if len(names) != _PAIR or any(bases[one].axis is None for one in names):
        return None
    if any(bases[one].field.type.family not in TIMES for one in names):
        return None
    found: dict[str, Base] = {}
    written = _Writer(bases, found).written(scalar)
    if len(found) != 1:
        return None
    [base] = found.values()
    return (written, base) if column_ids(written) == {base.field.id} else None


def dependent_axes(region: Region, grouped: Iterable[RegionAxis] = ()) -> tuple[str, ...]:
    """The differences of a box whose times are tied to each other by its other sides or keys, too."""
    axes = {one.name: one for one in region.axes}
    keys = {one.name: one for one in grouped}
    found: set[str] = set()
    for box in region.boxes:
        sides = {name: axes[name] for name, cells in box.parts if _cuts(cells, axes[name])}
        found |= _closing(sides | keys)
    return tuple(sorted(found))


def _closing(sides: Mapping[str, RegionAxis]) -> set[str]:
    """The differences that close a cycle, where a difference joins two times and a time by itself joins the calendar."""
    differences = [one for one in sides.values() if one.between is not None]
    times = {name for one in differences for name in one.between or ()}
    parents: dict[str, str] = {}
    closing: set[str] = set()
    joined = [(name, _CALENDAR, name) for name in sorted(times & sides.keys())]
    joined += [(*(one.between or ("", "")), one.name) for one in differences]
    for first, second, name in joined:
        one, other = _root(parents, first), _root(parents, second)
        if one == other:
            closing.add(name)
        parents[one] = other
    return closing


def _root(parents: Mapping[str, str], name: str) -> str:
    while parents.get(name, name) != name:
        name = parents[name]
    return name


def is_difference(axis: RegionAxis) -> bool:
    """Whether it is the axis of a difference of two times."""
    return axis.between is not None


def _cuts(cells: Cells, axis: RegionAxis) -> bool:
    """Whether it selects among values; that there is one selects nothing."""
    return without_null(cells) != without_null(all_cells(axis))


@dataclass(frozen=True, slots=True)
class _Time:
    """A column, moved by a number of microseconds. `form` says how it is cut, `is_day` that it has whole days."""

    name: str
    moved: int
    is_day: bool
    form: str = ""

    @property
    def label(self) -> str:
        return f"{self.name}{self.form}"


@dataclass(frozen=True, slots=True)
class _Difference:
    """`factor` times the sum of the difference, in its unit, and `added`."""

    of: Ref
    unit: int
    added: Fraction
    factor: Fraction = Fraction(1)


@dataclass(frozen=True, slots=True)
class _Writer:
    """Writes differences of the columns of one condition; `found` are those that it wrote."""

    bases: Bases
    found: dict[str, Base]

    def written(self, scalar: Scalar) -> Scalar:
        """The expression, with differences of times in the place of what is one."""
        if isinstance(scalar, Call):
            made = self._test(scalar) or self._value(scalar)
            if made is not None:
                return made
        return map_parts(scalar, self.written)

    def _test(self, call: Call) -> Scalar | None:
        """A comparison or a test for NULL, as one of the difference itself."""
        if call.function in {"is null", "is not null"}:
            there = self._linear(call.parts[0])
            return None if there is None else replace(call, parts=(there.of,))
        if call.function not in _COMPARING:
            return None
        left, right = call.parts
        if isinstance(right, Literal) and isinstance(right.value, int | Fraction):
            found, bound = self._linear(left), Fraction(right.value)
        else:
            found, bound = self._between(left, right), Fraction(0)
        if found is None:
            return None
        limit = bound / found.factor
        if abs(limit) > _MOST_SECONDS:
            return None
        sign = call.function if found.factor > 0 else _MIRRORED.get(call.function, call.function)
        least = (limit - found.added) / found.unit
        if (least * _SECOND).denominator != 1:
            return None
        return replace(call, function=sign, parts=(found.of, Literal(least, NUMERIC)))

    def _value(self, call: Call) -> Scalar | None:
        """A difference as a number: of dates in days, of times in seconds."""
        found = self._of_pair(call)
        if found is None:
            return None
        made: Scalar = found.of
        if found.unit != 1:
            made = Call("*", (made, Literal(found.unit, INTEGER)), call.type, call.nullable)
        if found.added:
            added = Literal(found.added, NUMERIC)
            made = Call("+", (made, added), call.type, call.nullable)
        if found.factor > 0:
            return made
        return Call("negate", (made,), call.type, call.nullable)

    def _linear(self, scalar: Scalar) -> _Difference | None:
        """A number that is affine in one difference."""
        if isinstance(scalar, Cast):
            kept = scalar.type.family in _NUMBERS and scalar.type.precision is None
            return self._linear(scalar.what) if kept and scalar.type.kind is not Kind.REAL else None
        if isinstance(scalar, Call) and scalar.function == "negate":
            turned = self._linear(scalar.parts[0])
            return turned and replace(turned, factor=-turned.factor)
        if not isinstance(scalar, Call) or len(scalar.parts) != _PAIR:
            return None
        found = self._of_pair(scalar)
        one, other = scalar.parts
        if found is None and isinstance(one, Literal) and scalar.function == "-":
            minus = self._with_constant("-", other, one.value, scalar.type)
            return minus and replace(minus, factor=-minus.factor)
        if found is not None or not isinstance(other, Literal):
            return found
        return self._with_constant(scalar.function, one, other.value, scalar.type)

    def _with_constant(
        self, function: str, one: Scalar, constant: Value | None, kind: ColumnType
    ) -> _Difference | None:
        if not isinstance(constant, int | Fraction) or function not in {"+", "-", "*", "/"}:
            return None
        found, by = self._linear(one) if constant else None, Fraction(constant)
        if found is None:
            return None
        if function in {"+", "-"}:
            by = by if function == "+" else -by
            return replace(found, added=found.added + by / found.factor)
        times = by if function == "*" else 1 / by
        far = not Fraction(1, _MOST_FACTOR) <= abs(times) <= _MOST_FACTOR
        if far or kind.family not in _NUMBERS:
            return None
        return replace(found, factor=found.factor * times)

    def _of_pair(self, call: Call) -> _Difference | None:
        if call.function != "-" or len(call.parts) != _PAIR:
            return None
        return self._between(*call.parts)

    def _between(self, left: Scalar, right: Scalar) -> _Difference | None:
        """How far the first is behind the second, in days if both are dates, else in seconds."""
        if left.type.family in TIMES and right.type.family in TIMES:
            days = left.type.family is right.type.family is Family.DATE
            one, other = self._time(left), self._time(right)
        else:
            days = False
            one, other = self._seconds(left), self._seconds(right)
        if one is None or other is None or one.name == other.name:
            return None
        base = self._difference(*sorted((one, other), key=lambda time: time.name))
        in_days = base.field.type == INTEGER
        unit = _DAY_SECONDS if in_days and not days else 1
        apart = Fraction(one.moved - other.moved, _DAY if days else _SECOND)
        sign = 1 if one.name < other.name else -1
        return _Difference(Ref(base.field), unit, sign * apart, Fraction(sign))

    def _difference(self, first: _Time, second: _Time) -> Base:
        name = f"{first.label}{_BETWEEN}{second.label}"
        if name not in self.found:
            bases = self.bases[first.name], self.bases[second.name]
            days = first.is_day and second.is_day
            self.found[name] = _base(name, *bases, days=days)
        return self.found[name]

    def _time(self, scalar: Scalar) -> _Time | None:  # noqa: PLR0911 - one answer for each kind of expression
        match scalar:
            case Ref(known):
                is_day = known.type.family is Family.DATE
                return _Time(known.id, 0, is_day) if known.type.family in TIMES else None
            case Cast(what, kind) if kind.family is Family.TIMESTAMP and _is_day(what):
                return self._time(what)
            case Cast(what, kind) if kind.family is Family.DATE:
                return self._day(what)
            case Call("date_trunc", (Literal("day"), what)):
                return self._day(what)
            case Call("timezone", (Literal(zone), of)) if zone == UTC_NAME:
                return self._time(of)
            case Shift() if not scalar.months:
                by = scalar.days * _DAY + scalar.microseconds
                return self._moved(self._time(scalar.moved), by)
            case Call("+" | "-" as sign, (of, Literal(int(days)))) if _is_day(of):
                return self._moved(self._time(of), (days if sign == "+" else -days) * _DAY)
        return None

    def _day(self, scalar: Scalar) -> _Time | None:
        """The day of a time, on the clock of a zone."""
        zone, what = UTC_NAME, scalar
        if isinstance(scalar, Call) and scalar.function == "timezone":
            named, what = scalar.parts
            zone = str(named.value) if isinstance(named, Literal) else ""
            if not isinstance(what, Ref):
                return None
        time = self._time(what)
        if time is None or time.moved % _DAY or time.is_day:
            return time if time is not None and not time.moved % _DAY else None
        form = _OF_DAY if zone == UTC_NAME else f" at {zone}{_OF_DAY}"
        return replace(time, is_day=True, form=form)

    def _moved(self, time: _Time | None, by: int) -> _Time | None:
        if time is None or abs(by) > _MOST_DAYS * _DAY:
            return None
        domain = self.bases[time.name].field.domain
        if not isinstance(domain, Interval) or not _is_inside(domain):
            return None
        return replace(time, moved=time.moved + by)

    def _seconds(self, scalar: Scalar) -> _Time | None:
        """The time whose seconds since 1970 it is."""
        match scalar:
            case Call("extract", (Literal("epoch"), of)):
                return self._time(of)
            case Call("+" | "-" as sign, (of, Literal(value))) if isinstance(value, int | Fraction):
                inner, by = self._seconds(of), Fraction(value) * _SECOND
                if inner is None or by.denominator != 1:
                    return None
                return replace(inner, moved=inner.moved + (by if sign == "+" else -by).numerator)
        return None


def _base(name: str, first: Base, second: Base, *, days: bool) -> Base:
    """How far apart times are is not declared, so shares of its range say nothing. A minute is a step of seconds."""
    nullable = first.field.nullable or second.field.nullable
    quasi = first.quasi or second.quasi
    kind = INTEGER if days else NUMERIC
    axis = axis_of(name, kind, Anything(), nullable=nullable, quasi=quasi)
    between = first.field.id, second.field.id
    of_person = any(one.axis is not None and one.axis.of_person for one in (first, second))
    stride = 1 if days else _MINUTE_CELLS
    axis = replace(axis, between=between, stride=stride, of_person=of_person)
    domain = _domain(first, second, days=days)
    return Base(Field(name, kind, domain, nullable), axis, first.uses | second.uses, quasi)


def _domain(first: Base, second: Base, *, days: bool) -> Domain:
    ends = [_ends(one) for one in (first, second)]
    if None in ends:
        return Anything()
    (low, high), (least, most) = (one for one in ends if one is not None)
    if days:
        return Interval(low // _DAY - most // _DAY, high // _DAY - least // _DAY, Fraction(1))
    unit = Fraction(1, _SECOND)
    return Interval((low - most) * unit, (high - least) * unit, unit)


def _ends(base: Base) -> tuple[int, int] | None:
    """The ends of a column of times in microseconds since 1970."""
    domain = base.field.domain
    if not isinstance(domain, Interval):
        return None
    low, high = exact_number(domain.low), exact_number(domain.high)
    if low is None or high is None:
        return None
    scale = _DAY if type(domain.low) is date else 1
    return int(low * scale), int(high * scale)


def _is_day(scalar: Scalar) -> bool:
    return scalar.type.family is Family.DATE


def _is_inside(domain: Interval) -> bool:
    low, high = domain.low, domain.high
    if not isinstance(low, date) or not isinstance(high, date):
        return False
    return low.year >= _FIRST_YEAR and high.year <= _LAST_YEAR
