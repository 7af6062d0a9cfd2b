"""Prometheus metrics of events.

INVARIANT: no metric reveals the result of a single query: no duration of a query, no number of source rows or
groups. Counters count events; a reader of `/metrics` learns nothing else. INVARIANT: labels are of fixed lists.
Whether a query was answered from earlier answers, or refused for overlap, depends on queries, policies and
released values, never on a row.
"""

from typing import Final

from prometheus_client import CollectorRegistry, Counter, Gauge, generate_latest

from gateway import __version__
from gateway.errors import REASON, Code, Reason
from gateway.events import Committed, Emit, Event, Outcome, QuestionEnded

_OUTCOMES: Final = frozenset(one.value for one in Outcome)
_OVERLAP: Final = tuple(one.value for one in Code if REASON[one] is Reason.OVERLAP)


class Metrics:
    """A registry of its own, so that two gateways in one process do not share counters."""

    content_type = "text/plain; version=0.0.4; charset=utf-8"

    def __init__(self) -> None:
        self._registry = CollectorRegistry()
        self._events = self._counter("gateway_events", "What happened, by event", "event")
        self._steps = self._counter(
            "gateway_journal_steps",
            "Steps that became durable; divided by commits: how many share one",
        )
        self._questions = self._counter(
            "gateway_questions",
            "Questions that came to their end, by what became of them",
            "outcome",
        )
        self._overlaps = self._counter(
            "gateway_overlap_refusals",
            "Questions refused for what was asked before, by code",
            "code",
        )
        # present from the start: the rate of an event that never happened is zero, not unknown
        for outcome in sorted(_OUTCOMES):
            self._questions.labels(outcome=outcome)
        for code in _OVERLAP:
            self._overlaps.labels(code=code)
        info = Gauge("gateway_info", "Which version runs", ["version"], registry=self._registry)
        info.labels(version=__version__).set(1)

    def _counter(self, name: str, about: str, *labels: str) -> Counter:
        return Counter(name, about, labels, registry=self._registry)

    def count(self, event: Event) -> None:
        self._events.labels(event=event.name).inc()
        if isinstance(event, Committed):
            self._steps.inc(event.steps)
        elif isinstance(event, QuestionEnded):
            self._count_question(event)

    def _count_question(self, event: QuestionEnded) -> None:
        if event.outcome in _OUTCOMES:
            self._questions.labels(outcome=event.outcome).inc()
        if event.code in _OVERLAP:
            self._overlaps.labels(code=event.code).inc()

    def text(self) -> bytes:
        return generate_latest(self._registry)


def log_and_count(log: Emit, count: Emit) -> Emit:
    """One sink that logs and counts."""

    def emit(event: Event) -> None:
        log(event)
        count(event)

    return emit
