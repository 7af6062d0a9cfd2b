"""Noises as they are kept with releases."""

import json
from fractions import Fraction

import pytest
from laws import for_each

from gateway.json_form import Json
from gateway.noise.combined_noise import (
    AnyNoise,
    UnreadableNoise,
    combine_draws,
    noise_json,
    noise_of_json,
    sum_noise,
)
from gateway.noise.convolution import SummedNoise
from gateway.noise.mechanism import DiscreteGaussian, DiscreteLaplace

_LAPLACE = DiscreteLaplace(Fraction(10**30 + 1, 7))
_GAUSSIAN = DiscreteGaussian(Fraction(3))
_, _TWO = combine_draws((), _LAPLACE, (), DiscreteLaplace(Fraction(1, 3)))
_, _THREE = combine_draws((), sum_noise(_TWO, 13), (), SummedNoise(_LAPLACE, 13))
NOISES: list[AnyNoise] = [
    _LAPLACE,
    _GAUSSIAN,
    SummedNoise(_GAUSSIAN, 12),
    _TWO,
    sum_noise(_TWO, 5),
    _THREE,
]


@pytest.mark.parametrize("noise", NOISES, ids=str)
def test_noise_comes_back_equal_when_it_was_kept(noise: AnyNoise) -> None:
    """To the last digit, through text."""
    assert noise_of_json(json.loads(json.dumps(noise_json(noise)))) == noise


def test_noises_that_differ_are_written_differently() -> None:
    """So none can be taken for another."""
    assert len({json.dumps(noise_json(one)) for one in NOISES}) == len(NOISES)


_TERM: dict[str, Json] = {"weight": "1/1", "noise": {"laplace": "1/1"}, "count": 1, "groups": 1}


def test_term_of_full_weight_is_read() -> None:
    """What the refused ones below are made of is right itself."""
    noise_of_json({"mixed": [_TERM]})


@for_each(
    "said",
    [
        None,
        3,
        "laplace",
        [],
        {},
        {"laplace": 3},
        {"laplace": "3"},
        {"laplace": "0/1"},
        {"laplace": "1/0"},
        {"laplace": "-1/2"},
        {"laplace": "1/2", "gaussian": "1/2"},
        {"uniform": "1/2"},
        {"added": {"laplace": "1/1"}, "count": 0},
        {"added": {"laplace": "1/1"}, "count": True},
        {"added": {"laplace": "1/1"}, "count": "2"},
        {"added": {"added": {"laplace": "1/1"}, "count": 2}, "count": 2},
        {"mixed": []},
        {"mixed": [_TERM, _TERM]},
        {"mixed": [{**_TERM, "weight": "1/2"}]},
        {"mixed": [{**_TERM, "groups": 2}]},
        {"mixed": [{**_TERM, "more": 2}]},
        {"mixed": ["1/1"]},
    ],
    ids=str,
)
def test_noise_is_refused_when_nothing_of_ours_wrote_it(said: Json) -> None:
    """Rather than read as some other noise."""
    with pytest.raises(UnreadableNoise):
        noise_of_json(said)
