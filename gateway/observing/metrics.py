"""Events as Prometheus metrics.

INVARIANT: nothing here can be added up to what one question found: no duration of a query, no number
of source rows or groups. Counters count events; that is all an onlooker of `/metrics` learns.
"""

from prometheus_client import CollectorRegistry, Counter, Gauge, generate_latest

from gateway import __version__
from gateway.events import Committed, Emit, Event


class Metrics:
    """A registry of our own, so that two gateways in one process do not share counters."""

    content_type = "text/plain; version=0.0.4; charset=utf-8"

    def __init__(self) -> None:
        self._registry = CollectorRegistry()
        self._events = Counter(
            "gateway_events", "What happened, by event", ["event"], registry=self._registry
        )
        self._steps = Counter(
            "gateway_journal_steps",
            "Steps that became durable; divided by commits: how many share one",
            registry=self._registry,
        )
        info = Gauge("gateway_info", "Which version runs", ["version"], registry=self._registry)
        info.labels(version=__version__).set(1)

    def count(self, event: Event) -> None:
        self._events.labels(event=event.name).inc()
        if isinstance(event, Committed):
            self._steps.inc(event.steps)

    def text(self) -> bytes:
        return generate_latest(self._registry)


def both(log: Emit, count: Emit) -> Emit:
    """One sink that logs and counts."""

    def emit(event: Event) -> None:
        log(event)
        count(event)

    return emit
