"""Cost sharing for cached measurements: what each account still owes for measurements that others bought.

Given a reuse plan, it lists the charges of the accounts on the analyst's path. Each account pays once for each measurement
that it receives, and the dataset's ledger paid once, when the measurement was made. `mark_copies` marks the parts whose
draw another trust group has bought: they are charged as if they were drawn anew.

INVARIANT: an account that has not paid for a value pays when the analyst receives it, and so does every account above it
except the dataset's ledger.
INVARIANT: nothing that the analyst sees depends on a mark: price, noise, notices, refusals and the analyst's own records
are decided before. See `gateway.release_cache.copies`.
"""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from datetime import datetime
from fractions import Fraction

from gateway.budget.charge import CachedMeasurement, CopiedDraw
from gateway.release_cache.assemble import PlannedMeasurement, PlannedRelease
from gateway.release_cache.cache import ReleaseCache
from gateway.release_cache.copies import Copy
from gateway.release_cache.entry import CacheEntry
from gateway.release_cache.events import ColumnsShared
from gateway.release_cache.matching import Match
from gateway.release_cache.query_plan import Debts, PlannedPart, QueryPlan


def debts_of(plan: QueryPlan) -> Debts:
    """What the analyst's accounts owe for the cached parts of the plan: those on the path without the dataset's ledger."""
    own, *above = plan.context.path
    accounts, cache = frozenset([own, *above[:-1]]), plan.context.cache
    subject = plan.context.query.subject
    owed: list[CachedMeasurement] = []
    owing: list[CacheEntry] = []
    told: dict[str, tuple[set[int], set[int]]] = {}
    for match, is_choice in _taken(plan):
        entry, place = match.entry, match.place
        paid = (cache.paid_choice if is_choice else cache.paid_slot)(entry.release, place)
        kept = entry.choices[place] if is_choice else entry.slots[place]
        new = not cache.knows(
            frozenset({subject}),
            entry.release,
            *(((), (place,)) if is_choice else ((place,), ())),
        )
        owes = not accounts <= paid
        if owes:
            # what showed the groups is given for with the first of their aggregates
            first = all(one is not entry for one in owing)
            delta = entry.delta if first else Fraction(0)
            owing.append(entry)
            owed.append(CachedMeasurement(kept.cost, delta, paid, entry.touched))
        if owes or new:
            told.setdefault(entry.release, (set(), set()))[is_choice].add(place)
    return Debts(
        tuple(owed),
        tuple(
            ColumnsShared(release, tuple(sorted(slots)), tuple(sorted(choices)), accounts)
            for release, (slots, choices) in told.items()
        ),
    )


def reveals_new_values(part: PlannedPart, cache: ReleaseCache, members: frozenset[str]) -> bool:
    """True if the part releases a value that no member of the trust group has received."""
    if part.shares.cost:
        return True
    return not all(
        cache.knows(members, one.entry.release, (one.place,))
        for one in part.slots
        if one is not None
    ) or not all(
        cache.knows(members, one.entry.release, (), (one.place,))
        for one in part.choices
        if one is not None
    )


def plan_entries(plan: QueryPlan) -> Iterator[CacheEntry]:
    """The cache entries that the plan uses."""
    return (match.entry for match, _ in _taken(plan))


def _taken(plan: QueryPlan) -> Iterator[tuple[Match, bool]]:
    """Each used slot and choice once, with whether it is a choice."""
    seen: set[tuple[str, int, bool]] = set()
    for part in plan.parts:
        for is_choice, several in ((False, part.slots), (True, part.choices)):
            for match in several:
                if match is None:
                    continue
                key = (match.entry.release, match.place, is_choice)
                if key not in seen:
                    seen.add(key)
                    yield match, is_choice


def mark_copies(
    releases: Sequence[PlannedRelease],
    cache: ReleaseCache,
    members: frozenset[str],
    since: datetime,
) -> tuple[PlannedRelease, ...]:
    """The same parts, each with its copy if it has one. No draw is used twice in one statement."""
    taken: list[str] = []
    found = []
    for release in releases:
        measurements = []
        for measurement in release.measurements:
            copy = None
            if measurement.entry is not None and not any(True for _ in measurement.taken):
                copy = cache.copy(measurement.entry, since=since, members=members, without=taken)
            if copy is not None:
                taken.append(copy.entry.release)
            measurements.append(replace(measurement, copied=copy))
        found.append(replace(release, measurements=tuple(measurements)))
    return tuple(found)


def copies_of(releases: Sequence[PlannedRelease]) -> list[Copy]:
    """The copies, in order."""
    return [one.copied for one in _measurements(releases) if one.copied is not None]


def draws_of_others(
    releases: Sequence[PlannedRelease], cache: ReleaseCache
) -> tuple[CopiedDraw, ...]:
    """What accounts on the path paid for the copied draws before."""
    return tuple(
        CopiedDraw(one.costs.cost, one.entry.delta, cache.holders(one.copied.entry.release))
        for one in _measurements(releases)
        if one.copied is not None and one.entry is not None
    )


def _measurements(releases: Sequence[PlannedRelease]) -> list[PlannedMeasurement]:
    return [one for release in releases for one in release.measurements]
