"""A release whose exact answer one unit cannot move by more than its analysis says: what engines render.

    rows      every row of persons, with its unit, domains enforced, every expression total
    by unit   for each unit and group: n and s of every measurement, cut to R rows by the integer form
    capped    at most G groups of a unit; or all of them, each by less
    summed    for each group: the sums over its units

INVARIANT: an engine renders what stands here and adds nothing; every clamp, guard and cut that the calculus
asks for is in these values.
"""

from dataclasses import dataclass

from gateway.plan.node import Node
from gateway.plan.scalars import Scalar
from gateway.sensitivity.choices import Histogram
from gateway.sensitivity.measurement import Measurement
from gateway.sensitivity.weights import Weights


@dataclass(frozen=True, slots=True)
class BoundedRelease:
    """`rows` are protected rows over enforced scans; `keys` are canonical expressions over their columns.

    `rows_per_unit` is R. `by_unit` is false only where a constraint of the source proves that a unit has
    one row at most in `rows` (then R is 1 and nothing has to be cut). `groups_per_unit` is G where a unit
    has to be cut to G groups, None where it cannot be in more. `least_units` drops groups with fewer
    units where they lie; None where all groups are enumerated. With `weights` no group of a unit is left out:
    what it adds is multiplied by the weight that the number of its groups has, and by `whole` where
    `groups_per_unit` is None. `histograms` are asked for one by one, each over the same rows and groups: there a
    unit is cut to G groups in any case, and to R rows in each.
    """

    rows: Node
    keys: tuple[Scalar, ...]
    measurements: tuple[Measurement, ...]
    rows_per_unit: int
    by_unit: bool
    groups_per_unit: int | None
    least_units: int | None
    weights: Weights | None = None
    histograms: tuple[Histogram, ...] = ()
