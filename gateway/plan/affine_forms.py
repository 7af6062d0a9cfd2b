"""The affine form of an expression: how its value grows with the columns behind it.

Affine are columns, constants, sums and differences, products and quotients with constants, casts between numbers
without rounding, differences of dates, and the seconds since 1970 (`epoch`) of a time; and the product of two such,
which covariances and regressions are made of. Every other expression is a condition: its form `cuts`. A number that leaves its type becomes NULL, and so does a
day beyond the calendar. A float that is far larger than what is added to it loses it. So an expression is affine only
if it stays within its type over the declared domain, and if rounding cannot tell rows apart (`affine_rounding.py`).

INVARIANT: an expression that is not known to be affine is a condition.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from datetime import UTC, date, datetime
from fractions import Fraction
from itertools import pairwise
from typing import Final, Self

from gateway.catalog.domains import Interval, Values
from gateway.catalog.types import ColumnType, Family
from gateway.catalog.zones import UTC_NAME
from gateway.plan import affine_rounding as rounding
from gateway.plan.affine_rounding import NUMBERS, Ends, Form
from gateway.plan.aggregates import Measure, PerUnit, WindowCall
from gateway.plan.fields import Protected
from gateway.plan.joins import UnionAll
from gateway.plan.node import Node, walk_nodes
from gateway.plan.relations import Project, Window
from gateway.plan.scalars import (
    Call,
    Case,
    Cast,
    Literal,
    Moment,
    Ref,
    Scalar,
    Shift,
)

_TIMES: Final = frozenset({Family.DATE, Family.TIMESTAMP})
_MOST_DAYS: Final = 36_525
_DAY: Final = 86_400_000_000
# a year from the ends of the calendar, whatever the zone
_CALENDAR: Final = (Fraction(date.min.toordinal() + 366), Fraction(date.max.toordinal() - 366))
_DAYS: Final = Fraction(date.max.toordinal())
_EPOCH: Final = date(1970, 1, 1).toordinal()
_DAY_SECONDS: Final = 86_400
_NOW_SECONDS: Final = (Fraction(10**9), (_DAYS - _EPOCH) * _DAY_SECONDS)
"""Where the current time is, in seconds since 1970."""
_ADDED: Final = frozenset({"sum", "avg"})
_NUMBERED: Final = frozenset({"count", "row_number", "sample_number"})
_WITHIN: Final = frozenset(
    {"min", "max", "avg", "percentile_cont", "percentile_disc", "median", "lag", "lead"}
)
_ONE_OF: Final = frozenset({"coalesce", "greatest", "least"})


@dataclass
class AffineForms:
    """The forms of the expressions of one plan. Names are followed to the expressions that they were given to.

    `_given` has the expressions behind a name, `_measured` its aggregate for each person, `_windows` its window function;
    `_rows` is over how many rows of a person these are taken at most. `for_rights`: COALESCE with a constant is affine. For
    the auditor it is a condition on NULL.
    """

    _given: Mapping[str, tuple[Scalar, ...]]
    _measured: Mapping[str, Measure] = field(default_factory=dict)
    _windows: Mapping[str, WindowCall] = field(default_factory=dict)
    _rows: Mapping[str, int | None] = field(default_factory=dict)
    for_rights: bool = False
    _forms: dict[str, Form] = field(default_factory=dict)

    @classmethod
    def of(cls, plan: Node, *, for_rights: bool = False) -> Self:
        """The forms of this plan."""
        below = tuple(walk_nodes(plan))
        return cls(
            {name: given for node in below for name, given in _given(node)},
            {name: measure for node in below for name, measure in _measured(node)},
            {name: call for node in below if isinstance(node, Window) for name, call in node.items},
            {name: rows for node in below for name, rows in _rows_behind(node)},
            for_rights,
        )

    def form(self, scalar: Scalar) -> Form:  # noqa: C901, PLR0911, PLR0912 - one answer for each kind of expression
        match scalar:
            case Ref():
                return self._of_ref(scalar)
            case Literal(value):
                ends = _ends_of_value(value)
                return rounding.constant_form(None if ends is None else ends[0])
            case Moment():
                return Form(0)
            case Cast(what) if what.type.family is Family.BOOLEAN:
                return rounding.truth_form()
            case Cast(what):
                return _cast(self.form(what), what.type, scalar.type)
            case Shift():
                return self._of_shift(scalar)
            case Call("negate", (one,)) if _is_number(scalar):
                minus = rounding.constant_form(Fraction(-1))
                return rounding.multiply_forms(self.form(one), minus, scalar.type)
            case Call("+" | "-", (one, other)):
                return _added(scalar, self.form(one), self.form(other))
            case Call("*", (one, other)) if _is_number(scalar):
                return rounding.multiply_forms(self.form(one), self.form(other), scalar.type)
            case Call("/", (one, Literal(value))) if _is_number(scalar):
                return _divided(self.form(one), _ends_of_value(value), scalar.type)
            case Call("extract", (Literal("epoch"), of)):
                return _seconds(of, self.form(of), scalar.type)
            case Call("timezone", (Literal(zone), of)) if zone == UTC_NAME:
                return replace(self.form(of), cuts=False)
            case Case() | Call():
                return self._of_choice(scalar)
            case _:
                return rounding.condition_form(scalar.type)

    def _or_constant(self, one: Scalar, other: Literal, kind: ColumnType) -> Form:
        """A number, or a constant where it is NULL: its sum is made of SUM and COUNT of the number, which `aggregate` permits."""
        form = _cast(self.form(one), one.type, kind)
        constant = _cast(self.form(other), other.type, kind)
        if form.cuts or constant.ends is None:
            return rounding.condition_form(kind)
        made = rounding.merge_forms([form, constant], kind)
        return replace(made, chosen=form.chosen, mixed=form.mixed)

    def _of_choice(self, scalar: Case | Call) -> Form:
        """A condition, and where its values are: that of numbers that are handed on is known."""
        match scalar:
            case Case():
                given = scalar.results
            case Call("coalesce", (one, Literal() as other)) if self.for_rights and _is_number(
                scalar
            ):
                return self._or_constant(one, other, scalar.type)
            case Call("nullif", (one, _)):
                given = (one,)
            case Call(function, parts) if function in _ONE_OF:
                given = parts
            case _:
                return rounding.condition_form(scalar.type)
        if not _is_number(scalar) or any(one.type.family not in NUMBERS for one in given):
            return rounding.condition_form(scalar.type)
        forms = [_cast(self.form(one), one.type, scalar.type) for one in given if not is_null(one)]
        return replace(rounding.merge_forms(forms, scalar.type), chosen=True, cuts=True)

    def _of_ref(self, ref: Ref) -> Form:
        name = ref.field.id
        known = self._forms.get(name)
        if known is None:
            known = self._forms[name] = self._of_name(ref)
        return known

    def _of_name(self, ref: Ref) -> Form:
        made_of = self.made_of(ref.field.id)
        if made_of is not None:
            return self._of_aggregate(ref, made_of)
        given = self._given.get(ref.field.id, ())
        if not given:
            return _column(ref)
        forms = [self.form(one) for one in given]
        if len(forms) == 1:
            return replace(forms[0], cuts=False)
        made = rounding.merge_forms(forms, ref.type)
        return replace(made, mixed=made.mixed or len(set(given)) > 1)

    def made_of(self, name: str) -> Measure | WindowCall | None:
        """The aggregate or window function over the rows of a person that gave the values of this name."""
        return self._measured.get(name) or self._windows.get(name)

    def _of_aggregate(self, ref: Ref, made_of: Measure | WindowCall) -> Form:
        """What was made of the rows of a person: a number of its own, of the degree and with the factors of its argument.

        A row moves a sum by its own part, and a mean at least by that of one among R, if a condition decides which rows
        have the part at all.
        """
        forms = [self.form(one) for one in made_of.arguments[:1]]
        if made_of.function in _NUMBERED or not forms or ref.type.family not in NUMBERS:
            return _column(ref)
        one, rows = forms[0], self._rows.get(ref.field.id)
        of = made_of.arguments[0].type
        least = one.least if one.degree else one.factors[0]
        if made_of.function in _WITHIN:
            if made_of.function == "avg" and (one.chosen or one.mixed):
                least = None if rows is None or least is None else least / max(rows, 1)
            within = replace(one, least=least, mixed=False, chosen=False, cuts=False)
            made = _cast(replace(within, degree=max(one.degree, 1)), of, ref.type)
        else:
            ends = _column(ref).ends
            if made_of.function == "sum" and one.ends is not None and rows is not None:
                ends = rows * min(one.ends[0], Fraction(0)), rows * max(one.ends[1], Fraction(0))
            relative = one.scales and (ends is None or least is None)
            made = Form(max(one.degree, 1), ends, least, one.error, one.factors, relative=relative)
        return rounding.decimal_form(made, ref.type) if made_of.function in _ADDED else made

    def _of_shift(self, shift: Shift) -> Form:
        inner = replace(self.form(shift.moved), cuts=False)
        if abs(shift.days) > _MOST_DAYS or abs(shift.microseconds) > _DAY or shift.months:
            return rounding.condition_form(shift.type)
        if not inner.degree and not inner.chosen:  # NULL in all rows, or in none
            if inner.ends is None:
                return inner
            moved = shift.days + Fraction(shift.microseconds, _DAY)
            return rounding.constant_form(inner.ends[0] + moved)
        if inner.ends is None:
            return rounding.condition_form(shift.type)
        low, high = inner.ends[0] + shift.days - 2, inner.ends[1] + shift.days + 2
        if low < _CALENDAR[0] or high > _CALENDAR[1]:
            return rounding.condition_form(shift.type)
        return replace(inner, ends=(low, high))


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


def _measured(node: Node) -> Iterator[tuple[str, Measure]]:
    if isinstance(node, PerUnit):
        named = zip(node.fields[len(node.keys) :], node.measures, strict=True)
        yield from ((one.id, measure) for one, (_, measure) in named)


def _rows_behind(node: Node) -> Iterator[tuple[str, int | None]]:
    if isinstance(node, PerUnit | Window) and isinstance(node.child.label, Protected):
        kept = node.keys if isinstance(node, PerUnit) else node.child.fields
        yield from ((one.id, node.child.label.rows) for one in node.fields[len(kept) :])


def _is_number(scalar: Call | Case) -> bool:
    given = scalar.parts if isinstance(scalar, Call) else scalar.results
    return {scalar.type.family, *(one.type.family for one in given)} <= NUMBERS


def is_null(scalar: Scalar) -> bool:
    if isinstance(scalar, Cast):
        return is_null(scalar.what)
    return isinstance(scalar, Literal) and scalar.value is None


def _column(ref: Ref) -> Form:
    domain = ref.domain
    if isinstance(domain, Interval):
        low, high = _ends_of_value(domain.low), _ends_of_value(domain.high)
        if low is not None and low == high:
            return rounding.constant_form(low[0])
        if low is not None and high is not None:
            return rounding.domain_form((low[0], high[1]), high[1] - low[0])
    if isinstance(domain, Values) and ref.type.family in NUMBERS:
        known = sorted(ends[0] for one in domain.values if (ends := _ends_of_value(one)))
        if known:
            gaps = [high - low for low, high in pairwise(known)]
            return rounding.domain_form((known[0], known[-1]), min(gaps, default=Fraction(1)))
    return rounding.type_form(ref.type)


def _ends_of_value(value: object) -> Ends | None:
    if isinstance(value, int | Fraction):
        return Fraction(value), Fraction(value)
    if isinstance(value, datetime):
        day = _day_and_part(value)
        return day, day
    if isinstance(value, date):
        return Fraction(value.toordinal()), Fraction(value.toordinal())
    return None


def _day_and_part(value: datetime) -> Fraction:
    moment = value if value.tzinfo is not None else value.replace(tzinfo=UTC)
    since = moment - datetime(1, 1, 1, tzinfo=UTC)
    within = Fraction(since.seconds * 1_000_000 + since.microseconds, _DAY)
    return date.min.toordinal() + since.days + within


def _added(call: Call, one: Form, other: Form) -> Form:
    families = {part.type.family for part in call.parts}
    if families <= _TIMES and call.function == "-":
        return _between(one, other, families, call.type)
    if not _is_number(call):
        return rounding.condition_form(call.type)
    if call.function == "-" and other.ends is not None:
        other = replace(other, ends=(-other.ends[1], -other.ends[0]))
    return rounding.add_forms(one, other, call.type)


def _between(one: Form, other: Form, families: set[Family], kind: ColumnType) -> Form:
    """The days between two dates, or the time between two moments."""
    made = Form(
        max(one.degree, other.degree),
        mixed=one.mixed or other.mixed,
        chosen=one.chosen or other.chosen,
    )
    if families != {Family.DATE} or kind.family is not Family.WHOLE:
        return made
    ends = -_DAYS, _DAYS
    if one.ends is not None and other.ends is not None:
        ends = one.ends[0] - other.ends[1], one.ends[1] - other.ends[0]
    return replace(made, ends=ends, least=Fraction(1))


def _seconds(of: Scalar, time: Form, kind: ColumnType) -> Form:
    """The seconds since 1970 at a time, which both engines compute from whole microseconds.

    INVARIANT: the current time is between the ends that are said of it; moved, it could be anywhere, near zero too.
    """
    if _is_now(of):
        return Form(0, _NOW_SECONDS, factors=_NOW_SECONDS)
    if time.ends is None:
        return rounding.condition_form(kind)
    low, high = (end - _EPOCH for end in time.ends)
    if not time.degree and not time.chosen:
        return rounding.constant_form(low * _DAY_SECONDS)
    day = rounding.constant_form(Fraction(_DAY_SECONDS))
    return rounding.multiply_forms(replace(time, ends=(low, high), cuts=False), day, kind)


def _is_now(of: Scalar) -> bool:
    if isinstance(of, Call) and of.function == "timezone":
        return _is_now(of.parts[1])
    return isinstance(of, Moment)


def _divided(one: Form, by: Ends | None, kind: ColumnType) -> Form:
    if by is None or not by[0] or kind.family is Family.WHOLE:
        return rounding.condition_form(kind)
    return rounding.divide_form(one, by[0], kind)


def _cast(form: Form, of: ColumnType, to: ColumnType) -> Form:
    if of == to:
        return replace(form, cuts=False)
    if of.family is Family.DATE and to.family is Family.TIMESTAMP:
        return replace(form, cuts=False)
    if not {of.family, to.family} <= NUMBERS:
        return rounding.condition_form(to)
    return rounding.convert_form(form, of, to)
