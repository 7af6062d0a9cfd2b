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
from dataclasses import dataclass, replace
from datetime import datetime
from fractions import Fraction

from gateway.budget.charge import CachedMeasurement, CopiedDraw
from gateway.release_cache.assemble import PlannedMeasurement, PlannedRelease
from gateway.release_cache.cache import ReleaseCache
from gateway.release_cache.copies import Copy
from gateway.release_cache.entry import CacheEntry
from gateway.release_cache.events import ColumnsShared
from gateway.release_cache.matching import Match
from gateway.release_cache.reuse_planner import PlannedPart, ReusePlan


@dataclass(frozen=True)
class Debts:
    """`told` is what is written down of it: also of what is owed nothing for, when the subject is new to it."""

    owed: tuple[CachedMeasurement, ...]
    told: tuple[ColumnsShared, ...]

    def of(self, account: str) -> Fraction:
        """What one account owes, in the ledger's currency."""
        return sum((one.cost for one in self.owed if account not in one.paid), Fraction(0))


def debts_of(plan: ReusePlan, book: ReleaseCache, subject: str, accounts: frozenset[str]) -> Debts:
    """What the analyst's accounts owe for the cached parts of the plan: those on the path without the dataset's ledger."""
    owed: list[CachedMeasurement] = []
    owing: list[CacheEntry] = []
    told: dict[str, tuple[set[int], set[int]]] = {}
    for match, is_choice in _taken(plan):
        sheet, place = match.sheet, match.place
        paid = (book.paid_choice if is_choice else book.paid_slot)(sheet.release, place)
        kept = sheet.choices[place] if is_choice else sheet.slots[place]
        new = not book.knows(
            frozenset({subject}),
            sheet.release,
            *(((), (place,)) if is_choice else ((place,), ())),
        )
        owes = not accounts <= paid
        if owes:
            # what showed the groups is given for with the first of their aggregates
            first = all(one is not sheet for one in owing)
            delta = sheet.delta if first else Fraction(0)
            owing.append(sheet)
            owed.append(CachedMeasurement(kept.cost, delta, paid, sheet.touched))
        if owes or new:
            told.setdefault(sheet.release, (set(), set()))[is_choice].add(place)
    return Debts(
        tuple(owed),
        tuple(
            ColumnsShared(release, tuple(sorted(slots)), tuple(sorted(choices)), accounts)
            for release, (slots, choices) in told.items()
        ),
    )


def reveals_new_values(part: PlannedPart, book: ReleaseCache, members: frozenset[str]) -> bool:
    """True if the part releases a value that no member of the trust group has received."""
    if part.shares.cost:
        return True
    return not all(
        book.knows(members, one.sheet.release, (one.place,))
        for one in part.slots
        if one is not None
    ) or not all(
        book.knows(members, one.sheet.release, (), (one.place,))
        for one in part.choices
        if one is not None
    )


def plan_entries(plan: ReusePlan) -> Iterator[CacheEntry]:
    """The cache entries that the plan uses."""
    return (match.sheet for match, _ in _taken(plan))


def _taken(plan: ReusePlan) -> Iterator[tuple[Match, bool]]:
    """Each used slot and choice once, with whether it is a choice."""
    seen: set[tuple[str, int, bool]] = set()
    for part in plan.parts:
        for is_choice, several in ((False, part.slots), (True, part.choices)):
            for match in several:
                if match is None:
                    continue
                key = (match.sheet.release, match.place, is_choice)
                if key not in seen:
                    seen.add(key)
                    yield match, is_choice


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
