"""The way of a query: every stage a line, in order. Reading `answer` and `release_query` is reading the product.

    record ⟨ bind and authorize → analyze → quote (reuse · audit · price) → prepare → charge → execute → finish ⟩

A statement goes the same way over REST and over the wire up to its end: `answer` finishes it here, `release` hands the
finishing to a connection that runs it itself, and `estimate` stops before anything is charged.

INVARIANT: the charge is durable before the source computes, and is never given back. What leaves the gateway has the
noise that was charged for. Every query has a record of its outcome before the client sees the outcome.
INVARIANT: a reply leaves on the longest of all grids until its query is bound, and then on the grid of its dataset: the
moment of a refusal does not tell which dataset a subject may not ask.
"""

import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace

from gateway.binding.bound import PassThrough
from gateway.budget.account import analyst_account
from gateway.budget.report import QuotaBalance, quota_left
from gateway.clipping.norm_histogram import NormHistogram
from gateway.datasets.dataset import ServedDataset
from gateway.datasets.view import BoundQuery, Question
from gateway.errors import InternalError, Refusal, Unbounded, UnsupportedSql
from gateway.pricing.accuracy import price_for_accuracy
from gateway.pricing.price import AnalyzedQuery
from gateway.requests.request import Answer, Estimate, NoticeDetail
from gateway.results.clipped_scopes import clipped_scopes
from gateway.stages.analyze import ChosenClips, analyze_query
from gateway.stages.attempts import Attempts
from gateway.stages.bind import bind_query
from gateway.stages.charge import (
    AlreadyCharged,
    charge_quote,
    find_first_answer,
    name_charges,
    require_new_key,
)
from gateway.stages.clips import (
    WantedHistogram,
    add_histograms,
    by_part,
    find_wanted,
    is_worth,
    read_histogram,
    with_histograms,
)
from gateway.stages.execute import execute_query, measure_histogram
from gateway.stages.finish import (
    DeferredStatement,
    defer_query,
    estimate_quote,
    finish_query,
    pass_through,
    require_query,
    warn_of_quota,
)
from gateway.stages.held_clips import clip_query
from gateway.stages.histogram_offers import find_offer
from gateway.stages.prepare import SourceAccess, check_query, prepare_query
from gateway.stages.purchase import Bill, Released
from gateway.stages.quote import Awaited, Moved, forecast_query, quote_query
from gateway.stages.record import EstimateRecord, QueryRecord, record_outcome
from gateway.stages.services import Services
from gateway.units import Delta, Epsilon


def answer(services: Services, question: Question, cancelled: threading.Event) -> Answer:
    """The answer to a question, or the refusal; both are recorded before they leave."""
    with _record(services, question) as record:
        with services.pace.on_grid(services.longest_grid(), cancelled) as grid:
            dataset = services.find_dataset(question)
            bound = bind_query(question, dataset, services.twin.borrowed, record)
            grid.step_ms = dataset.policy.results.reply_grid_ms
            require_query(bound)
            if isinstance(bound.bound, PassThrough):
                return pass_through(bound, bound.bound)
            try:
                found = finish_query(
                    release_query(services, dataset, bound, record, cancelled),
                    question.query_id,
                    entropy=services.entropy,
                    cancelled=cancelled,
                    limit_s=services.limit_s,
                    repeats=services.repeats.of(dataset),
                )
            except AlreadyCharged as earlier:
                found = find_first_answer(
                    earlier.receipt,
                    question.subject.name,
                    services.kept,
                    limit_s=services.limit_s + (grid.step_ms or 0) / 1_000,
                    now=services.now,
                    wait=services.pace.wait,
                    cancelled=cancelled,
                )
        if question.request.idempotency is not None and record.is_charged:
            services.kept.keep(found, question.subject.name)
        return found


def release_query(
    services: Services,
    dataset: ServedDataset,
    bound: BoundQuery,
    record: QueryRecord,
    cancelled: threading.Event,
) -> Released:
    """From a bound query to released tables; nothing is asked of the source before the charge is durable."""
    query = analyze_query(bound, dataset)
    require_new_key(query, services.journal)
    bought: list[Bill] = []
    own: list[Bill] = []
    with name_charges(bought, own):
        query = _clip_query(services, dataset, bound, query, bought=bought, cancelled=cancelled)
        query = price_for_accuracy(query, services.journal)
        record.set_clipped(clipped_scopes(query.releases, query.histograms))
        with SourceAccess(dataset, query, services.limit_s, cancelled) as source:
            bill = _charge_query(services, dataset, query, source, record)
            own.append(bill)
            done = execute_query(
                query,
                bill,
                source,
                record=record,
                system_rows=services.system_rows,
                entropy=services.entropy,
                repeats=services.repeats.of(dataset),
            )
    return with_histograms(done, bought)


