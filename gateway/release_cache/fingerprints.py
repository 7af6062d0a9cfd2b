"""Fingerprints: digests of everything that two queries must have in common for one to be answered by the other's measurement.

The digest of a slot says what is measured, without the names that a statement gives. Rows and groups belong to the scope.
The digest of the bounding says everything that is done to a unit's rows before they are counted.

A unit that may have several rows or groups is made less by a weight over all of its groups; the limits of that weight are in
the digest of the bounding. Where it is cut instead, how its G groups and its values of a group are chosen is in a digest too
(`_CHOSEN`). Releases made otherwise measure other sums and are combined with none of this one.

    plain      G cuts nothing, so a group of an answer is what a query about that group alone would measure. Another
               query may take some of the groups.
    additive   each unit is also in one group only, so it weighs the same in groups put together. Another query
               may take sums of groups.

A plan may read what an earlier release gave: over other content it selects other rows. `Constants` names these staged
inputs before they are computed. The content of a release is in entries that have names, or will have them. If the twin
makes the same of it each time, the result has a name too; if not, it gets a name that nothing else has.

Groups that are measured with their total are neither: their noises are not independent, and they answer the same groups
with their total alone.

INVARIANT: equal names of staged inputs, equal content.
INVARIANT: equal digests of a slot and of the bounding, over one scope, mean random variables that are equal except for the
noise: the same exact integers in every group, whatever the tables hold. What depends on more than a scope, such as which
rows of a unit a bounded join keeps, is in the digest of the bounding as it was written. Which groups a unit keeps depends on
the keys in the order of the scope, which is one order for all spellings (`grouping_sets.py`).
"""

import json
from collections.abc import Callable, Iterator, Mapping
from typing import Final, assert_never

from gateway.binding.bound import Cut, Empty, Fetch, Release, Stage
from gateway.binding.provenance.effort import is_deterministic
from gateway.bounding.row_samples import MOST_MATCHES, MOST_MET, MOST_PAIRS
from gateway.budget.account import Currency
from gateway.catalog.tables import is_system_table
from gateway.catalog.values import value_json
from gateway.catalog.zones import UTC_NAME
from gateway.digest import digest
from gateway.json_form import Json
from gateway.plan.fields import Protected
from gateway.plan.joins import Join, Mark
from gateway.plan.node import Node, walk_nodes
from gateway.plan.print import explain_plan
from gateway.plan.relations import Window
from gateway.plan.scalars import Scalar, column_ids
from gateway.ranges.lattice import Lattice
from gateway.regions.scope import normal_text
from gateway.sensitivity.analysis import Analysis, EnumeratedGroups
from gateway.sensitivity.choices import (
    BinnedRows,
    Choice,
    End,
    Frequent,
    Histogram,
    Limit,
    QuantileLevel,
    histogram_scalars,
)
from gateway.sensitivity.grouping_sets import constant_per_unit
from gateway.sensitivity.measurement import (
    Different,
    Norms,
    Products,
    Quantity,
    Rows,
    Slot,
    Squares,
    Total,
    Units,
    scalars_of,
)

_VERSION: Final = (
    1  # of what is in a digest: with another number nothing that was kept before is found
)


# by a hash of the unit and the key; before, it was a hash of the key, and had no name
_CHOSEN: Final = "by unit and key"


def slot_digest(analysis: Analysis, slot: Slot, constants: Mapping[str, str]) -> str:
    """The digest of what a slot measures; `constants` gives the identity of each staged constant."""
    read = _reader(analysis, constants)
    each: list[Json] = [[one.most, *read.quantity(one.quantity)] for one in slot.measurements]
    return _digest("slot", slot.most, *each)


def choice_digest(analysis: Analysis, choice: Choice, constants: Mapping[str, str]) -> str:
    """The digest of the counts that a choice is made from."""
    read = _reader(analysis, constants)
    histogram = read.histogram(choice.histogram)
    if analysis.clips is None:
        cut: list[Json] = [] if is_plain(analysis) else [[_CHOSEN, analysis.groups_per_unit]]
        return _digest("choice", choice.rows, histogram, _sought(choice), *cut)
    # which groups of a unit are in its norm, where it keeps some of them, tells the bounding
    rows = analysis.clips.rows
    weights: list[Json] = ["weighted", rows.bits, rows.square, rows.squares]
    return _digest("choice", weights, histogram, _sought(choice))


