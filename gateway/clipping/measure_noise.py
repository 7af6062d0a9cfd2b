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
            sums = [hypot(one.reach, one.middle) / _typical(one) for one in _summed(part, formula)]
            yield MeasureNoise(max(sums)) if sums else COUNT
        case Quotient(above=above):
            yield _mean(_summed(part, above))
        case CurveFormula(parts=parts):
            yield _mean([each for one in parts for each in _summed(part, one)])
        case _:
            return


def _mean(summed: list[Lattice]) -> MeasureNoise:
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
