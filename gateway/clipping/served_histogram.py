"""A histogram of norms beside a query: what its clips were chosen from, and what may be said of the answer."""

from dataclasses import dataclass
from typing import TypeAlias

from gateway.clipping.norm_histogram import NormHistogram


@dataclass(frozen=True)
class ServedHistogram:
    """A histogram that a clip was chosen from. `exact`: it speaks of the very rows and keys that are weighted."""

    histogram: NormHistogram
    exact: bool


PartKey: TypeAlias = tuple[int, tuple[str, ...]]
"""A part of a query: the place of its release, and the names of its keys."""
