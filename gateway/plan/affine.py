"""Conditions in aggregates: everything in an aggregated expression that is not affine in its columns.

The sum of an affine expression (`affine_forms.py`) reveals sums of its columns and nothing else. Every other
expression - CASE, comparisons, NULLIF, COALESCE, GREATEST, ABS, rounding, division of whole numbers - can separate the
rows on one side of a value from those on the other, as WHERE does. So it needs the permission that WHERE needs, and
the auditor compares it as it compares WHERE. Of `CASE WHEN c THEN x END + y` the condition is the CASE alone if the
sum is affine, and else the whole expression.

Aggregates and windows that choose one of a person's values, such as MIN, compare these values. That is a condition if
the values are mixed (`Affinity.is_mixed`).

INVARIANT: an expression that is not known to be affine is a condition, and values that are not known to be made in
one way are mixed.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Final

from gateway.catalog.tables import ColumnRef
from gateway.catalog.types import Family
from gateway.plan.affine_forms import AffineForms, is_null
from gateway.plan.affine_rounding import NUMBERS, Form
from gateway.plan.aggregates import Measure, WindowCall
from gateway.plan.scalars import (
    Call,
    Case,
    Cast,
    Ref,
    Scalar,
    scalar_origins,
    walk_scalar,
)

# these choose one of several values of a person
_CHOOSING: Final = frozenset({"min", "max", "percentile_cont", "percentile_disc", "mode", "median"})
_ADDED: Final = frozenset({"sum", "avg", "count"})


@dataclass
class Affinity(AffineForms):
    """The conditions in the expressions of one plan. Names are followed to the expressions behind them."""

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
        equal = measure.distinct or measure.function == "mode"
        return chooses and any(self.is_mixed(one, equal=equal) for one in measure.arguments)

    def window_conditions(self, call: WindowCall) -> frozenset[ColumnRef]:
        """The columns by which a window function chooses among rows: it orders by mixed values, or hands one on."""
        ordered = tuple(one for one, _ in call.order)
        found = {column for one in (*call.arguments, *ordered) for column in self.columns(one)}
        chosen = ordered if call.function in _ADDED else (*call.arguments, *ordered)
        return frozenset(found).union(
            *(scalar_origins(one) for one in chosen if self.is_mixed(one))
        )

    def is_mixed(self, scalar: Scalar, *, equal: bool = True) -> bool:
        """Whether a person's values are made in different ways, so that comparing them is a condition.

        The least of a column and a constant compares both. Five things mix values:
        - a union, a public table, VALUES, the number of a row, or a count of rows beside a column;
        - a CASE of several values, unless these are constants or lie in intervals that do not overlap. With `equal`, the
          comparison also reveals equality, so the intervals must not touch either;
        - a CASE or a condition as a part of an expression: it may multiply a column by 0 or 1;
        - a product with a factor that may be negative: the least of `a * (b - 5)` has the greatest a if b is below 5, and
          else the least a;
        - a sum of rows whose values may be negative: the value times the number of rows is such a product.
        """
        leaves: set[str] = set()
        left, seen = [scalar], set[str]()
        while left:
            made = left.pop()
            if self.form(made).degree > 1 and not self._keeps_order(made):
                return True
            if self._chooses_among_several(made, equal=equal) or self._subtracts_sums(made):
                return True
            for one in walk_scalar(made):
                if not isinstance(one, Ref) or one.field.id in seen:
                    continue
                name = one.field.id
                seen.add(name)
                if len(set(self._given.get(name, ()))) > 1 or self._adds_negative(name):
                    return True
                behind, is_leaf = self._behind(name)
                left.extend(behind)
                if is_leaf:
                    leaves.add(name)
        return len(leaves) > 1 and any(self._is_known_number(one) for one in leaves)

    def _behind(self, name: str) -> tuple[tuple[Scalar, ...], bool]:
        """The expressions behind a name, and whether it has a value of its own."""
        measure, window = self._measured.get(name), self._windows.get(name)
        if window is not None:
            keys = (key for key, _ in window.order)
            return (*window.arguments, *keys), not window.arguments
        if measure is not None and measure.function != "count":
            return measure.arguments, not measure.arguments
        given = self._given.get(name, ())
        return given, not given

    def _adds_negative(self, name: str) -> bool:
        """Whether it is a sum of values that may be negative."""
        made_of = self._measured.get(name) or self._windows.get(name)
        if made_of is None or made_of.function != "sum":
            return False
        return not all(map(self._is_never_negative, made_of.arguments))

    def _is_known_number(self, name: str) -> bool:
        """Whether the analyst can know or choose the number: of a public row, of a row in a window, or a count of rows."""
        return name in self._known or name in self._windows or name in self._measured

    def _chooses_among_several(self, scalar: Scalar, *, equal: bool) -> bool:
        """Whether a CASE in it gives one of several values that a comparison may tell apart."""
        while isinstance(scalar, Cast) and scalar.what.type.family in NUMBERS:
            scalar = scalar.what
        if isinstance(scalar, Ref) or not self.form(scalar).degree:
            return False  # the expression behind a name is examined by itself
        if not isinstance(scalar, Case):
            return self._has_choice(scalar)
        results = [one for one in dict.fromkeys(scalar.results) if not is_null(one)]
        if any(self._has_choice(one) for one in results):
            return True
        return not _are_apart([self.form(one) for one in results], touching=not equal)

    def _has_choice(self, scalar: Scalar) -> bool:
        """Whether a part of it is a CASE of several values or a condition as a number, also behind names and aggregates."""
        left, seen = [scalar], set[str]()
        while left:
            for one in walk_scalar(left.pop()):
                if isinstance(one, Case) and len({*map(_plain, one.results)} - {None}) > 1:
                    return True
                if isinstance(one, Cast) and one.what.type.family is Family.BOOLEAN:
                    return True
                if isinstance(one, Ref) and one.field.id not in seen:
                    seen.add(one.field.id)
                    left.extend(self._behind(one.field.id)[0])
        return False

    def _subtracts_sums(self, scalar: Scalar) -> bool:
        """Whether a sum of rows and another value are subtracted: a sum grows with the number of rows."""
        read = [one for one in walk_scalar(scalar) if isinstance(one, Ref)]
        if len({one.field.id for one in read}) < 2 or not any(map(self._is_sum, read)):  # noqa: PLR2004 - two values
            return False
        return not self._is_never_negative(scalar)

    def _is_sum(self, ref: Ref) -> bool:
        name = ref.field.id
        made_of = self._measured.get(name) or self._windows.get(name)
        if made_of is not None:
            return made_of.function == "sum"
        given = self._given.get(name, ())
        return any(
            self._is_sum(one) for made in given for one in walk_scalar(made) if isinstance(one, Ref)
        )

    def _is_never_negative(self, scalar: Scalar) -> bool:
        ends = self.form(scalar).ends
        return ends is not None and ends[0] >= 0

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


def _plain(result: Scalar) -> Scalar | None:
    return None if is_null(result) else result


def _are_apart(forms: Sequence[Form], *, touching: bool) -> bool:
    """Whether their values lie in intervals that do not overlap; `touching`: they may have an end in common."""
    known = sorted(one.ends for one in forms if one.ends is not None)
    if len(known) < len(forms):
        return False
    return all(
        one[1] < other[0] or (touching and one[1] == other[0]) for one, other in pairwise(known)
    )


def choice_results(condition: Scalar) -> tuple[Scalar, ...]:
    """What a choice hands on: its values are added up, where they are chosen."""
    return condition.results if isinstance(condition, Case) else ()


def _decided_by(condition: Scalar) -> Iterable[Scalar]:
    if isinstance(condition, Case):
        return tuple(when for when, _ in condition.branches)
    return (condition,)
