"""What is found in earlier answers is what a new measurement would give, noise aside: compared row by row."""

import random
from collections.abc import Sequence
from dataclasses import replace
from datetime import date
from fractions import Fraction

import pytest
from release_cache.visits import (
    MEASURES,
    NO_SMOKERS,
    OF_PERSONS,
    SMOKERS,
    Question,
    Row,
    any_question,
    any_rows,
    born,
    days,
    matched,
    one_of,
)
from samples import draws

from gateway.noise.convolution import SummedNoise
from gateway.noise.mechanism import DiscreteLaplace
from gateway.release_cache.assemble import gather_slot
from gateway.release_cache.entry import CacheEntry
from gateway.release_cache.matching import Match, MeasurementRequest, matches
from gateway.requests.request import CacheUse
from gateway.sensitivity.analysis import EnumeratedGroups

_COUNT = ("count(*)",)
_VARIANCE = Fraction(200) / (4 * 2**16) ** 2
"""Of Laplace noise of scale 10, where one person moves a count by the clip of 4, in 2^16-ths."""
_SUMS = ("count(*)", "sum(v.cost)", "count(distinct v.pid)")


def _number_of_groups(question: Question) -> int:
    groups = question.analysis.groups
    assert isinstance(groups, EnumeratedGroups)
    return len(groups.keys)


def _differ(
    wanted: Question, past: Sequence[Question], entries: Sequence[CacheEntry], rows: Sequence[Row]
) -> list[Match]:
    """The matches that give something else than a new measurement would."""
    wrong = []
    contents = {entry.release: one.content(rows) for one, entry in zip(past, entries, strict=True)}
    found = matches(wanted.wanted, entries)
    for slot, several in zip(wanted.analysis.slots, found.slots, strict=True):
        fresh = wanted.exact(slot, rows)
        for one in several:
            there = gather_slot(contents[one.entry.release], one, _number_of_groups(wanted))
            if there != fresh:
                wrong.append(one)
    return wrong


def _only(wanted: Question, entry: CacheEntry) -> list[Match | None]:
    slots, choices = matched(wanted.wanted, [entry])
    return [*slots, *choices]


def _hows(wanted: Question, past: Question) -> list[CacheUse | None]:
    return [None if one is None else one.how for one in _only(wanted, past.entry("q.r1.1"))]


@pytest.mark.parametrize("groups", [2, 24])
@pytest.mark.parametrize("seed", range(draws(12, fewest=6)))
def test_matches_are_what_would_be_measured_whatever_was_asked(seed: int, groups: int) -> None:
    """Of random questions over random rows every match gives the very integers that a new measurement would, in all groups."""
    chance = random.Random(f"{seed} {groups}")  # noqa: S311 - rows of a test
    found = 0
    for _ in range(draws(15, fewest=6)):
        rows = any_rows(chance, persons=False)
        past = [any_question(chance, groups) for _ in range(6)]
        entries = [one.entry(f"q{at}.r1.1", at=at) for at, one in enumerate(past)]
        for wanted in (_narrower(chance, chance.choice(past)) for _ in range(4)):
            assert not _differ(wanted, past, entries, rows), wanted.sql
            found += sum(map(len, matches(wanted.wanted, entries).slots))
    assert found


def test_matches_would_be_wrong_if_any_entry_were_taken_for_plain_and_additive() -> None:
    """Without these conditions persons in several groups make the answers differ: the comparison above can fail."""
    chance = random.Random(5)  # noqa: S311 - rows of a test
    wrong: set[CacheUse] = set()
    for _ in range(300):
        rows = any_rows(chance, persons=False)
        past = any_question(chance, 2)
        entry = replace(past.entry("q.r1.1"), plain=True, additive=True, bounding="")
        wanted = _narrower(chance, past)
        wanted.__dict__["wanted"] = _taken_for_plain(wanted.wanted)
        wrong |= {one.how for one in _differ(wanted, [past], [entry], rows)}
        if wrong == {CacheUse.FILTER, CacheUse.ROLLUP}:
            return
    pytest.fail(f"nothing was wrong but {wrong}")


def _taken_for_plain(wanted: MeasurementRequest) -> MeasurementRequest:
    return replace(wanted, plain=True, additive=True, bounding="")


def _narrower(chance: random.Random, past: Question) -> Question:
    """Some of its groups, fewer of its keys, some of its measures."""
    keys = [one for one in past.keys if chance.random() < 0.6]
    narrowed = {one.column for one in past.wheres}
    more = [
        one for one in (*any_question(chance, 24).wheres, SMOKERS) if one.column not in narrowed
    ]
    kept = chance.sample(past.measures, chance.randint(1, len(past.measures)))
    wheres = past.wheres + tuple({one.column: one for one in more[:1]}.values())
    return replace(past, keys=tuple(keys), wheres=wheres, measures=tuple(kept))


