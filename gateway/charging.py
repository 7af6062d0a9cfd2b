"""The charge stage: take the price and record it, in one transaction, before anything runs.

INVARIANT: when `charge_question` returns, the charge and its trail record are durable and anchored;
when it raises, nothing was taken, except that an unreachable state or anchor may have kept a charge
that nobody will be answered for.
INVARIANT: a refusal is recorded before it is told. If the record cannot be written, the question is
refused for that reason instead.
"""

from collections.abc import Iterable
from datetime import UTC, datetime

from gateway.budget.account import ratio
from gateway.budget.charge import ChargeRequest, Receipt, Withdrawal
from gateway.budget.ledger import charge
from gateway.budget.measured import measured
from gateway.errors import Refusal
from gateway.store.draft import Draft
from gateway.store.journal import Journal
from gateway.trail.append import Trail
from gateway.trail.record import Asked, Kind, QuestionRecord, Taken


def charge_question(
    journal: Journal, trail: Trail, asked: Asked, request: ChargeRequest, now: datetime
) -> Receipt:
    """Charge `request` for the question `asked`, or raise the recorded refusal."""
    if (asked.query_id, asked.subject) != (request.query_id, request.subject):
        raise ValueError("the charge belongs to another question")

    def step(draft: Draft) -> Receipt | Refusal:
        try:
            receipt = charge(draft, request, now)
        except Refusal as refusal:
            trail.append(draft, _refused(asked, request, refusal))
            return refusal
        if not receipt.repeated:
            trail.append(draft, _charged(asked, request, receipt))
        return receipt

    outcome = journal.commit(step)
    if isinstance(outcome, Refusal):
        raise outcome
    return outcome


def record_fate(journal: Journal, trail: Trail, record: QuestionRecord) -> None:
    """Record what became of a question; the answer leaves only after this returns."""
    journal.commit(lambda draft: trail.append(draft, record))


def taken(withdrawals: Iterable[Withdrawal]) -> tuple[Taken, ...]:
    """Withdrawals as the trail says them; verification holds the ledger against exactly this."""
    return tuple(
        Taken(
            each.account,
            each.after.at.astimezone(UTC).isoformat(timespec="microseconds"),
            ratio(each.amount),
            ratio(each.delta),
            each.after.spent_text,
            each.after.delta_text,
        )
        for each in withdrawals
    )


def _charged(asked: Asked, request: ChargeRequest, receipt: Receipt) -> QuestionRecord:
    return QuestionRecord(
        Kind.CHARGED,
        asked,
        price=request.price.ratio,
        measurements=tuple(measured(one) for one in request.measurements),
        taken=taken(receipt.withdrawals),
    )


def _refused(asked: Asked, request: ChargeRequest, refusal: Refusal) -> QuestionRecord:
    return QuestionRecord(
        Kind.REFUSED,
        asked,
        code=refusal.code,
        because=(refusal.title, refusal.detail),
        price=request.price.ratio,
        measurements=tuple(measured(one) for one in request.measurements),
    )
