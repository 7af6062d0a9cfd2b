"""Intervals drawn many times: how often they hold what they should, by the noise that is really drawn.

A population is made up, the integers that a release measures over it are exact, and each trial adds noise
of the release's own mechanisms. `coverage` counts in how many trials the interval of a form holds the value
that the form has without noise.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from math import sqrt

from noise.streams import Stream
from sensitivity.analyses import analysed

from gateway.noise.add_noise import NoisyTable
from gateway.noise.allocation import Distribution, Drawn, ReleaseNoise, price_noise
from gateway.noise.least_squares import FittedNoise
from gateway.noise.mechanism import DiscreteGaussian, DiscreteLaplace
from gateway.plan.formulas import (
    AggregateRef,
    AtLeast,
    Each,
    Form,
    NumberForm,
    Over,
    Plus,
    Root,
    Times,
)
from gateway.results.rounding import RoundedColumn
from gateway.sensitivity.formulas import Linear, Quotient
from gateway.sensitivity.measurement import DistanceOrigin, Measurement, Total

INCOMES = (0, 1_000, 17_500, 30_000, 52_000, 199_000)


@dataclass(frozen=True)
class Trial:
    """What is asked for, of how many people, and at which price."""

    sql: str
    form: Form
    people: int
    noise: Distribution
    price: Fraction = Fraction(1, 20)
    ranges: tuple[Fraction | None, ...] = ()


@dataclass(frozen=True)
class Covered:
    """How many intervals there were, and how many of them held the value."""

    formed: int
    held: int


def coverage(trial: Trial, draws: int, seed: str, *, claimed: int = 1) -> Covered:
    """`claimed` is how many times less noise the intervals are told of than there is: 1 is the truth."""
    release = _release(trial)
    exact = [_measured(one, trial.people) for one in release.analysis.measurements]
    truth = value_of(trial.form, release, exact)
    stream = Stream(f"{seed}: {trial}")
    columns = tuple(
        tuple(value + one for one in noise.draw(draws, stream))
        for value, noise in zip(exact, release.noises, strict=True)
    )
    told = tuple(narrower(one, claimed) for one in release.drawn)
    table = NoisyTable(((),) * draws, columns, told)
    formed = RoundedColumn(table, release.analysis.formulas, trial.ranges).column(trial.form)
    there = [one for one in formed if one is not None]
    slack = 1e-9 * abs(float(truth))  # floats
    held = sum(low - slack <= truth <= high + slack for low, high in there)
    return Covered(len(there), held)


def value_of(  # noqa: PLR0911 - one for each kind
    form: Form, release: ReleaseNoise, measured: Sequence[int]
) -> Fraction:
    """The value of a form, exactly; a root to the last bit of a float."""
    match form:
        case NumberForm(value):
            return value
        case AggregateRef(place):
            formula = release.analysis.formulas[place]
            assert isinstance(formula, Linear | Quotient)
            return formula.value(measured)
        case Plus(left, right):
            return value_of(left, release, measured) + value_of(right, release, measured)
        case Times(left, right):
            return value_of(left, release, measured) * value_of(right, release, measured)
        case Over(above, below):
            return value_of(above, release, measured) / value_of(below, release, measured)
        case Root(of):
            return Fraction(
                sqrt(max(value_of(of, release, measured), Fraction(0)))
            )  # to a float's last bit
        case AtLeast(of, least):
            return max(value_of(of, release, measured), least)
        case Each():
            raise AssertionError("an array has no value")


def _release(trial: Trial) -> ReleaseNoise:
    analysis = analysed(trial.sql, pairs=trial.noise is Distribution.LAPLACE)
    [made] = price_noise([analysis], trial.noise, trial.price, Fraction(1, 10**9))
    return made


def _measured(measurement: Measurement, people: int) -> int:
    """Everybody has one of the incomes in turn; whatever is counted counts everybody."""
    quantity = measurement.quantity
    if not isinstance(quantity, Total):
        return people
    lattice = quantity.lattice
    steps = [int(one / lattice.step) for one in INCOMES]
    everybody = [steps[place % len(steps)] for place in range(people)]
    match quantity.origin:
        case DistanceOrigin.LOW:
            return sum(one - lattice.low for one in everybody)
        case DistanceOrigin.HIGH:
            return sum(lattice.high - one for one in everybody)
        case DistanceOrigin.MIDDLE:
            return sum(one - lattice.middle for one in everybody)


def narrower(noise: Drawn, factor: int) -> Drawn:
    """Noise of a standard deviation that is so many times smaller."""
    match noise:
        case DiscreteLaplace(scale):
            return replace(noise, scale=scale / factor)
        case DiscreteGaussian(variance):
            return replace(noise, variance=variance / factor**2)
        case FittedNoise(cell):
            return replace(noise, noise=DiscreteGaussian(cell.variance / factor**2))
