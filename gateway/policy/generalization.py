"""Generalization: a plan in which columns are read by their levels and no finer.

Takes a plan and how the statement reads its columns. Gives the plan in which every expression reads the generalised value.
Where nothing but expressions reads a column, its level is written into these, so that enumerations, ranges and the auditor
see it where it stands. Otherwise a projection above the scan has the generalised values in the place of the stored ones.
Row rules become filters directly above the scans afterwards: they read stored values.

INVARIANT: above a scan with its row rules, no expression, order, sample or union reads a value finer than the level; only
arguments of the outermost aggregates do, by their own level, where nothing in them is a condition on the column.
INVARIANT: types and names stay what they were, so the rest of the statement is as it was bound.
See tests/policy/test_generalization.py.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import partial
from math import floor
from typing import Final

from gateway.catalog.domains import Interval
from gateway.catalog.tables import ColumnRef
from gateway.catalog.types import Family
from gateway.plan.affine import Affinity
from gateway.plan.aggregates import Aggregate, Measure
from gateway.plan.fields import BOOLEAN, INTEGER, NUMERIC, TEXT, TIMESTAMP, Field, Protected
from gateway.plan.joins import Join, Mark, UnionAll, is_cut
from gateway.plan.node import BrokenPlan, Node, walk_nodes
from gateway.plan.relations import Filter, Project, Scan, Window
from gateway.plan.rewrite import map_node
from gateway.plan.scalars import (
    Call,
    Case,
    Cast,
    Literal,
    Ref,
    Scalar,
    column_ids,
    map_parts,
    transform,
)
from gateway.policy.levels import (
    Level,
    PeriodLevel,
    PrefixLevel,
    ReadLevel,
    ReadLevels,
    StepLevel,
    TableLevel,
)
from gateway.ranges.rounding import rounded_sums

_MOST_RANGES: Final = 100


def generalize(plan: Aggregate, levels: ReadLevels) -> Aggregate:
    """The plan with its columns at their levels."""
    read = {
        one.id
        for node in walk_nodes(plan)
        if isinstance(node, Scan)
        for one, _ in _levelled(node, levels)
    }
    if not read:
        return plan
    inline = not (
        _may_sample(plan) or any(_reads_whole_rows(node, read) for node in walk_nodes(plan))
    )
    below = _generalized(plan.child, levels, inline=inline)
    if inline and any(
        isinstance(one, Join | Mark) and is_cut(one) for one in walk_nodes(below.node)
    ):
        below = _generalized(plan.child, levels, inline=False)
    made = _over(plan, (below,))
    if not isinstance(made, Aggregate):
        raise BrokenPlan("a release that is none any more")
    if not below.coarse:
        return made
    affinity = Affinity.of(plan, for_rights=True)
    fine = tuple(
        (name, replace(new, arguments=_arguments(own, below, affinity)))
        for (name, own), (_, new) in zip(plan.measures, made.measures, strict=True)
    )
    # a sum whose rounding tells rows apart is a condition, as the statement has it and as it is read
    rounded = rounded_sums(plan) | rounded_sums(replace(made, measures=fine))
    measures = tuple(
        (name, new if own in rounded or finer in rounded else finer)
        for (name, own), (_, new), (_, finer) in zip(
            plan.measures, made.measures, fine, strict=True
        )
    )
    return replace(made, measures=measures)


@dataclass(frozen=True)
class _Relation:
    """A relation that has stored values, and what is read in their place by the ids of their columns.

    `fine` is read in the arguments of aggregates that are no condition on the column.
    """

    node: Node
    coarse: Mapping[str, Scalar] = field(default_factory=dict)
    fine: Mapping[str, Scalar] = field(default_factory=dict)


def _levelled(scan: Scan, levels: ReadLevels) -> list[tuple[Field, ReadLevel]]:
    """The columns of a table that are read by levels."""
    return [
        (one, read)
        for column, one in zip(scan.table.columns, scan.fields, strict=True)
        if (read := levels.get(ColumnRef(scan.table.name, column.name))) is not None
    ]


def _reads_whole_rows(node: Node, read: set[str]) -> bool:
    """Whether the node reads columns that none of its expressions names, or compares one of these columns in a join.

    Windows order rows by all columns, unions put columns together by their places, and a join that is cut samples rows by
    all columns.
    """
    if isinstance(node, Window | UnionAll):
        return True
    if not isinstance(node, Join | Mark):
        return False
    compared = frozenset[str]() if node.condition is None else column_ids(node.condition)
    return not read.isdisjoint(compared) or is_cut(node)


def _may_sample(plan: Node) -> bool:
    """Whether rows of a person may be sampled by all columns: in a join of such rows, or beside a public table in another join.

    One row that is declared of a person is no proof: without a constraint of the source the side is cut to it.
    """
    joins = [one for one in walk_nodes(plan) if isinstance(one, Join | Mark)]
    if any(all(isinstance(side.label, Protected) for side in one.below) for one in joins):
        return True
    return len(joins) > 1 and any(isinstance(one, Join) and one.assumed_unique for one in joins)


def _generalized(node: Node, levels: ReadLevels, *, inline: bool) -> _Relation:
    if isinstance(node, Scan):
        found = _levelled(node, levels)
        if not found:
            return _Relation(node)
        if inline:
            return _scanned(node, found)
        return _Relation(_projected(node, levels))
    below = tuple(_generalized(one, levels, inline=inline) for one in node.below)
    made = _over(node, below)
    if isinstance(node, Filter | Join):
        coarse = {name: one for each in below for name, one in each.coarse.items()}
        fine = {name: one for each in below for name, one in each.fine.items()}
        return _Relation(made, coarse, fine)
    if isinstance(node, Mark):
        return _Relation(made, below[0].coarse, below[0].fine)
    if isinstance(node, Window | UnionAll) and any(one.coarse for one in below):
        raise BrokenPlan("stored values where rows are read as a whole")
    return _Relation(made)


def _projected(scan: Scan, levels: ReadLevels) -> Node:
    """The table with the generalised values under the ids of the stored ones, whose ids are others then."""
    stored = Scan(scan.table, f"{scan.alias} stored", scan.unit)
    scanned = _scanned(stored, _levelled(stored, levels))
    items = tuple(
        (column.name, scanned.coarse.get(one.id, Ref(one)))
        for column, one in zip(scan.table.columns, stored.fields, strict=True)
    )
    return Project(scanned.node, scan.alias, items)


def _scanned(scan: Scan, found: list[tuple[Field, ReadLevel]]) -> _Relation:
    """The rows of a table, joined with the tables of levels, and the values at the levels."""
    rows: Node = scan
    coarse: dict[str, Scalar] = {}
    fine: dict[str, Scalar] = {}
    for column, read in found:
        rows, coarse[column.id] = _read_by(read.level, column, rows)
        fine[column.id] = Ref(column) if read.measures is None else coarse[column.id]
        if read.measures not in {None, read.level}:
            rows, fine[column.id] = _read_by(read.measures, column, rows)
    return _Relation(rows, coarse, fine)


def _over(node: Node, below: tuple[_Relation, ...]) -> Node:
    """The node over these relations, reading what is to be read."""
    given = {name: one for each in below for name, one in each.coarse.items()}
    nodes = tuple(one.node for one in below)
    there = {one.id: one for child in nodes for one in child.fields}
    return map_node(node, nodes, partial(_read, given=given, there=there))


def _arguments(own: Measure, below: _Relation, affinity: Affinity) -> tuple[Scalar, ...]:
    """The arguments of an outermost aggregate, over the values that it may read."""
    there = {one.id: one for one in below.node.fields}
    given = dict(below.coarse)
    if own.function != "dp_top":  # these are keys
        conditions = affinity.conditions(own, of_person=False)
        given |= {
            name: fine
            for name, fine in below.fine.items()
            if there[name].origins.isdisjoint(conditions)
        }
    return tuple(_read(one, given=given, there=there) for one in own.arguments)


def _read(scalar: Scalar, *, given: Mapping[str, Scalar], there: Mapping[str, Field]) -> Scalar:
    """The expression over these columns, with what is given in the place of some."""

    def found(one: Scalar) -> Scalar:
        return Ref(there.get(one.field.id, one.field)) if isinstance(one, Ref) else one

    here = {name: transform(one, found) for name, one in given.items()}

    def read(one: Scalar) -> Scalar:
        if isinstance(one, Ref):
            return here.get(one.field.id, found(one))
        return map_parts(one, read)

    return read(scalar)


def _read_by(level: Level, column: Field, rows: Node) -> tuple[Node, Scalar]:
    """The value of a column at a level, over these rows and a table that is joined with them, if the level has one."""
    if isinstance(level, TableLevel):
        return _mapped(level, column, rows)
    return rows, level_value(level, column)


def level_value(level: StepLevel | PeriodLevel | PrefixLevel, column: Field) -> Scalar:
    """The value of a column at a level that follows from the value alone."""
    match level:
        case StepLevel():
            return _stepped(level, column)
        case PeriodLevel():
            return _at_beginning(level, column)
        case PrefixLevel():
            return _prefix(level, column)


def _stepped(level: StepLevel, column: Field) -> Scalar:
    """A multiple of the step; whole numbers from 0 by the division of whole numbers, others rounded down.

    Few steps of other numbers are a choice among ranges, which the auditor can compare.
    """
    value, domain = Ref(column), column.domain
    if column.type.resolution == level.step:
        return value
    if column.type.family is Family.WHOLE and isinstance(domain, Interval) and _is_positive(domain):
        step = Literal(int(level.step), column.type)
        times = Call("/", (value, step), column.type, column.nullable)
        return Call("*", (times, step), column.type, column.nullable)
    if isinstance(domain, Interval) and (ranges := _ranges(level, column, domain)) is not None:
        return ranges
    exact = Cast(value, NUMERIC) if column.type.family is Family.WHOLE else value
    by = Literal(level.step, NUMERIC)
    times = Call("floor", (Call("/", (exact, by), NUMERIC),), NUMERIC)
    rounded = Call("*", (times, by), NUMERIC)
    return rounded if column.type == NUMERIC else Cast(rounded, column.type)


def _ranges(level: StepLevel, column: Field, domain: Interval) -> Scalar | None:
    """The step of each range of a domain, NULL for NULL; None if there are many ranges."""
    low, high = domain.low, domain.high
    if not isinstance(low, int | Fraction) or not isinstance(high, int | Fraction):
        return None
    first, last = floor(low / level.step), floor(high / level.step)
    if last - first >= _MOST_RANGES:
        return None
    value, of = Ref(column), column.type

    def number(steps: int) -> Literal:
        exact = steps * level.step
        return Literal(int(exact) if of.family is Family.WHOLE else exact, of)

    below = [
        (Call("<", (value, number(step + 1)), BOOLEAN, column.nullable), number(step))
        for step in range(first, last)
    ]
    rest = (Call(">=", (value, number(last)), BOOLEAN, column.nullable), number(last))
    return Case((*below, rest), Literal(None, of), of)


def _is_positive(domain: Interval) -> bool:
    return isinstance(domain.low, int | Fraction) and domain.low >= 0


def _at_beginning(level: PeriodLevel, column: Field) -> Scalar:
    value, part = Ref(column), Literal(level.name, TEXT)
    if column.type.family is not Family.DATE:
        return Call("date_trunc", (part, value), TIMESTAMP, column.nullable)
    if level.name == "day":
        return value
    moment = Cast(value, TIMESTAMP)
    return Cast(Call("date_trunc", (part, moment), TIMESTAMP), column.type)


def _prefix(level: PrefixLevel, column: Field) -> Scalar:
    """The beginning of the text. Of listed texts it is computed where groups are listed and regions compared."""
    length = Literal(level.length, INTEGER)
    return Call("left", (Ref(column), length), column.type, column.nullable)


def _mapped(level: TableLevel, column: Field, rows: Node) -> tuple[Node, Scalar]:
    """The column of the public table in the row of the value; the table has one row for each, or one of them is taken."""
    wanted = {level.key, level.name}
    columns = tuple(one for one in level.table.columns if one.name in wanted)
    table = replace(level.table, columns=columns)
    scan = Scan(table, f"{column.id} {level.name}", "")
    there = {one.name: Ref(made) for one, made in zip(columns, scan.fields, strict=True)}
    same = Call("=", (Ref(column), there[level.key]), BOOLEAN)
    joined = Join(rows, scan, same, outer=True)
    found = next(one for one in joined.fields if one.id == there[level.name].field.id)
    return joined, Ref(found)
