"""What of an aggregated expression is a condition: all that is not affine in its columns.

Affine are columns, constants, sums and differences, products and quotients with constants, casts between numbers that
cut nothing, and dates less dates; and the product of two such, which covariances and regressions are made of. Whoever
has the sum of such an expression has learned sums of its columns. Everything else - CASE, comparisons, NULLIF, COALESCE,
GREATEST, ABS, rounding, division of whole numbers - can be made to tell rows on one side of a value from those on the
other, as WHERE does. So it needs the right that WHERE needs, and the auditor compares it as it compares WHERE.

A number that leaves its type is NULL, a day beyond the calendar is too, and a float that is far larger than what is added
to it loses it: all these cut as well. Hence affine is only what stays within its type over the declared domain, and what
is not rounded so far that rows could be told apart (`affine_forms.py`). This holds above a condition, too: of
`CASE WHEN c THEN x END + y` the condition is the CASE alone, where the sum is one that cuts nothing, and else all of it.

INVARIANT: what is not known to be affine is a condition.
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from datetime import date
from fractions import Fraction
from itertools import pairwise
from typing import Final

from gateway.catalog.domains import Interval, Values
from gateway.catalog.tables import ColumnRef
from gateway.catalog.types import ColumnType, Family
from gateway.plan import affine_rounding as affine_forms
from gateway.plan.affine_rounding import NUMBERS, Ends, Form
from gateway.plan.aggregates import Measure, PerUnit, WindowCall
from gateway.plan.joins import UnionAll
from gateway.plan.node import Node, walk_nodes
from gateway.plan.relations import Constant, Project, Scan, Window
from gateway.plan.scalars import (
    Call,
    Case,
    Cast,
    Literal,
    Moment,
    Ref,
    Scalar,
    Shift,
    scalar_origins,
    walk_scalar,
)

_TIMES: Final = frozenset({Family.DATE, Family.TIMESTAMP})
_MOST_DAYS: Final = 36_525
_DAY: Final = 86_400_000_000
# a year from the ends of the calendar, whatever the zone
_CALENDAR: Final = (Fraction(date.min.toordinal() + 366), Fraction(date.max.toordinal() - 366))
_DAYS: Final = Fraction(date.max.toordinal())
# of several values of one person they choose one
_CHOOSING: Final = frozenset({"min", "max", "percentile_cont", "percentile_disc", "mode", "median"})
_WITHIN: Final = frozenset({"min", "max", "avg", "percentile_cont", "percentile_disc", "median"})
_ADDED: Final = frozenset({"sum", "avg", "count"})
_ONE_OF: Final = frozenset({"coalesce", "greatest", "least"})


@dataclass
class Affinity:
    """Of the expressions of one plan, once names are followed to where they were given."""

    _given: Mapping[str, tuple[Scalar, ...]]
    _measured: Mapping[str, Measure] = field(default_factory=dict)
    _windows: Mapping[str, WindowCall] = field(default_factory=dict)
    _known: frozenset[str] = frozenset()
    _forms: dict[str, Form] = field(default_factory=dict)

    @classmethod
    def of(cls, plan: Node) -> "Affinity":
        below = tuple(walk_nodes(plan))
        return cls(
            {name: given for node in below for name, given in _given(node)},
            {name: measure for node in below for name, measure in _measured(node)},
            {name: call for node in below if isinstance(node, Window) for name, call in node.items},
            frozenset(one.id for node in below if _is_public(node) for one in node.fields),
        )

    def conditions(self, measure: Measure) -> frozenset[ColumnRef]:
        """The columns by which the aggregate chooses among rows, or values."""
        if measure.counts_units:
            return frozenset()
        found: set[ColumnRef] = set()
        for one in measure.arguments:
            found |= self.columns(one)
        if self.is_choice(measure):
            found |= scalar_origins(*measure.arguments)
        return frozenset(found)

    def is_choice(self, measure: Measure) -> bool:
        """Whether the aggregate chooses one of several mixed values, and so compares them."""
        chooses = measure.function in _CHOOSING or measure.distinct
        return chooses and any(map(self.is_mixed, measure.arguments))

    def window_conditions(self, call: WindowCall) -> frozenset[ColumnRef]:
        """The columns by which a window function chooses among rows: it orders by mixed values, or hands one on."""
        ordered = tuple(one for one, _ in call.order)
        found = {column for one in (*call.arguments, *ordered) for column in self.columns(one)}
        chosen = ordered if call.function in _ADDED else (*call.arguments, *ordered)
        return frozenset(found).union(
            *(scalar_origins(one) for one in chosen if self.is_mixed(one))
        )

    def is_mixed(self, scalar: Scalar) -> bool:
        """Whether the rows of one person can have it from different columns, or with values that are known to all.

        Whoever takes the least of a column and a constant has compared them. Rows of a union have such, and rows that meet
        the rows of a public table, of VALUES, or a number of the row, by which a column is then multiplied. The least of
        `a * (b - 5)` is that of the greatest or the least a, and tells on which side of 5 b is.
        """
        leaves: set[str] = set()
        left, seen = [scalar], set[str]()
        while left:
            made = left.pop()
            if self.form(made).degree > 1 and not self._keeps_order(made):
                return True
            for one in walk_scalar(made):
                if not isinstance(one, Ref) or one.field.id in seen:
                    continue
                name = one.field.id
                seen.add(name)
                given = self._given.get(name, ())
                if len(set(given)) > 1:
                    return True
                measure, window = self._measured.get(name), self._windows.get(name)
                if measure is not None and measure.function != "count":
                    given = measure.arguments
                if window is not None:
                    given = (*window.arguments, *(key for key, _ in window.order))
                left.extend(given)
                if not given or (window is not None and not window.arguments):
                    leaves.add(name)
        return len(leaves) > 1 and any(one in self._known or one in self._windows for one in leaves)

    def _keeps_order(self, scalar: Scalar) -> bool:
        """Whether it is a product of factors that are never below 0: none of them turns the order of the others round."""
        match scalar:
            case Call("*", parts):
                return all(map(self._keeps_order, parts))
            case Cast(what):
                return self._keeps_order(what)
            case Ref(there) if len(given := self._given.get(there.id, ())) == 1:
                return self._keeps_order(given[0])
            case _:
                form = self.form(scalar)
                return form.degree <= 1 and form.ends is not None and form.ends[0] >= 0

    def columns(self, scalar: Scalar) -> frozenset[ColumnRef]:
        """The columns of everything in it that is a condition."""
        return frozenset(
            column
            for part in self.parts(scalar)
            for condition in _decided_by(part)
            for column in scalar_origins(condition)
        ) | frozenset(
            column
            for part in self.parts(scalar)
            for one in choice_results(part)
            for column in self.columns(one)
        )

    def parts(self, scalar: Scalar) -> tuple[Scalar, ...]:
        """The largest parts that are conditions; of a name where it was given."""
        return tuple(dict.fromkeys(self._parts(scalar)))

    def _parts(self, scalar: Scalar) -> Iterator[Scalar]:
        if isinstance(scalar, Ref):
            for one in self._given.get(scalar.field.id, ()):
                yield from self._parts(one)
        elif (form := self.form(scalar)).cuts:
            yield scalar
        elif form.chosen:
            for one in scalar.parts:
                yield from self._parts(one)

    def form(self, scalar: Scalar) -> Form:  # noqa: C901, PLR0911 - one answer for each kind of expression
        match scalar:
            case Ref():
                return self._of_ref(scalar)
            case Literal(value):
                ends = _ends_of_value(value)
                return affine_forms.constant_form(None if ends is None else ends[0])
            case Moment():
                return Form(0)
            case Cast(what) if what.type.family is Family.BOOLEAN:
                return affine_forms.truth_form()
            case Cast(what):
                return _cast(self.form(what), what.type, scalar.type)
            case Shift():
                return self._of_shift(scalar)
            case Call("negate", (one,)) if _is_number(scalar):
                minus = affine_forms.constant_form(Fraction(-1))
                return affine_forms.multiply_forms(self.form(one), minus, scalar.type)
            case Call("+" | "-", (one, other)):
                return _added(scalar, self.form(one), self.form(other))
            case Call("*", (one, other)) if _is_number(scalar):
                return affine_forms.multiply_forms(self.form(one), self.form(other), scalar.type)
            case Call("/", (one, Literal(value))) if _is_number(scalar):
                return _divided(self.form(one), _ends_of_value(value), scalar.type)
            case Case() | Call():
                return self._of_choice(scalar)
            case _:
                return affine_forms.condition_form(scalar.type)

    def _of_choice(self, scalar: Case | Call) -> Form:
        """A condition, and where its values are: that of numbers that are handed on is known."""
        match scalar:
            case Case():
                given = scalar.results
            case Call("nullif", (one, _)):
                given = (one,)
            case Call(function, parts) if function in _ONE_OF:
                given = parts
            case _:
                return affine_forms.condition_form(scalar.type)
        if not _is_number(scalar) or any(one.type.family not in NUMBERS for one in given):
            return affine_forms.condition_form(scalar.type)
        forms = [_cast(self.form(one), one.type, scalar.type) for one in given if not _is_null(one)]
        return replace(affine_forms.merge_forms(forms, scalar.type), chosen=True, cuts=True)

    def _of_ref(self, ref: Ref) -> Form:
        name = ref.field.id
        known = self._forms.get(name)
        if known is None:
            known = self._forms[name] = self._of_name(ref)
        return known

    def _of_name(self, ref: Ref) -> Form:
        if measure := self._measured.get(ref.field.id):
            return self._of_measure(ref, measure)
        given = self._given.get(ref.field.id, ())
        if not given:
            return _column(ref)
        forms = [self.form(one) for one in given]
        if len(forms) == 1:
            return replace(forms[0], cuts=False)
        made = affine_forms.merge_forms(forms, ref.type)
        return replace(made, mixed=made.mixed or len(set(given)) > 1)

    def _of_measure(self, ref: Ref, measure: Measure) -> Form:
        """What was made of the rows of a person: a number of its own, of the degree and with the factors of its argument."""
        forms = [self.form(one) for one in measure.arguments]
        if measure.function == "count" or not forms or not forms[0].degree:
            return _column(ref)
        one = forms[0]
        if measure.function in _WITHIN and ref.type.family in NUMBERS:
            of = measure.arguments[0].type
            return _cast(replace(one, mixed=False, chosen=False, cuts=False), of, ref.type)
        return replace(_column(ref), degree=one.degree, factors=one.factors, relative=one.scales)

    def _of_shift(self, shift: Shift) -> Form:
        inner = replace(self.form(shift.moved), cuts=False)
        if abs(shift.days) > _MOST_DAYS or abs(shift.microseconds) > _DAY or shift.months:
            return affine_forms.condition_form(shift.type)
        if not inner.degree and not inner.chosen:
            return inner  # a constant: NULL in all rows, or in none
        if inner.ends is None:
            return affine_forms.condition_form(shift.type)
        low, high = inner.ends[0] + shift.days - 2, inner.ends[1] + shift.days + 2
        if low < _CALENDAR[0] or high > _CALENDAR[1]:
            return affine_forms.condition_form(shift.type)
        return replace(inner, ends=(low, high))


def choice_results(condition: Scalar) -> tuple[Scalar, ...]:
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


def _measured(node: Node) -> Iterator[tuple[str, Measure]]:
    if isinstance(node, PerUnit):
        named = zip(node.fields[len(node.keys) :], node.measures, strict=True)
        yield from ((one.id, measure) for one, (_, measure) in named)


def _is_public(node: Node) -> bool:
    return isinstance(node, Constant) or (isinstance(node, Scan) and node.table.public)


def _is_number(scalar: Call | Case) -> bool:
    given = scalar.parts if isinstance(scalar, Call) else scalar.results
    return {scalar.type.family, *(one.type.family for one in given)} <= NUMBERS


def _is_null(scalar: Scalar) -> bool:
    if isinstance(scalar, Cast):
        return _is_null(scalar.what)
    return isinstance(scalar, Literal) and scalar.value is None


def _column(ref: Ref) -> Form:
    domain = ref.domain
    if isinstance(domain, Interval):
        low, high = _ends_of_value(domain.low), _ends_of_value(domain.high)
        if low is not None and high is not None:
            return affine_forms.domain_form((low[0], high[1]), high[1] - low[0])
    if isinstance(domain, Values) and ref.type.family in NUMBERS:
        known = sorted(ends[0] for one in domain.values if (ends := _ends_of_value(one)))
        if known:
            gaps = [high - low for low, high in pairwise(known)]
            return affine_forms.domain_form((known[0], known[-1]), min(gaps, default=Fraction(1)))
    return affine_forms.type_form(ref.type)


def _ends_of_value(value: object) -> Ends | None:
    if isinstance(value, int | Fraction):
        return Fraction(value), Fraction(value)
    if isinstance(value, date):
        return Fraction(value.toordinal()), Fraction(value.toordinal())
    return None


def _added(call: Call, one: Form, other: Form) -> Form:
    families = {part.type.family for part in call.parts}
    if families <= _TIMES and call.function == "-":
        return _between(one, other, families, call.type)
    if not _is_number(call):
        return affine_forms.condition_form(call.type)
    if call.function == "-" and other.ends is not None:
        other = replace(other, ends=(-other.ends[1], -other.ends[0]))
    return affine_forms.add_forms(one, other, call.type)


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


def _divided(one: Form, by: Ends | None, kind: ColumnType) -> Form:
    if by is None or not by[0] or kind.family is Family.WHOLE:
        return affine_forms.condition_form(kind)
    return affine_forms.divide_form(one, by[0], kind)


def _cast(form: Form, of: ColumnType, to: ColumnType) -> Form:
    if of == to:
        return replace(form, cuts=False)
    if of.family is Family.DATE and to.family is Family.TIMESTAMP:
        return replace(form, cuts=False)
    if not {of.family, to.family} <= NUMBERS:
        return affine_forms.condition_form(to)
    return affine_forms.convert_form(form, of, to)
