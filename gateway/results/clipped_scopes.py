"""What the numbers of an answer are weighted down to: the scopes of its weights, each with its clip.

A unit with several rows or groups may count with less weight, so a total may be of fewer rows than the table has. An
answer says so: over which tables and keys a unit has its norm, and up to which norm it counts in full.

INVARIANT: what is said follows from the analysis of the query, which depends on the query, the policy and released
histograms. How much is cut is said only where such a histogram speaks of the very rows and keys that are weighted.
docs/proofs/clip_choice.md.
"""

from collections.abc import Iterable, Iterator, Mapping
from math import sqrt
from typing import Final

from gateway.bounding.fan_out import multiplied_tables
from gateway.bounding.row_samples import MOST_MATCHES
from gateway.clipping.choose_clip import Clipped, clipped_by
from gateway.clipping.served_histogram import PartKey, ServedHistogram
from gateway.intervals.digits import share_text
from gateway.plan.aggregates import Aggregate
from gateway.plan.fields import Protected
from gateway.plan.node import walk_nodes
from gateway.plan.relations import Scan
from gateway.plan.sql_text import scalar_sql
from gateway.requests.request import ClippedScope
from gateway.sensitivity.analysis import Analysis, ThresholdGroups
from gateway.sensitivity.grouping_sets import AnalyzedRelease, constant_per_unit
from gateway.sensitivity.measurement import Different, Units

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
            f"{one.over}: what one {one.unit} adds counts in full up to a norm of {one.limit:.4g} and with less"
            f" weight beyond it; {_how_much(one)}"
        )


def _how_much(scope: ClippedScope) -> str:
    if scope.units is None or scope.rows is None:
        return "how much is cut is not known"
    units, rows = share_text(scope.units), share_text(scope.rows)
    return f"as far as a histogram shows, that concerns {units} of all units and takes {rows} of the rows"


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


def fan_out_notices(releases: Iterable[AnalyzedRelease]) -> Iterator[str]:
    """A sentence for each public table of which a row of persons may meet several rows."""
    plans = (part.plan for release in releases for part in release.parts)
    for table in dict.fromkeys(name for plan in plans for name in multiplied_tables(plan)):
        yield (
            f"no key of `{table}` is proven for a join: a row counts as often as it matches,"
            f" with at most {MOST_MATCHES} rows of `{table}` for each value"
        )


def _names(part: Analysis) -> tuple[str, ...]:
    return tuple(name for name, _ in part.plan.keys)


def _scopes(part: Analysis, served: ServedHistogram | None) -> Iterator[ClippedScope]:
    clips, label = part.clips, part.plan.child.label
    if clips is None or not isinstance(label, Protected):
        return
    wanted = [one.quantity for one in part.measurements]
    over = f"{scope_text(part.plan)}{' and in total' if part.plan.keys and part.total else ''}"
    if part.choices or any(not isinstance(one, Units | Different) for one in wanted):
        cut = _cut(part, served)
        units, rows = (None, None) if cut is None else (cut.units, cut.rows)
        yield ClippedScope(over, label.unit, sqrt(clips.rows.square), units, rows)
    if clips.units is not None and any(isinstance(one, Units) for one in wanted):
        # a norm of its own: there each group of a unit counts as one row
        yield ClippedScope(f"units of {over}", label.unit, sqrt(clips.units.square))


def scope_text(plan: Aggregate) -> str:
    """The tables of a release and its keys, as analysts read them."""
    scans = (one.table for one in walk_nodes(plan.child) if isinstance(one, Scan))
    names = (*(one.name for one in scans if not one.public), *multiplied_tables(plan))
    tables = " and ".join(dict.fromkeys(names))
    keys = ", ".join(scalar_sql(key) for _, key in plan.keys)
    return f"{tables} by {keys}" if keys else tables
