"""The charge stage: take the price and record it, in one transaction, before anything runs.

INVARIANT: when `charge_question` returns, the charge and its trail record are durable and anchored;
when it raises, nothing was taken, except that an unreachable state or anchor may have kept a charge
that nobody will be answered for.
INVARIANT: what the question was planned on is still so when it is charged, or nothing is taken: see `Moved`.
INVARIANT: a refusal is recorded before it is told. If the record cannot be written, the question is
refused for that reason instead.
"""

from collections.abc import Callable, Iterable
from datetime import UTC, datetime

from gateway.budget.account import ratio
from gateway.budget.charge import ChargeRequest, Entry, Receipt, Withdrawal, measured
from gateway.budget.ledger import charge
from gateway.errors import Refusal
from gateway.stages.suspension import require_active
from gateway.state.draft import Draft
from gateway.state.journal import Journal
from gateway.trail.append import Trail
from gateway.trail.record import Asked, Kind, QuestionRecord, Taken, TakenFrom


class Moved(Exception):
    """Somebody was answered meanwhile: what the question was planned on is not how things stand any more."""


def nothing_moved(_: Draft, __: Receipt) -> bool:
    """For a question that was planned on nothing."""
    return True


def charge_question(  # noqa: PLR0917 - a charge and everything it stands with
    journal: Journal,
    trail: Trail,
    asked: Asked,
    request: ChargeRequest,
    now: datetime,
    noted: Callable[[Draft, Receipt], bool] = nothing_moved,
) -> Receipt:
    """Charge `request` for the question `asked`, or raise the recorded refusal.

    `noted` writes down, in the same transaction, what is bought; where it says no, nothing is written at all, and
    `Moved` is raised.
    """
    if (asked.query_id, asked.subject) != (request.query_id, request.subject):
        raise ValueError("the charge belongs to another question")

    def step(draft: Draft) -> Receipt | Refusal:
        try:
            require_active(draft, asked.subject, asked.dataset)
            receipt = charge(draft, request, now)
        except Refusal as refusal:
            trail.append(draft, _refused(asked, request, refusal))
            return refusal
        if not receipt.repeated:
            if not noted(draft, receipt):
                raise Moved
            trail.append(draft, _charged(asked, request, receipt))
        return receipt

    outcome = journal.commit(step)
    if isinstance(outcome, Refusal):
        raise outcome
    return outcome


def record_fate(
    journal: Journal,
    trail: Trail,
    record: QuestionRecord,
    kept: Iterable[Callable[[Draft], None]] = (),
    counted: Callable[[Draft], bool] = lambda _: False,
) -> bool:
    """Record what became of a question, and what it leaves behind; the answer leaves only after this returns.

    `counted` counts a question that was stopped: whether its subject is suspended by that.
    """

    def step(draft: Draft) -> bool:
        for keep in kept:
            keep(draft)
        trail.append(draft, record)
        return counted(draft)

    return journal.commit(step)


def taken(withdrawals: Iterable[Withdrawal]) -> tuple[Taken, ...]:
    """Withdrawals as the trail says them; verification holds the ledger against exactly this."""
    return tuple(
        Taken(*_line(each.account, line))
        if line is each
        else TakenFrom(*_line(each.account, line), line.cell)
        for each in withdrawals
        for line in each.entries
    )


def _charged(asked: Asked, request: ChargeRequest, receipt: Receipt) -> QuestionRecord:
    return QuestionRecord(
        Kind.CHARGED,
        asked,
        price=request.price.ratio,
        price_taken=receipt.price_taken.ratio,
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


def _line(account: str, line: Withdrawal | Entry) -> tuple[str, str, str, str, str, str]:
    return (
        account,
        line.after.at.astimezone(UTC).isoformat(timespec="microseconds"),
        ratio(line.amount),
        ratio(line.delta),
        line.after.spent_text,
        line.after.delta_text,
    )
