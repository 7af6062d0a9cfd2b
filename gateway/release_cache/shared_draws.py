"""Draws that are shared between trust groups: which parts of a plan are drawn anew, and which are copies.

Takes the parts of a query as its trust group would buy them, and marks those whose draw exists already.
INVARIANT: nothing that the analyst sees depends on these marks: price, noise, notices, refusals and the analyst's own
records are decided before. See `gateway.release_cache.copies`.
"""

from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime

from gateway.budget.charge import CopiedDraw
from gateway.release_cache.assemble import PlannedMeasurement, PlannedRelease
from gateway.release_cache.cache import ReleaseCache
from gateway.release_cache.copies import Copy


def mark_copies(
    releases: Sequence[PlannedRelease], book: ReleaseCache, members: frozenset[str], since: datetime
) -> tuple[PlannedRelease, ...]:
    """The same parts, each with its copy if it has one. No draw is used twice in one statement."""
    taken: list[str] = []
    found = []
    for release in releases:
        errands = []
        for errand in release.errands:
            copy = None
            if errand.sheet is not None and not any(True for _ in errand.taken):
                copy = book.copy(errand.sheet, since=since, members=members, without=taken)
            if copy is not None:
                taken.append(copy.sheet.release)
            errands.append(replace(errand, copied=copy))
        found.append(replace(release, errands=tuple(errands)))
    return tuple(found)


def copies_of(releases: Sequence[PlannedRelease]) -> list[Copy]:
    """The copies, in order."""
    return [one.copied for one in _errands(releases) if one.copied is not None]


def draws_of_others(
    releases: Sequence[PlannedRelease], book: ReleaseCache
) -> tuple[CopiedDraw, ...]:
    """What accounts on the path paid for the copied draws before."""
    return tuple(
        CopiedDraw(one.costs.cost, one.sheet.delta, book.holders(one.copied.sheet.release))
        for one in _errands(releases)
        if one.copied is not None and one.sheet is not None
    )


def _errands(releases: Sequence[PlannedRelease]) -> list[PlannedMeasurement]:
    return [one for release in releases for one in release.errands]
