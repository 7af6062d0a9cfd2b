"""Relations as they are followed down: what is joined, what every column is, which conditions hold."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from fractions import Fraction
from itertools import combinations, product
from typing import Final

from gateway.catalog.tables import ColumnRef
from gateway.functions.range_arithmetic import Bounds
from gateway.plan.aggregates import Measure, WindowCall
from gateway.plan.fields import BOOLEAN, Field
from gateway.plan.node import is_unit
from gateway.plan.rewrite import replace_columns
from gateway.plan.scalars import Call, Case, Change, Literal, Ref, Scalar
from gateway.regions.axis import AxisKind, RegionAxis
from gateway.regions.cells import Cells, axis_width, cell_count, is_only_null, without_null
from gateway.regions.normal_form import normal
from gateway.regions.region import Box, Region
from gateway.regions.time_differences import dependent_axes

OUTER: Final = "left join"
"""How the link of an outer join begins."""
ONE: Final = f"{OUTER} one"
"""How it begins if each row has at most one partner."""
AGAIN: Final = "#"
"""In the name of each scan of a table but the first."""
_FINE: Final = 24
_FEW: Final = 3  # days, years or amounts: fewer than a week, which is a common window
_FEW_UNSIZED: Final = (
    9  # identifiers, or numbers without a domain: fewer than ten people may have them
)
_CORNER: Final = 5_000  # a week of 30 years is wider than one in so many, a few amounts and three wide conditions are not
_MOST_NESTED: Final = 8


@dataclass(frozen=True, slots=True)
class PathEnd:
    """A column that holds a key of a unit path: the id of its base, and the parent's column `target`."""

    base: str
    target: ColumnRef


@dataclass(frozen=True, slots=True)
class Atom:
    """A relation that is joined. `single` is its table if that has one row for each person. `reaches` are tables of that
    kind in which, by declaration, the person of each of its rows has a row. `edge` is the first key of its unit path, `keys` are
    its own columns to which unit paths lead. `fields` are the columns of a scan, by their bases. `grouped`: it has one row
    for each person at most, whose rows were grouped.
    """

    text: str
    single: str | None = None
    reaches: frozenset[str] = frozenset()
    edge: PathEnd | None = None
    keys: frozenset[PathEnd] = frozenset()
    fields: tuple[Field, ...] = ()
    grouped: bool = False

    def is_parent_of(self, child: "Atom", link: str) -> bool:
        """Whether the link is the first key of the child's unit path, and this is the parent's row that it leads to.

        INVARIANT: then each row of the child has exactly one row here: the scan of the child has only rows with a path.
        """
        edge = child.edge
        if edge is None:
            return False
        ends = [one.base for one in self.keys if one.target == edge.target]
        return any(link in {_equal(edge.base, one), _equal(one, edge.base)} for one in ends)


@dataclass(frozen=True, slots=True)
class Relation:
    """`columns` has for every field, by its id, its expression over bases. `links` are equalities between tables, as texts."""

    columns: Mapping[str, Scalar]
    atoms: tuple[Atom, ...]
    links: frozenset[str] = frozenset()
    conditions: tuple[Scalar, ...] = ()

    @property
    def shape(self) -> str:
        """What is joined, as text. A parent that a row of its only child leads to adds and removes no rows, so it is left out,
        and so is an outer join in which each row has at most one partner.

        INVARIANT: equal shapes join the same rows in the same way. What is left out is known from what is not: the first
        scan of a parent is the row that the first scan of its child leads to, and no other relation here leads to one.
        Columns of an outer join have its text in their names.
        """
        parents = {
            parent: link
            for parent in self.atoms
            for child in self.atoms
            for link in self.links
            if parent.is_parent_of(child, link) and self._is_told(parent, child)
        }
        joined = " join ".join(sorted(one.text for one in self.atoms if one not in parents))
        links = {one for one in self.links if not one.startswith(ONE)} - set(parents.values())
        return f"{joined} on {' and '.join(sorted(links))}" if links else joined

    @property
    def is_once(self) -> bool:
        """Whether it has at most one row for each person, by what it joins. Rows of persons are joined on the person."""
        single = all(one.single is not None or one.grouped for one in self.atoms)
        several = (one.startswith(OUTER) and not one.startswith(ONE) for one in self.links)
        return single and not any(several)

    def _is_told(self, parent: Atom, child: Atom) -> bool:
        """Whether this child alone leads to a table of the parent, and both are first scans."""
        edges = [one.edge.target for one in self.atoms if one.edge is not None]
        is_only = child.edge is not None and edges.count(child.edge.target) == 1
        return is_only and not any(AGAIN in one.text for one in (parent, child))


