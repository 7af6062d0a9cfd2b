"""Nodes of a plan as SQL. Every relation of persons has the unit of its rows beside its columns.

INVARIANT: above a scan nothing sees a value that is not enforced, nor a row without a unit; the unit itself and the
keys of unit paths are read as they are stored, since a clamp would make two persons one. Rows of persons meet rows of
persons only where the units that ride along are equal, whatever the condition says.
"""

from collections.abc import Mapping
from dataclasses import replace
from itertools import count

from sqlalchemy import Join as SqlJoin
from sqlalchemy import exists, literal_column, true, type_coerce, union_all

from gateway.catalog.domains import Interval
from gateway.catalog.tables import Column
from gateway.catalog.types import Family
from gateway.engines.sql.json_documents import with_json_values
from gateway.engines.sql.number_types import union_type
from gateway.engines.sql.partial_select import (
    UNIT,
    Dialect,
    Expressing,
    Expressions,
    RelationSql,
    Sql,
    StoredColumns,
    subquery_columns,
)
from gateway.engines.sql.per_unit import binary_key, unit_aggregate, unit_window
from gateway.engines.sql.pieces import Part, constant_relation, is_in_shard
from gateway.engines.sql.unit_paths import (
    follow_unit_path,
    own_unit,
    path_key_conditions,
    stored_table,
)
from gateway.functions.range_arithmetic import Range
from gateway.plan.aggregates import PerUnit
from gateway.plan.fields import Field, Protected
from gateway.plan.joins import Join, Mark, UnionAll, meets_parent
from gateway.plan.node import BrokenPlan, Node
from gateway.plan.relations import Constant, Filter, Project, Scan, StagedRows, Window
from gateway.plan.scalars import Cast, Ref, Scalar, walk_scalar
from gateway.ranges.relations import ranges_of
from gateway.sensitivity.measurement import Total

_MOST_REPEATED = 64  # expressions stand where they are used until they grow beyond this


