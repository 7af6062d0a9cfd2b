"""What is told of a column's noise."""

from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction
from functools import partial

import pytest
from binding.clinic import CLINIC

from gateway.binding.bind import bind
from gateway.binding.bound import Cut, ResultColumn
from gateway.noise.add_noise import NoisyTable
from gateway.noise.allocation import Noise, priced
from gateway.noise.combined_noise import AnyNoise, combined
from gateway.noise.mechanism import Mechanism
from gateway.noise.sum_noise import Added
from gateway.requests.request import AnswerColumn
from gateway.results.columns import answer_columns
from gateway.results.rollup import PricedRelease, rolled_up
from gateway.sensitivity.analyze import analyse
from gateway.sensitivity.grouping_sets import rolled


def _told(noise: Noise, become: Callable[[Mechanism], AnyNoise]) -> AnswerColumn:
    """Of a count that is handed on with another noise than is drawn for it."""
    bound = bind("SELECT COUNT(*) FROM patients", CLINIC)
    assert isinstance(bound, Cut)
    [step] = bound.releases
    one_set = partial(analyse, pairs=False, enumerated_groups=10_000, min_units=1)
    made = rolled(step.plan, one_set)
    [drawn] = priced(made.parts, noise, Fraction(1, 4), Fraction(0))
    part = replace(drawn, noises=tuple(map(become, drawn.drawn)))
    table = NoisyTable(((),), ((5,),), part.noises)
    release = rolled_up(PricedRelease(made, (part,)), [table])
    [column] = answer_columns(
        replace(bound, result=(ResultColumn("count", 20, -1, "bigint"),)), {step.name: release}
    )
    return column


@pytest.mark.parametrize("noise", list(Noise))
def test_column_names_the_noise_whatever_was_put_together(noise: Noise) -> None:
    """A scale is told of one noise alone: what was added up or mixed has several."""
    name = f"discrete_{noise.value}"
    alone = _told(noise, lambda one: one)
    assert (alone.mechanism, alone.scale is None) == (name, False)
    for become in (lambda one: Added(one, 3), lambda one: combined((), one, (), one)[1]):
        told = _told(noise, become)
        assert (told.mechanism, told.scale) == (name, None)
        assert told.noisy
