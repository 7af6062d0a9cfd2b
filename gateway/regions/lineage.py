"""Lineage of a plan: the base columns behind every column, the conditions on its rows, and the other tables it reads.

Filters and join conditions are kept as conditions. A relation that groups the rows of a person, numbers them,
or tests the existence of others, has a definition: its text, with the region of its input rows. Definitions with
equal regions have equal texts. Values and rows of a person that a condition chose are marked, and the matched
rows of an outer join are kept: a query that reveals them is a query about them.

INVARIANT: names are made of tables, columns and constants; they contain no alias and no id of a plan.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Final

from gateway.plan.affine import Affinity
from gateway.plan.aggregates import PerUnit
from gateway.plan.fields import BOOLEAN, Field, Protected, Tie
from gateway.plan.joins import Join, Mark, UnionAll, unit_equalities
from gateway.plan.narrowed_domains import conjuncts
from gateway.plan.node import BrokenPlan, Node
from gateway.plan.relations import Constant, Filter, Project, Scan, StagedRows, Window
from gateway.plan.scalars import Call, Literal, Ref, Scalar, column_ids
from gateway.plan.sql_text import scalar_sql
from gateway.ranges.rounding import rounded_sums
from gateway.regions.axis import partner_axis
from gateway.regions.base_columns import Base, bases_of, has_one_row
from gateway.regions.grouped_persons import RowsBehind, numbered_anew, persons_beside
from gateway.regions.join_partners import Partners
from gateway.regions.names import shorten
from gateway.regions.normal_form import conjunction, normal
from gateway.regions.path_links import LinkKind, PathLinks, ids_of
from gateway.regions.person_values import PersonValues
from gateway.regions.region import TooLarge
from gateway.regions.relation import (
    ONE,
    OUTER,
    Atom,
    Relation,
    is_always_met,
    is_equality,
    is_readable,
    is_small,
    is_there,
    joined,
    links_of_both,
    value_where,
)
from gateway.regions.scan_numbers import ScanNumbers
from gateway.regions.staged_constants import join_staged, match_staged
from gateway.regions.union_sides import SideRows, UnionSide, relations_inside

_TRUE: Final = Literal(value=True, type=BOOLEAN)


@dataclass
class Lineage(PersonValues):
    """Reads one plan from its root to its tables. `unions` are the sides of unions of protected rows, `equalities` the links
    between columns, both by their texts.
    """

    partners: Partners = field(default_factory=Partners)
    paths: PathLinks = field(default_factory=PathLinks)
    unions: dict[str, tuple[UnionSide, ...]] = field(default_factory=dict)
    equalities: dict[str, Scalar] = field(default_factory=dict)

    @classmethod
    def over(
        cls, plan: Node, constants: Mapping[str, str], known: Mapping[str, StagedRows]
    ) -> "Lineage":
        """The lineage of one plan, before it is read."""
        affinity, rounded = Affinity.of(plan), rounded_sums(plan)
        return cls(constants, known, affinity=affinity, rounded=rounded, scans=ScanNumbers(plan))

    def of(self, node: Node) -> Relation:  # noqa: PLR0911 - one answer for each kind of node
        match node:
            case Scan():
                return self._scan(node)
            case Constant():
                return self.constant(node)
            case Filter():
                return self._filter(node)
            case Project():
                return self._project(node)
            case Window():
                return self.window(node, self.of(node.child))
            case PerUnit():
                return self.per_unit(node, self.of(node.child))
            case Join():
                return self._outer(node) if node.outer else self._join(node)
            case Mark():
                return self._mark(node)
            case UnionAll():
                return self._union(node)
            case _:
                raise BrokenPlan("a node that nobody follows down")

    def _filter(self, node: Filter) -> Relation:
        below = self.of(node.child)
        added = conjuncts(self.resolved(node.condition, below.columns))
        return replace(below, conditions=(*below.conditions, *added))

    def _project(self, node: Project) -> Relation:
        below = self.of(node.child)
        made = (self.whole(self.resolved(one, below.columns)) for _, one in node.items)
        named = zip((one.id for one in node.fields), made, strict=True)
        return replace(below, columns=dict(named))

    def _scan(self, node: Scan) -> Relation:
        table = node.table
        name = table.name
        if not has_one_row(table):
            # the only row of a person in a table is the same wherever it is joined
            name = self.scans.numbered(name)
        found = bases_of(table, name)
        columns = {one.id: self.base(base) for one, base in zip(node.fields, found, strict=True)}
        own = has_one_row(table)
        self.singles |= {
            base.field.id
            for one, base in zip(node.fields, found, strict=True)
            if own or one.tie is Tie.ALWAYS
        }
        return Relation(columns, (self.paths.add_scan(node, name, found),))

    def _join(self, node: Join) -> Relation:
        left, right = self.of(node.left), self.of(node.right)
        chosen = join_staged(node, left, right, self.known, self.resolved)
        if chosen is not None:
            return chosen
        columns = {**left.columns, **right.columns}
        links, conditions = self._linked(node, node.condition, columns)
        asked = (*left.conditions, *right.conditions, *conditions)
        return joined(left, right, links, columns, asked)

    def _linked(
        self, node: Join | Mark, condition: Scalar | None, columns: Mapping[str, Scalar]
    ) -> tuple[frozenset[str], tuple[Scalar, ...]]:
        """Equalities between columns of both sides, as texts, and the other conditions.

        The equality of the unit is left out: rows of persons are joined in no other way. If a unit column comes from the
        far side of an outer join, the condition that it is not NULL remains.
        """
        if condition is None:
            return frozenset(), ()
        left, right = node.below
        both = isinstance(left.label, Protected) and isinstance(right.label, Protected)
        pairs = unit_equalities(condition, left, right) if both else []
        same = {frozenset({one.id, other.id}) for one, other in pairs}
        missing = {each.id: each for pair in pairs for each in pair if each.tie is not Tie.ALWAYS}
        sides = [{one.id for one in each.fields} for each in (left, right)]
        links, conditions = set[str](), list[Scalar]()
        for part in conjuncts(condition):
            read = column_ids(part)
            if read in same and is_equality(part):
                conditions += (
                    made
                    for one in sorted(read & missing.keys())
                    for made in conjuncts(self.resolved(is_there(missing[one]), columns))
                )
                continue
            made = self.met(part, columns)
            # an equality with an expression, or with released or given values, is a condition
            told = all(self.bases[one].axis is not None for one in column_ids(made))
            if told and is_equality(made) and all(read & side for side in sides):
                links.add(said := scalar_sql(made))
                self.equalities[said] = made
            else:
                conditions.extend(conjuncts(made))
        return frozenset(links), tuple(conditions)

    def _outer(self, node: Join) -> Relation:
        left, right = self.of(node.left), self.of(node.right)
        chosen = join_staged(node, left, right, self.known, self.resolved)
        if chosen is not None:
            return chosen
        links, conditions = self._linked(node, node.condition, {**left.columns, **right.columns})
        asked = (*right.conditions, *conditions)
        if is_always_met(left, right, links):
            # every row has exactly one partner: conditions on the partner are conditions on the row
            columns = dict(left.columns)
            for name, one in right.columns.items():
                columns[name] = normal(value_where(conjunction(asked), one)) if asked else one
            return joined(left, right, links, columns, left.conditions)
        on = [*links, *([] if not conditions else [scalar_sql(conjunction(conditions))])]
        beside = f" on {' and '.join(sorted(on))}" if on else ""
        once = isinstance(node.right.label, Protected) and self.is_once(right)
        said = f"{ONE if once else OUTER} ({self.text(right)}{beside})"
        columns = dict(left.columns)
        told = self.paths.kind(node, [self.equalities[one] for one in links], conditions, right)
        there = self._exists(right, links, conditions, told) if asked else None
        for name, one in right.columns.items():
            far = self._far(one, said, missing=there is None)
            columns[name] = far if there is None else normal(value_where(self._met(there), far))
        if there is None and (met := self._few(right)) is not None:
            far_ids = frozenset(each for one in right.columns for each in column_ids(columns[one]))
            self.partners.few[said] = met, far_ids
        if there is not None:
            apart = self._exists_apart(left, right, links, conditions, told)[1]
            self.partners.add_outer(said, there, apart)
        self.partners.meet(left, right, links, asked)
        every = links_of_both(left.links, frozenset({said}))
        return replace(left, columns=columns, links=every)

    def _few(self, right: Relation) -> Ref | None:
        """Whether a row has a partner, if conditions below a grouping or a union leave few rows; else None."""
        met = self._exists(right, frozenset(), (), LinkKind.KEYS)
        axis = self.bases[met.field.id].axis
        return met if axis is not None and axis.size is None else None

    def _far(self, scalar: Scalar, said: str, *, missing: bool) -> Ref:
        """A column of the side that may be missing. With `missing`, it may be NULL for that reason."""
        name = f"{scalar_sql(scalar)} of {said}"
        self.partners.near[shorten(name)] = scalar
        self.made_from[shorten(name)] = column_ids(scalar)
        if not isinstance(scalar, Ref) or (axis := self.bases[scalar.field.id].axis) is None:
            return self.made(name, scalar, column_ids(scalar))
        base = self.bases[scalar.field.id]
        nullable = missing or base.field.nullable
        kept = replace(base.field, id=shorten(name), nullable=nullable)
        return self.base(
            replace(base, field=kept, axis=replace(axis, name=kept.id, nullable=nullable))
        )

    def _mark(self, node: Mark) -> Relation:
        below = self.of(node.child)
        with self.scans.below_exists(node.inner):
            inner = self.of(node.inner)
        columns = {**below.columns, **inner.columns}
        links, conditions = self._linked(node, node.condition, columns)
        if len(inner.atoms) == 1 and is_always_met(below, inner, links):
            # there is exactly one such row: conditions on it are conditions on the row
            asked = (conjunction((*inner.conditions, *conditions)),)
            held = normal(Call("is true", asked, BOOLEAN, nullable=False))
            marked = {**below.columns, node.id: held}
            return joined(below, inner, links, marked, below.conditions)
        held_by = match_staged(node, inner, columns, self.known, self.resolved)
        if held_by is not None:
            return replace(below, columns={**below.columns, node.id: held_by})
        told = self.paths.kind(node, [self.equalities[one] for one in links], conditions, inner)
        made, held = self._exists_apart(below, inner, links, conditions, told)
        if isinstance(node.inner.label, Protected):
            self.partners.near[made.field.id] = _TRUE
            rows = replace(inner, conditions=(*inner.conditions, *conditions))
            self.partners.meet(below, self.without_unread(rows, links), links, rows.conditions)
        return replace(below, columns={**below.columns, node.id: held})

    def _exists_apart(
        self,
        outer: Relation,
        inner: Relation,
        links: frozenset[str],
        conditions: tuple[Scalar, ...],
        told: LinkKind,
    ) -> tuple[Ref, Scalar]:
        """Whether a row exists, without the conditions on the outer row and on the person's only row in a table, and the
        same with them. They do not depend on the row that is found, so they are conditions on the outer row.
        """
        parted, whole = self.parted(inner)
        near = self.singles | ids_of(outer) - ids_of(inner)
        whole += tuple(one for one in conditions if column_ids(one) <= near)
        rest = tuple(one for one in conditions if one not in whole)
        made = self._exists(parted, links, rest, told)
        if not whole:
            return made, self._met(made)
        asked = Call("is true", (conjunction(whole),), BOOLEAN, nullable=False)
        return made, normal(conjunction((self._met(made), asked)))

    def _exists(
        self,
        inner: Relation,
        links: frozenset[str],
        conditions: tuple[Scalar, ...],
        told: LinkKind,
    ) -> Ref:
        on = sorted([*links, *(scalar_sql(one) for one in conditions)])
        beside = f" and {' and '.join(on)}" if on else ""
        inside = relations_inside(inner, self.grouped_rows, self.unions, self.equalities)
        rows = inner if inside is None else self._existing(inner, alone=not on)
        name = shorten(f"exists ({self.text(rows)}{beside})")
        every = tuple(
            replace(one, conditions=(*one.conditions, *conditions)) for one in inside or (inner,)
        )
        read = {each for one in every for part in one.conditions for each in column_ids(part)}
        uses = frozenset(each for one in read for each in self.bases[one].uses)
        tested = self.tested(read)
        asked = [*map(self.region, every), *(tested or ())]
        small, unread = any(map(is_small, asked)), not all(map(is_readable, asked))
        opaque = told is LinkKind.OTHER or inside is None or tested is None or unread
        quasi = any(self.bases[one].quasi for one in read) and (opaque or small)
        kept = Field(name, BOOLEAN)
        # a person who has such a row is one of few if the conditions are small
        axis = None if opaque else partner_axis(name, quasi=quasi, few=small)
        return self.base(Base(kept, axis, uses, quasi))

    def _existing(self, rows: Relation, *, alone: bool) -> Relation:
        """The rows in the form that all rows have that exist for the same persons. `alone`: nothing else names their scans."""
        try:
            found = replace(self._behind.existing(rows), columns={})
        except TooLarge:
            return rows
        return self._numbered_anew(found) if alone else found

    @property
    def _behind(self) -> RowsBehind:
        return RowsBehind(self.grouped_rows, self.unions, self.equalities, self.partners.near)

    def without_unread(self, rows: Relation, links: frozenset[str] = frozenset()) -> Relation:
        """The rows without outer joins that neither their conditions nor these links read: each row once, where only its existence
        is asked for.
        """
        found = self._behind.without_unread(replace(rows, links=rows.links | links))
        return replace(rows, links=rows.links & found.links)

    def _numbered_anew(self, rows: Relation, kept: frozenset[str] = frozenset()) -> Relation:
        anew = numbered_anew(rows, self.bases, self.equalities, kept)
        if anew is None:
            return rows
        made, bases, equalities = anew
        for one in bases:
            self.base(one)
        self.equalities |= equalities
        return made

    def persons_of(self, relation: Relation, keys: frozenset[str]) -> Relation | None:
        """The persons of a relation: with EXISTS of rows in the place of their groups by person. None if nothing was grouped.

        `keys` are the bases that its groups are divided by.
        """
        grouped = [one for one in relation.atoms if one.grouped]
        if not grouped:
            return None
        others = [one for one in relation.atoms if not one.grouped]
        asked = [self._persons_with(self.grouped_rows[one.text]) for one in grouped]
        if any(one is None for one in asked):
            return None
        added = [each for one in asked if one is not None for each in one]
        found = persons_beside(relation, others, grouped, added)
        return None if found is None else self._numbered_anew(found, keys)

    def persons_of_rows(
        self, relation: Relation, conditions: tuple[Scalar, ...]
    ) -> Relation | None:
        """The persons with a row of a relation that meets these conditions, as a count of distinct units counts them."""
        asked_of = replace(relation, conditions=(*relation.conditions, *conditions))
        parted, whole = self.parted(self.without_first(asked_of))
        kept = [one for one in relation.atoms if one.single is not None]
        asked = self._persons_with(parted)
        if asked is None:
            return None
        rows = [one for one in relation.atoms if one.single is None]
        return persons_beside(Relation(relation.columns, (), conditions=whole), kept, rows, asked)

    def _persons_with(self, rows: Relation) -> tuple[Scalar, ...] | None:
        """What persons meet who have such rows, other than that they are in tables of persons; None if it is opaque."""
        if relations_inside(rows, self.grouped_rows, self.unions, self.equalities) is None:
            return None
        parted, whole = self.parted(self._existing(rows, alone=True))
        several = tuple(one for one in parted.atoms if one.single is None)
        if not (several or parted.links or parted.conditions):
            return whole
        inner = replace(parted, atoms=several or parted.atoms)
        there = self._exists(inner, frozenset(), (), LinkKind.KEYS)
        if self.bases[there.field.id].axis is None:
            return None
        return (*whole, self._met(there))

    def _met(self, there: Ref) -> Scalar:
        """Whether a row meets a partner. What is opaque is a condition by itself."""
        return there if self.bases[there.field.id].axis is None else is_there(there.field)

    def _union(self, node: UnionAll) -> Relation:
        both = [self._side(one) for one in self.scans.sides(node)]
        sides = sorted(both, key=lambda one: one.order)
        said = self.scans.numbered(f"({' union all '.join(one.text for one in sides)})")
        made = []
        for one, *pair in zip(node.fields, *(each.columns for each in sides), strict=True):
            name = f"{' else '.join(map(scalar_sql, pair))} of {said}"
            made.append(self.made(name, Ref(one), column_ids(*pair)))
        if isinstance(node.label, Protected):
            self.unions[said] = UnionSide.all_of(sides, made)
        reached = (
            frozenset().union(*(each.reaches for each in one.relation.atoms)) for one in sides
        )
        columns = {one.id: ref for one, ref in zip(node.fields, made, strict=True)}
        return Relation(columns, (Atom(said, None, frozenset.intersection(*reached)),))

    def _side(self, node: Node) -> SideRows:
        """The rows of a side, and the join partners below it, which concern this side alone."""
        others, self.partners.met = self.partners.met, []
        relation = self.of(node)
        met, self.partners.met = tuple(self.partners.met), others
        columns = tuple(relation.columns[one.id] for one in node.fields)
        return SideRows(self.text(relation), relation, columns, met)