@pytest.mark.parametrize("seed", range(8))
def test_matches_are_found_when_an_entry_of_persons_has_the_groups(seed: int) -> None:
    """By construction: an entry that is cut by columns of persons answers for some of its groups, put together or not."""
    chance = random.Random(f"found {seed}")  # noqa: S311 - rows of a test
    narrowing = {
        "region": [one_of("region", "north"), one_of("region", "south", "west")],
        "smoker": [SMOKERS, NO_SMOKERS],
        "born": [born(2003, 2003), born(2005, 2009)],
    }
    for _ in range(draws(12)):
        keys = tuple(chance.sample(("region", "smoker", "born"), chance.randint(1, 3)))
        past = Question(keys, (), _SUMS, chance.choice((2, 24)))
        wheres = tuple(chance.choice(narrowing[one]) for one in keys if chance.random() < 0.6)
        left = tuple(one for one in keys if chance.random() < 0.5)
        wanted = replace(past, keys=left, wheres=wheres)
        assert None not in _hows(wanted, past), (wanted.sql, past.sql)
        rows = any_rows(chance, persons=False)
        assert not _differ(wanted, [past], [past.entry("q.r1.1")], rows)


def test_one_group_is_found_among_all() -> None:
    """`WHERE region = 'north'` is a row of `GROUP BY region`."""
    wanted = Question((), (one_of("region", "north"),), _COUNT)
    [found] = _only(wanted, Question(("region",), (), _SUMS, pairs=False).entry("q.r1.1"))
    assert found is None  # measured in another currency
    [found] = _only(wanted, Question(("region",), (), _COUNT).entry("q.r1.1"))
    assert found is not None
    assert found.how is CacheUse.FILTER
    assert found.places is not None
    assert found.places.taken.tolist() == [1]  # east, north, south, west
    assert found.noises == (DiscreteLaplace(Fraction(10)),)
    assert found.variance == _VARIANCE


def test_a_month_is_not_found_among_months_where_a_person_may_be_in_several() -> None:
    """The weight of a person in `GROUP BY month` follows from all months; in a question about one month from that alone."""
    march = days(date(2024, 3, 1), date(2024, 3, 31))
    wanted, past = Question((), (march,), _SUMS), Question(("month",), (), _SUMS)
    assert set(_hows(wanted, past)) == {None}
    assert set(_hows(past, past)) == {CacheUse.SAME}


def test_a_year_is_found_in_months_when_persons_have_one_row() -> None:
    """Years of birth by fives add up from single years; visits in several months may be of one person, and do not."""
    fives, years = Question(("fives",), (), _SUMS), Question(("born",), (), _SUMS)
    assert set(_hows(fives, years)) == {CacheUse.ROLLUP}
    year = Question(("year",), (), _SUMS)
    assert set(_hows(year, Question(("month",), (), _SUMS))) == {None}
    assert set(_hows(replace(year, measures=_COUNT), Question(("month",), (), _COUNT))) == {None}


def test_totals_are_found_with_the_noise_of_all_their_groups() -> None:
    """A total of four regions has the noise of four; where groups differ in how many they are, that of the largest."""
    wanted = Question((), (), _COUNT)
    [found] = _only(wanted, Question(("region",), (), _COUNT).entry("q.r1.1"))
    assert found is not None
    assert found.noises == (SummedNoise(DiscreteLaplace(Fraction(10)), 4),)
    assert found.variance == 4 * _VARIANCE
    fives = Question(("fives",), (born(2000, 2006),), _COUNT)
    [found] = _only(fives, Question(("born",), (), _COUNT).entry("q.r1.1"))
    assert found is not None
    assert found.places is not None
    assert found.noises == (SummedNoise(DiscreteLaplace(Fraction(10)), 5),)


def test_different_values_are_found_in_one_group_and_never_added_up() -> None:
    """COUNT(DISTINCT kind) of a region is a row of its own; of all regions it is not the sum."""
    past = Question(("region",), (), ("count(distinct v.kind)",))
    north = Question((), (one_of("region", "north"),), ("count(distinct v.kind)",))
    assert _hows(north, past) == [CacheUse.FILTER]
    assert _hows(replace(north, wheres=()), past) == [None]


def test_means_are_found_where_their_moments_are() -> None:
    """AVG needs what SUM measured, and COUNT is there where AVG was asked, in Gaussian pairs."""
    past = Question(("region",), (), ("avg(v.cost)",), pairs=False)
    assert set(_hows(replace(past, measures=("sum(v.cost)",)), past)) == {CacheUse.SAME}
    counted = replace(past, keys=(), wheres=(one_of("region", "west"),), measures=_COUNT)
    assert _hows(counted, past) == [CacheUse.FILTER]
    both = replace(past, measures=("avg(v.cost)", "count(distinct v.pid)"))
    assert _hows(both, past).count(None) == 1