def bounding_of(analysis: Analysis, currency: Currency, declarations: str) -> str:
    """The digest of a unit's bounds; `declarations` is the digest of the tables that are read."""
    return _digest(
        "bounding",
        currency.value,
        declarations,
        *_weights(analysis),
        _groups(analysis),
        _threshold(analysis),
        *_as_written(analysis),
    )


def is_plain(analysis: Analysis) -> bool:
    """True if each group is what a query about that group alone would measure."""
    plan = analysis.plan
    if any(_is_cut(one) for one in walk_nodes(plan.child)):
        return False
    if not plan.keys or constant_per_unit(plan):
        return True
    if analysis.clips is not None:
        return False  # the weight of a unit follows from all of its groups
    groups = analysis.groups
    return isinstance(groups, EnumeratedGroups) and len(groups.keys) <= analysis.groups_per_unit


def is_additive(analysis: Analysis) -> bool:
    """True if groups put together are what a query about all of them would measure."""
    listed = isinstance(analysis.groups, EnumeratedGroups)
    alone = not analysis.plan.keys or constant_per_unit(analysis.plan)
    return listed and alone and is_plain(analysis)


def adds_up(slot: Slot) -> bool:
    """True if groups that share no unit can be added up; distinct values may be in several groups."""
    return not any(isinstance(one.quantity, Different | Norms) for one in slot.measurements)


def _groups(analysis: Analysis) -> Json:
    """To how many groups a unit is cut; nothing where it is not."""
    return None if is_plain(analysis) else [_CHOSEN, analysis.groups_per_unit]


def _weights(analysis: Analysis) -> Iterator[Json]:
    """The limits of a unit's weights; where it has none, that one row of it counts."""
    if analysis.total:
        yield ["total", analysis.total]
    if analysis.clips is None:
        yield analysis.rows
        return
    rows, units = analysis.clips.rows, analysis.clips.units
    # where each unit is in one group it weighs 1 as a unit, whichever keys there are
    own = None if units is None or is_plain(analysis) else units.square
    yield ["clip", rows.bits, rows.square, rows.squares, own]


def _threshold(analysis: Analysis) -> Json:
    """By which count groups are shown, where they are found in the data."""
    groups = analysis.groups
    if isinstance(groups, EnumeratedGroups):
        return None
    counted = analysis.measurements[groups.units].quantity
    return [type(counted).__name__, groups.least]


def _as_written(analysis: Analysis) -> list[Json]:
    """What decides on ties: which rows of a unit are kept in a join that is cut, and in which order windows see them.

    The columns that are read decide, so these are as they were written, with the names that the statement gives. Neither
    the order of keys and aggregates decides, nor what is computed of these columns: see `bound_release`.
    """
    plan = analysis.plan
    below = tuple(walk_nodes(plan.child))
    if not any(isinstance(one, Window) or _is_cut(one) for one in below):
        return []
    scalars = [key for _, key in plan.keys]
    scalars += [one for each in analysis.measurements for one in scalars_of(each.quantity)]
    scalars += [one for each in analysis.histograms for one in histogram_scalars(each)]
    read: list[Json] = [*sorted(column_ids(*scalars))]
    return [[MOST_MET, MOST_MATCHES, MOST_PAIRS], explain_plan(plan.child), read]


def _is_cut(node: Node) -> bool:
    """Whether some rows are left out of a join: of a unit, as both sides may have several, or of a public table."""
    if not isinstance(node, Join | Mark):
        return False
    if isinstance(node, Join) and node.several:
        return True
    sides = [one.label for one in node.below]
    return all(isinstance(one, Protected) and one.rows != 1 for one in sides)


def _reader(analysis: Analysis, constants: Mapping[str, str]) -> "_Reader":
    return _Reader(lambda scalar: normal_text(analysis.plan.child, scalar, constants))


