"""A release whose exact answer one unit cannot move by more than its analysis says: what engines render.

    rows      every row of persons, with its unit, domains enforced, every expression total
    by unit   for each unit and group: n and s of every measurement, cut to R rows by the integer form
    capped    at most G groups of a unit
    summed    for each group: the sums over its units

INVARIANT: an engine renders what stands here and adds nothing; every clamp, guard and cut that the calculus
asks for is in these values.
"""

from dataclasses import dataclass

from gateway.plan.node import Node
from gateway.plan.scalars import Scalar
from gateway.sensitivity.measurement import Measurement


@dataclass(frozen=True, slots=True)
class BoundedRelease:
    """`rows` are protected rows over enforced scans; `keys` are canonical expressions over their columns.

    `rows_per_unit` is R. `by_unit` is false only where a constraint of the source proves that a unit has
    one row at most in `rows` (then R is 1 and nothing has to be cut). `groups_per_unit` is G where a unit
    has to be cut to G groups, None where it cannot be in more. `least_units` drops groups with fewer
    units where they lie; None where all groups are enumerated.
    """

    rows: Node
    keys: tuple[Scalar, ...]
    measurements: tuple[Measurement, ...]
    rows_per_unit: int
    by_unit: bool
    groups_per_unit: int | None
    least_units: int | None
