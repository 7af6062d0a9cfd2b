"""What the pipeline takes from a running gateway: one value, which `gateway.app` builds.

Only `gateway.pipeline` reads it. A stage gets the parts that it needs as arguments.
"""

from collections.abc import Callable
from dataclasses import dataclass, field

from gateway.datasets.dataset import ServedDataset
from gateway.datasets.view import Question
from gateway.events import Emit
from gateway.noise.entropy import SYSTEM_ENTROPY, Entropy
from gateway.release_cache.cache import ReleaseCaches
from gateway.requests.idempotency import StoredAnswers
from gateway.stages.execute import SystemRows
from gateway.stages.repeat_cache import Repeats
from gateway.stages.reply_grid import Pace
from gateway.state.journal import Journal
from gateway.trail.record import Clock, Trail, utc_now
from gateway.twin import Twin


def no_grid() -> int | None:
    """Replies leave when they are ready."""
    return None


@dataclass(frozen=True)
class Services:
    """`find_dataset` finds the dataset of a query, `system_rows` reads the gateway's own tables for a subject.

    `longest_grid` is the longest reply grid of the policies in force: it holds until the dataset of a query is known.
    `entropy` is the operating system's; tests bring their own.
    """

    journal: Journal
    trail: Trail
    twin: Twin
    find_dataset: Callable[[Question], ServedDataset]
    system_rows: SystemRows
    caches: ReleaseCaches
    emit: Emit
    limit_s: float
    kept: StoredAnswers = field(default_factory=StoredAnswers)
    now: Clock = utc_now
    longest_grid: Callable[[], int | None] = no_grid
    pace: Pace = field(default_factory=Pace)
    entropy: Entropy = SYSTEM_ENTROPY
    repeats: Repeats = field(default_factory=Repeats)