def _charge_query(
    services: Services,
    dataset: ServedDataset,
    query: AnalyzedQuery,
    source: SourceAccess,
    record: QueryRecord,
) -> Bill:
    """Quote, prepare and charge a query, again if another one was answered in between."""
    cache, repeats = services.caches[query.policy.name], services.repeats.of(dataset)
    attempts = Attempts(cache, source, services.pace.wait, source.cancelled)
    for attempt in attempts:
        with attempt:
            quote = quote_query(
                query,
                cache=cache,
                journal=services.journal,
                proven=source.proven,
                now=services.now(),
                limit_s=services.limit_s,
                repeats=repeats,
            )
            prepare_query(quote, source)
            attempts.bill = charge_quote(
                query, quote, record, cache, services.journal, services.now()
            )
    return attempts.bill


def _clip_query(
    services: Services,
    dataset: ServedDataset,
    bound: BoundQuery,
    query: AnalyzedQuery,
    *,
    bought: list[Bill],
    cancelled: threading.Event,
) -> AnalyzedQuery:
    """The query with clips from histograms of norms; those that are missing are bought if the query can be charged, too.

    What is charged for them is added to `bought` at once, also where the query then ends with a refusal.
    """
    there = _clips_at_hand(services, dataset, bound, query)
    if not there.missing or not _can_buy(services, dataset, there, cancelled):
        return there.query
    served = list(there.served)
    for one in there.missing:
        histogram = _buy(services, dataset, one, bought, cancelled)
        if histogram is None:
            break
        served.append((one, histogram))
    # the estimate told the whole price for what is clipped by histograms that are new
    return _with_clips(services, dataset, bound, query, served, held=False)


@dataclass(frozen=True)
class _Clipped:
    """A query with the clips that follow from the histograms at hand, and those that it could have beside them."""

    query: AnalyzedQuery
    served: tuple[tuple[WantedHistogram, NormHistogram], ...]
    missing: tuple[WantedHistogram, ...]


def _clips_at_hand(
    services: Services, dataset: ServedDataset, bound: BoundQuery, query: AnalyzedQuery
) -> _Clipped:
    """The query as it is clipped if nothing is bought.

    A wanted accuracy buys nothing: its price follows from the clip, and the estimate tells it by the clip at hand.
    """
    served, missing = [], []
    buying = query.question.request.accuracy is None
    for wanted in find_wanted(query, dataset):
        one, found = find_offer(services, dataset, wanted, buying=buying)
        if found is None:
            missing.append(one)
        elif isinstance(found, NormHistogram):
            served.append((one, found))
    clipped = _with_clips(services, dataset, bound, query, served, held=True)
    return _Clipped(clipped, tuple(served), tuple(missing))


def _with_clips(
    services: Services,
    dataset: ServedDataset,
    bound: BoundQuery,
    query: AnalyzedQuery,
    served: Sequence[tuple[WantedHistogram, NormHistogram]],
    *,
    held: bool,
) -> AnalyzedQuery:
    """The query with clips of releases that are `held`, and where there are none with the best ones."""
    histograms = by_part(served)

    def clipped(chosen: ChosenClips) -> AnalyzedQuery:
        found = analyze_query(bound, dataset, chosen) if chosen else query
        return replace(found, histograms=histograms) if histograms else found

    return clip_query(
        query,
        served,
        clipped,
        cache=services.caches[query.policy.name],
        journal=services.journal,
        proven=dataset.proofs.now(),
        now=services.now(),
        repeats=services.repeats.of(dataset),
        held=held,
    )


