"""What is good enough, what is topped up and what that costs, and what is bought anew."""

import random
from dataclasses import replace
from fractions import Fraction

import pytest
from release_cache.visits import SMOKERS, Question, one_of
from samples import draws

from gateway.noise.combined_noise import AnyNoise, combine_draws, variance_of
from gateway.noise.drawn_choices import pure_choice, zcdp_choice
from gateway.noise.mechanism import Mechanism, gaussian_for, laplace_for
from gateway.release_cache.decision import (
    BUY,
    Buy,
    ReuseDecision,
    TopUp,
    UseCached,
    decide_reuse,
    short_root,
)
from gateway.release_cache.entry import CachedChoice, CachedSlot, CacheEntry
from gateway.requests.request import CacheUse
from gateway.sensitivity.measurement import Slot
from gateway.units import Epsilon

_DEFAULT = Epsilon.parse("0.1")
_COUNT = ("count(*)",)
_MEDIAN = ("percentile_disc(0.5) within group (order by v.cost)",)
_BY_REGION = Question(("region",), (), _COUNT)


def _noise(question: Question, slot: Slot, share: Fraction) -> Mechanism:
    groups = question.analysis.groups_per_unit
    if question.pairs:
        return laplace_for(share, slot.delta1(groups))
    return gaussian_for(share, slot.delta2_squared(groups))


def _bought(
    question: Question, share: Fraction, price: str = "0.1", name: str = "q.r1.1"
) -> CacheEntry:
    """The entry of a question that gave so much for each slot and choice."""
    wanted = question.wanted
    buy = pure_choice if question.pairs else zcdp_choice
    slots = tuple(
        CachedSlot(
            digest, (_noise(question, slot, share),) * len(slot.measurements), share, slot.most
        )
        for digest, slot in zip(wanted.slots, question.analysis.slots, strict=True)
    )
    choices = tuple(
        CachedChoice(digest, buy(one, share, question.analysis.groups_per_unit).selection, share)
        for digest, one in zip(wanted.choices, question.analysis.choices, strict=True)
    )
    return replace(
        question.entry(name), slots=slots, choices=choices, asked_at=Epsilon.parse(price)
    )


def _decided(
    question: Question, entry: CacheEntry, share: Fraction, default: Epsilon | None = None
) -> ReuseDecision:
    return decide_reuse(question.wanted, [entry], share, default)


def _hows(found: ReuseDecision) -> set[CacheUse | None]:
    """How each slot and choice comes from the cache; None for what is measured."""
    verdicts = (*found.slots, *found.choices)
    return {one.match.how if isinstance(one, UseCached) else None for one in verdicts}


@pytest.mark.parametrize("pairs", [True, False])
@pytest.mark.parametrize("measures", [_COUNT, ("avg(v.cost)", "count(distinct v.pid)"), _MEDIAN])
def test_the_same_at_the_same_price_is_used(measures: tuple[str, ...], *, pairs: bool) -> None:
    """A question that is asked again at its price, or a lower one, is answered by what is there."""
    question = replace(_BY_REGION, measures=measures, pairs=pairs)
    for of in (1, 2):
        found = _decided(question, _bought(question, Fraction(1, 30)), Fraction(1, 30 * of))
        assert all(isinstance(one, UseCached) for one in (*found.slots, *found.choices))
        assert _hows(found) == {CacheUse.SAME}


def test_nothing_is_used_where_nothing_is() -> None:
    """Without entries everything is bought."""
    found = decide_reuse(_BY_REGION.wanted, [], Fraction(1, 10), None)
    assert (found.slots, found.choices) == ((BUY,), ())


def test_a_higher_price_tops_up_what_is_the_same() -> None:
    """In zCDP what the new price has more; in the pure currency the least e with e² + e_old² ≥ e_new², of 40 bits."""
    gaussian = replace(_BY_REGION, pairs=False)
    [found] = _decided(gaussian, _bought(gaussian, Fraction(1, 30)), Fraction(1, 10)).slots
    assert isinstance(found, TopUp)
    assert found.cost == Fraction(1, 10) - Fraction(1, 30)
    [found] = _decided(_BY_REGION, _bought(_BY_REGION, Fraction(3)), Fraction(5)).slots
    assert isinstance(found, TopUp)
    assert 4 <= found.cost < 4 * (1 + Fraction(1, 2**38))
    assert found.cost.numerator.bit_length() <= 40


