"""Ranges of expressions and relations: where the other rooms come in."""

from collections.abc import Mapping

from gateway.plan.scalars import Scalar
from gateway.sensitivity.bounds import Range, of_range
from gateway.sensitivity.derived import derived_range
from gateway.sensitivity.expressions import STAGED_REACH, bounds_of
from gateway.sensitivity.relations import ranges_of

__all__ = ["STAGED_REACH", "Range", "derived_range", "range_of", "ranges_of"]


def range_of(scalar: Scalar, columns: Mapping[str, Range]) -> Range | None:
    """The range of an expression whose columns have these; None: it is not bounded, or no number or time."""
    return bounds_of(scalar, {name: of_range(one) for name, one in columns.items()}).range
