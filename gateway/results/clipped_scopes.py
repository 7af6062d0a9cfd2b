"""What the numbers of an answer are weighted down to: the scopes of its weights, each with its clip.

A unit with several rows or groups may count with less weight, so a total may be of fewer rows than the table has. An
answer says so: over which tables and keys a unit has its norm, and up to which norm it counts in full.

INVARIANT: what is said follows from the analysis of the query, which depends on the query and the policy. How much is cut
would follow from the rows; it is said of released histograms alone. docs/proofs/clip_choice.md.
"""

from collections.abc import Iterable, Iterator
from math import sqrt

from gateway.plan.fields import Protected
from gateway.plan.node import walk_nodes
from gateway.plan.relations import Scan
from gateway.plan.sql_text import scalar_sql
from gateway.requests.request import ClippedScope
from gateway.sensitivity.analysis import Analysis
from gateway.sensitivity.grouping_sets import AnalyzedRelease
from gateway.sensitivity.measurement import Different, Units


def clipped_scopes(releases: Iterable[AnalyzedRelease]) -> tuple[ClippedScope, ...]:
    """The scopes of all weights of a statement, each once, in the order in which they are measured."""
    found = (one for release in releases for part in release.parts for one in _scopes(part))
    return tuple(dict.fromkeys(found))


def clip_notices(scopes: Iterable[ClippedScope]) -> Iterator[str]:
    """A sentence for each scope."""
    for one in scopes:
        yield (
            f"{one.over}: what one {one.unit} adds counts in full up to a norm of {one.limit:.4g} and with less"
            " weight beyond it; how much is cut is not known"
        )


def _scopes(part: Analysis) -> Iterator[ClippedScope]:
    clips, label = part.clips, part.plan.child.label
    if clips is None or not isinstance(label, Protected):
        return
    wanted = [one.quantity for one in part.measurements]
    over = _scope_text(part)
    if any(not isinstance(one, Units | Different) for one in wanted):
        yield ClippedScope(over, label.unit, sqrt(clips.rows.square))
    if clips.units is not None and any(isinstance(one, Units) for one in wanted):
        # a norm of its own: there each group of a unit counts as one row
        yield ClippedScope(f"units of {over}", label.unit, sqrt(clips.units.square))


def _scope_text(part: Analysis) -> str:
    plan = part.plan
    scans = (one.table for one in walk_nodes(plan.child) if isinstance(one, Scan))
    tables = " and ".join(dict.fromkeys(one.name for one in scans if not one.public))
    keys = ", ".join(scalar_sql(key) for _, key in plan.keys)
    if not keys:
        return tables
    # a unit in more groups than declared weighs less there, because its total counts too
    return f"{tables} by {keys}{' and in total' if part.total else ''}"