@pytest.mark.parametrize("seed", range(draws(30)))
@pytest.mark.parametrize("pairs", [True, False])
def test_a_top_up_comes_to_what_a_new_measurement_would_be(seed: int, *, pairs: bool) -> None:
    """The two by the inverse of their variances are as exact as a new answer, cost less, and are used the next time."""
    chance = random.Random(seed)  # noqa: S311 - prices of a test
    question = replace(_BY_REGION, measures=("sum(v.cost)", "count(distinct v.kind)"), pairs=pairs)
    old = Fraction(chance.randint(1, 10**6), chance.randint(10**6, 10**8))
    new = old * Fraction(chance.randint(1001, 5000), 1000)
    entry = _bought(question, old)
    slots = []
    for at, found in enumerate(_decided(question, entry, new).slots):
        assert isinstance(found, TopUp)
        assert 0 < found.cost < new
        slot = question.analysis.slots[at]
        more, fresh = _noise(question, slot, found.cost), _noise(question, slot, new)
        there = [variance_of(one) for one in entry.slots[at].noises]
        if pairs:
            assert all(1 / (1 / one + 1 / variance_of(more)) <= variance_of(fresh) for one in there)
        noises: tuple[AnyNoise, ...] = tuple(
            combine_draws((), one, (), more)[1] for one in entry.slots[at].noises
        )
        slots.append(replace(entry.slots[at], noises=noises, cost=old + found.cost))
    topped_up = replace(entry, slots=tuple(slots))
    again = _decided(question, topped_up, new).slots
    assert all(isinstance(one, UseCached) for one in again)
    further = _decided(question, topped_up, 2 * new).slots
    assert all(isinstance(one, TopUp) for one in further)


def test_a_top_up_that_would_not_be_cheaper_is_no_top_up() -> None:
    """Beside hardly anything that is there, all of the share is due."""
    tiny = Fraction(1, 10**12)
    assert _decided(_BY_REGION, _bought(_BY_REGION, tiny), Fraction(1, 10)).slots == (BUY,)


def test_what_is_cut_out_or_added_up_is_never_topped_up() -> None:
    """A filter or a roll-up that is too noisy for what was asked is bought."""
    entry = _bought(_BY_REGION, Fraction(1, 10))
    north = replace(_BY_REGION, keys=(), wheres=(one_of("region", "north"),))
    assert isinstance(_decided(north, entry, Fraction(1, 10)).slots[0], UseCached)
    assert _decided(north, entry, Fraction(1, 9)).slots == (BUY,)
    total = replace(_BY_REGION, keys=())
    assert _decided(total, entry, Fraction(1, 10)).slots == (BUY,)
    assert isinstance(_decided(total, entry, Fraction(1, 20)).slots[0], UseCached)


def test_a_choice_is_never_topped_up() -> None:
    """A median that is too far off is chosen anew."""
    question = replace(_BY_REGION, measures=_MEDIAN)
    assert _decided(question, _bought(question, Fraction(1, 10)), Fraction(1, 9)).choices == (BUY,)


def test_at_the_default_price_the_same_is_used_when_it_was_asked_at_no_less() -> None:
    """However wide it is: nobody said how exact it should be."""
    wide = _bought(_BY_REGION, Fraction(1, 10_000), "0.1")
    [found] = _decided(_BY_REGION, wide, Fraction(1, 10), _DEFAULT).slots
    assert isinstance(found, UseCached)
    cheap = _bought(_BY_REGION, Fraction(1, 20), "0.05")
    assert _decided(_BY_REGION, cheap, Fraction(1, 10), _DEFAULT).slots == (BUY,)


def test_at_the_default_price_four_times_the_margin_is_well_enough_elsewhere() -> None:
    """16 groups put together are, 17 are not; the same goes for one group that was bought for a quarter, or less."""
    past = Question(("born", "smoker"), (), _COUNT)
    five = replace(past, keys=("fives",))
    [found] = _decided(five, _bought(past, Fraction(1, 10)), Fraction(1, 10), _DEFAULT).slots
    assert isinstance(found, UseCached)  # 15 groups each
    assert _decided(
        replace(past, keys=()), _bought(past, Fraction(1, 10)), Fraction(1, 10), _DEFAULT
    ).slots == (BUY,)
    one = replace(_BY_REGION, keys=(), wheres=(one_of("region", "west"),))
    quarter, less = _bought(_BY_REGION, Fraction(1, 40)), _bought(_BY_REGION, Fraction(1, 41))
    assert isinstance(_decided(one, quarter, Fraction(1, 10), _DEFAULT).slots[0], UseCached)
    assert _decided(one, less, Fraction(1, 10), _DEFAULT).slots == (BUY,)


