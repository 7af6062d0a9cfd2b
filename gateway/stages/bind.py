"""Binding and authorization: from a request to a statement that the policy permits on one dataset.

Takes what the client sent. Gives the bound statement, whose releases read permitted rows alone, or the refusal.
"""

from collections.abc import Callable
from contextlib import AbstractContextManager
from dataclasses import dataclass
from datetime import datetime
from functools import partial
from typing import TypeAlias

from gateway.binding.bound import Bound
from gateway.datasets.dataset import ServedDataset
from gateway.datasets.view import BoundQuestion, Question, bind_question
from gateway.policy.policy import Policy
from gateway.policy.subjects import Subject
from gateway.requests.request import Request
from gateway.stages.record import QueryRecord
from gateway.stages.reply_grid import Grid
from gateway.stages.time_zone import moment_in
from gateway.twin import Twin
from gateway.twin.session import TwinSession

FindDataset: TypeAlias = Callable[[Question, str | None], ServedDataset]
Session: TypeAlias = Callable[[], AbstractContextManager[TwinSession]]


@dataclass(frozen=True)
class BoundQuery:
    """A query that is bound and permitted. `session` borrows a session on the twin that shows what its subject may see."""

    request: Request
    question: Question
    dataset: ServedDataset
    understood: BoundQuestion
    session: Session

    @property
    def bound(self) -> Bound:
        return self.understood.bound

    @property
    def subject(self) -> Subject:
        return self.question.subject

    @property
    def policy(self) -> Policy:
        return self.dataset.policy


def bind_query(  # noqa: PLR0913 - a request, and where it is bound
    request: Request,
    subject: Subject,
    *,
    find: FindDataset,
    twin: Twin,
    now: datetime,
    record: QueryRecord,
    grid: Grid,
) -> BoundQuery:
    """Find the dataset, bind the statement against what the subject may see, and decide by the rules of the policy."""
    question = Question(
        request.sql,
        subject,
        record.asked.front_end,
        moment_in(request.zone, now),
        request.purpose,
        request.parameters,
        request.types,
    )
    dataset = find(question, request.dataset)
    record.set_dataset(dataset.policy)
    understood = bind_question(question, dataset.views, twin.borrowed)
    record.set_decision(understood.decision)
    # not before: the moment of a refusal must not tell which dataset a subject may not ask
    grid.step_ms = dataset.policy.results.reply_grid_ms
    session = partial(twin.borrowed, subject.name, understood.view.shown)
    return BoundQuery(request, question, dataset, understood, session)
