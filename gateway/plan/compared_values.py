"""Compared values: whether the values of a person's rows are made of one column in one way.

MIN, MAX, percentiles, DISTINCT and the order of a window compare the values of a person's rows. If these are values of
one column under one increasing or decreasing function, a person's values are compared with each other alone. Otherwise
the values are *mixed*, and the comparison is a condition: the least of a column and a constant compares both, and so
does the least of `CASE WHEN c THEN x ELSE 50000 END`. The analyst can choose the constant in many ways: by a union, a
public table, a CASE, the factors of a product, or the numbers of rows behind two sums. Therefore the rule is a list of
what is not mixed.

INVARIANT: values are not mixed only if one column, or one aggregate of a person's rows, is behind them, and they are
increasing or decreasing in it. A CASE may add constants outside of the column's domain. Sums and means of a column are
not compared, but by the mechanisms over all persons. `tests/plan/test_compared_values.py` holds
the forms that attacks used.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from itertools import pairwise
from typing import Final

from gateway.catalog.types import Family
from gateway.plan.affine_forms import AffineForms, is_null
from gateway.plan.affine_rounding import Form
from gateway.plan.aggregates import Measure, WindowCall
from gateway.plan.scalars import (
    Call,
    Case,
    Cast,
    Literal,
    Ref,
    Scalar,
    Shift,
    walk_scalar,
)

_CONSTANT: Final = ""
_CHOSEN: Final = "?"
"""Constants that a condition chooses among, such as a flag."""
_NUMBERED: Final = frozenset(
    {
        "count",
        "row_number",
        "rank",
        "dense_rank",
        "ntile",
        "percent_rank",
        "cume_dist",
        "sample_number",
    }
)
_ADDED: Final = frozenset({"sum", "avg"})
_NEAR: Final = Fraction(1, 2**16)
_ARITHMETIC: Final = frozenset({"+", "-"})


@dataclass
class ComparedValues(AffineForms):
    """The sources of values in one plan: the name of the one column or aggregate behind each.

    With `for_rights`, sums and means of a person's rows are mixed: which of two sums is greater depends on how many
    rows are behind each, and conditions choose these. The auditor compares sums if they are multiples of
    one column: otherwise it could not read a condition on the greatest monthly sum, which people with the right to filter ask.

    INVARIANT: a name is followed once. Expressions that contain a name twice, level by level, would double the work.
    """

    _sources: dict[tuple[str, bool, bool], str | None] = field(default_factory=dict)

    def is_mixed(self, scalar: Scalar, *, equal: bool = True, of_person: bool = True) -> bool:
        """Whether comparing these values is a condition.

        With `equal`, the comparison also reveals equality, so constants may not touch the column's domain. Without
        `of_person`, values of different persons are compared, by a mechanism that adds noise: then sums of several columns,
        and products of columns that are never negative, have one distribution and are not mixed.
        """
        return self._source(scalar, equal, of_person) is None

    def _source(self, scalar: Scalar, equal: bool, of_person: bool) -> str | None:  # noqa: FBT001, PLR0911 - one answer for each kind of expression
        """The name behind the values; None if they are mixed."""
        match scalar:
            case Ref():
                return self._source_of_name(scalar.field.id, equal, of_person)
            case Case():
                return self._source_of_choice(scalar.results, equal, of_person)
            case Call("coalesce", parts):
                return self._source_of_choice(parts, equal, of_person)
            case Cast(what) | Shift(what):
                inner = self._source(what, equal, of_person)
                return _CHOSEN if inner and what.type.family is Family.BOOLEAN else inner
            case Call(function, parts):
                found = [self._source(one, equal, of_person) for one in parts]
                if scalar.type.family is Family.BOOLEAN:
                    return _CHOSEN
                if not of_person and self._is_one_distribution(scalar):
                    chosen = None in found or self._has_choice(scalar)
                    return None if chosen else "+".join(map(str, found))
                if self.form(scalar).degree > 1 or (function == "/" and found[1:] != [_CONSTANT]):
                    return None
                return _joined(found)
            case _:
                return _CONSTANT if not scalar.parts else _CHOSEN

    def _is_one_distribution(self, call: Call) -> bool:
        """Whether it adds columns, or multiplies columns that are never negative."""
        if call.function in _ARITHMETIC:
            return self.form(call).degree <= 1
        read = [one.field.id for one in walk_scalar(call) if isinstance(one, Ref)]
        is_product = call.function == "*" and len(read) == len(set(read))
        return is_product and all(map(self._is_multiple, call.parts))

    def _source_of_choice(
        self,
        given: Sequence[Scalar],
        equal: bool,  # noqa: FBT001
        of_person: bool,  # noqa: FBT001
    ) -> str | None:
        results = [one for one in dict.fromkeys(given) if not is_null(one)]
        found = [self._source(one, equal, of_person) for one in results]
        if all(one in {_CONSTANT, _CHOSEN} for one in found):
            return _CHOSEN
        if len(found) == 1:
            return found[0]
        apart = _are_apart([self.form(one) for one in results], touching=not equal)
        return _joined(one for one in found if one != _CONSTANT) if apart else None

    def _source_of_name(self, name: str, equal: bool, of_person: bool) -> str | None:  # noqa: FBT001
        key = name, equal, of_person
        if key not in self._sources:
            self._sources[key] = self._follow(name, equal, of_person)
        return self._sources[key]

    def _follow(self, name: str, equal: bool, of_person: bool) -> str | None:  # noqa: FBT001
        made_of = self.made_of(name)
        if made_of is not None:
            return self._source_of_aggregate(name, made_of, equal, of_person)
        given = set(self._given.get(name, ()))
        if not given:
            return name
        return self._source(given.pop(), equal, of_person) if len(given) == 1 else None

    def _source_of_aggregate(
        self,
        name: str,
        made_of: Measure | WindowCall,
        equal: bool,  # noqa: FBT001
        of_person: bool,  # noqa: FBT001
    ) -> str | None:
        """Its own name, if the values of the rows behind it are not mixed."""
        if made_of.function in _NUMBERED or not made_of.arguments:
            return name
        one = made_of.arguments[0]
        source = self._source(one, equal, of_person=True)
        if made_of.function in _ADDED:
            if source in {_CONSTANT, _CHOSEN}:
                return name
            if of_person and self.for_rights:
                return None
            if self._is_multiple(one):
                return name
            within = made_of.function == "avg" or not of_person
            return name if within and source is not None and not self._has_choice(one) else None
        return _CHOSEN if source in {_CONSTANT, _CHOSEN} else None if source is None else name

    def _is_multiple(self, scalar: Scalar) -> bool:  # noqa: PLR0911 - one answer for each kind of expression
        """Whether it is a multiple of one value that is never negative, or 0 where a condition says so."""
        match scalar:
            case Case():
                counted = [one for one in dict.fromkeys(scalar.results) if not _is_nothing(one)]
                return len(counted) == 1 and self._is_multiple(counted[0])
            case Cast(what):
                return self._is_multiple(what)
            case Call("*", (one, Literal() as factor)) | Call("*", (Literal() as factor, one)):
                return self._is_never_negative(factor) and self._is_multiple(one)
            case Call("/", (one, Literal() as factor)):
                return self._is_never_negative(factor) and self._is_multiple(one)
            case Ref(there):
                made_of = self.made_of(there.id)
                if made_of is not None:
                    given: Sequence[Scalar] = made_of.arguments
                    return made_of.function in _NUMBERED or all(map(self._is_multiple, given))
                given = self._given.get(there.id, ())
                if given:
                    return len(set(given)) == 1 and self._is_multiple(given[0])
                return self._is_never_negative(scalar)
        return False

    def _has_choice(self, scalar: Scalar) -> bool:
        """Whether a CASE or COALESCE of several values, or a condition as a number, is a part of it or behind a name in it."""
        left, seen = [scalar], set[str]()
        while left:
            for one in walk_scalar(left.pop()):
                if isinstance(one, Case) or one.type.family is Family.BOOLEAN:
                    return True
                if isinstance(one, Call) and one.function == "coalesce":
                    return True
                if isinstance(one, Ref) and one.field.id not in seen:
                    seen.add(one.field.id)
                    left.extend(self._behind(one.field.id))
        return False

    def _behind(self, name: str) -> tuple[Scalar, ...]:
        """The expressions behind a name, also through aggregates and windows."""
        made_of = self.made_of(name)
        return self._given.get(name, ()) if made_of is None else made_of.arguments

    def _is_never_negative(self, scalar: Scalar) -> bool:
        ends = self.form(scalar).ends
        return ends is not None and ends[0] >= 0


def _joined(found: Iterable[str | None]) -> str | None:
    """The one name among these and constants; None if there are several, or a name beside chosen constants.

    The same name twice is several: behind each there may be a CASE of its own.
    """
    there = list(found)
    names = [one for one in there if one not in {_CONSTANT, _CHOSEN}]
    if None in there or len(names) > 1 or (names and _CHOSEN in there):
        return None
    return next(iter(names), _CHOSEN if _CHOSEN in there else _CONSTANT)


def _is_nothing(result: Scalar) -> bool:
    if isinstance(result, Cast):
        return _is_nothing(result.what)
    return isinstance(result, Literal) and (result.value is None or result.value == 0)


def _are_apart(forms: Sequence[Form], *, touching: bool) -> bool:
    """Whether their values lie in intervals that do not overlap; `touching`: they may have an end in common.

    Otherwise they are also far enough apart that no rounding makes two of them equal.
    """
    known = sorted(one.ends for one in forms if one.ends is not None)
    if len(known) < len(forms):
        return False
    near = 0 if touching else _NEAR * max((abs(end) for one in known for end in one), default=0)
    return all(
        one[1] + near < other[0] or (touching and one[1] == other[0])
        for one, other in pairwise(known)
    )
