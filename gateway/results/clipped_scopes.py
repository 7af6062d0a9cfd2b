"""What the numbers of an answer are weighted down to: the scopes of its weights, each with its clip.

A unit with several rows or groups may count with less weight, so a total may be of fewer rows than the table has. An
answer says so: over which tables and keys a unit has its norm, and up to which norm it counts in full.

A histogram shows norms that enough units have. How many units are concerned is said as a bound that its noise leaves open, and
which share of the rows is cut only of the norms that it shows: what a few units with more rows lose, it cannot tell. Where it
shows none above the clip, no share of the rows is said, as a few units may have most of them.

INVARIANT: what is said follows from the analysis of the query, which depends on the query, the policy and released
histograms. How much is cut is said only where such a histogram speaks of the very rows and keys that are weighted.
docs/proofs/clip_choice.md.
"""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from math import sqrt
from typing import Final

from gateway.bounding.fan_out import multiplied_tables
from gateway.clipping.choose_clip import Clipped, clipped_by
from gateway.clipping.norm_histogram import NormHistogram, has_above
from gateway.clipping.served_histogram import PartKey, ServedHistogram
from gateway.intervals.digits import most_text, share_text
from gateway.plan.aggregates import Aggregate
from gateway.plan.fields import Protected
from gateway.plan.node import walk_nodes
from gateway.plan.relations import Scan
from gateway.plan.rewrite import replace_columns
from gateway.plan.scalars import Scalar
from gateway.plan.sql_text import scalar_sql
from gateway.requests.request import ClippedScope
from gateway.sensitivity.analysis import Analysis, ThresholdGroups
from gateway.sensitivity.grouping_sets import AnalyzedRelease, constant_per_unit
from gateway.sensitivity.measurement import Different, Units

_ONE_SIDED: Final = 1.645
"""So many standard deviations above it, noise ends in 95 of 100 cases."""
_MOST_LOST: Final = 0.999
"""An estimated share may be 1, and totals of nothing cannot be extended."""


def clipped_scopes(
    releases: Iterable[AnalyzedRelease], histograms: Mapping[PartKey, ServedHistogram]
) -> tuple[ClippedScope, ...]:
    """The scopes of all weights of a statement, each once, in the order in which they are measured."""
    found = (
        one
        for place, release in enumerate(releases)
        for part in release.parts
        for one in _scopes(part, histograms.get((place, _names(part))))
    )
    return tuple(dict.fromkeys(found))


def clip_notices(scopes: Iterable[ClippedScope]) -> Iterator[str]:
    """A sentence for each scope."""
    for one in scopes:
        yield (
            f"{one.over}: each {one.unit} counts in full up to a norm of {one.limit:.4g} and with less weight"
            f" beyond it; {_how_much(one)}"
        )


def _how_much(scope: ClippedScope) -> str:
    if scope.units_at_most is None:
        return "how much this takes is not known"
    units = most_text(scope.units_at_most)
    if scope.rows is None:
        return f"that concerns {units} of them; which share of the rows it takes is not known"
    return (
        f"that concerns {units} of them and takes {share_text(scope.rows)} of the rows, not counting a few with more rows"
        " than a histogram can show"
    )


def lost_shares(
    place: int, release: AnalyzedRelease, histograms: Mapping[PartKey, ServedHistogram]
) -> tuple[float, ...]:
    """The share of its rows that each part of the release at this place loses to weights; 0 where that is not known."""
    found = (_cut(part, histograms.get((place, _names(part)))) for part in release.parts)
    return tuple(0.0 if one is None else min(one.rows, _MOST_LOST) for one in found)


def _cut(part: Analysis, served: ServedHistogram | None) -> Clipped | None:
    """What the weights of rows take away, where a histogram speaks of these rows and keys.

    Of groups that are found in the data a unit keeps some before it is weighted, and a histogram knows nothing of the others.
    With a total of all groups a unit has less weight than its norm over the groups gives it.
    """
    if part.clips is None or served is None or not served.exact:
        return None
    if part.total or (
        isinstance(part.groups, ThresholdGroups) and not constant_per_unit(part.plan)
    ):
        return None
    return clipped_by(served.histogram, part.clips.rows.square)


def _units_at_most(histogram: NormHistogram, square: int, shown: float) -> float:
    """The largest share of units whose norm is above the clip, as far as noise leaves it open; as many as are `shown`, at least.

    All buckets with norms above the clip are added up, also those in which nothing stands out of the noise, and the one that
    has norms on both sides.
    """
    units = [one / histogram.unit for one in histogram.units]
    above = [units[place] for place in range(len(units)) if has_above(place, square)]
    whole = sum(units[: histogram.visible])
    most = max(0.0, sum(above)) + _ONE_SIDED * histogram.std * sqrt(len(above))
    return min(1.0, max(shown, most / whole))


def _names(part: Analysis) -> tuple[str, ...]:
    return tuple(name for name, _ in part.plan.keys)


def _scopes(part: Analysis, served: ServedHistogram | None) -> Iterator[ClippedScope]:
    clips, label = part.clips, part.plan.child.label
    if clips is None or not isinstance(label, Protected):
        return
    wanted = [one.quantity for one in part.measurements]
    over = f"{scope_text(part.plan)}{' and in total' if part.plan.keys and part.total else ''}"
    if part.choices or any(not isinstance(one, Units | Different) for one in wanted):
        scope = ClippedScope(over, label.unit, sqrt(clips.rows.square))
        cut = _cut(part, served)
        if cut is not None and served is not None:
            most = _units_at_most(served.histogram, clips.rows.square, cut.units)
            scope = replace(scope, units_at_most=most)
            # units above the clip that noise hides may have any number of rows: 0 would say that nothing is lost; and how many
            # units of a bucket are on which side of the clip, a histogram cannot tell
            if cut.apart and cut.lost:
                scope = replace(scope, units=cut.units, rows=cut.rows)
        yield scope
    if clips.units is not None and any(isinstance(one, Units) for one in wanted):
        # a norm of its own: there each group of a unit counts as one row
        yield ClippedScope(f"units of {over}", label.unit, sqrt(clips.units.square))


def scope_text(plan: Aggregate) -> str:
    """The tables of a release and its keys, as analysts read them."""
    scans = (one.table for one in walk_nodes(plan.child) if isinstance(one, Scan))
    names = (*(one.name for one in scans if not one.public), *multiplied_tables(plan))
    tables = " and ".join(dict.fromkeys(names))
    keys = ", ".join(scalar_sql(key) for key in _short(plan))
    return f"{tables} by {keys}" if keys else tables


def _short(plan: Aggregate) -> Iterator[Scalar]:
    """The keys, in which columns have no table beside their name where one of the columns alone has this name."""
    columns = {one.id: one for one in plan.child.fields}
    often = Counter(map(_last_name, columns))
    short = {
        name: replace(one, id=_last_name(name))
        for name, one in columns.items()
        if often[_last_name(name)] == 1
    }
    for _, key in plan.keys:
        yield replace_columns(key, short)


def _last_name(column: str) -> str:
    return column.rpartition(".")[2]
