"""The record of one query: the only writer of what became of it.

A query is answered, answered from the cache, refused or failed. Stages tell the record how far the query came, and
the record writes the trail's line before the client hears of the outcome.

INVARIANT: each query ends in one record of its outcome. If it cannot be written, the client gets that error instead.
A cached answer that tells its reader something new is recorded with the event that says so; if it then fails, a second
record says that.
INVARIANT: what was measured is durable before an answer leaves, so that nothing is measured again for the next query.
What was charged and not measured is written as lost, so that no query waits for it.
INVARIANT: a charged query whose source was stopped while it computed counts in the transaction of its record.
INVARIANT: a client sees an opaque number in the place of an internal error; the log of the operator has the error.
"""

import secrets
import time
import traceback
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from datetime import UTC
from enum import Enum
from typing import Final, Self

from gateway.budget.account import ratio_text
from gateway.budget.charge import ChargeRequest, LedgerEntry, Receipt, Withdrawal
from gateway.datasets.view import Question
from gateway.errors import GatewayError, InternalError, OperatorError, Refusal
from gateway.events import Crashed, Emit, QuestionEnded, SubjectSuspended
from gateway.json_form import Json
from gateway.policy.decide import Decision
from gateway.policy.policy import Policy
from gateway.release_cache.entry import Content
from gateway.release_cache.event_log import append_always, keep_content
from gateway.release_cache.events import ContentLost, ContentStored, Event
from gateway.release_cache.serialization import content_text
from gateway.requests.request import ClippedScope, NullItem
from gateway.stages.suspension import SourceStop, count, is_counted
from gateway.state.draft import Draft
from gateway.state.journal import Journal
from gateway.trail.record import (
    AccountWithdrawal,
    AskedQuestion,
    Clock,
    QuestionRecord,
    RecordKind,
    Trail,
    WithdrawalSource,
)

_LONGEST_SQL: Final = 65_536


class Progress(Enum):
    """How far a query came, as far as its record is concerned."""

    ASKED = "asked"
    CHARGING = "charging"  # whether the charge is durable is not known
    CHARGED = "charged"
    REUSED = "reused"  # nothing was charged, and the record of the cached answer is durable


