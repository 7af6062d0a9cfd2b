"""Relations as they are followed down: what is joined, what every column is, which conditions hold."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from gateway.overlap.cells import size
from gateway.overlap.regions import Region
from gateway.plan.aggregates import Measure
from gateway.plan.scalars import Call, Ref, Scalar

_FINE: Final = 24


@dataclass(frozen=True, slots=True)
class Atom:
    """A relation that is joined. `single` is its table, where that has one row of each person; `reaches` are the tables
    of that kind in which every row of it is declared to have its person.
    """

    text: str
    single: str | None = None
    reaches: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True)
class Relation:
    """`columns` says of every field, by its id, what it is; the expressions refer to bases. `links` are texts."""

    columns: Mapping[str, Scalar]
    atoms: tuple[Atom, ...]
    links: frozenset[str] = frozenset()
    conditions: tuple[Scalar, ...] = ()

    @property
    def shape(self) -> str:
        joined = " join ".join(sorted(one.text for one in self.atoms))
        return f"{joined} on {' and '.join(sorted(self.links))}" if self.links else joined


def is_small(region: Region) -> bool:
    """Whether few values of quasi-identifiers are asked for."""
    for box in region.boxes:
        for name, cells in box.parts:
            axis = region.axis(name)
            found = size(cells, axis)
            if axis.quasi and found is not None and found <= _FINE:
                return True
    return False


def is_equality(part: Scalar) -> bool:
    return (
        isinstance(part, Call)
        and part.function == "="
        and all(isinstance(one, Ref) for one in part.parts)
    )


def without_repeated(atoms: tuple[Atom, ...]) -> tuple[Atom, ...]:
    """Without tables of one row of each person that another relation reaches anyway."""
    kept = list(atoms)
    for one in atoms:
        others = [each for each in kept if each is not one]
        if one.single is not None and any(one.single in each.reaches for each in others):
            kept = others
    return tuple(kept)


def always_met(left: Relation, right: Relation) -> bool:
    return all(
        atom.single is not None and any(atom.single in each.reaches for each in left.atoms)
        for atom in right.atoms
    )


def parts(measure: Measure) -> tuple[Scalar, ...]:
    return (*measure.arguments, *(() if measure.where is None else (measure.where,)))
