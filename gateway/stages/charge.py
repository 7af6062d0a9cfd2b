"""The charge: take the price and record it, in one transaction, before the source computes.

INVARIANT: when `charge_query` returns, the charge and its trail record are durable and anchored. When it raises, nothing
was taken, except that an unreachable state or anchor may have kept a charge that no client is answered for.
INVARIANT: the state that a quote was made on is still the newest when it is charged, or nothing is written: see `Moved`.

A query whose idempotency key was charged before gets the answer that the first query got, for nothing. While the first
query is answered, the second waits. A gateway that died between the charge and the answer leaves no record. So the second
waits no longer than a statement may take.
"""

import threading
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from fractions import Fraction
from typing import Final, TypeAlias

from gateway.budget.account import Currency
from gateway.budget.charge import ChargeRequest, Idempotency, Receipt
from gateway.budget.ledger import charge, earlier_charge
from gateway.errors import (
    BackendUnavailable,
    Code,
    InternalError,
    Refusal,
    SourceStopped,
    SyntaxRefused,
)
from gateway.pricing.price import AnalyzedQuery, charge_request
from gateway.release_cache.cache import ReleaseCache
from gateway.release_cache.cost_sharing import copies_of, draws_of_others
from gateway.release_cache.entry import CacheEntry, Content
from gateway.release_cache.event_log import append
from gateway.release_cache.query_plan import QueryPlan
from gateway.requests.idempotency import StoredAnswers
from gateway.requests.request import Answer
from gateway.stages.purchase import Bill, Quote
from gateway.stages.quote import Moved
from gateway.stages.record import QueryRecord
from gateway.stages.reply_grid import Wait
from gateway.stages.suspension import require_active
from gateway.state.draft import Draft
from gateway.state.journal import Journal
from gateway.units import Delta, Epsilon

_LOOK_S: Final = 0.1  # how often the first answer is looked for
Note: TypeAlias = Callable[[Draft, Receipt], bool]


class AlreadyCharged(Exception):
    """The idempotency key of the query was charged before."""

    def __init__(self, receipt: Receipt) -> None:
        super().__init__(receipt.query_id)
        self.receipt = receipt


def require_new_key(query: AnalyzedQuery, journal: Journal) -> None:
    """A query whose idempotency key was charged before is answered by what it was answered then."""
    once = query.question.request.idempotency
    if once is None:
        return
    key, subject = Idempotency(*once), query.subject
    earlier = journal.read(lambda draft: earlier_charge(draft, subject, key))
    if earlier is not None:
        raise AlreadyCharged(earlier)


def charge_quote(  # noqa: PLR0917 - a quote, and where it is charged
    query: AnalyzedQuery,
    quote: Quote,
    record: QueryRecord,
    cache: ReleaseCache,
    journal: Journal,
    now: datetime,
) -> Bill:
    """Charge a quote and note what it buys; `Moved` if the log does not end any more where the quote was made.

    `now` is the time of the charge, and not of the quote: others wait for what is charged for as long as it may take.
    """
    plan = quote.plan
    if plan is None:
        return Bill(quote)
    contents = load_contents(cache, quote.taken)
    dataset, asked = query.policy.name, record.asked

    def note(draft: Draft) -> bool:
        return append(
            draft,
            dataset,
            plan.context.basis.seen.ordinal,
            quote.events,
            now,
            subject=asked.subject,
            query_id=asked.query_id,
        )

    def note_charge(draft: Draft, receipt: Receipt) -> bool:
        return receipt.cost == plan.cost and note(draft)

    def note_cached(draft: Draft) -> None:
        require_active(draft, asked.subject, dataset)
        if not note(draft):
            raise Moved
        record.write_cached(draft)

    receipt = None
    if quote.charges:
        request = charge_request(
            query,
            plan.shares,
            owed=plan.debts.owed,
            touched=quote.touched,
            held=draws_of_others(quote.releases, cache),
        )
        copied = tuple(one.entry.release for one in copies_of(quote.releases))
        receipt = charge_query(journal, record, request, now, note_charge, copied=copied)
        if receipt.repeated:
            raise AlreadyCharged(receipt)
    elif quote.events:
        journal.commit(note_cached)
        record.set_cached()
    record.is_cached = not plan.bought
    return _bill(query, quote, contents, plan, receipt)


def note_nothing(_: Draft, __: Receipt) -> bool:
    """For a charge that rests on no earlier answer."""
    return True


