"""From noisy integers to an aggregate.

Everything here is post-processing: it sees what was released and public parameters, nothing else.
"""

from dataclasses import replace
from typing import TypeAlias, assert_never

from gateway.sensitivity.choices import Chosen
from gateway.sensitivity.curved import Curved
from gateway.sensitivity.linear import Linear, Quotient

__all__ = ["Chosen", "Curved", "Formula", "Linear", "Quotient", "moved"]

Formula: TypeAlias = Linear | Quotient | Curved | Chosen


def moved(formula: Formula, by: int) -> Formula:
    """The formula over measurements that stand behind `by` others."""
    match formula:
        case Linear():
            return _moved(formula, by)
        case Quotient():
            return replace(
                formula, above=_moved(formula.above, by), below=_moved(formula.below, by)
            )
        case Curved():
            return replace(formula, parts=tuple(_moved(one, by) for one in formula.parts))
        case Chosen():  # choices stand in a row of their own
            return formula
        case _:
            assert_never(formula)


def _moved(linear: Linear, by: int) -> Linear:
    return replace(linear, weights=tuple((place + by, weight) for place, weight in linear.weights))
