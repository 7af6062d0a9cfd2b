"""How much noise the measures of a release have beside what a row adds to them, before anything is known of their values.

A sum has noise for the whole domain of its values, and most rows add less than the end of it. How much less is in the data.
So a typical value is assumed: an eighth of the domain above its lower end, for a domain of numbers that are not negative.

INVARIANT: all of it follows from the query and the policy. A wrong guess makes a clip too large or too small, never unsound.
"""

from collections.abc import Iterator
from math import hypot
from typing import Final

from gateway.clipping.choose_clip import COUNT, MeasureNoise
from gateway.ranges.lattice import Lattice
from gateway.sensitivity.analysis import Analysis
from gateway.sensitivity.formulas import CurveFormula, Formula, Linear, Quotient
from gateway.sensitivity.measurement import Total

_TYPICAL: Final = 8


def measure_noises(part: Analysis) -> tuple[MeasureNoise, ...]:
    """The noise of each count, sum and mean that the part is asked for, each once; at least that of a count."""
    found = [each for one in part.formulas for each in _noises(part, one)]
    return tuple(dict.fromkeys(found)) or (COUNT,)


def _noises(part: Analysis, formula: Formula) -> Iterator[MeasureNoise]:
    match formula:
        case Linear():
            yield sum_noise(_summed(part, formula))
        case Quotient(above=above):
            yield mean_noise(_summed(part, above))
        case CurveFormula(parts=parts):
            yield mean_noise([each for one in parts for each in _summed(part, one)])
        case _:
            return


def sum_noise(summed: list[Lattice]) -> MeasureNoise:
    """The noise of a sum of values on these lattices; that of a count where there are none."""
    weights = [hypot(one.reach, one.middle) / _typical(one) for one in summed]
    return MeasureNoise(max(weights)) if weights else COUNT


def mean_noise(summed: list[Lattice]) -> MeasureNoise:
    """The noise of a mean of values on these lattices, or of what is computed from their squares."""
    return MeasureNoise(max((one.reach / _typical(one) for one in summed), default=1.0), share=True)


def _summed(part: Analysis, linear: Linear) -> list[Lattice]:
    """The lattices of the sums that a formula adds up."""
    wanted = (part.measurements[place].quantity for place, _ in linear.weights)
    return [one.lattice for one in wanted if isinstance(one, Total)]


def _typical(lattice: Lattice) -> float:
    """How large a value is taken to be."""
    nearest = max(lattice.low, -lattice.high, 0)
    away = (
        lattice.reach / 4 if lattice.low < 0 < lattice.high else nearest + lattice.width / _TYPICAL
    )
    return max(1.0, away)
