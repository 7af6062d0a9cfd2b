"""The release of a histogram of norms: what it measures, and of which rows.

A histogram speaks of the rows of one release: its tables and joins under the row rules of whoever asks, and its keys. The
conditions of the statement are not among these, so that one histogram serves many statements; norms over all rows are at
least those over some. It has no groups of its own: every bucket is a measurement, and all are one vector with one price.

INVARIANT: one unit moves the vector by no more than the slot says, whatever the tables hold: `norm_buckets.py`.
"""

from collections.abc import Iterator

from gateway.plan.aggregates import Aggregate
from gateway.plan.node import Node, walk_nodes
from gateway.plan.relations import Constant
from gateway.plan.scalars import Scalar, StagedMember, StagedValue, walk_scalar
from gateway.sensitivity.analysis import Analysis, EnumeratedGroups
from gateway.sensitivity.measurement import Different, Measurement, Norm, Norms, Slot, Units
from gateway.sensitivity.norm_buckets import (
    BUCKETS,
    DELTA1,
    DELTA2_SQUARED,
    MOST_SPREAD,
    UNIT,
)


def needs_norms(part: Analysis) -> bool:
    """Whether rows of the part are weighted by their norm, or units by theirs, which is no larger than that of their rows."""
    if part.clips is None:
        return False
    weighted = [
        one.quantity for one in part.measurements if not isinstance(one.quantity, Different)
    ]
    if part.clips.units is None:
        weighted = [one for one in weighted if not isinstance(one, Units)]
    return bool(part.choices or weighted)


def counts_norms(part: Analysis) -> bool:
    """Whether the part is a histogram of norms."""
    return any(isinstance(one.quantity, Norms) for one in part.measurements)


def can_count_norms(rows: Aggregate) -> bool:
    """Whether the rows and their keys follow from the tables alone: no released or written constant is in them.

    INVARIANT: a histogram is a query without other steps, so a constant of the statement has no content beside it.
    """
    return not any(_reads_constant(one) for one in walk_nodes(rows))


def _reads_constant(node: Node) -> bool:
    if isinstance(node, Constant):
        return True
    inside = (part for one in node.scalars for part in walk_scalar(one))
    return any(isinstance(part, StagedValue | StagedMember) for part in inside)


def analyze_norms(plan: Aggregate, keys: tuple[Scalar, ...], *, pairs: bool) -> Analysis:
    """The analysis of the histogram of norms over `keys` of the rows of the plan. `pairs`: noise is Laplace's."""
    rows = Aggregate(plan.child, (), (), ((),))
    measurements = tuple(_measurements(keys, pairs=pairs))
    norm = Norm(DELTA1, DELTA1) if pairs else Norm(None, DELTA2_SQUARED)
    slot = Slot(measurements, DELTA1 if pairs else UNIT + MOST_SPREAD, norm)
    return Analysis(rows, 1, 1, (slot,), (), EnumeratedGroups(((),)))


def _measurements(keys: tuple[Scalar, ...], *, pairs: bool) -> Iterator[Measurement]:
    """Units of all buckets, and behind them their spreads where noise is Gaussian."""
    unit = 1 if pairs else UNIT
    for bucket in range(BUCKETS):
        yield Measurement(Norms(keys, bucket), unit, unit)
    if not pairs:
        for bucket in range(BUCKETS):
            yield Measurement(Norms(keys, bucket, spread=True), MOST_SPREAD, UNIT)
