"""Sheets to buy, and a dataset whose questions are charged, noted and answered as the gateway does it."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from fractions import Fraction
from functools import partial

from charges import charge_question, record_outcome
from fix_ledger import ALICE, BOB, CLINIC, NOON, Bank, asked, question

from gateway.admin.actions import refresh_data
from gateway.budget.charge import Receipt
from gateway.catalog.tables import ColumnRef
from gateway.noise.mechanism import DiscreteLaplace
from gateway.regions.axis import AxisKind, RegionAxis
from gateway.regions.cells import StepCells
from gateway.regions.region import Box, Region
from gateway.regions.scope import ReleaseScope
from gateway.release_cache.cache import ReleaseCache
from gateway.release_cache.entry import CachedSlot, CacheEntry, Content
from gateway.release_cache.event_log import append, append_always, keep_content
from gateway.release_cache.events import (
    ColumnsShared,
    ContentLost,
    ContentStored,
    EntryCharged,
    Event,
)
from gateway.release_cache.serialization import content_text
from gateway.stages.quote import Moved
from gateway.state.draft import Draft
from gateway.trail.record import QuestionRecord
from gateway.trail.record import RecordKind as Outcome
from gateway.units import Epsilon

DATASET = "clinic"
ALWAYS = datetime.min.replace(tzinfo=NOON.tzinfo)
ACCOUNTS = {"alice": frozenset({ALICE, CLINIC}), "bob": frozenset({BOB, CLINIC})}
YEARS = RegionAxis(
    "patients.birth_year",
    AxisKind.STEPS,
    low=1920,
    high=2020,
    size=101,
    nullable=False,
    readable=True,
    quasi=True,
    column=ColumnRef("patients", "birth_year"),
)


def scope(first: int = 1950, last: int = 1959, shape: str = "patients") -> ReleaseScope:
    """Patients who were born in these years."""
    box = Box(((YEARS.name, StepCells(((first, last),))),))
    return ReleaseScope(shape, frozenset({"patients"}), Region((YEARS,), (box,)), (), ())


def slot(scale: int = 20, name: str = "units") -> CachedSlot:
    return CachedSlot(name, (DiscreteLaplace(Fraction(scale)),), Fraction(1, scale), 1)


def entry(
    number: int,
    about: ReleaseScope | None = None,
    *,
    at: datetime = NOON,
    epoch: int = 0,
    slots: Sequence[CachedSlot] = (slot(),),
) -> CacheEntry:
    return CacheEntry(
        release=f"q-{number}.r1.1",
        query_id=f"q-{number}",
        at=at,
        epoch=epoch,
        scope=about or scope(),
        bounding="R1",
        additive=True,
        plain=True,
        listed=True,
        slots=tuple(slots),
        choices=(),
        asked_at=Epsilon(Fraction(1, 20)),
    )


def content(*numbers: int) -> Content:
    """One column of them, in as many groups."""
    return Content(tuple((f"group {place}",) for place in range(len(numbers))), (numbers,))


@dataclass
class Desk:
    """Where questions about one dataset are charged, in one process."""

    bank: Bank
    dataset: str = DATASET
    minutes: int = 0
    price: Fraction = field(default_factory=lambda: Fraction(1, 1000))

    def cache(self) -> ReleaseCache:
        return ReleaseCache(self.bank.engine, self.bank.trail.seal, self.dataset)

    def write(
        self, seen: int, events: Sequence[Event], number: int, subject: str = "alice"
    ) -> bool:
        """Charge question `number`, and note these events with it; False when it was planned on less."""
        query_id = f"q-{number}"
        account = ALICE if subject == "alice" else BOB
        request = question(self.price, account, query_id=query_id, subject=subject)

        def noted(draft: Draft, _: Receipt) -> bool:
            return append(
                draft,
                self.dataset,
                seen,
                events,
                self.bank.now,
                subject=subject,
                query_id=query_id,
            )

        try:
            charge_question(
                self.bank.journal, self.bank.trail, asked(request), request, self.bank.now, noted
            )
        except Moved:
            return False
        return True

    def buy(self, seen: int, bought: CacheEntry, subject: str = "alice") -> bool:
        number = int(bought.query_id.removeprefix("q-"))
        return self.write(seen, [EntryCharged(bought, ACCOUNTS[subject])], number, subject)

    def tell(self, seen: int, told: ColumnsShared, number: int, subject: str = "bob") -> bool:
        return self.write(seen, [told], number, subject)

    def answer(self, answered: CacheEntry, *numbers: int, slot: int | None = None) -> None:
        """Noisy integers come, with the trail's record of the answer."""
        release, now = answered.release, self.bank.now
        kept = [
            partial(keep_content, release=release, text=content_text(content(*numbers)), now=now),
            partial(
                append_always,
                dataset=self.dataset,
                events=[ContentStored(release, numbers, slot, Fraction(2), whole=True)],
                now=now,
            ),
        ]
        self._end(answered, Outcome.ANSWERED, kept)

    def lose(self, lost: CacheEntry) -> None:
        """The source fails."""
        event = partial(
            append_always,
            dataset=self.dataset,
            events=[ContentLost(lost.release)],
            now=self.bank.now,
        )
        self._end(lost, Outcome.FAILED, [event])

    def refresh(self) -> int:
        bank = self.bank
        return refresh_data(bank.journal, bank.trail, self.dataset, actor="dave", now=bank.now)

    def pass_minutes(self, minutes: int) -> datetime:
        self.bank.now += timedelta(minutes=minutes)
        return self.bank.now

    def _end(self, ended: CacheEntry, outcome: Outcome, kept: Sequence[partial[None]]) -> None:
        request = question(self.price, query_id=ended.query_id)
        record = QuestionRecord(outcome, asked(request))
        record_outcome(self.bank.journal, self.bank.trail, record, kept)
