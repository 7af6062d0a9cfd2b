"""What is told of a column's noise."""

from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction
from functools import partial

import pytest
from binding.clinic import CLINIC
from noise.mechanisms import mechanisms

from gateway.binding.bind import bind
from gateway.binding.bound import Cut, ResultColumn
from gateway.noise.add_noise import NoisyTable
from gateway.noise.allocation import Distribution, price_noise
from gateway.noise.combined_noise import AnyNoise, combine_draws
from gateway.noise.convolution import SummedNoise
from gateway.noise.mechanism import Mechanism
from gateway.requests.request import AnswerColumn
from gateway.results.columns import answer_columns, widest_margins
from gateway.results.rollup import PricedRelease, roll_up
from gateway.sensitivity.analyze import analyze_release
from gateway.sensitivity.grouping_sets import analyze_grouping_sets


def _told(noise: Distribution, become: Callable[[Mechanism], AnyNoise]) -> AnswerColumn:
    """Of a count that is handed on with another noise than is drawn for it."""
    bound = bind("SELECT COUNT(*) FROM patients", CLINIC)
    assert isinstance(bound, Cut)
    [step] = bound.releases
    one_set = partial(analyze_release, pairs=False, enumerated_groups=10_000, min_units=1)
    made = analyze_grouping_sets(step.plan, one_set)
    [drawn] = price_noise(made.parts, noise, Fraction(1, 4), Fraction(0))
    part = replace(drawn, noises=tuple(map(become, mechanisms(drawn))))
    table = NoisyTable(((),), ((5,),), part.noises)
    release = roll_up(PricedRelease(made, (part,)), [table])
    [column] = answer_columns(
        replace(bound, result=(ResultColumn("count", 20, -1, "bigint"),)), {step.name: release}
    )
    return column


@pytest.mark.parametrize("noise", list(Distribution))
def test_column_names_the_noise_whatever_was_put_together(noise: Distribution) -> None:
    """A scale is told of one noise alone: what was added up or mixed has several."""
    name = f"discrete_{noise.value}"
    alone = _told(noise, lambda one: one)
    assert (alone.mechanism, alone.scale is None) == (name, False)
    for become in (lambda one: SummedNoise(one, 3), lambda one: combine_draws((), one, (), one)[1]):
        told = _told(noise, become)
        assert (told.mechanism, told.scale) == (name, None)
        assert told.noisy


def test_margin_of_a_total_that_weights_take_from_reaches_to_its_extended_end() -> None:
    """The interval leans to one side, so its half would be too small; without a loss it is that of the noise."""
    bound = bind("SELECT COUNT(*), 2 * COUNT(*) AS twice FROM patients", CLINIC)
    assert isinstance(bound, Cut)
    [step] = bound.releases
    result = (ResultColumn("count", 20, -1, "bigint"), ResultColumn("twice", 20, -1, "bigint"))
    one_set = partial(analyze_release, pairs=False, enumerated_groups=10_000, min_units=1)
    made = analyze_grouping_sets(step.plan, one_set)
    [part] = price_noise(made.parts, Distribution.GAUSSIAN, Fraction(1, 400), Fraction(0))
    table = NoisyTable(((),), ((1000,),), part.noises)
    margins = []
    for lost in ((), (0.5,)):
        release = roll_up(PricedRelease(made, (part,), lost), [table])
        cut = replace(bound, result=result)
        told = widest_margins(cut, {step.name: release}, {})
        margins.append([one.margin or 0.0 for one in told])
    (half, double), (reach, both) = margins
    assert double == 2 * half
    assert reach == 1000 + 2 * half
    assert both == 2 * reach
