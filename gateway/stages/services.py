"""What the pipeline takes from a running gateway: one value, which `gateway.app` builds.

Only `gateway.pipeline` reads it. A stage gets the parts that it needs as arguments.
"""

from collections.abc import Callable
from dataclasses import dataclass, field
from threading import Lock

from gateway.datasets.dataset import ServedDataset
from gateway.events import Emit
from gateway.noise.entropy import SYSTEM_ENTROPY, Entropy
from gateway.release_cache.cache import ReleaseCaches
from gateway.requests.idempotency import StoredAnswers
from gateway.stages.bind import FindDataset
from gateway.stages.execute import ResultCache, SystemRows
from gateway.stages.quote_cache import QuoteCache
from gateway.stages.reply_grid import Pace
from gateway.state.journal import Journal
from gateway.trail.record import Clock, Trail, utc_now
from gateway.twin import Twin


def no_grid() -> int | None:
    """Replies leave when they are ready."""
    return None


@dataclass(frozen=True)
class RepeatCache:
    """What is kept of the repeats of one dataset under one policy."""

    dataset: ServedDataset
    quotes: QuoteCache = field(default_factory=QuoteCache)
    results: ResultCache = field(default_factory=ResultCache)


class Repeats:
    """What is kept of the repeats of each dataset, until a reload of the policies makes another in its place."""

    def __init__(self) -> None:
        self._lock = Lock()
        self._kept: dict[str, RepeatCache] = {}

    def of(self, dataset: ServedDataset) -> RepeatCache:
        with self._lock:
            kept = self._kept.get(dataset.policy.name)
            if kept is None or kept.dataset is not dataset:
                kept = self._kept[dataset.policy.name] = RepeatCache(dataset)
            return kept


@dataclass(frozen=True)
class Services:
    """`find_dataset` finds the dataset of a query, `system_rows` reads the gateway's own tables for a subject.

    `longest_grid` is the longest reply grid of the policies in force: it holds until the dataset of a query is known.
    `entropy` is the operating system's; tests bring their own.
    """

    journal: Journal
    trail: Trail
    twin: Twin
    find_dataset: FindDataset
    system_rows: SystemRows
    books: ReleaseCaches
    emit: Emit
    limit_s: float
    kept: StoredAnswers = field(default_factory=StoredAnswers)
    now: Clock = utc_now
    longest_grid: Callable[[], int | None] = no_grid
    pace: Pace = field(default_factory=Pace)
    entropy: Entropy = SYSTEM_ENTROPY
    repeats: Repeats = field(default_factory=Repeats)
