"""Binding and authorization: from a request to a statement that the policy permits on one dataset.

Takes what the client sent. Gives the bound statement, whose releases read permitted rows alone, or the refusal.
"""

from datetime import UTC, datetime

from gateway.datasets.dataset import ServedDataset
from gateway.datasets.view import Borrow, BoundQuery, Question
from gateway.policy.subjects import Subject
from gateway.requests.request import Request, UnsupportedItems
from gateway.stages.null_items import bind_answerable
from gateway.stages.record import QueryRecord


def ask_question(request: Request, subject: Subject, front_end: str, now: datetime) -> Question:
    """What the subject asks now."""
    return Question(request, subject, front_end, now.astimezone(UTC))


def bind_query(
    question: Question, dataset: ServedDataset, borrow: Borrow, record: QueryRecord
) -> BoundQuery:
    """Bind the statement against what the subject may see, and decide by the rules of the policy."""
    record.set_dataset(dataset.policy)
    if question.request.unsupported is UnsupportedItems.NULL:
        query = bind_answerable(question, dataset, borrow)
    else:
        query = dataset.views.bind(question, borrow)
    record.set_decision(query.decision)
    record.set_nulled(query.nulled)
    return query
