"""Queries that are bound and analysed, without the rest of the pipeline around them."""

from datetime import datetime

from gateway.noise.entropy import Entropy
from gateway.policy.subjects import Subject
from gateway.release_cache.assemble import PlannedRelease
from gateway.requests.request import Request
from gateway.stages.analyze import AnalyzedQuery, analyze_query
from gateway.stages.bind import FindDataset, bind_query
from gateway.stages.charge import Bill
from gateway.stages.execute import Released, ResultCache, execute_query
from gateway.stages.prepare import SourceAccess
from gateway.stages.query_plan import Quote
from gateway.stages.record import QueryRecord, identify_query
from gateway.stages.services import Services


def analyzed(
    services: Services,
    subject: Subject,
    request: Request,
    now: datetime,
    find: FindDataset | None = None,
) -> AnalyzedQuery:
    """The query, on the dataset that `find` gives; or the refusal."""
    bound = bind_query(
        request,
        subject,
        find=services.find_dataset if find is None else find,
        twin=services.twin,
        now=now,
        record=record_of(services, subject, request),
    )
    return analyze_query(bound)


def record_of(services: Services, subject: Subject, request: Request) -> QueryRecord:
    """A record that is not written."""
    return QueryRecord(
        identify_query(subject, request, "rest"),
        journal=services.journal,
        trail=services.trail,
        emit=services.emit,
        now=services.now,
    )


def executed(
    services: Services,
    query: AnalyzedQuery,
    releases: tuple[PlannedRelease, ...],
    source: SourceAccess,
    entropy: Entropy,
) -> Released:
    """Run these releases as if they had been charged; nothing is kept of them."""
    return execute_query(
        query,
        Bill(Quote(releases)),
        source,
        services.books[query.policy.name],
        record=record_of(services, query.subject, query.statement.request),
        system_rows=services.system_rows,
        entropy=entropy,
        results=ResultCache(),
    )
