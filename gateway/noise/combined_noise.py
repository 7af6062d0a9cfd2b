"""Noise of a topped-up measurement: the weighted mean of several noisy integers of one exact number.

Let x be the exact number, x + A the earlier release and x + B the later one. With a fixed weight w, the nearest
integer of w·(x + A) + (1 - w)·(x + B) is x plus the nearest integer of w·A + (1 - w)·B, because x is an integer.
So the result has a noise that does not depend on x, and this module describes that noise. It was drawn in parts.
`draw` draws it anew, for intervals by simulation; it is no mechanism.

Each column is weighted by the inverse of its variance, computed from the public parameters of its noise. The
weights are fixed before any value is read, so this is post-processing of released numbers and costs nothing. A
weight is a number of 32 bits over 2³², and the variance is above the least one by less than a 2⁻³⁰th part of it.
That number is odd, so that halves are rare: halves are rounded up, and with two equal noises every second mean
would be a half, and totals of many would lean to one side.

The JSON of noise distributions is stored with cached measurements. Its numbers are exact, as texts such as `3/7`.

INVARIANT: P(|X| ≤ margin) ≥ confidence. docs/proofs/answers.md has the argument;
tests/noise/test_combined_noise.py compares with exact distributions.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from math import ceil, hypot, log, sqrt
from statistics import NormalDist
from typing import Final, TypeAlias

from gateway.json_form import Json
from gateway.noise.convolution import (
    ConvolutionStep,
    SummedNoise,
    add_groups,
    smallest_margin,
    weighted_nearest,
)
from gateway.noise.convolution import kurtosis as of_one
from gateway.noise.entropy import Entropy
from gateway.noise.least_squares import FittedNoise
from gateway.noise.mechanism import CONFIDENCE, DiscreteGaussian, DiscreteLaplace, Mechanism

_SMOOTH: Final = 4.0  # above this standard deviation, steps of 1 are small beside the noise
_ROUNDED: Final = 1 / sqrt(8)  # what rounding to steps of 1 adds at most, for halves
_NEXT: Final = 0.17  # see `convolution`: for unequal terms it is less
_PARTS: Final = 2**32
_MANY: Final = 64  # a sum of so many terms cannot be told from a normal distribution


@dataclass(frozen=True, slots=True)
class Term:
    """`weight` times the sum of `count` independent draws.

    When this term was added, `groups` sums were rounded, each with its part of the draws. The first term was
    not rounded.
    """

    weight: Fraction
    noise: Mechanism
    count: int = 1
    groups: int = 1


@dataclass(frozen=True, slots=True)
class CombinedNoise:
    """A weighted mean of several noises. Terms stand in the order in which they were measured; each after the
    first was rounded in.
    """

    terms: tuple[Term, ...]

    def __post_init__(self) -> None:
        if not self.terms or any(one.weight <= 0 for one in self.terms):
            raise ValueError("the weights of a mixed noise are above 0")
        if sum(one.weight for one in self.terms) != 1:
            raise ValueError("the weights of a mixed noise add up to 1")
        before = self.terms[0].count
        for one in self.terms:
            groups = one.groups
            if groups < 1 or one.count < 1 or one.count % groups or before % groups:
                raise ValueError(
                    "the draws of a mixed noise are not the same in each of its groups"
                )
            before = before if one is self.terms[0] else groups

    @property
    def groups(self) -> int:
        """The number of separately combined integers that were added up."""
        return self.terms[-1].groups

    @property
    def std(self) -> float:
        """The standard deviation; it includes the effect of rounding, where the noise is not much smaller than
        its steps.
        """
        return hypot(self._unrounded, *(_ROUNDED * step * sqrt(n) for step, n in self._steps))

    @property
    def kurtosis(self) -> float:
        """The excess kurtosis."""
        std = self.std
        return sum(
            of_one(one.noise) * one.count * (float(one.weight) * one.noise.std / std) ** 4
            for one in self.terms
        )

    @property
    def is_smooth(self) -> bool:
        """True if single steps are small beside the noise of each group."""
        return self._unrounded / sqrt(self.groups) >= _SMOOTH

    def rolled_up(self, groups: int) -> "CombinedNoise":
        """The noise of a sum of that many independent groups."""
        return CombinedNoise(
            tuple(
                replace(one, count=one.count * groups, groups=one.groups * groups)
                for one in self.terms
            )
        )

    def margin(self, confidence: Fraction = CONFIDENCE) -> int:
        """A k with P(|X| ≤ k) ≥ confidence. It is the smallest k where the noise spans few steps.

        Otherwise, below 95 %, it is Chebyshev's bound; so it is where noises of very different sizes leave only
        a few steps.
        """
        if not self.is_smooth:
            found = smallest_margin(self._stages, confidence)
            return self._chebyshevs(self._at_most, confidence) if found is None else found
        if confidence < CONFIDENCE:
            return min(self._chebyshevs(self.std, confidence), self.margin())
        z = NormalDist().inv_cdf((1 + float(confidence)) / 2)
        heavier = self.kurtosis
        reach = z + (z**3 - 3 * z) / 24 * heavier + _NEXT * (heavier / 3) ** 2
        alone = -log(1 - confidence) / sqrt(2)  # no sum of such noises has heavier tails
        return ceil(self.std * min(reach, alone) + self._leaning)

    def draw(self, count: int, entropy: Entropy) -> list[int]:
        """Fresh draws of this noise: every part is drawn anew and rounded as before."""
        if self.is_smooth and sum(one.count for one in self.terms) > _MANY:
            return DiscreteGaussian(Fraction(self.std) ** 2).draw(count, entropy)
        first, *others = self.terms
        drawn, there = first.noise.draw(count * first.count, entropy), first.count
        before = first.weight
        for one in others:
            moved = add_groups(one.noise.draw(count * one.count, entropy), one.count // one.groups)
            after = before + one.weight
            drawn = weighted_nearest(add_groups(drawn, there // one.groups), moved, before / after)
            before, there = after, one.groups
        return add_groups(drawn, there)

    def _chebyshevs(self, std: float, confidence: Fraction) -> int:
        """P(|X| ≥ k + 1) ≤ std² / (k + 1)²."""
        return max(0, ceil(std / sqrt(1 - confidence) + self._leaning) - 1)

    @property
    def _unrounded(self) -> float:
        return hypot(*(float(one.weight) * one.noise.std * sqrt(one.count) for one in self.terms))

    @property
    def _at_most(self) -> float:
        """An upper bound: no standard deviation is above the sum of those of its parts, and rounding moves by
        half a step at most.
        """
        return self._unrounded + sum(step / 2 * sqrt(n) for step, n in self._steps)

    @property
    def _steps(self) -> tuple[tuple[float, int], ...]:
        """The step sizes of each rounding, and how often it happened; everything combined before counts with
        its weights.
        """
        found, before = [], self.terms[0].weight
        for one in self.terms[1:]:
            before += one.weight
            found.append((float(before), one.groups))
        return tuple(found)

    @property
    def _stages(self) -> tuple[ConvolutionStep, ...]:
        found, before, there = [], Fraction(0), 1
        for one in self.terms:
            after = before + one.weight
            if not before:
                found.append(ConvolutionStep(one.noise, 1, before, 1))
                before, there = after, one.count
                continue
            draws = one.count // one.groups
            found.append(ConvolutionStep(one.noise, draws, before / after, there // one.groups))
            before, there = after, one.groups
        return (*found, ConvolutionStep(None, 0, Fraction(1), there))

    @property
    def _leaning(self) -> float:
        """The bias of sums, because halves are rounded up: with the weight p/q, at most one mean in q is a
        half.
        """
        found, before = 0.0, self.terms[0].weight
        for one in self.terms[1:]:
            before += one.weight
            under = (one.weight / before).denominator
            found += 0.0 if under % 2 else float(before) * one.groups / (2 * under)
        return found


AnyNoise: TypeAlias = Mechanism | SummedNoise | CombinedNoise | FittedNoise


def kurtosis(noise: AnyNoise) -> float:
    """The excess kurtosis: how much heavier tails are than those of the normal distribution."""
    if isinstance(noise, CombinedNoise | SummedNoise | FittedNoise):
        return noise.kurtosis
    return of_one(noise)


def sum_noise(noise: AnyNoise, count: int) -> AnyNoise:
    """The noise of a sum of that many values: independent ones, or fitted cells of one total."""
    if count == 1:
        return noise
    match noise:
        case FittedNoise():
            return _sum_fitted(noise, noise.count * count)
        case SummedNoise():
            return SummedNoise(noise.noise, noise.count * count)
        case CombinedNoise():
            return noise.rolled_up(count)
        case _:
            return SummedNoise(noise, count)


def _sum_fitted(noise: FittedNoise, count: int) -> AnyNoise:
    """All cells together are the fitted total: the mean of the measured one and of the sum of the cells."""
    if count < noise.groups:
        return replace(noise, count=count)
    if count > noise.groups:
        raise ValueError("more cells than were fitted")
    weight = noise.weight
    return CombinedNoise((Term(weight, noise.of_total), Term(1 - weight, noise.noise, count)))


def combine_draws(
    old: Sequence[int], old_noise: AnyNoise, new: Sequence[int], new_noise: AnyNoise
) -> tuple[tuple[int, ...], CombinedNoise]:
    """The nearest integers to the weighted means, halves rounded up, and the noise of the result.

    The new column was drawn at once or is a sum; a column that is a weighted mean already is the older one.
    """
    if isinstance(new_noise, CombinedNoise):
        raise ValueError("a mixed noise that was drawn at once")  # noqa: TRY004 - a bug of ours
    weight = weight_of(old_noise, new_noise)
    terms = _terms(old_noise, weight)
    if weight < 1:
        terms += _terms(new_noise, 1 - weight)
    return tuple(weighted_nearest(old, new, weight)), CombinedNoise(terms)


def weight_of(old_noise: AnyNoise, new_noise: AnyNoise) -> Fraction:
    """The weight of the earlier column, relative to the new one."""
    old, new = variance_of(old_noise), variance_of(new_noise)
    parts = round(new / (old + new) * _PARTS)
    if 0 < parts < _PARTS:
        parts = min(parts | 1, _PARTS - 1)
    return Fraction(parts, _PARTS)


def variance_of(noise: AnyNoise) -> Fraction:
    """The variance by the parameters alone; the true variance is at most that, except for what rounding adds."""
    match noise:
        case SummedNoise():
            return noise.count * variance_of(noise.noise)
        case CombinedNoise():
            return sum(
                (one.weight**2 * one.count * variance_of(one.noise) for one in noise.terms),
                Fraction(0),
            )
        case DiscreteLaplace(scale):
            return 2 * scale**2
        case _:
            return noise.variance


def _terms(noise: AnyNoise, weight: Fraction) -> tuple[Term, ...]:
    if not weight:
        return ()
    match noise:
        case CombinedNoise():
            return tuple(replace(one, weight=one.weight * weight) for one in noise.terms)
        case SummedNoise():
            return (Term(weight, noise.noise, noise.count),)
        case FittedNoise():
            raise ValueError("cells that are fitted to a total are not topped up")
        case _:
            return (Term(weight, noise),)


def unit_variance(noises: Sequence[AnyNoise], most: int) -> Fraction:
    """The variance of the noise, scaled so that one unit moves the measured value by 1.

    In combinations, a row has a factor from 0 to 1 in a count. In a sum that is measured from both ends of its
    domain, the factor is from -1 to 1, so the row is seen twice as well: with a quarter of the variance.
    """
    least = min(map(variance_of, noises)) / most**2
    return least / 4 if len(noises) > 1 else least


_RATIO: Final = re.compile(r"[0-9]+/[0-9]+")


class UnreadableNoise(ValueError):
    """A text that `noise_json` does not write."""


def noise_json(noise: AnyNoise) -> Json:
    """The JSON that `noise_of_json` reads."""
    match noise:
        case DiscreteLaplace(scale):
            return {"laplace": _written(scale)}
        case DiscreteGaussian(variance):
            return {"gaussian": _written(variance)}
        case SummedNoise():
            return {"added": noise_json(noise.noise), "count": noise.count}
        case FittedNoise():
            return {
                "fitted": noise_json(noise.noise),
                "total": noise.total,
                "groups": noise.groups,
                "count": noise.count,
            }
        case CombinedNoise():
            return {"mixed": [_term_json(one) for one in noise.terms]}


def noise_of_json(said: Json) -> AnyNoise:
    """The noise, equal to the one that was written."""
    match said:
        case {"added": of, "count": int(count), **rest} if not rest:
            return SummedNoise(_mechanism(of), _counted(count))
        case {"fitted": of, "total": int(total), "groups": int(groups), "count": int(count), **rest} if not rest:  # fmt: skip
            return _fitted(_mechanism(of), *map(_counted, (total, groups, count)))
        case {"mixed": list(terms), **rest} if not rest:
            try:
                return CombinedNoise(tuple(map(_term, terms)))
            except ValueError as unfit:
                raise UnreadableNoise(str(unfit)) from unfit
        case _:
            return _mechanism(said)


def _fitted(cell: Mechanism, total: int, groups: int, count: int) -> FittedNoise:
    if not isinstance(cell, DiscreteGaussian) or count >= groups:
        raise UnreadableNoise("no noise of fitted cells")
    return FittedNoise(cell, total, groups, count)


def _term_json(term: Term) -> Json:
    return {
        "weight": _written(term.weight),
        "noise": noise_json(term.noise),
        "count": term.count,
        "groups": term.groups,
    }


def _term(said: Json) -> Term:
    match said:
        case {"weight": weight, "noise": noise, "count": int(count), "groups": int(groups), **rest} if not rest:  # fmt: skip
            return Term(_ratio(weight), _mechanism(noise), _counted(count), _counted(groups))
        case _:
            raise UnreadableNoise("no term of a noise")


def _mechanism(said: Json) -> Mechanism:
    match said:
        case {"laplace": scale, **rest} if not rest:
            return DiscreteLaplace(_ratio(scale))
        case {"gaussian": variance, **rest} if not rest:
            return DiscreteGaussian(_ratio(variance))
        case _:
            raise UnreadableNoise("no noise that is known")


def _written(ratio: Fraction) -> str:
    return f"{ratio.numerator}/{ratio.denominator}"


def _ratio(said: Json) -> Fraction:
    if not isinstance(said, str) or not _RATIO.fullmatch(said):
        raise UnreadableNoise("no ratio of whole numbers")
    above, below = map(int, said.split("/"))
    if not above or not below:
        raise UnreadableNoise("no ratio above 0")
    return Fraction(above, below)


def _counted(said: int) -> int:
    if isinstance(said, bool) or said < 1:
        raise UnreadableNoise("no count")
    return said