def test_keys_in_another_order_are_the_same_groups() -> None:
    """GROUP BY a, b has the groups of GROUP BY b, a, each in its place."""
    past = Question(("region", "smoker"), (), _COUNT)
    wanted = replace(past, keys=("smoker", "region"))
    [found] = _only(wanted, past.entry("q.r1.1"))
    assert found is not None
    assert found.how is CacheUse.SAME
    rows = any_rows(random.Random(1), persons=False)  # noqa: S311 - rows of a test
    assert not _differ(wanted, [past], [past.entry("q.r1.1")], rows)


def test_the_very_same_is_found_however_a_unit_is_bounded() -> None:
    """Weights and cuts make no difference to the same question; with another G nothing is found."""
    for measures in (_SUMS, ("count(distinct v.kind)",)):
        past = Question(("kind", "month"), (), measures, 2)
        assert set(_hows(past, past)) == {CacheUse.SAME}
        assert set(_hows(replace(past, groups=3), past)) == {None}


def test_groups_that_were_found_are_given_again_all_together() -> None:
    """A entry with a threshold answers the very same question, or a part of its measures with the same threshold."""
    past = Question(("region",), (), _SUMS)
    entry, wanted = replace(past.entry("q.r1.1"), listed=False), replace(past.wanted, listed=False)
    assert None not in matched(wanted, [entry])[0]
    fewer = replace(entry, slots=entry.slots[:1])
    assert set(matched(wanted, [fewer])[0]) == {None}
    assert set(matched(past.wanted, [entry])[0]) == {None}
    north = replace(past, keys=(), wheres=(one_of("region", "north"),))
    assert set(matched(north.wanted, [entry])[0]) == {None}


def test_choices_are_found_group_by_group_and_never_put_together() -> None:
    """A median of a region is a row of the medians by region; the median of all is none of them."""
    measures = ("percentile_disc(0.5) within group (order by v.cost)", "max(v.cost)")
    past = Question(("region",), (), measures)
    north = replace(past, keys=(), wheres=(one_of("region", "north"),))
    assert _hows(north, past) == [CacheUse.FILTER, CacheUse.FILTER]
    assert _hows(replace(north, wheres=()), past) == [None, None]
    assert _hows(past, past) == [CacheUse.SAME, CacheUse.SAME]
    other = "percentile_disc(0.9) within group (order by v.cost)"
    assert _hows(replace(past, measures=(other,)), past) == [None]


def test_what_is_frequent_is_found_with_all_that_comes_before_it() -> None:
    """The first two of a top three are found together; a third is not taken where only two are there."""
    three = tuple(f"dp_top(v.kind, {place})" for place in (1, 2, 3))
    past = Question(("region",), (), three)
    assert _hows(replace(past, measures=three[:2]), past) == [CacheUse.SAME] * 2
    assert _hows(past, replace(past, measures=three[:2])) == [None] * 3


def test_the_best_of_several_is_the_same_then_the_exact_then_the_new() -> None:
    """The very same before a filter before a roll-up; of two alike the less noisy, of these the newer, else by name."""
    wanted = Question((), (one_of("region", "north"),), _COUNT)
    rolled, filtered = Question(("region", "smoker"), (), _COUNT), Question(("region",), (), _COUNT)
    entries = [
        rolled.entry("a", scale=Fraction(1)),
        filtered.entry("b", scale=Fraction(3), at=1),
        filtered.entry("c", scale=Fraction(2), at=2),
        filtered.entry("d", scale=Fraction(2), at=3),
        filtered.entry("e", scale=Fraction(2), at=3),
        wanted.entry("f", scale=Fraction(90)),
    ]
    for order in (entries, entries[::-1]):
        [found] = matches(wanted.wanted, order).slots
        assert "".join(one.entry.release for one in found) == "fdecba"


def test_nothing_is_found_in_entries_of_other_tables_or_declarations() -> None:
    """Another shape, or another bounding, is another thing."""
    past = Question(("region",), (), _COUNT)
    entry = past.entry("q.r1.1")
    assert _only(past, entry) != [None]
    assert _only(past, replace(entry, bounding="other")) == [None]
    assert _only(past, replace(entry, scope=replace(entry.scope, shape="other"))) == [None]


def test_all_columns_of_persons_are_tried() -> None:
    """The keys that the tests call those of persons have one group for each person, the others do not."""
    for name in OF_PERSONS:
        assert Question((name,), (), MEASURES[:1], 2).wanted.additive
    assert not Question(("kind",), (), MEASURES[:1], 24).wanted.additive
