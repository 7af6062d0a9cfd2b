"""Charges and records without a whole query: what tests of the ledger, the state and the trail need."""

from collections.abc import Callable, Iterable
from datetime import datetime

from gateway.budget.charge import ChargeRequest, Receipt
from gateway.errors import Refusal
from gateway.events import ignore_event
from gateway.stages.charge import Note, charge_query, note_nothing
from gateway.stages.record import QueryRecord
from gateway.state.draft import Draft
from gateway.state.journal import Journal
from gateway.trail.record import AskedQuestion, QuestionRecord, Trail


def charge_question(  # noqa: PLR0917 - a charge and everything it is written with
    journal: Journal,
    trail: Trail,
    asked: AskedQuestion,
    request: ChargeRequest,
    now: datetime,
    note: Note = note_nothing,
) -> Receipt:
    """Charge, or raise the refusal that is recorded, as the pipeline does."""
    record = QueryRecord(asked, journal=journal, trail=trail, emit=ignore_event, now=lambda: now)
    try:
        return charge_query(journal, record, request, now, note)
    except Refusal as refusal:
        record.end(refusal)
        raise


def record_outcome(
    journal: Journal,
    trail: Trail,
    record: QuestionRecord,
    kept: Iterable[Callable[[Draft], None]] = (),
    counted: Callable[[Draft], bool] = lambda _: False,
) -> bool:
    """Write the record of an outcome with what was kept; whether its subject is suspended by it."""

    def step(draft: Draft) -> bool:
        for keep in kept:
            keep(draft)
        trail.append(draft, record)
        return counted(draft)

    return journal.commit(step)