class QueryRecord:
    """One query on its way through the stages."""

    def __init__(
        self, asked: AskedQuestion, *, journal: Journal, trail: Trail, emit: Emit, now: Clock
    ) -> None:
        self.asked = asked
        self.is_cached = False
        self._journal = journal
        self._trail = trail
        self.emit = emit
        self._now = now
        self._progress = Progress.ASKED
        self._refused: ChargeRequest | None = None
        self._contents: dict[str, str] = {}
        self._events: list[Event] = []
        self._began = time.monotonic_ns()
        self._most_stops = 1

    @classmethod
    def of(
        cls, question: Question, *, journal: Journal, trail: Trail, emit: Emit, now: Clock
    ) -> Self:
        """The record of a question."""
        request = question.request
        asked = AskedQuestion(
            query_id=question.query_id,
            subject=question.subject.name,
            dataset=request.dataset or "",
            sql=request.sql[:_LONGEST_SQL],
            front_end=question.front_end,
            address=request.address,
            purpose=request.purpose,
        )
        return cls(asked, journal=journal, trail=trail, emit=emit, now=now)

    @property
    def is_charged(self) -> bool:
        """Whether a charge is durable, also one that takes nothing from the analyst's own account."""
        return self._progress is Progress.CHARGED

    def set_dataset(self, policy: Policy) -> None:
        self.asked = replace(self.asked, dataset=policy.name)
        self._most_stops = policy.timeouts_per_day

    def set_decision(self, decision: Decision) -> None:
        self.asked = replace(
            self.asked,
            purpose=decision.purpose,
            attributes={**self.asked.attributes, "because": list(decision.because)},
        )

    def set_nulled(self, items: Iterable[NullItem]) -> None:
        """The items that are NULL in the answer, each with the code of its refusal."""
        found: list[Json] = [{"column": one.column, "code": one.code} for one in items]
        if found:
            self.asked = replace(self.asked, attributes={**self.asked.attributes, "null": found})

    def set_clipped(self, scopes: Iterable[ClippedScope]) -> None:
        """The scopes of the weights of the answer, each with the norm up to which a unit counts in full."""
        # c², because the trail has whole numbers alone
        found: list[Json] = [
            {"over": one.over, "limit_squared": round(one.limit**2)} for one in scopes
        ]
        if found:
            self.asked = replace(self.asked, attributes={**self.asked.attributes, "clipped": found})

    @contextmanager
    def charging(self) -> Iterator[None]:
        """A charge happens inside. If the state cannot be reached, the charge may be durable: nothing is recorded then."""
        before, self._progress = self._progress, Progress.CHARGING
        try:
            yield
        except Refusal:
            raise
        except BaseException:
            self._progress = before  # the journal wrote nothing
            raise
        self._progress = Progress.CHARGED

    def write_charge(
        self, draft: Draft, request: ChargeRequest, receipt: Receipt, copied: Iterable[str] = ()
    ) -> None:
        """The trail's line of a charge; `copied` are the releases whose draws are handed on."""
        self._trail.append(
            draft,
            QuestionRecord(
                RecordKind.CHARGED,
                replace(self.asked, copied=tuple(copied)),
                price=request.price.ratio,
                price_taken=receipt.price_taken.ratio,
                measurements=tuple(one.json() for one in request.measurements),
                taken=withdrawal_lines(receipt.withdrawals),
            ),
        )

    def refuse_charge(self, request: ChargeRequest) -> None:
        """The ledger refused the charge: the record names what was not paid for."""
        self._progress, self._refused = Progress.ASKED, request

    def write_cached(self, draft: Draft) -> None:
        """The trail's line of a cached answer, in the transaction that adds its recipient."""
        self._trail.append(draft, QuestionRecord(RecordKind.REUSED, self.asked))

    def set_cached(self) -> None:
        """What `write_cached` wrote is durable."""
        self._progress = Progress.REUSED

    @contextmanager
    def measuring(self, releases: Iterable[str]) -> Iterator[None]:
        """These are measured inside; those that `keep` did not get are lost."""
        try:
            yield
        finally:
            self._events += [ContentLost(one) for one in releases if one not in self._contents]

    def keep(self, content: Content, stored: ContentStored) -> None:
        """What was measured for a release, and the event that it is stored."""
        self._contents[stored.release] = content_text(content)
        self._events.append(stored)

    def end(self, refusal: Refusal | None) -> None:
        """Write the outcome; then count it."""
        kind = (
            RecordKind.REUSED
            if self.is_cached or self._progress is Progress.REUSED
            else RecordKind.ANSWERED
        )
        if refusal is not None:
            paid = self._progress in {Progress.CHARGED, Progress.REUSED}
            kind = RecordKind.FAILED if paid else RecordKind.REFUSED
        written = self._progress is Progress.REUSED and refusal is None
        if not written and self._progress is not Progress.CHARGING:
            self._write(kind, refusal)
        self.emit(QuestionEnded(kind.value, "" if refusal is None else refusal.code.value))

    def _write(self, kind: RecordKind, refusal: Refusal | None) -> None:
        counted = self._progress is Progress.CHARGED and is_counted(refusal)
        unpaid = self._refused
        record = QuestionRecord(
            kind,
            self.asked,
            code=None if refusal is None else refusal.code,
            because=() if refusal is None else (refusal.title, refusal.detail),
            price=None if unpaid is None else unpaid.price.ratio,
            measurements=() if unpaid is None else tuple(one.json() for one in unpaid.measurements),
            duration_us=(time.monotonic_ns() - self._began) // 1_000,
            counted=counted,
        )
        asked = self.asked
        stop = SourceStop(asked.subject, asked.dataset, asked.query_id, self._most_stops)

        def step(draft: Draft) -> bool:
            for release, text in self._contents.items():
                keep_content(draft, release, text, self._now())
            if self._events:
                append_always(
                    draft,
                    asked.dataset,
                    self._events,
                    self._now(),
                    subject=asked.subject,
                    query_id=asked.query_id,
                )
            self._trail.append(draft, record)
            return counted and count(draft, self._trail, stop, self._now())

        if self._journal.commit(step):
            self.emit(SubjectSuspended(asked.dataset))


class EstimateRecord(QueryRecord):
    """An estimate releases nothing and charges nothing: it leaves no record."""

    def end(self, refusal: Refusal | None) -> None:
        del refusal


@contextmanager
def record_outcome(record: QueryRecord) -> Iterator[None]:
    """A query is answered inside; every way out is recorded, and only then seen by the client."""
    try:
        yield
    except Refusal as refusal:
        record.end(refusal)
        refusal.query_id = record.asked.query_id
        raise
    except Exception as error:  # noqa: BLE001  # the last line of defence of every query
        internal, crash = _hide(error)
        record.emit(crash)
        record.end(internal)
        internal.query_id = record.asked.query_id
        raise internal from None
    record.end(None)


def _hide(error: Exception) -> tuple[InternalError, Crashed]:
    """What the client sees of a bug, and what the operator sees."""
    incident = secrets.token_hex(8)
    message = str(error) if isinstance(error, (GatewayError, OperatorError)) else ""
    return InternalError(incident), Crashed(incident, f"{message}\n{traceback.format_exc()}")


def withdrawal_lines(withdrawals: Iterable[Withdrawal]) -> tuple[AccountWithdrawal, ...]:
    """Withdrawals as the trail says them; verification compares the ledger with exactly these."""
    return tuple(
        AccountWithdrawal(*_line(each.account, line))
        if line is each
        else WithdrawalSource(*_line(each.account, line), line.cell)
        for each in withdrawals
        for line in each.entries
    )


def _line(account: str, line: Withdrawal | LedgerEntry) -> tuple[str, str, str, str, str, str]:
    return (
        account,
        line.after.at.astimezone(UTC).isoformat(timespec="microseconds"),
        ratio_text(line.amount),
        ratio_text(line.delta),
        line.after.spent_text,
        line.after.delta_text,
    )
