"""One release on neighbouring worlds, in both databases: whatever is wrong with it, in words."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from itertools import pairwise
from typing import Final, TypeAlias

from property.bounded_releases import Asked, bounded, undropped
from property.histogram_moves import Counts, counts_of, fully_moved, too_far
from property.moves import Groups, excesses, groups_of, moves
from property.stores import SourceRaised, Store

from gateway.bounding.bounded_release import BoundedRelease
from gateway.catalog.types import Family
from gateway.errors import UnsupportedSql
from gateway.plan.aggregates import PerUnit
from gateway.plan.node import Node, walk_nodes
from gateway.plan.relations import StagedRows, Window
from gateway.plan.scalars import Call, Literal, Scalar, walk_scalar
from gateway.ranges.lattice import Lattice
from gateway.sensitivity.analysis import Analysis, ThresholdGroups
from gateway.sensitivity.measurement import Different, Products, Quantity, Squares, Total

Change: TypeAlias = Callable[[BoundedRelease], BoundedRelease]
_ALIKE: Final = frozenset({Family.TEXT, Family.WHOLE, Family.BOOLEAN, Family.DATE})
"""Families whose values both databases write alike: the hash of a key is of its text."""


@dataclass
class Findings:
    """What went wrong, and what was reached: a test that never comes near a bound shows little."""

    problems: list[str] = field(default_factory=list)
    reached: set[str] = field(default_factory=set)
    compared: int = 0

    def add(self, asked: Asked, problems: Iterator[str]) -> None:
        self.problems += [f"{one}\n    of {asked.name}" for one in problems]


def kind_of(quantity: Quantity) -> str:
    """What a bound is reached for."""
    name = type(quantity).__name__.lower()
    return f"{name} from {quantity.origin.value}" if isinstance(quantity, Total) else name


def check(
    asked: Asked,
    worlds: Sequence[Sequence[Store]],
    findings: Findings,
    *,
    pairs: bool,
    seed: int = 0,
    change: Change | None = None,
) -> None:
    """`worlds` has for each database the world and its neighbours; `change` breaks the release on purpose."""
    analysis = asked.analysis(pairs=pairs)
    if analysis is None:
        return
    staged = asked.staged(seed)
    exact: list[list[Groups]] = []
    counted: list[list[list[Counts]]] = []
    comparable = True
    for stores in worlds:
        releases = [bounded(analysis, one.proven) for one in stores]
        if any(one is None for one in releases):
            return
        comparable = comparable and all(is_comparable(one) for one in releases if one is not None)
        changed = [
            made if change is None else change(made) for made in releases if made is not None
        ]
        try:
            exact.append(
                [_run(store, made, staged) for store, made in zip(stores, changed, strict=True)]
            )
            counted.append(
                [_count(store, made, staged) for store, made in zip(stores, changed, strict=True)]
            )
            findings.add(asked, _lost(stores[-1], changed[-1], staged, counted[-1][-1]))
        except UnsupportedSql:
            return  # what has no total form is refused when it is rendered: the same for everybody
        except SourceRaised as raised:
            findings.add(asked, iter([f"raised: {raised}"]))
            continue
        findings.compared += 1
        before, *after = exact[-1]
        for at, (one, store) in enumerate(zip(after, stores[1:], strict=True), 1):
            found = (f"{store.name.split()[0]}: {what}" for what in excesses(before, one, analysis))
            findings.add(asked, found)
            findings.reached |= set(_reached(before, one, analysis))
            findings.reached |= set(fully_moved(counted[-1][0], counted[-1][at], analysis))
            findings.add(asked, too_far(counted[-1][0], counted[-1][at], analysis))
        if change is None and releases[-1] is not None:
            findings.add(asked, _drop(stores[-1], releases[-1], staged, analysis, exact[-1][-1]))
    if change is None and len(exact) == len(worlds) and comparable:
        findings.add(asked, _differences(exact, analysis))
        findings.add(asked, _other_counts(counted, analysis))


def _other_counts(
    counted: Sequence[Sequence[Sequence[Counts]]], analysis: Analysis
) -> Iterator[str]:
    """Both databases have the same rows in the same buckets, where values are written alike in both."""
    alike = all(one.value.type.family in _ALIKE for one in analysis.histograms)
    if alike and any(one != counted[0] for one in counted):
        yield "the databases count other histograms"


def _run(store: Store, release: BoundedRelease, staged: Mapping[str, StagedRows]) -> Groups:
    if release.histograms and not release.measurements:
        return {}  # nothing but choices
    return groups_of(store.run(undropped(release), staged))


def _count(store: Store, release: BoundedRelease, staged: Mapping[str, StagedRows]) -> list[Counts]:
    return [counts_of(one) for one in store.count(release, staged)] if release.histograms else []


def _lost(
    store: Store,
    release: BoundedRelease,
    staged: Mapping[str, StagedRows],
    whole: Sequence[Counts],
) -> Iterator[str]:
    """Histograms that are asked for by the keys of their groups are those that are asked for without."""
    if not whole:
        return
    keys = list(dict.fromkeys(key for one in whole for key in one))
    if [counts_of(one) for one in store.count(release, staged, keys)] != whole:
        yield f"{store.name}: groups are not found again by their keys"


def _reached(before: Groups, after: Groups, analysis: Analysis) -> Iterator[str]:
    moved = moves(before, after, analysis).values()
    for at, one in enumerate(analysis.measurements):
        if one.most and any(by[at] == one.most for by in moved):
            yield kind_of(one.quantity)


def _drop(
    store: Store,
    release: BoundedRelease,
    staged: Mapping[str, StagedRows],
    analysis: Analysis,
    whole: Groups,
) -> Iterator[str]:
    """The groups that few units are in are gone, the others as they were."""
    groups = analysis.groups
    if not isinstance(groups, ThresholdGroups):
        return
    if analysis.clips is not None and analysis.clips.units is not None:
        return  # how many units a group has is not told by what they weigh
    kept = {key: one for key, one in whole.items() if one[groups.units] >= analysis.least_count}
    if groups_of(store.run(release, staged)) != kept:
        yield f"{store.name}: other groups are dropped than those of fewer than {groups.least} units"


def _differences(exact: Sequence[Sequence[Groups]], analysis: Analysis) -> Iterator[str]:
    """Both databases say the same of the same rows."""
    for one, other in pairwise(exact):
        for mine, theirs in zip(one, other, strict=True):
            for key in {*mine, *theirs}:
                if mine.get(key) != theirs.get(key):
                    yield f"the databases differ at {key}: {mine.get(key)} {theirs.get(key)}"


def is_comparable(release: BoundedRelease) -> bool:
    """Not where rows, values or groups are chosen by the text of a decimal: it has its own in each database."""
    chosen = list(release.keys)
    if release.groups_per_unit is None:
        chosen = [one for one in chosen if one.type.family is not Family.TIMESTAMP]
    chosen += [
        one.quantity.value for one in release.measurements if isinstance(one.quantity, Different)
    ]
    hashed = any(
        call.function == "sample_number"
        for node in walk_nodes(release.rows)
        if isinstance(node, Window)
        for _, call in node.items
    )
    # halfway between two points of the lattice a decimal goes away from zero in one, to the even one in the other
    lattices = [pair for one in release.measurements for pair in _lattices(one.quantity)]
    summed = [value for value, _ in lattices]
    inexact = any(one.type.family in {Family.EXACT, Family.FLOAT} for one in summed)
    halves = inexact and any(map(_is_half, [*_parts(release.rows), *summed]))
    halves = halves or any(_is_between(value, on) for value, on in lattices)
    halves = halves or any(map(_adds_decimals, walk_nodes(release.rows)))
    return not hashed and not halves and all(one.type.family in _ALIKE for one in chosen)


def _parts(rows: Node) -> list[Scalar]:
    """Every expression of a relation."""
    return [scalar for node in walk_nodes(rows) for scalar in node.scalars]


def _lattices(quantity: Quantity) -> list[tuple[Scalar, Lattice]]:
    """The values that are rounded, and to what."""
    match quantity:
        case Total() | Squares():
            return [(quantity.value, quantity.lattice)]
        case Products():
            return [(quantity.one, quantity.lattice), (quantity.other, quantity.other_lattice)]
        case _:
            return []


def _adds_decimals(node: Node) -> bool:
    """Whether decimals of one person are added up on the way, each rounded to a lattice before."""
    if not isinstance(node, PerUnit):
        return False
    return any(
        one.type.family is Family.EXACT
        for _, measure in node.measures
        if measure.function in {"sum", "avg"}
        for one in measure.arguments
    )


def _is_between(value: Scalar, on: Lattice) -> bool:
    """Whether a decimal may lie between two points of the lattice as it is stored."""
    grid = value.type.resolution
    on_points = grid is not None and (grid / on.step).denominator == 1
    return value.type.family is Family.EXACT and not on_points


def _is_half(scalar: Scalar) -> bool:
    """Whether it can make halves of what are none."""
    return any(
        (isinstance(one, Literal) and isinstance(one.value, Fraction))
        or (isinstance(one, Call) and one.function == "/")
        for one in walk_scalar(scalar)
    )
