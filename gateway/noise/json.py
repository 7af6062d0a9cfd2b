"""JSON of noise distributions, as stored with cached measurements. Numbers are exact, as texts such as `3/7`."""

import re
from fractions import Fraction
from typing import Final

from gateway.json_form import Json
from gateway.noise.combined_noise import AnyNoise, CombinedNoise, Term
from gateway.noise.mechanism import DiscreteGaussian, DiscreteLaplace, Mechanism
from gateway.noise.sum_noise import SummedNoise

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
        case CombinedNoise():
            return {"mixed": [_term_json(one) for one in noise.terms]}


def noise_of_json(said: Json) -> AnyNoise:
    """The noise, equal to the one that was written."""
    match said:
        case {"added": of, "count": int(count), **rest} if not rest:
            return SummedNoise(_mechanism(of), _counted(count))
        case {"mixed": list(terms), **rest} if not rest:
            try:
                return CombinedNoise(tuple(map(_term, terms)))
            except ValueError as unfit:
                raise UnreadableNoise(str(unfit)) from unfit
        case _:
            return _mechanism(said)


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
