"""Queries that are bound and analysed, without the rest of the pipeline around them."""

from datetime import datetime

from gateway.datasets.dataset import ServedDataset
from gateway.datasets.view import Question
from gateway.noise.entropy import Entropy
from gateway.policy.subjects import Subject
from gateway.pricing.price import AnalyzedQuery
from gateway.release_cache.assemble import PlannedRelease
from gateway.requests.request import Request
from gateway.stages.analyze import analyze_query
from gateway.stages.bind import ask_question, bind_query
from gateway.stages.execute import execute_query
from gateway.stages.prepare import SourceAccess
from gateway.stages.purchase import Bill, Quote, Released
from gateway.stages.record import QueryRecord
from gateway.stages.repeat_cache import RepeatCache
from gateway.stages.services import Services


def analyzed(
    services: Services,
    subject: Subject,
    request: Request,
    now: datetime,
    dataset: ServedDataset | None = None,
) -> AnalyzedQuery:
    """The query, on its dataset or the given one; or the refusal."""
    question = ask_question(request, subject, "rest", now)
    there = services.find_dataset(question) if dataset is None else dataset
    bound = bind_query(question, there, services.twin.borrowed, record_of(services, question))
    return analyze_query(bound, there)


def record_of(services: Services, question: Question) -> QueryRecord:
    """A record that is not written."""
    return QueryRecord.of(
        question,
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
        record=record_of(services, query.question),
        system_rows=services.system_rows,
        entropy=entropy,
        repeats=RepeatCache(),
    )
