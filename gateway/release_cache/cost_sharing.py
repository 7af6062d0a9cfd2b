"""Cost sharing for cached measurements: what each account still owes for measurements that others bought.

Given a reuse plan, it lists the charges of the accounts on the analyst's path. Each account pays once for each measurement
that it receives, and the dataset's ledger paid once, when the measurement was made.

INVARIANT: an account that has not paid for a value pays when the analyst receives it, and so does every account above it
except the dataset's ledger.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction

from gateway.budget.charge import CachedMeasurement
from gateway.release_cache.cache import ReleaseCache
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


@dataclass(frozen=True)
class Debtor:
    """The analyst: `accounts` are those on the path without the dataset's ledger."""

    subject: str
    accounts: frozenset[str]


def debts_of(plan: ReusePlan, book: ReleaseCache, debtor: Debtor) -> Debts:
    """What the accounts owe for the cached parts of the plan."""
    owed: list[CachedMeasurement] = []
    owing: list[CacheEntry] = []
    told: dict[str, tuple[set[int], set[int]]] = {}
    for match, is_choice in _taken(plan):
        sheet, place = match.sheet, match.place
        paid = (book.paid_choice if is_choice else book.paid_slot)(sheet.release, place)
        kept = sheet.choices[place] if is_choice else sheet.slots[place]
        new = not book.knows(
            frozenset({debtor.subject}),
            sheet.release,
            *(((), (place,)) if is_choice else ((place,), ())),
        )
        owes = not debtor.accounts <= paid
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
            ColumnsShared(release, tuple(sorted(slots)), tuple(sorted(choices)), debtor.accounts)
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
