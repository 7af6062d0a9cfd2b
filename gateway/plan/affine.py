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

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Final

from gateway.catalog.tables import ColumnRef
from gateway.plan.aggregates import Measure, PerUnit, WindowCall
from gateway.plan.compared_values import ComparedValues
from gateway.plan.fields import Tie
from gateway.plan.node import Node
from gateway.plan.relations import Filter, Project, Window
from gateway.plan.scalars import (
    Case,
    Ref,
    Scalar,
    scalar_origins,
)

# these choose one of several values of a person
_FREQUENT: Final = frozenset({"mode", "dp_top"})
_CHOOSING: Final = _FREQUENT | {"min", "max", "percentile_cont", "percentile_disc", "median"}
# these add values, or hand one on by its place in the order
_HANDING_ON: Final = frozenset({"sum", "avg", "count", "lag", "lead"})


@dataclass(frozen=True, slots=True)
class OrderConditions:
    """The columns by which a window function chooses among rows, and all columns on which it depends."""

    conditions: frozenset[ColumnRef]
    columns: frozenset[ColumnRef]


@dataclass
class Affinity(ComparedValues):
    """The conditions in the expressions of one plan. Names are followed to the expressions behind them, each once."""

    _found: dict[str, tuple[Scalar, ...]] = field(default_factory=dict)
    _deciding: dict[str, frozenset[ColumnRef]] = field(default_factory=dict)

    def conditions(self, measure: Measure, *, of_person: bool) -> frozenset[ColumnRef]:
        """The columns by which the aggregate chooses among rows or values; `of_person`: of each person."""
        if measure.counts_units:
            return frozenset()
        found: set[ColumnRef] = set()
        for one in measure.arguments:
            found |= self.columns(one)
        if self.is_choice(measure, of_person=of_person):
            found |= scalar_origins(*measure.arguments)
        return frozenset(found)

    def is_choice(self, measure: Measure, *, of_person: bool) -> bool:
        """Whether the aggregate chooses one of several mixed values, and so compares them.

        Whether values are equal is decided for each pair of rows, of one person too, and without noise.
        """
        chooses = measure.function in _CHOOSING or measure.distinct
        equal = measure.distinct or measure.function in _FREQUENT
        return chooses and any(
            self.is_mixed(one, equal=equal, of_person=of_person or equal)
            for one in measure.arguments
        )

    def order_conditions(self, call: WindowCall, rows: Node) -> "OrderConditions":
        """What a window function over these rows depends on: its arguments, its order and, if there can be ties, all columns.

        Values that it compares are a condition if they are mixed, and so is what it returns if it compares that.
        """
        ordered = tuple(one for one, _ in call.order)
        named = {one.field.id for one in (*call.partition, *ordered) if isinstance(one, Ref)}
        key = row_key(rows)
        if call.depends_on_order and not (key is not None and key <= named):
            ordered += tuple(Ref(one) for one in rows.fields if one.tie is not Tie.ALWAYS)
        compared = ordered if call.function in _HANDING_ON else (*call.arguments, *ordered)
        looked_at = (*call.arguments, *ordered)
        conditions = {column for one in looked_at for column in self.columns(one)}
        mixed = [one for one in compared if self.is_mixed(one)]
        return OrderConditions(
            frozenset(conditions | scalar_origins(*mixed)), scalar_origins(*looked_at)
        )

    def columns(self, scalar: Scalar) -> frozenset[ColumnRef]:
        """The columns of everything in it that is a condition."""
        if not isinstance(scalar, Ref):
            return self._columns(scalar)
        name = scalar.field.id
        if name not in self._deciding:
            self._deciding[name] = self._columns(scalar)
        return self._deciding[name]

    def _columns(self, scalar: Scalar) -> frozenset[ColumnRef]:
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

    def _parts_of_name(self, name: str) -> tuple[Scalar, ...]:
        if name not in self._found:
            given = self._given.get(name, ())
            found = (part for one in given for part in self._parts(one))
            self._found[name] = tuple(dict.fromkeys(found))
        return self._found[name]

    def _parts(self, scalar: Scalar) -> Iterator[Scalar]:
        if isinstance(scalar, Ref):
            if self.made_of(scalar.field.id) is not None and self.form(scalar).cuts:
                yield scalar  # a person's sum or mean that its type does not hold is NULL
            yield from self._parts_of_name(scalar.field.id)
        elif (form := self.form(scalar)).cuts:
            yield scalar
        elif form.chosen:
            for one in scalar.parts:
                yield from self._parts(one)


def row_key(rows: Node) -> frozenset[str] | None:
    """The columns of which no two of these rows have all values in common; None if there are none.

    A grouping by person leaves one row for each combination of its keys.
    """
    match rows:
        case PerUnit():
            return frozenset(one.id for one in rows.fields[: len(rows.keys)])
        case Filter() | Window():
            return row_key(rows.child)
        case Project():
            below = row_key(rows.child)
            named = {
                one.field.id: kept.id
                for kept, (_, one) in zip(rows.fields, rows.items, strict=True)
                if isinstance(one, Ref)
            }
            if below is None or not below <= set(named):
                return None
            return frozenset(named[one] for one in below)
        case _:
            return None


def choice_results(condition: Scalar) -> tuple[Scalar, ...]:
    """What a choice hands on: its values are added up, where they are chosen."""
    return condition.results if isinstance(condition, Case) else ()


def _decided_by(condition: Scalar) -> Iterable[Scalar]:
    if isinstance(condition, Case):
        return tuple(when for when, _ in condition.branches)
    return (condition,)
