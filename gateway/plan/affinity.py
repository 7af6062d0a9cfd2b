"""What of an aggregated expression is a condition: all that is not affine in its columns.

Affine are columns, constants, sums and differences, products and quotients with constants, casts between numbers that
cut nothing, and dates less dates; and the product of two such, which covariances and regressions are made of. Whoever
has the sum of such an expression has learned sums of its columns. Everything else - CASE, comparisons, NULLIF, COALESCE,
GREATEST, ABS, rounding, division of whole numbers - can be made to tell rows on one side of a value from those on the
other, as WHERE does. So it needs the right that WHERE needs, and the auditor compares it as it compares WHERE.

A sum that leaves its type is NULL, and a float that is far larger than what is added to it loses it: both cut as well.
Hence affine is only what stays within its type over the declared domain, and constants of floats are small.

INVARIANT: what is not known to be affine is a condition.
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from datetime import date
from fractions import Fraction
from types import MappingProxyType
from typing import Final

from gateway.catalog.domains import Interval
from gateway.catalog.tables import ColumnRef
from gateway.catalog.types import ColumnType, Family, Kind
from gateway.plan.aggregates import Measure
from gateway.plan.grouping import PerUnit
from gateway.plan.joins import UnionAll
from gateway.plan.node import Node, nodes
from gateway.plan.relations import Project
from gateway.plan.scalars import Call, Case, Cast, Literal, Moment, Ref, Scalar, Shift, origins

_NUMBERS: Final = frozenset({Family.WHOLE, Family.EXACT, Family.FLOAT})
_TIMES: Final = frozenset({Family.DATE, Family.TIMESTAMP})
_WIDEST: Final = MappingProxyType(
    {Kind.SMALLINT: 2**15 - 1, Kind.INTEGER: 2**31 - 1, Kind.BIGINT: 2**63 - 1}
)
# what may be added to a float of this size without losing more than a millionth, or a hundredth
_ADDED: Final = MappingProxyType({Kind.DOUBLE: 2**30, Kind.REAL: 2**16})
_FACTORS: Final = (Fraction(1, 10**9), Fraction(10**9))
_MOST_DAYS: Final = 36_525
_DAY: Final = 86_400_000_000
_PRODUCT: Final = 2
# of several values of one person they choose one
_CHOOSING: Final = frozenset({"min", "max", "percentile_cont", "percentile_disc", "mode", "median"})

Ends = tuple[Fraction, Fraction]


@dataclass(frozen=True, slots=True)
class Form:
    """`degree`: of how many columns it is a product at most; None where it is a condition. `ends`: where its values are.

    `mixed`: not all rows have it from the same column.
    """

    degree: int | None
    ends: Ends | None = None
    mixed: bool = False


_CONDITION: Final = Form(None)


@dataclass
class Affinity:
    """Of the expressions of one plan, once names are followed to where they were given."""

    _given: Mapping[str, tuple[Scalar, ...]]
    _forms: dict[str, Form] = field(default_factory=dict)

    @classmethod
    def of(cls, plan: Node) -> "Affinity":
        return cls({name: given for node in nodes(plan) for name, given in _given(node)})

    def conditions(self, measure: Measure) -> frozenset[ColumnRef]:
        """The columns by which the aggregate chooses among rows, or values."""
        if measure.counts_units:
            return frozenset()
        chosen = measure.function in _CHOOSING or measure.distinct
        found: set[ColumnRef] = set()
        for one in measure.arguments:
            found |= self.columns(one)
            if chosen and self.form(one).mixed:
                found |= origins(one)
        return frozenset(found)

    def columns(self, scalar: Scalar) -> frozenset[ColumnRef]:
        """The columns of everything in it that is a condition."""
        return frozenset(
            column
            for part in self.parts(scalar)
            for condition in _decided_by(part)
            for column in origins(condition)
        ) | frozenset(
            column
            for part in self.parts(scalar)
            for one in results_of(part)
            for column in self.columns(one)
        )

    def parts(self, scalar: Scalar) -> tuple[Scalar, ...]:
        """The largest parts that are conditions; of a name where it was given."""
        return tuple(dict.fromkeys(self._parts(scalar)))

    def _parts(self, scalar: Scalar) -> Iterator[Scalar]:
        if isinstance(scalar, Ref):
            for one in self._given.get(scalar.field.id, ()):
                yield from self._parts(one)
        elif self.form(scalar).degree is None:
            inside = [part for one in scalar.parts for part in self._parts(one)]
            if _adds(scalar) and inside:
                yield from inside
            else:
                yield scalar

    def form(self, scalar: Scalar) -> Form:  # noqa: PLR0911 - one answer for each kind of expression
        match scalar:
            case Ref():
                return self._of_ref(scalar)
            case Literal(value):
                return Form(0, _ends_of_value(value))
            case Moment():
                return Form(0)
            case Cast(what):
                return _cast(self.form(what), what.type, scalar.type)
            case Shift():
                return self._of_shift(scalar)
            case Call("negate", (one,)):
                return _times(self.form(one), Form(0, (Fraction(-1), Fraction(-1))), scalar.type)
            case Call("+" | "-", (one, other)):
                return _added(scalar.function, self.form(one), self.form(other), scalar)
            case Call("*", (one, other)):
                return _times(self.form(one), self.form(other), scalar.type)
            case Call("/", (one, Literal(value))):
                return _divided(self.form(one), _ends_of_value(value), scalar.type)
            case _:
                return _CONDITION

    def _of_ref(self, ref: Ref) -> Form:
        name = ref.field.id
        known = self._forms.get(name)
        if known is None:
            given = self._given.get(name, ())
            known = self._forms[name] = self._of_given(ref, given)
        return known

    def _of_given(self, ref: Ref, given: tuple[Scalar, ...]) -> Form:
        if not given:
            return Form(1, _declared(ref))
        forms = [self.form(one) for one in given]
        if len(forms) == 1:
            return forms[0]
        degrees = [one.degree for one in forms if one.degree is not None]
        if len(degrees) < len(forms):
            return _CONDITION
        ends = None
        if all(one.ends is not None for one in forms):
            lows, highs = zip(*(one.ends for one in forms if one.ends is not None), strict=True)
            ends = (min(lows), max(highs))
        return Form(max(degrees), ends, mixed=len(set(given)) > 1)

    def _of_shift(self, shift: Shift) -> Form:
        small = abs(shift.days) <= _MOST_DAYS and abs(shift.microseconds) <= _DAY
        inner = self.form(shift.moved)
        return Form(inner.degree) if small and not shift.months else _CONDITION


def results_of(condition: Scalar) -> tuple[Scalar, ...]:
    """What a choice hands on: its values are added up, where they are chosen."""
    return condition.results if isinstance(condition, Case) else ()


def _decided_by(condition: Scalar) -> Iterable[Scalar]:
    if isinstance(condition, Case):
        return tuple(when for when, _ in condition.branches)
    return (condition,)


def _given(node: Node) -> Iterator[tuple[str, tuple[Scalar, ...]]]:
    match node:
        case Project():
            for one, (_, scalar) in zip(node.fields, node.items, strict=True):
                yield one.id, (scalar,)
        case PerUnit():
            for one, (_, scalar) in zip(node.fields, node.keys, strict=False):
                yield one.id, (scalar,)
        case UnionAll():
            sides = zip(node.fields, node.left.fields, node.right.fields, strict=True)
            for one, left, right in sides:
                yield one.id, (Ref(left), Ref(right))


def _adds(scalar: Scalar) -> bool:
    """Whether a part of it that is a condition is one by itself."""
    match scalar:
        case Call("+" | "-" | "*" | "negate"):
            return True
        case Call("/", (_, Literal())):
            return scalar.type.family is not Family.WHOLE
        case Cast(what):
            return {what.type.family, scalar.type.family} <= _NUMBERS
        case _:
            return False


def _declared(ref: Ref) -> Ends | None:
    domain = ref.domain
    if isinstance(domain, Interval):
        low, high = _ends_of_value(domain.low), _ends_of_value(domain.high)
        return None if low is None or high is None else (low[0], high[1])
    return _type_ends(ref.type)


def _type_ends(kind: ColumnType) -> Ends | None:
    most = _WIDEST.get(kind.kind)
    return None if most is None else (Fraction(-most - 1), Fraction(most))


def _ends_of_value(value: object) -> Ends | None:
    if isinstance(value, int | Fraction):
        return Fraction(value), Fraction(value)
    if isinstance(value, date):
        return Fraction(value.toordinal()), Fraction(value.toordinal())
    return None


def _fits(ends: Ends | None, kind: ColumnType) -> bool:
    """Whether nothing leaves the type."""
    if kind.family is not Family.WHOLE:
        return True
    most = _WIDEST[kind.kind]
    return ends is not None and -most - 1 <= ends[0] and ends[1] <= most


def _added(function: str, one: Form, other: Form, call: Call) -> Form:
    if one.degree is None or other.degree is None:
        return _CONDITION
    families = {part.type.family for part in call.parts}
    if families & _TIMES:
        # a date less a date, and a date and some days
        return Form(max(one.degree, other.degree)) if families <= _TIMES else _CONDITION
    if not {*families, call.type.family} <= _NUMBERS:
        return _CONDITION
    ends = None
    if one.ends is not None and other.ends is not None:
        low, high = other.ends if function == "+" else (-other.ends[1], -other.ends[0])
        ends = (one.ends[0] + low, one.ends[1] + high)
    added = [form.ends for form in (one, other) if form.degree == 0]
    limit = _ADDED.get(call.type.kind)
    if limit is not None and any(each is None or abs(each[0]) > limit for each in added):
        return _CONDITION
    mixed = one.mixed or other.mixed
    return (
        Form(max(one.degree, other.degree), ends, mixed) if _fits(ends, call.type) else _CONDITION
    )


def _times(one: Form, other: Form, kind: ColumnType) -> Form:
    if one.degree is None or other.degree is None or kind.family not in _NUMBERS:
        return _CONDITION
    if one.degree + other.degree > _PRODUCT:
        return _CONDITION
    for form in (one, other):
        if form.degree == 0 and not _is_factor(form.ends):
            return _CONDITION
    ends = None
    if one.ends is not None and other.ends is not None:
        corners = [left * right for left in one.ends for right in other.ends]
        ends = (min(corners), max(corners))
    mixed = one.mixed or other.mixed
    return Form(one.degree + other.degree, ends, mixed) if _fits(ends, kind) else _CONDITION


def _divided(one: Form, by: Ends | None, kind: ColumnType) -> Form:
    if one.degree is None or by is None or not by[0] or not _is_factor(by):
        return _CONDITION
    if kind.family not in {Family.EXACT, Family.FLOAT}:
        return _CONDITION
    ends = None if one.ends is None else tuple(sorted(end / by[0] for end in one.ends))
    return Form(one.degree, None if ends is None else (ends[0], ends[1]), one.mixed)


def _is_factor(ends: Ends | None) -> bool:
    """Not so small or large that digits are lost."""
    if ends is None:
        return False
    size = abs(ends[0])
    return not size or _FACTORS[0] <= size <= _FACTORS[1]


def _cast(form: Form, of: ColumnType, to: ColumnType) -> Form:
    if form.degree is None or of == to:
        return form
    if of.family is Family.DATE and to.family is Family.TIMESTAMP:
        return form
    if not {of.family, to.family} <= _NUMBERS or not _is_kept(form.ends, of, to):
        return _CONDITION
    return form


def _is_kept(ends: Ends | None, of: ColumnType, to: ColumnType) -> bool:
    """Whether every value is itself in the other type."""
    if to.family is Family.WHOLE:
        return of.family is Family.WHOLE and _fits(ends, to)
    if to.family is Family.FLOAT:
        return to.kind is Kind.DOUBLE or of.kind in {Kind.REAL, Kind.SMALLINT}
    if to.precision is None:
        return True
    if of.resolution is None or to.resolution is None or of.resolution < to.resolution:
        return False
    most = to.resolution * 10**to.precision
    return ends is not None and -most < ends[0] and ends[1] < most