def _can_buy(
    services: Services,
    dataset: ServedDataset,
    there: _Clipped,
    cancelled: threading.Event,
) -> bool:
    """Whether what is missing is worth its price, and the query will be charged after it as far as can be told now."""
    query = there.query
    try:
        if not is_worth(query, there.missing, services.journal, services.now()):
            return False
    except Refusal:
        return False  # the query itself says why
    with SourceAccess(dataset, query, services.limit_s, cancelled) as source:
        try:
            quote = quote_query(
                query,
                cache=services.caches[query.policy.name],
                journal=services.journal,
                proven=source.proven,
                now=services.now(),
                limit_s=services.limit_s,
                repeats=services.repeats.of(dataset),
            )
            prepare_query(quote, source)
        except (Moved, Awaited):
            # not audited yet: what the conditions of the query select is not counted before
            return all(one.instead is None for one in there.missing)
        except Refusal:
            return False  # here, too
    return quote.charges


def _buy(
    services: Services,
    dataset: ServedDataset,
    wanted: WantedHistogram,
    bought: list[Bill],
    cancelled: threading.Event,
) -> NormHistogram | None:
    """Buy a histogram of norms: a query with a record of its own.

    What stands against it is in that record. The query itself goes on without it; what was charged stays charged.
    """
    query, bill = wanted.query, None
    try:
        with _record(services, query.question) as record:
            record.set_dataset(dataset.policy)
            record.set_decision(query.decision)
            with SourceAccess(dataset, query, services.limit_s, cancelled) as source:
                bill = _charge_query(services, dataset, query, source, record)
                bought.append(bill)
                table = measure_histogram(bill, source, record, services.entropy)
    except InternalError:
        raise
    except Refusal as refusal:
        if cancelled.is_set():
            raise
        if bill is not None or isinstance(refusal, Unbounded | UnsupportedSql):
            dataset.failures.note(query.subject, wanted.over, services.now())
        return None
    return read_histogram(query, table.measured, table.noises)


def release(
    services: Services, question: Question, cancelled: threading.Event
) -> DeferredStatement:
    """The same up to the finishing, which a connection to the twin runs itself."""
    with (
        _record(services, question) as record,
        services.pace.on_grid(services.longest_grid(), cancelled) as grid,
    ):
        dataset = services.find_dataset(question)
        bound = bind_query(question, dataset, services.twin.borrowed, record)
        grid.step_ms = dataset.policy.results.reply_grid_ms
        if isinstance(bound.bound, PassThrough):
            return DeferredStatement(None)
        done = release_query(services, dataset, bound, record, cancelled)
        detail = question.request.notices
        quota = None if detail is NoticeDetail.OFF else own_quota(services, question, dataset)
        return defer_query(done, detail, quota)


def own_quota(
    services: Services, question: Question, dataset: ServedDataset
) -> QuotaBalance | None:
    """What the analyst's own account has left after the charge; no other account is read."""
    name = analyst_account(question.subject.name, dataset.policy.name)
    return services.journal.read(lambda draft: quota_left(draft, services.now(), name))


def estimate(services: Services, question: Question) -> Estimate:
    """The price and the margins of a query; nothing is measured, charged or waited for.

    It leaves on the grid, too: a statement that was bound for another subject before is bound sooner.
    """
    with (
        _record(services, question, EstimateRecord) as record,
        services.pace.on_grid(services.longest_grid(), threading.Event()) as grid,
    ):
        dataset = services.find_dataset(question)
        bound = bind_query(question, dataset, services.twin.borrowed, record)
        grid.step_ms = dataset.policy.results.reply_grid_ms
        if isinstance(bound.bound, PassThrough):
            return Estimate(Epsilon.zero(), Delta.zero(), ())
        query = analyze_query(bound, dataset)
        clipped = _clips_at_hand(services, dataset, bound, query)
        query = price_for_accuracy(clipped.query, services.journal)
        quote = forecast_query(
            query,
            cache=services.caches[query.policy.name],
            journal=services.journal,
            proven=dataset.proofs.now(),
            now=services.now(),
            limit_s=services.limit_s,
        )
        check_query(query, quote, dataset)
        bought = clipped.missing
        if not is_worth(query, bought, services.journal, services.now()):
            bought = ()
        found = add_histograms(query, estimate_quote(query, quote), bought)
        return warn_of_quota(found, own_quota(services, question, dataset))


@contextmanager
def _record(
    services: Services, question: Question, kind: type[QueryRecord] = QueryRecord
) -> Iterator[QueryRecord]:
    """The record of what happens inside."""
    record = kind.of(
        question,
        journal=services.journal,
        trail=services.trail,
        emit=services.emit,
        now=services.now,
    )
    with record_outcome(record):
        yield record
