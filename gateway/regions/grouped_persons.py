"""Persons who have rows: one form for EXISTS, for a grouping by the unit, and for a count of distinct units.

A relation with one row for each person who has some rows, such as `SELECT patient_id FROM visits GROUP BY 1`, is EXISTS of these
rows with numbers of the person beside it. Grouping below EXISTS changes nothing, and neither do an outer join that
no condition reads, a union of equal sides, and the number that a scan has in the order of the text.

INVARIANT: the rows that are given here exist for exactly the persons for whom the rows that were taken do.
"""

from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace

from gateway.plan.fields import Field
from gateway.plan.rewrite import replace_columns
from gateway.plan.scalars import Scalar, column_ids
from gateway.plan.sql_text import scalar_sql
from gateway.regions.base_columns import Base
from gateway.regions.normal_form import normal
from gateway.regions.relation import (
    AGAIN,
    OUTER,
    Atom,
    Relation,
    ungroup,
    without_repeated,
)
from gateway.regions.union_sides import Links, UnionSide, rows_of_side, union_of


@dataclass(frozen=True, slots=True)
class RowsBehind:
    """What groupings and unions were made of, by the texts of their atoms, and the links between columns by theirs.

    `far` are the columns of far sides of outer joins.
    """

    grouped: Mapping[str, Relation]
    unions: Mapping[str, tuple[UnionSide, ...]]
    equalities: Links
    far: Collection[str]

    def existing(self, rows: Relation) -> Relation:
        """Rows without groupings, outer joins and unions that do not matter where only the existence of a row is asked for.

        The caller has made sure that the relations inside are few (`relations_inside`).
        """
        found = self.without_unread(ungroup(rows, self.grouped))
        union = union_of(found, self.unions)
        if union is None:
            return found
        sides = (
            rows_of_side(replace(found, columns={}), union, one, self.equalities)
            for one in self.unions[union.text]
        )
        distinct = dict.fromkeys(
            (one.atoms, one.links, one.conditions) for one in map(self.existing, sides)
        )
        if len(distinct) > 1:
            return found
        [(atoms, links, conditions)] = distinct
        return Relation({}, atoms, links, conditions)

    def without_unread(self, rows: Relation) -> Relation:
        """The rows without the outer joins, if no condition and no link reads a far side: each row has its row there."""
        read = column_ids(
            *rows.conditions,
            *(self.equalities[one] for one in rows.links if one in self.equalities),
        )
        if read.isdisjoint(self.far):
            return replace(
                rows, links=frozenset(one for one in rows.links if not one.startswith(OUTER))
            )
        return rows


def numbered_anew(
    rows: Relation,
    bases: Mapping[str, Base],
    equalities: Links,
    kept: frozenset[str] = frozenset(),
) -> tuple[Relation, tuple[Base, ...], dict[str, Scalar]] | None:
    """The rows with their scans numbered from 1 on, the bases of these numbers, and the links. None if nothing changes, or
    a name cannot be written so, or one of the bases in `kept` would change.

    INVARIANT: nothing outside of the rows is named in them, so the numbers only tell their own scans apart.
    """
    counts, names = Counter[str](), dict[str, str]()
    for atom in sorted(
        (one for one in rows.atoms if one.fields), key=lambda one: _number(one.text)
    ):
        table = _table(atom.text)
        counts[table] += 1
        names[atom.text] = table if counts[table] == 1 else f"{table}{AGAIN}{counts[table]}"
    if all(old == new for old, new in names.items()):
        return None
    fields, made = dict[str, Field](), list[Base]()
    for atom in rows.atoms:
        for one in () if names.get(atom.text) == atom.text else atom.fields:
            there = bases[one.id]
            if not one.id.startswith(f"{atom.text}.") or there.axis is None:
                return None
            told = names[atom.text] + one.id[len(atom.text) :]
            renamed = replace(there.field, id=told)
            fields[one.id] = renamed
            made.append(replace(there, field=renamed, axis=replace(there.axis, name=told)))
    if not rows.links <= equalities.keys() or not kept.isdisjoint(fields):
        return None
    links = [normal(replace_columns(equalities[one], fields)) for one in sorted(rows.links)]
    written = {scalar_sql(one): one for one in links}
    atoms = tuple(
        replace(
            one,
            text=names.get(one.text, one.text),
            fields=tuple(fields.get(each.id, each) for each in one.fields),
        )
        for one in rows.atoms
    )
    conditions = tuple(normal(replace_columns(one, fields)) for one in rows.conditions)
    columns = {name: replace_columns(one, fields) for name, one in rows.columns.items()}
    return Relation(columns, atoms, frozenset(written), conditions), tuple(made), written


def _table(text: str) -> str:
    """The name of the scanned table, without the number of the scan."""
    name, _, number = text.rpartition(AGAIN)
    return name if name and number.isdecimal() else text


def _number(text: str) -> int:
    return 1 if _table(text) == text else int(text.rpartition(AGAIN)[2])


def tables_of_persons(atoms: Iterable[Atom]) -> Iterator[Atom]:
    """The tables with one row for each person in which the persons of these rows have a row."""
    for one in sorted({each for atom in atoms for each in atom.reaches}):
        yield Atom(one.rpartition(".")[0], one, frozenset({one}))


def persons_beside(
    relation: Relation, kept: Iterable[Atom], left_out: Iterable[Atom], added: Iterable[Scalar]
) -> Relation | None:
    """The persons of a relation: these atoms of it, and in the place of others the tables of their persons, and conditions."""
    outside = tuple(kept)
    atoms = without_repeated((*outside, *tables_of_persons(left_out)))
    if not atoms:
        return None
    conditions = tuple(dict.fromkeys((*relation.conditions, *added)))
    return replace(relation, atoms=atoms, conditions=conditions)