class _Reader:
    """Says what is measured; `text` says expressions."""

    def __init__(self, text: Callable[[Scalar], str]) -> None:
        self._text = text
        self._norms: dict[tuple[Scalar, ...], Json] = {}

    def quantity(self, quantity: Quantity) -> list[Json]:  # noqa: PLR0911 - one answer for each kind
        where = self._where(quantity.where)
        match quantity:
            case Rows(present):
                return ["rows", sorted(map(self._text, present)), where]
            case Units():
                return ["units", where]
            case Different(value):
                return ["different", _CHOSEN, self._text(value), where]
            case Total(value, lattice, origin):
                return ["total", self._text(value), _lattice(lattice), origin.value, where]
            case Squares(value, lattice, unit):
                return ["squares", self._text(value), _lattice(lattice), unit, where]
            case Products(one, lattice, other, other_lattice, unit):
                both: list[Json] = [self._text(one), _lattice(lattice)]
                both += [self._text(other), _lattice(other_lattice)]
                return ["products", *both, unit, where]
            case Norms(keys, bucket, spread):
                if keys not in self._norms:
                    self._norms[keys] = sorted({*map(self._text, keys)})
                return ["norms", self._norms[keys], bucket, spread]
            case _:
                assert_never(quantity)

    def histogram(self, histogram: Histogram) -> Json:
        value, where = self._text(histogram.value), self._where(histogram.where)
        of = str(histogram.value.type)
        if isinstance(histogram, BinnedRows):
            buckets = histogram.buckets
            return ["binned", value, of, _lattice(buckets.lattice), buckets.width, where]
        return ["listed", value, of, [value_json(one) for one in histogram.values], where]

    def _where(self, where: Scalar | None) -> Json:
        return None if where is None else self._text(where)


def _lattice(lattice: Lattice) -> Json:
    return [str(lattice.step), lattice.low, lattice.high]


def _sought(choice: Choice) -> Json:
    match choice.sought:
        case QuantileLevel(share):
            return ["level", str(share)]
        case End() as end:
            return ["end", end.value]
        case Limit(of, high):
            return ["limit", str(of.share), high]
        case Frequent(place):
            return ["frequent", place]
        case _:
            assert_never(choice.sought)


def _digest(*said: Json) -> str:
    written = json.dumps([_VERSION, *said], ensure_ascii=True, separators=(",", ":"))
    return digest(written)


class Constants:
    """Of one statement; its releases are told one after the other, in their order."""

    def __init__(self, cut: Cut, query_id: str) -> None:
        self._steps = cut.steps
        self._zone = cut.zone
        self._query_id = query_id
        self._names: dict[str, str] = {}
        self._releases = [one.name for one in cut.releases]

    def before(self, place: int) -> Mapping[str, str]:
        """Those that the release at this place can read."""
        for step in self._steps:
            if step.name == self._releases[place]:
                break
            if step.name not in self._names:
                self._names[step.name] = self._named(step)
        return dict(self._names)

    def set_content(self, place: int, identity: str) -> None:
        """Set the identity of a release's content."""
        self._names[self._releases[place]] = digest(identity)

    def _named(self, step: Release | Fetch | Empty | Stage) -> str:
        if isinstance(step, Stage):
            if not is_deterministic(step.sql):
                return self._only(step.name)
            said = (step.sql, step.fields, sorted(self._names.items()))
            # the twin computes it on the clock of the session; one of UTC is not named
            return digest(repr(said if self._zone == UTC_NAME else (*said, self._zone)))
        if isinstance(step, Fetch) and is_system_table(step.table):
            return self._only(step.name)
        # what a public table holds is as old as everything that is taken from entries may be
        return digest(repr(step))

    def _only(self, name: str) -> str:
        return digest(f"{self._query_id} {name}")


def free_stages(cut: Cut) -> Iterator[Stage]:
    """The stages that need no other step: they give the same whenever they run.

    Whether one reads another step is told by the text: who writes a name of ours in a literal waits, no more.
    """
    held: list[str] = []
    for step in cut.steps:
        if isinstance(step, Stage) and is_deterministic(step.sql):
            text = step.sql.text()
            if not any(name in text for name in held):
                yield step
        held.append(step.name)