class Relations:
    """Renders the nodes of one plan; with a `part`, over the rows of the persons in it."""

    def __init__(
        self,
        dialect: Dialect,
        expressing: Expressing,
        staged: Mapping[str, StagedRows],
        part: Part | None = None,
    ) -> None:
        self.dialect = dialect
        self._expressing = expressing
        self._staged = staged
        self._part = part
        self._numbers = count(1)

    def name(self) -> str:
        """A name that nothing else in the statement has."""
        return f"t{next(self._numbers)}"

    def expressions(self, related: RelationSql, *nodes: Node) -> Expressions:
        """Expressions over the columns of a relation; `nodes` are those whose columns they are."""
        ranges: dict[str, Range] = {}
        for one in nodes:
            ranges |= ranges_of(one)
        return self._expressing.over(self.dialect, related.columns, ranges, self._staged)

    def lattice(self, related: RelationSql, expressions: Expressions, total: Total) -> Sql:
        """The whole number of a total; a column that its lattice clamps is not clamped twice."""
        value, on = total.value, total.lattice
        if not isinstance(value, Ref) or value.field.id not in related.stored:
            return expressions.lattice(total)
        stored = related.stored[value.field.id]
        if on.low * on.step < stored.low or on.high * on.step > stored.high:
            return expressions.lattice(total)
        there = {value.field.id: stored.sql}
        return self._expressing.over(self.dialect, there, {}, self._staged).lattice(total)

    def of(self, node: Node) -> RelationSql:  # noqa: PLR0911 - one answer for each kind of node
        """The relation that a node means."""
        match node:
            case Scan():
                return self._scan(node)
            case Constant():
                return constant_relation(self.dialect, node, self._staged[node.name], self.name())
            case Filter():
                below = self.of(node.child)
                return below.filtered(self.expressions(below, node.child).sql(node.condition))
            case Project():
                return self._project(node)
            case Join():
                return self._join(node)
            case Mark():
                return self._mark(node)
            case UnionAll():
                return self._union(node)
            case PerUnit():
                return self._per_unit(node)
            case Window():
                return self._window(node)
            case _:
                raise BrokenPlan("a node that is no relation of the source")

    def _scan(self, scan: Scan, *, owned: bool = True) -> RelationSql:
        """The rows of a table; not `owned`: without following the unit path, and so without their unit."""
        scanned = scan.table
        there = stored_table(scanned.name, scanned.columns, self.name())
        there = with_json_values(self.dialect, there, scanned.columns, self.name)
        found = None
        if scanned.unit_column is not None:
            found = own_unit(self.dialect, there, scanned.unit_column)
        elif scanned.path is not None and owned:
            found = follow_unit_path(self.dialect, there, scanned.path, self.name)
        columns: dict[str, Sql] = {}
        clamped: dict[str, StoredColumns] = {}
        for one, made in zip(scanned.columns, scan.fields, strict=True):
            stored = there.c[one.name if one.json is not None else one.stored_name]
            if scanned.is_key(one):
                columns[made.id] = binary_key(stored, one.type)
                continue
            columns[made.id] = self._expressing.enforced(self.dialect, scanned, one, stored)
            ends = _whole_ends(one)
            if ends is not None:
                clamped[made.id] = StoredColumns(stored, *ends)
        source, unit = (there, None) if found is None else (found.source, found.unit)
        related = RelationSql(source, columns, unit, stored=clamped)
        kept = path_key_conditions(self.dialect, scanned, there)
        if found is not None:
            kept += found.conditions
            if self._part is not None:
                kept.append(is_in_shard(self.dialect, found.unit, found.type.type, self._part))
        return related.filtered(*kept)

    def _project(self, node: Project) -> RelationSql:
        below = self.of(node.child)
        expressions = self.expressions(below, node.child)
        items = [(made, one) for made, (_, one) in zip(node.fields, node.items, strict=True)]
        sizes = [
            sum(below.size if isinstance(part, Ref) else 1 for part in walk_scalar(one))
            for _, one in items
        ]
        made = RelationSql(
            below.source,
            {field.id: expressions.sql(one) for field, one in items},
            below.unit,
            below.where,
            max(sizes, default=1),
            {
                field.id: below.stored[one.field.id]
                for field, one in items
                if isinstance(one, Ref) and one.field.id in below.stored
            },
        )
        if made.size <= _MOST_REPEATED:
            return made
        return made.nested(self.name(), fenced=self.dialect == "postgresql")

    def _join(self, node: Join) -> RelationSql:
        left, right = self._sides(node)
        if node.outer:
            # what the far side computes must be NULL where it has no row
            right = right.nested(self.name())
        columns = {**left.columns, **right.columns}
        unit = left.unit if left.unit is not None else right.unit
        size = max(left.size, right.size)
        both = RelationSql(left.source, columns, unit, left.where)
        expressions = self.expressions(both, node.left, node.right)
        parts = [] if node.condition is None else [expressions.sql(node.condition)]
        if left.unit is not None and right.unit is not None:
            parts.append(left.unit == right.unit)
        on = true() if not parts else parts[0]
        for part in parts[1:]:
            on = on & part
        source = SqlJoin(left.source, right.source, on, isouter=node.outer)
        stored = {**left.stored, **right.stored}
        return RelationSql(source, columns, unit, (*left.where, *right.where), size, stored)

    def _sides(self, node: Join) -> tuple[RelationSql, RelationSql]:
        """Both sides. One that meets its parent here has the unit of the parent's row, and follows no path of its own."""
        if meets_parent(node.condition, node.right, node.left):
            return self.of(node.left), self._rows_of(node.right)
        if not node.outer and meets_parent(node.condition, node.left, node.right):
            return self._rows_of(node.left), self.of(node.right)
        return self.of(node.left), self.of(node.right)

    def _rows_of(self, node: Node) -> RelationSql:
        """The rows that `is_plain_scan` means, without their unit."""
        match node:
            case Filter():
                below = self._rows_of(node.child)
                return below.filtered(self.expressions(below, node.child).sql(node.condition))
            case Scan():
                return self._scan(node, owned=False)
            case _:
                raise BrokenPlan("rows without a unit that are not those of a table")

    def _mark(self, node: Mark) -> RelationSql:
        child = self.of(node.child)
        single = meets_parent(node.condition, node.inner, node.child)
        inner = (self._rows_of if single else self.of)(node.inner).nested(self.name())
        both = RelationSql(inner.source, {**child.columns, **inner.columns}, None)
        parts = []
        if node.condition is not None:
            parts.append(self.expressions(both, node.child, node.inner).sql(node.condition))
        if child.unit is not None and inner.unit is not None:
            parts.append(child.unit == inner.unit)
        found = (
            exists(literal_column("1"))
            .select_from(inner.source)
            .where(*parts)
            .correlate_except(inner.source)
        )
        # a mark is not to be repeated wherever it is used: it counts as large
        size = max(child.size, _MOST_REPEATED // 4)
        columns = {**child.columns, node.id: found}
        return RelationSql(child.source, columns, child.unit, child.where, size, child.stored)

    def _union(self, node: UnionAll) -> RelationSql:
        names = {one.id: f"c{place + 1}" for place, one in enumerate(node.fields)}
        sides, types = [], []
        for side in node.below:
            below = self.of(side)
            expressions = self.expressions(below, side)
            items = [
                expressions.sql(_as(one, made)).label(names[made.id])
                for one, made in zip(side.fields, node.fields, strict=True)
            ]
            sides.append(below.select(*items, below.owned.label(UNIT)))
            types.append([one.type for one in items])
        made = subquery_columns(union_all(*sides).subquery(self.name()), names, owned=True)
        if self.dialect != "duckdb":
            return made
        # a decimal without a scale has the digits that both sides need, and the first one alone says nothing of them
        columns = dict(made.columns)
        for one, kinds in zip(node.fields, zip(*types, strict=True), strict=True):
            if one.type.family is Family.EXACT:
                columns[one.id] = type_coerce(columns[one.id], union_type(kinds))
        return replace(made, columns=columns)

    def _per_unit(self, node: PerUnit) -> RelationSql:
        below = self.of(node.child)
        expressions = self.expressions(below, node.child)
        names = {one.id: f"c{place + 1}" for place, one in enumerate(node.fields)}
        label = node.child.label
        rows = label.rows if isinstance(label, Protected) else None
        keys = [expressions.key(key) for _, key in node.keys]
        ranges = ranges_of(node.child)
        measured = [
            unit_aggregate(self.dialect, expressions, one, ranges, rows) for _, one in node.measures
        ]
        items = [
            one.label(name) for one, name in zip((*keys, *measured), names.values(), strict=True)
        ]
        grouped = below.select(*items, below.owned.label(UNIT)).group_by(below.owned, *keys)
        return subquery_columns(grouped.subquery(self.name()), names, owned=True)

    def _window(self, node: Window) -> RelationSql:
        below = self.of(node.child).nested(self.name())
        expressions = self.expressions(below, node.child)
        label = node.child.label
        rows = label.rows if isinstance(label, Protected) else None
        ranges = ranges_of(node.child)
        columns = dict(below.columns)
        for name, call in node.items:
            columns[name] = unit_window(
                self.dialect, expressions, call, ranges, rows, unit=below.unit
            )
        return RelationSql(below.source, columns, below.unit).nested(self.name())


def _whole_ends(one: Column) -> tuple[int, int] | None:
    """The ends of the domain of whole numbers, whose clamp is nothing but a clamp."""
    domain = one.domain
    if one.stored_type or one.type.family is not Family.WHOLE or not isinstance(domain, Interval):
        return None
    low, high = domain.low, domain.high
    return (low, high) if isinstance(low, int) and isinstance(high, int) else None


def _as(one: Field, made: Field) -> Scalar:
    return Ref(one) if one.type == made.type else Cast(Ref(one), made.type)