def test_a_free_answer_comes_before_one_that_has_to_be_topped_up() -> None:
    """A row of a better entry is taken, though the very same is there with more noise."""
    north = replace(_BY_REGION, keys=(), wheres=(one_of("region", "north"),))
    same, better = (
        _bought(north, Fraction(1, 100), name="a"),
        _bought(_BY_REGION, Fraction(1, 5), name="b"),
    )
    [found] = decide_reuse(north.wanted, [same, better], Fraction(1, 10), None).slots
    assert isinstance(found, UseCached)
    assert found.match.entry.release == "b"
    [found] = decide_reuse(north.wanted, [same], Fraction(1, 10), None).slots
    assert isinstance(found, TopUp)


def test_part_of_a_question_is_used_and_the_rest_is_bought() -> None:
    """A sum that was asked is there, a count of persons that was not is bought."""
    both = replace(_BY_REGION, measures=("sum(v.cost)", "count(distinct v.pid)"))
    found = _decided(
        both, _bought(replace(both, measures=both.measures[:1]), Fraction(1, 10)), Fraction(1, 10)
    )
    assert [type(one) for one in found.slots] == [UseCached, Buy]


def test_groups_that_were_found_are_used_together_or_not_at_all() -> None:
    """A threshold goes with all that was measured beside it: nothing is topped up, and nothing bought in addition."""
    both = replace(_BY_REGION, measures=("sum(v.cost)", "count(distinct v.pid)"))
    entry = replace(_bought(both, Fraction(1, 10)), listed=False)
    hidden = replace(both.wanted, listed=False)
    used = decide_reuse(hidden, [entry], Fraction(1, 10), None)
    assert _hows(used) == {CacheUse.SAME}
    first, second = entry.slots
    noisier = replace(
        second, noises=tuple(laplace_for(Fraction(1, 99), second.most) for _ in second.noises)
    )
    found = decide_reuse(hidden, [replace(entry, slots=(first, noisier))], Fraction(1, 10), None)
    assert found.slots == (BUY, BUY)


def test_what_is_frequent_is_used_together_or_not_at_all() -> None:
    """The second place is what the first one left: never from elsewhere, never alone."""
    question = replace(_BY_REGION, measures=("dp_top(v.kind, 1)", "dp_top(v.kind, 2)"))
    entry = _bought(question, Fraction(1, 10))
    assert _hows(_decided(question, entry, Fraction(1, 10))) == {CacheUse.SAME}
    first, second = entry.choices
    cheap = replace(second, selection=_bought(question, Fraction(1, 90)).choices[1].selection)
    found = _decided(question, replace(entry, choices=(first, cheap)), Fraction(1, 10))
    assert found.choices == (BUY, BUY)


def test_the_way_of_an_answer_is_the_farthest_of_its_parts() -> None:
    """Half of it the same and half of it added up is added up."""
    both = replace(_BY_REGION, keys=(), measures=("count(*)", "count(distinct v.pid)"))
    same = _bought(replace(both, measures=_COUNT), Fraction(1), name="a")
    rolled = _bought(replace(_BY_REGION, measures=both.measures), Fraction(1), name="b")
    found = decide_reuse(both.wanted, [same, rolled], Fraction(1, 10), None)
    assert [one.match.how for one in found.slots if isinstance(one, UseCached)] == [
        CacheUse.SAME,
        CacheUse.ROLLUP,
    ]
    smokers = replace(both, measures=_COUNT, wheres=(SMOKERS,))
    assert None in _hows(decide_reuse(smokers.wanted, [same, rolled], Fraction(1, 10), None))


@pytest.mark.parametrize("seed", range(20))
def test_short_roots_are_the_least_of_forty_bits(seed: int) -> None:
    """The square is not below; that of the number one step less is."""
    chance = random.Random(seed)  # noqa: S311 - numbers of a test
    square = Fraction(chance.getrandbits(chance.randint(1, 200)) + 1, chance.getrandbits(120) + 1)
    root = short_root(square)
    odd = root.numerator
    while odd % 2 == 0:
        odd //= 2
    assert odd.bit_length() <= 40
    assert root**2 >= square
    assert (root * (1 - Fraction(1, 2**38))) ** 2 < square
