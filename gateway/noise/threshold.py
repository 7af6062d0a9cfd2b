"""Threshold τ on the noisy unit count of a group, computed from that count's own noise distribution.

Groups with fewer than `floor` units are dropped in SQL. One unit more or less is in at most `groups_per_unit`
groups, and of those only a group with floor - 1 other units appears or disappears with it: it then has `floor`
units, and is released when floor + X ≥ threshold. In all other groups the noise alone protects the unit. So the
threshold is floor + k, with the smallest k for which

groups_per_unit · P(X ≥ k) ≤ delta.

INVARIANT: the count that is compared is the count by which SQL drops groups, one unit moves it by one, and X is
this mechanism's noise. The threshold is proven, never estimated: see `reach` and docs/proofs/noise.md. A caller
may raise it, never lower it.
"""

from fractions import Fraction

from gateway.noise.mechanism import Mechanism

FLOOR = 2


def threshold(
    mechanism: Mechanism, groups_per_unit: int, delta: Fraction, floor: int = FLOOR
) -> int:
    """The smallest noisy count of units with which a group is released."""
    if groups_per_unit < 1:
        raise ValueError("a unit is in at least one group")
    if floor < 1:
        raise ValueError("a group that is shown has at least one unit")
    if not 0 < delta < 1:
        raise ValueError("a delta for thresholds is between 0 and 1")
    return floor + mechanism.reach(delta / groups_per_unit)
