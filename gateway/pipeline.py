"""The way of a query: every stage a line, in order. Reading `answer` and `release_query` is reading the product.

    record ⟨ bind and authorize → analyze → quote (reuse · audit · price) → prepare → charge → execute → finish ⟩

A statement goes the same way over REST and over the wire up to its end: `answer` finishes it here, `release` hands the
finishing to a connection that runs it itself, and `estimate` stops before anything is charged.

INVARIANT: the charge is durable before the source computes, and is never given back. What leaves the gateway has the
noise that was charged for. Every query has a record of its outcome before the client sees the outcome.
"""

import threading
from collections.abc import Iterator
from contextlib import contextmanager

from gateway.binding.bound import PassThrough
from gateway.budget.charge import Receipt
from gateway.policy.subjects import Subject
from gateway.requests.request import Answer, Estimate, Request
from gateway.stages.analyze import analyze_query
from gateway.stages.attempts import Attempts
from gateway.stages.bind import BoundQuery, bind_query
from gateway.stages.charge import AlreadyCharged, charge_quote, find_first_answer, require_new_key
from gateway.stages.execute import Released, execute_query
from gateway.stages.finish import (
    DeferredStatement,
    defer_query,
    estimate_quote,
    finish_query,
    pass_through,
    require_query,
)
from gateway.stages.prepare import SourceAccess, check_query, prepare_query
from gateway.stages.quote import forecast_query, price_query, quote_query
from gateway.stages.record import EstimateRecord, QueryRecord, identify_query, record_outcome
from gateway.stages.reply_grid import Grid, on_grid
from gateway.stages.services import Services
from gateway.units import Delta, Epsilon


def answer(
    services: Services,
    subject: Subject,
    request: Request,
    front_end: str,
    cancelled: threading.Event,
) -> Answer:
    """The answer to a query, or the refusal; both are recorded before they leave."""
    with _record(services, subject, request, front_end) as record:
        with on_grid(services.pace, services.longest_grid(), cancelled) as grid:
            bound = _bind(services, subject, request, record, grid)
            require_query(bound.bound.statement)
            if isinstance(bound.bound, PassThrough):
                return pass_through(bound, bound.bound, record.query_id)
            try:
                found = finish_query(
                    release_query(services, bound, record, cancelled),
                    record.query_id,
                    entropy=services.entropy,
                    cancelled=cancelled,
                    limit_s=services.limit_s,
                    results=services.repeats.of(bound.dataset).results,
                )
            except AlreadyCharged as earlier:
                found = _find_first_answer(services, bound, earlier.receipt, cancelled)
        if request.idempotency is not None and found.charged:
            services.kept.keep(found, subject.name)
        return found


def release_query(
    services: Services, bound: BoundQuery, record: QueryRecord, cancelled: threading.Event
) -> Released:
    """From a bound query to released tables; nothing is asked of the source before the charge is durable."""
    query = price_query(analyze_query(bound), services.journal)
    require_new_key(query, services.journal)
    book = services.books[query.policy.name]
    with SourceAccess(
        query.dataset, query.subject.name, query.cut, query.asked_at, services.limit_s, cancelled
    ) as source:
        attempts = Attempts(book, source, services.pace, cancelled)
        for attempt in attempts:
            with attempt:
                quote = quote_query(
                    query,
                    query_id=record.query_id,
                    book=book,
                    journal=services.journal,
                    proven=source.proven,
                    now=services.now(),
                    limit_s=services.limit_s,
                    quotes=services.repeats.of(query.dataset).quotes,
                )
                prepare_query(quote, source)
                attempts.bill = charge_quote(
                    query, quote, record, book, services.journal, services.now()
                )
        return execute_query(
            query,
            attempts.bill,
            source,
            book,
            record=record,
            system_rows=services.system_rows,
            entropy=services.entropy,
            results=services.repeats.of(query.dataset).results,
        )


def release(
    services: Services,
    subject: Subject,
    request: Request,
    front_end: str,
    cancelled: threading.Event,
) -> DeferredStatement:
    """The same up to the finishing, which a connection to the twin runs itself."""
    with (
        _record(services, subject, request, front_end) as record,
        on_grid(services.pace, services.longest_grid(), cancelled) as grid,
    ):
        bound = _bind(services, subject, request, record, grid)
        if isinstance(bound.bound, PassThrough):
            return DeferredStatement(None)
        return defer_query(release_query(services, bound, record, cancelled))


def estimate(services: Services, subject: Subject, request: Request, front_end: str) -> Estimate:
    """The price and the margins of a query; nothing is measured, charged or waited for.

    It leaves on the grid, too: a statement that was bound for another subject before is bound sooner.
    """
    with (
        _record(services, subject, request, front_end, EstimateRecord) as record,
        on_grid(services.pace, services.longest_grid(), threading.Event()) as grid,
    ):
        bound = _bind(services, subject, request, record, grid)
        if isinstance(bound.bound, PassThrough):
            return Estimate(Epsilon.zero(), Delta.zero(), ())
        query = price_query(analyze_query(bound), services.journal)
        quote = forecast_query(
            query,
            query_id=record.query_id,
            book=services.books[query.policy.name],
            journal=services.journal,
            now=services.now(),
            limit_s=services.limit_s,
        )
        check_query(query, quote)
        return estimate_quote(query, quote)


@contextmanager
def _record(
    services: Services,
    subject: Subject,
    request: Request,
    front_end: str,
    kind: type[QueryRecord] = QueryRecord,
) -> Iterator[QueryRecord]:
    """The record of what happens inside."""
    record = kind(
        identify_query(subject, request, front_end),
        journal=services.journal,
        trail=services.trail,
        emit=services.emit,
        now=services.now,
    )
    with record_outcome(record):
        yield record


def _bind(
    services: Services, subject: Subject, request: Request, record: QueryRecord, grid: Grid
) -> BoundQuery:
    bound = bind_query(
        request,
        subject,
        find=services.find_dataset,
        twin=services.twin,
        now=services.now(),
        record=record,
    )
    # not before: the moment of a refusal must not tell which dataset a subject may not ask
    grid.step_ms = bound.dataset.policy.results.reply_grid_ms
    return bound


def _find_first_answer(
    services: Services, bound: BoundQuery, earlier: Receipt, cancelled: threading.Event
) -> Answer:
    grid_s = (bound.dataset.policy.results.reply_grid_ms or 0) / 1_000
    return find_first_answer(
        earlier,
        bound.question.subject.name,
        services.kept,
        limit_s=services.limit_s + grid_s,
        now=services.now,
        pace=services.pace,
        cancelled=cancelled,
    )