def links_of_both(left: frozenset[str], right: frozenset[str]) -> frozenset[str]:
    """The links of both sides. A repeated equality changes nothing; a repeated outer join multiplies rows twice."""
    found = set(left)
    for one in sorted(right):
        link = one
        while link in found and one.startswith(OUTER):
            link += " again"
        found.add(link)
    return frozenset(found)


def joined(
    left: Relation,
    right: Relation,
    links: frozenset[str],
    columns: Mapping[str, Scalar],
    conditions: tuple[Scalar, ...],
) -> Relation:
    """The inner join of two relations, with these columns and conditions."""
    atoms = without_repeated((*left.atoms, *right.atoms))
    every = links_of_both(left.links, right.links) | links
    return _with_one_parent(Relation(columns, atoms, every, conditions))


def _with_one_parent(relation: Relation) -> Relation:
    """The relation in which every row of a parent is read once, however often it is joined by its key.

    INVARIANT: a key of unit paths is unique, so two rows of the parent with one key are one row. Then other links of the second
    scan are conditions on this row. A scan with a link that cannot be written so stays.
    """
    for link in sorted(relation.links):
        for first, second in combinations(relation.atoms, 2):
            if not _reads_again(first, second, link, relation):
                continue
            fields = {one.id: two for one, two in zip(second.fields, first.fields, strict=True)}
            apart = _apart(relation, link, fields)
            if apart is None:
                continue
            others, added = apart
            return _with_one_parent(
                Relation(
                    {name: replace_columns(one, fields) for name, one in relation.columns.items()},
                    tuple(one for one in relation.atoms if one is not second),
                    others,
                    (*(replace_columns(one, fields) for one in relation.conditions), *added),
                )
            )
    return relation


def _apart(
    relation: Relation, link: str, fields: Mapping[str, Field]
) -> tuple[frozenset[str], tuple[Scalar, ...]] | None:
    """The other links without those of the second scan, and these as conditions. `fields` are the columns of the first scan,
    by the ids of the second's; None if a link is no equality of columns of scans.
    """
    known = {one.id: one for atom in relation.atoms for one in atom.fields}
    kept, added = set[str](), list[Scalar]()
    for said in sorted(relation.links - {link}):
        read = [one for one in fields if one in said]
        ends = [(one, other) for one in read if (other := _other_end(said, one)) in known]
        if not read:
            kept.add(said)
        elif not ends:
            return None
        else:
            near, far = fields[ends[0][0]], known[ends[0][1]]
            if relation.links.isdisjoint({_equal(near.id, far.id), _equal(far.id, near.id)}):
                made = Call("=", (Ref(near), Ref(far)), BOOLEAN, near.nullable or far.nullable)
                added.append(is_met(normal(made)))
    return frozenset(kept), tuple(added)


def _reads_again(first: Atom, second: Atom, link: str, relation: Relation) -> bool:
    """Whether the link says that the row of the second is the row of the first: by their keys, or as parents of one row."""
    if link in _links_of_keys(first, second):
        return True
    return any(
        second.is_parent_of(child, link) and first.is_parent_of(child, other)
        for child in relation.atoms
        for other in relation.links
    )


def _links_of_keys(one: Atom, other: Atom) -> Iterator[str]:
    for key, far in product(one.keys, other.keys):
        if key.target == far.target:
            yield _equal(key.base, far.base)
            yield _equal(far.base, key.base)


def is_small(region: Region) -> bool:
    """Whether a part of the region selects few values, or so small a share of the values of its columns together.

    INVARIANT: further conditions on a box and further cells beside it make it no larger than its smallest part: several wide
    conditions can meet in a corner that is one person. A region of nobody is no larger than that.
    """
    return (
        not region.boxes
        or is_of_few_values(region)
        or any(_share(box, region) * _CORNER <= 1 for box in region.boxes)
    )


def is_of_few_values(region: Region) -> bool:
    """Whether the region selects few values: of a quasi-identifier, or among the many values of another column."""
    return any(
        _is_few(cells, region.axis(name)) for box in region.boxes for name, cells in box.parts
    )


def _share(box: Box, region: Region) -> float:
    """The share of the box in all values of its axes with sizes, if rows were evenly spread."""
    made = 1.0
    for name, cells in box.parts:
        axis = region.axis(name)
        wide = None if is_only_null(cells) else axis_width(cells, axis)
        if wide is not None and axis.size and axis.readable:
            made *= wide / axis.size
    return made


