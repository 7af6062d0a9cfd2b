"""Values that are computed from the rows of each person, by grouping or by windows, and the rows behind them.

INVARIANT: names are made of tables, columns and constants; they contain no alias and no id of a plan.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from typing import Final

from gateway.functions.range_arithmetic import OPEN, Bounds
from gateway.plan.aggregates import Measure, PerUnit, WindowCall
from gateway.plan.fields import BIGINT, INTEGER, Field, Label, Protected
from gateway.plan.node import is_unit
from gateway.plan.relations import Window
from gateway.plan.scalars import Change, Literal, Ref, Scalar, column_ids
from gateway.plan.sql_text import scalar_sql
from gateway.ranges.expressions import bounds_of
from gateway.ranges.relations import columns_of, domain_bounds
from gateway.regions.base_columns import Base
from gateway.regions.cells import Cells, StepCells
from gateway.regions.derivation import Derivation
from gateway.regions.least_times import least_time
from gateway.regions.names import shorten
from gateway.regions.normal_form import normal
from gateway.regions.relation import Atom, Relation, over_bases, row_count_bounds, ungroup
from gateway.regions.row_readings import RowReader, RowReading, RowValue, substitute
from gateway.regions.time_differences import write_difference
from gateway.regions.window_text import is_own_value, window_text

_UNORDERED: Final = frozenset({"count", "sum", "avg", "min", "max"})
_KEPT: Final = frozenset({"min", "max"})
_NEIGHBOURS: Final = frozenset({"lag", "lead"})
_ALL_ROWS: Final = ("unbounded preceding", "unbounded following")
_FIRST: Final = Literal(1, INTEGER)
_ONE: Final = Bounds(Fraction(1), Fraction(1), Fraction(1))
_NEVER_NULL: Final = frozenset({"count", "row_number"})


@dataclass(frozen=True, slots=True)
class PersonRows:
    """Rows of each person that a number is computed from: of what `shape`, in which `parts`, and how many there are at most."""

    shape: str
    parts: str
    most: int | None


@dataclass
class PersonValues(Derivation):
    """`singles` are the bases of tables that have one row for each person, and the units of other rows. `grouped_rows` are the rows behind each grouping by
    person, `window_rows` those behind each value of a window; `divisions` divide the rows of a person. `numbered` are the rows
    behind the numbers of all rows of a person. `readings` are numbers of persons as expressions over rows.
    """

    singles: set[str] = field(default_factory=set)
    grouped_rows: dict[str, Relation] = field(default_factory=dict)
    window_rows: dict[str, Relation] = field(default_factory=dict)
    divisions: list[Scalar] = field(default_factory=list)
    numbered: dict[str, Relation] = field(default_factory=dict)
    readings: dict[str, RowReading] = field(default_factory=dict)
    _places: dict[str, tuple[Measure, PersonRows]] = field(default_factory=dict)

    def parted(self, relation: Relation) -> tuple[Relation, tuple[Scalar, ...]]:
        """The relation without the conditions that are about the person, and these conditions.

        They are true for all rows of a person or for none, so values computed from the rows of one person do not depend on
        them.
        """
        whole = [one for one in relation.conditions if column_ids(one) <= self.singles]
        rest = tuple(one for one in relation.conditions if one not in whole)
        return replace(relation, conditions=rest), tuple(whole)

    def window(self, node: Window, below: Relation) -> Relation:
        """The rows with the values of the window functions beside them."""
        bounds = columns_of(node, narrowed=False)
        over = self.text(self.parted(below)[0])
        columns = dict(below.columns)
        # ties in the order of a window are broken by all other columns
        every = column_ids(*below.columns.values())
        for name, call in node.items:
            if is_own_value(call):
                columns[name] = self.resolved(call.arguments[0], below.columns)
                continue
            text = window_text(call, lambda one: self.resolved(one, below.columns), below, every)
            said = f"{text} over ({over})"
            chosen = self.is_window_choice(call, node.child)
            parted = (one for one in call.partition if not is_unit(one))
            self.divisions += [self.resolved(one, below.columns) for one in parted]
            like = Ref(Field(name, call.type))
            given = tuple(self.resolved(one, below.columns) for one in call.arguments)
            limits = bounds.get(name)
            if call.frame is None:
                limits = row_count_bounds(Measure(call.function, given, call.type), limits)
            there = call.function not in _NEVER_NULL
            made = self.made(
                said, like, every, limits, nullable=there, chosen=chosen, of_person=True
            )
            order = (self.resolved(one, below.columns) for one, _ in call.order)
            self.made_from[made.field.id] = column_ids(*given, *order)
            if call.function in _UNORDERED:
                measure = Measure(call.function, given, call.type)
                self.measures[made.field.id] = measure
                self._read(made, measure, self._frame(call, below, node.child.label))
            if call.function in _NEIGHBOURS:
                self._read_neighbour(made, call, below, every)
            if call.function in _UNORDERED or call.function == "row_number":
                self.window_rows[made.field.id] = below
            if (
                call.function == "row_number"
                and call.partition
                and all(map(is_unit, call.partition))
            ):
                self.numbered[made.field.id] = below
                self.readings[made.field.id] = RowReading(_FIRST)
            columns[name] = made
        return replace(below, columns=columns)

    def per_unit(self, node: PerUnit, rows: Relation) -> Relation:
        """The groups of the rows of each person."""
        below, persons = self.parted(rows)
        bounds = columns_of(node, narrowed=False)
        keys = [self.resolved(one, below.columns) for _, one in node.keys]
        self.divisions += [
            made for made, (_, one) in zip(keys, node.keys, strict=True) if not is_unit(one)
        ]
        said = _keys_text(
            made for made, (_, one) in zip(keys, node.keys, strict=True) if not is_unit(one)
        )
        grouped = f"{self.text(below)} by {said}"
        columns: dict[str, Scalar] = {}
        fields = iter(node.fields)
        for made in keys:
            columns[next(fields).id] = self.whole(made)
        for one, (_, measure) in zip(fields, node.measures, strict=True):
            kept = self.measure(measure, below.columns)
            read = {each for part in kept.scalars for each in column_ids(part)}
            if self._is_own_value(kept, read):
                columns[one.id] = self.whole(kept.arguments[0])
                continue
            limits = row_count_bounds(kept, bounds.get(one.id))
            time = least_time(kept)
            if time is not None:
                kept, limits = time[0], self._row_bounds(time[0].arguments[0])
            there = kept.function != "count"
            chosen = self.is_choice(measure, of_person=True)
            like = Ref(Field(one.id, kept.type))
            made = self.made(
                f"{kept} of ({grouped})",
                like,
                read,
                limits,
                nullable=there,
                chosen=chosen,
                of_person=True,
            )
            columns[one.id] = made if time is None else self.whole(normal(time[1](made)))
            self.measures[made.field.id] = kept
            self._read(made, kept, self._place(below, said, node.child.label))
            self.grouped[made.field.id] = f"({grouped})", below
        self.grouped_rows[f"({grouped})"] = below
        reaches = frozenset(each for atom in below.atoms for each in atom.reaches)
        once = all(
            is_unit(one) or column_ids(made) <= self.singles
            for made, (_, one) in zip(keys, node.keys, strict=True)
        )
        atom = Atom(f"({grouped})", None, reaches, grouped=once)
        return Relation(columns, (atom,), conditions=persons)

    def _read(self, number: Ref, measure: Measure, place: PersonRows) -> None:
        """Remember the readings of this number of persons."""
        if self.bases[number.field.id].axis is None:
            return  # a condition chose it: it is opaque in any words
        inner = {name: one.one for name, one in self.readings.items()}
        given = measure.map_scalars(lambda one: substitute(one, inner))
        found = self._reading(given, place)
        if found is not None:
            self.readings[number.field.id] = found
            self._places[number.field.id] = given, place

    def reading_inside(self, name: str, inside: Change) -> RowReading:
        """The reading of a number in the sides of unions that `inside` puts in the places of their columns."""
        if name not in self._places:
            return self.readings[name]
        measure, place = self._places[name]
        given = measure.map_scalars(inside)
        return (None if given == measure else self._reading(given, place)) or self.readings[name]

    def _reading(self, measure: Measure, place: PersonRows) -> RowReading | None:
        reader = RowReader(
            lambda value: self._row_value(value, f"{value.text} of a row {place.parts}"),
            lambda value: self._row_value(
                replace(value, bounds=_summed(value.bounds, place.most)),
                f"sum of {value.text} of rows {place.parts}",
            ),
            lambda: self._row_value(
                RowValue("", frozenset(), BIGINT, _summed(_ONE, place.most)),
                f"number of rows of {place.shape} {place.parts}",
            ),
            self._row_bounds,
            lambda scalar: (
                len(column_ids(scalar)) <= 1 or write_difference(scalar, self.bases) is not None
            ),
        )
        found = reader.read(measure)
        if found is None:
            return None
        alike = None if found.alike is None else self.whole(normal(found.alike))
        return RowReading(self.whole(normal(found.one)), alike)

    def _read_neighbour(
        self, number: Ref, call: WindowCall, below: Relation, every: frozenset[str]
    ) -> None:
        """Read a value of an earlier or a later row as the same expression over the columns of that row."""
        if self.bases[number.field.id].axis is None:
            return
        blank = replace(call, arguments=(_FIRST, *call.arguments[1:]))
        text = window_text(blank, lambda one: self.resolved(one, below.columns), below, every)
        inner = {name: one.one for name, one in self.readings.items()}
        value = substitute(self.resolved(call.arguments[0], below.columns), inner)
        columns = {name: self._neighbour(self.bases[name], text) for name in column_ids(value)}
        self.readings[number.field.id] = RowReading(self.whole(substitute(value, columns)))

    def _neighbour(self, base: Base, text: str) -> Ref:
        """A column of the other row."""
        name = shorten(f"{base.field.id} of {text}")
        axis = base.axis and replace(base.axis, name=name, nullable=True, of_person=True)
        self.made_from[name] = frozenset({base.field.id})
        kept = replace(base.field, id=name, nullable=True)
        return self.base(replace(base, field=kept, axis=axis))

    def _place(self, below: Relation, keys: str, label: Label) -> PersonRows:
        """The rows of each person, whatever conditions they meet: these are conditions of the reading, too."""
        most = label.rows if isinstance(label, Protected) else None
        return PersonRows(ungroup(below, self.grouped_rows).shape, f"by {keys}", most)

    def _frame(self, call: WindowCall, below: Relation, label: Label) -> PersonRows:
        """The same of a window."""
        over = over_bases(call, lambda one: self.resolved(one, below.columns))
        place = self._place(below, _keys_text(over.partition), label)
        if call.frame == _ALL_ROWS or not (over.order or call.frame):
            return place
        order = [scalar_sql(one) + (" desc" if down else "") for one, down in over.order]
        frame = " to ".join(over.frame or ())
        return replace(place, parts=f"{place.parts} in the order of {order} {frame}")

    def _row_value(self, value: RowValue, name: str) -> Ref:
        like = Ref(Field(name, value.type))
        return self.made(name, like, value.uses, value.bounds, of_person=True)

    def _row_bounds(self, scalar: Scalar) -> Bounds:
        fields = (self.bases[one].field for one in column_ids(scalar))
        return bounds_of(scalar, {one.id: domain_bounds(one.domain, one.type) for one in fields})

    def _is_own_value(self, measure: Measure, read: set[str]) -> bool:
        """Whether it is the least or the greatest of values that are equal in all rows of the person: one of these."""
        return measure.function in _KEPT and measure.where is None and read <= self.singles

    def is_once(self, relation: Relation) -> bool:
        """Whether it has at most one row for each person: by what it joins, or because it has one number of these rows."""
        return relation.is_once or bool(self._numbers(relation))

    def has_first_rows(self, relation: Relation) -> bool:
        """Whether it has the first of each person's rows, by their numbers."""
        return 1 in self._numbers(relation).values()

    def without_first(self, relation: Relation) -> Relation:
        """The rows whatever their numbers are, where it has the first of each person's rows and no other condition on them.

        INVARIANT: whoever has such rows has a first one.
        """
        for name, number in self._numbers(relation).items():
            others = tuple(one for one in relation.conditions if name not in column_ids(one))
            about = (one for one in relation.conditions if one not in others)
            if number != 1 or any(column_ids(one) != {name} for one in about):
                continue
            rest, _ = self.parted(replace(relation, conditions=others))
            if set(rest.conditions) <= set(self.numbered[name].conditions):
                return replace(relation, conditions=others)
        return relation

    def _numbers(self, relation: Relation) -> dict[str, int | None]:
        """The numbers of a person's rows of which it has one alone, and which one; None for a number that nobody has."""
        names = [
            name
            for name, rows in self.numbered.items()
            if (rows.atoms, rows.links) == (relation.atoms, relation.links)
        ]
        if not names:
            return {}
        boxes = self.region(relation).boxes
        found = {name: _numbers_in([box.along(name) for box in boxes]) for name in names}
        return {
            name: min(one, default=None)
            for name, one in found.items()
            if one is not None and len(one) <= 1
        }

    def rows_of(self, relation: Relation) -> Relation | None:
        """The rows that were grouped by person, with the tables that are joined to them; None if nothing was grouped.

        Every column of it is a base. Conditions on values that were computed for each person stay.
        """
        found = ungroup(relation, self.grouped_rows)
        if found is relation:
            return None
        return self.with_bases(found)


def _numbers_in(several: Sequence[Cells | None]) -> set[int] | None:
    """The ends of these cells of numbers from 1 on; None if a number may be missing."""
    found = set[int]()
    for cells in several:
        if not isinstance(cells, StepCells) or cells.null:
            return None
        ranges = ((max(low, 1), high) for low, high in cells.ranges if high >= 1)
        found |= {end for one in ranges for end in one}
    return found


def _keys_text(keys: Iterable[Scalar]) -> str:
    return ", ".join(["person", *sorted({scalar_sql(one) for one in keys})])


def _summed(bounds: Bounds, rows: int | None) -> Bounds:
    """The bounds of a sum of so many values at most."""
    if bounds.low is None or bounds.high is None or rows is None:
        return OPEN
    nothing = Fraction(0)
    return Bounds(rows * min(bounds.low, nothing), rows * max(bounds.high, nothing), bounds.step)
