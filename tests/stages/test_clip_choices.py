"""Which clips are nearly as good as the best one: their errors in hindsight, and the limits of what is near."""

from collections.abc import Mapping
from dataclasses import replace
from fractions import Fraction
from math import sqrt

import pytest
from clipping.populations import LARGEST, POPULATIONS, SQUARES, Population, Question

from gateway.stages.clip_choices import AS_EXACT, AS_WELL, ClipChoice, clips_of

_POPULATIONS = ("clinic by month", "zipf by month", "retail by category")
_CASES = [(pure, measure) for pure in (False, True) for measure in ("count", "sum")]


@pytest.fixture(scope="module")
def counted() -> Mapping[str, Population]:
    return {name: POPULATIONS[name]() for name in _POPULATIONS}


def _choice(question: Question) -> ClipChoice:
    return ClipChoice(question.histogram("near"), question.noise, None, LARGEST)


def _near(choice: ClipChoice, tolerance: float, scale: float = 1.0) -> list[int]:
    return [one for one in SQUARES if choice.is_near(one, scale, tolerance)]


@pytest.mark.parametrize("name", _POPULATIONS)
@pytest.mark.parametrize(("pure", "measure"), _CASES)
def test_near_clip_has_nearly_the_error_of_the_chosen_one(
    counted: Mapping[str, Population], name: str, *, pure: bool, measure: str
) -> None:
    """The bound is of estimates: in hindsight a little is added. Clips far away, the negative control, exceed it."""
    for epsilon in (Fraction(1, 10), Fraction(1)):
        question = Question(counted[name], epsilon, pure, measure)
        choice = _choice(question)
        best = choice.square()
        assert best is not None
        for tolerance in (AS_EXACT, AS_WELL):
            near = _near(choice, tolerance)
            assert best in near
            worst = max(question.error(one) for one in near)
            assert worst <= 1.1 * tolerance * question.error(best)
        most = max(question.error(one) for one in SQUARES)
        assert most > 2 * AS_WELL * question.error(best)


@pytest.mark.parametrize(("pure", "measure"), _CASES)
def test_clip_of_half_the_noise_or_twice_the_noise_is_near(
    counted: Mapping[str, Population], *, pure: bool, measure: str
) -> None:
    """A release at half of the price, or in a pure ledger at 71 % of it, is always topped up."""
    choice = _choice(Question(counted["zipf by month"], Fraction(1), pure, measure))
    for scale in (1.0, 1.1, 1.2, 1.4):
        held = choice.square(scale)
        assert held is not None
        assert choice.is_near(held, 1.0, AS_EXACT)
    far = choice.square(100.0)
    assert far is not None
    assert not choice.is_near(far, 1.0, AS_EXACT)


def test_clip_that_is_held_more_exactly_may_be_larger(counted: Mapping[str, Population]) -> None:
    """What was bought at a high price has little noise under a large clip; held less exactly, it is not near."""
    choice = _choice(Question(counted["zipf by month"], Fraction(1, 10), pure=False))
    large = choice.square(0.1)
    assert large is not None
    assert not choice.is_near(large, 1.0, AS_EXACT)
    assert choice.is_near(large, 0.1, AS_EXACT)
    assert _near(choice, AS_EXACT, 1.5) == []


def test_nothing_is_near_where_the_histogram_shows_nothing(
    counted: Mapping[str, Population],
) -> None:
    """Then no clip is chosen, and none can be compared with it."""
    choice = _choice(Question(counted["zipf by month"], Fraction(1), pure=False))
    empty = replace(choice.histogram, units=(0,) * len(choice.histogram.units))
    assert _near(replace(choice, histogram=empty), AS_WELL) == []


def test_noise_of_the_total_is_scaled_with_that_of_the_cells(
    counted: Mapping[str, Population],
) -> None:
    """Both follow from one price."""
    choice = _choice(Question(counted["zipf by month"], Fraction(1), pure=False))
    total = replace(choice.cells, cells=1, std=choice.cells.std * sqrt(choice.cells.cells))
    both = replace(choice, total=total)
    wider = replace(
        both,
        cells=replace(choice.cells, std=3 * choice.cells.std),
        total=replace(total, std=3 * total.std),
    )
    assert both.square(3.0) == wider.square()


def test_clips_are_told_by_release() -> None:
    """As the analysis takes them."""
    found = clips_of({(1, ("b",)): 4, (0, ()): 2, (1, ("a",)): 8})
    assert found == {1: ((("a",), 8), (("b",), 4)), 0: (((), 2),)}
