"""What an answer needs of the gateway, as a handful of values and functions."""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TypeAlias

from gateway.datasets.bind_question import Question
from gateway.datasets.dataset import Serving
from gateway.engines.staged_rows import StagedRows
from gateway.events import Emit
from gateway.noise.entropy import SYSTEM_ENTROPY, Entropy
from gateway.policy.subjects import Subject
from gateway.release_cache.cache import Books
from gateway.requests.idempotency import Kept
from gateway.stages.reply_grid import Pace
from gateway.state.journal import Journal
from gateway.trail.append import Clock, Trail, utc_now
from gateway.twin import Twin

FindServing: TypeAlias = Callable[[Question, str | None], Serving]
OwnRows: TypeAlias = Callable[[Subject, str], StagedRows]


def no_grid() -> int | None:
    """Replies leave when they are ready."""
    return None


@dataclass(frozen=True)
class House:
    """`serving` finds the dataset of a question, `own` reads the gateway's own tables for a subject.

    `grid` is the longest reply grid of the policies in force, for questions of which it is not known yet whose
    they are. `entropy` is the operating system's; a test brings its own.
    """

    journal: Journal
    trail: Trail
    twin: Twin
    serving: FindServing
    own: OwnRows
    books: Books
    emit: Emit
    limit_s: float
    kept: Kept = field(default_factory=Kept)
    now: Clock = utc_now
    grid: Callable[[], int | None] = no_grid
    pace: Pace = field(default_factory=Pace)
    entropy: Entropy = SYSTEM_ENTROPY