def charge_query(
    journal: Journal,
    record: QueryRecord,
    request: ChargeRequest,
    now: datetime,
    note: Note = note_nothing,
    *,
    copied: tuple[str, ...] = (),
) -> Receipt:
    """Charge the query of this record, or raise the refusal.

    `note` writes what was quoted in the same transaction; if it returns False, nothing is written and `Moved` is raised.
    """
    asked = record.asked
    if (asked.query_id, asked.subject) != (request.query_id, request.subject):
        raise ValueError("the charge belongs to another query")

    def step(draft: Draft) -> Receipt | Refusal:
        try:
            require_active(draft, asked.subject, asked.dataset)
            receipt = charge(draft, request, now)
        except Refusal as refusal:
            return refusal
        if not receipt.repeated:
            if not note(draft, receipt):
                raise Moved
            record.write_charge(draft, request, receipt, copied)
        return receipt

    with record.charging():
        outcome = journal.commit(step)
    if isinstance(outcome, Refusal):
        record.refuse_charge(request)
        raise outcome
    return outcome


def _bill(
    query: AnalyzedQuery,
    quote: Quote,
    contents: Mapping[str, Content],
    plan: QueryPlan,
    receipt: Receipt | None,
) -> Bill:
    if receipt is None:
        return Bill(quote, contents, plan.context.price, notices=reuse_notices(quote))
    own = [one for one in receipt.withdrawals if one.account == plan.context.path[0]]
    amount, delta = next(((one.amount, one.delta) for one in own), (None, Fraction(0)))
    return Bill(
        quote,
        contents,
        plan.context.price,
        receipt.price_taken,
        amount if query.currency is Currency.ZCDP else None,
        Delta(delta),
        reuse_notices(quote, receipt.price_taken),
    )


def load_contents(cache: ReleaseCache, entries: Iterable[CacheEntry]) -> Mapping[str, Content]:
    """The cached integers that are taken; they are read before anything is charged for them."""
    found = {}
    for entry in entries:
        content = cache.content(entry.release)
        if content is None:
            raise BackendUnavailable(Code.STATE_UNAVAILABLE, hint="try again in a moment")
        found[entry.release] = content
    return found


def reuse_notices(quote: Quote, charged: Epsilon | None = None) -> tuple[str, ...]:
    """The notices of an answer that came from the cache, wholly or in part, by its oldest entry."""
    if quote.since is None:
        return ()
    when = f"{quote.since.astimezone(UTC):%Y-%m-%d %H:%M} UTC"
    if quote.partly:
        return (f"a part of this answer was reused from {when}",)
    took = f"epsilon {charged} was charged" if charged else "nothing was charged"
    return (f"answered from earlier results of {when}: {took}",)


@contextmanager
def name_charges(histograms: Sequence[Bill], own: Sequence[Bill]) -> Iterator[None]:
    """A refusal inside says what stays charged: for histograms of norms, and for the query itself if it was charged, too."""
    try:
        yield
    except InternalError:
        raise
    except Refusal as refusal:
        stays = _charges_text(_charged(histograms), _charged(own))
        refusal.detail = "; ".join(filter(None, (refusal.detail, stays)))
        raise


def _charged(bills: Sequence[Bill]) -> Epsilon:
    return sum((one.charged for one in bills), Epsilon.zero())


def _charges_text(histograms: Epsilon, own: Epsilon) -> str:
    """What the analyst's own account was charged; nothing where it was charged nothing."""
    if not histograms.value:
        return f"epsilon {own} was charged and stays charged" if own.value else ""
    bought = f"epsilon {histograms} was charged for a histogram of norms"
    if not own.value:
        return f"{bought} and stays charged"
    return f"{bought} and {own} for the query, and both stay charged"


def find_first_answer(  # noqa: PLR0913 - a receipt, and how its answer is waited for
    receipt: Receipt,
    subject: str,
    kept: StoredAnswers,
    *,
    limit_s: float,
    now: Callable[[], datetime],
    wait: Wait,
    cancelled: threading.Event,
) -> Answer:
    """The answer to the charge of this receipt, for nothing; refused if it is not kept any more."""
    until = receipt.at + timedelta(seconds=limit_s)
    while True:
        ended = kept.ended(receipt.query_id) or now() >= until
        found = kept.find(receipt.query_id, subject)
        if found is not None:
            return replace(found, charged=Epsilon.zero())
        if ended:
            raise SyntaxRefused(
                Code.IDEMPOTENCY_MISMATCH,
                "the answer for this key is no longer stored",
                "send the query with a new key; it is charged again",
            )
        if wait(cancelled, _LOOK_S):
            raise SourceStopped(Code.SOURCE_CANCELLED)