def is_readable(region: Region) -> bool:
    """Whether no condition of the region is opaque."""
    return all(axis.readable for axis in region.axes) and not dependent_axes(region)


def _is_few(cells: Cells, axis: RegionAxis) -> bool:
    # `opaque_predicates` decides about what nobody can read; NULL has no weight
    if not axis.readable or is_only_null(cells):
        return False
    if axis.kind is AxisKind.NAMES:
        found = cell_count(cells, axis) if axis.quasi else None
        return found is not None and found <= _FINE
    found = cell_count(without_null(cells), axis)
    of_persons = axis.size is None and axis.between is None
    if found is None or found > (_FEW_UNSIZED if of_persons else _FEW):
        return False
    return axis.quasi or axis.size is None or found * _FINE <= axis.size


def is_equality(part: Scalar) -> bool:
    return (
        isinstance(part, Call)
        and part.function == "="
        and all(isinstance(one, Ref) for one in part.parts)
    )


def is_met(part: Scalar) -> Scalar:
    """A condition that rows have to meet, where an equality of a column with itself says that it is not NULL."""
    if isinstance(part, Call) and is_equality(part) and part.parts[0] == part.parts[1]:
        return Call("is not null", part.parts[:1], BOOLEAN, nullable=False)
    return part


def without_repeated(atoms: tuple[Atom, ...]) -> tuple[Atom, ...]:
    """The relations without those tables of one row per person that another relation reaches anyway."""
    kept = list(atoms)
    for one in atoms:
        others = [each for each in kept if each is not one]
        if one.single is not None and any(one.single in each.reaches for each in others):
            kept = others
    return tuple(kept)


def is_always_met(left: Relation, right: Relation, links: frozenset[str]) -> bool:
    """Whether each row of `left` has exactly one partner in `right`: the person's only row, or the parent on its path."""
    if right.links:
        return False
    if links:
        [parent, *others] = right.atoms
        return not others and all(
            any(parent.is_parent_of(child, link) for child in left.atoms) for link in links
        )
    return all(
        atom.single is not None and any(atom.single in each.reaches for each in left.atoms)
        for atom in right.atoms
    )


def _equal(base: str, other: str) -> str:
    return f"({base} = {other})"


def _other_end(link: str, base: str) -> str:
    """What the link says that this base equals; nothing if it says something else."""
    left, right = f"({base} = ", f" = {base})"
    if link.startswith(left) and link.endswith(")"):
        return link[len(left) : -1]
    return link[1 : -len(right)] if link.startswith("(") and link.endswith(right) else ""


def row_count_bounds(measure: Measure, bounds: Bounds | None) -> Bounds | None:
    """The bounds, where COUNT(*) of a person's rows is at least 1: a person without rows has no group."""
    plain = measure.function == "count" and not measure.arguments and measure.where is None
    if not plain or bounds is None or bounds.range is None or bounds.range.high < 1:
        return bounds
    return replace(bounds, low=max(bounds.range.low, Fraction(1)))


def ungroup(relation: Relation, rows: Mapping[str, Relation]) -> Relation:
    """The relation with the rows that were grouped in the place of the groups. `rows` has them by the texts of atoms."""
    found = relation
    for _ in range(_MOST_NESTED):
        grouped = next((one for one in found.atoms if one.text in rows), None)
        if grouped is None:
            break
        inner = rows[grouped.text]
        others = tuple(one for one in found.atoms if one is not grouped)
        found = Relation(
            {},
            without_repeated((*others, *inner.atoms)),
            links_of_both(found.links, inner.links),
            (*found.conditions, *inner.conditions),
        )
    return found


def over_bases(call: WindowCall, resolved: Change) -> WindowCall:
    """A window function over bases, without the unit in PARTITION BY: each window is over one person."""
    partition = tuple(one for one in call.partition if not is_unit(one))
    return replace(call, partition=partition).map_scalars(resolved)


def value_where(condition: Scalar, value: Scalar) -> Scalar:
    """The value where the condition is true, and NULL elsewhere."""
    return Case(((condition, value),), Literal(None, value.type), value.type)


def is_there(one: Field) -> Scalar:
    """Whether a value is there, or, of a partner, whether a row meets one."""
    return Call("is not null", (Ref(one),), BOOLEAN, nullable=False)
