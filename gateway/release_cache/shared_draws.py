"""Which parts of a planned question are drawn anew, and which are copies of what somebody else bought.

Takes the errands of a question as its trust group would buy them, and marks those whose draw is there already.
INVARIANT: nothing that the asker is told depends on these marks: price, noise, notices, what fits and what is recorded as
their own are decided before. See `releases.copies`.
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
    """The same errands; those that are copied say of what. No draw is taken twice in one statement."""
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
    """What is copied, in order."""
    return [one.copied for one in _errands(releases) if one.copied is not None]


def draws_of_others(
    releases: Sequence[PlannedRelease], book: ReleaseCache
) -> tuple[CopiedDraw, ...]:
    """What accounts on the way to the ledger gave for the copies before."""
    return tuple(
        CopiedDraw(one.costs.cost, one.sheet.delta, book.holders(one.copied.sheet.release))
        for one in _errands(releases)
        if one.copied is not None and one.sheet is not None
    )


def _errands(releases: Sequence[PlannedRelease]) -> list[PlannedMeasurement]:
    return [one for release in releases for one in release.errands]
