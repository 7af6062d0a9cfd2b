"""Columns of a question from the columns of a sheet."""

from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest
from release_cache.visits import Question, matched, one_of

from gateway.release_cache.assemble import Mismatch, gather_choice, gather_slot
from gateway.release_cache.entry import Content
from gateway.release_cache.group_mapping import GroupMapping
from gateway.release_cache.matching import Match
from gateway.requests.request import CacheUse

_PAST = Question(("region",), (), ("count(distinct v.pid)", "sum(v.cost)"))
_KEYS = (("east",), ("north",), ("south",), ("west",))
_CONTENT = Content(_KEYS, ((1, 2, 3, 4), (10, 20, 30, 40), (100, 200, 300, 400)))
_MEDIANS = replace(
    _PAST, measures=("percentile_disc(0.5) within group (order by v.cost)", "max(v.cost)")
)


def _matches(wanted: Question, past: Question = _PAST) -> list[Match]:
    slots, choices = matched(wanted.wanted, [past.sheet("q.r1.1")])
    found = [one for one in (*slots, *choices) if one is not None]
    assert len(found) == len(slots) + len(choices)
    return found


def test_columns_of_a_slot_are_those_behind_the_slots_before() -> None:
    """A sum from both ends has two columns, and a count of persons one; each slot gets its own."""
    widths = [len(one.measurements) for one in _PAST.analysis.slots]
    assert sorted(widths) == [1, 2]
    columns = [gather_slot(_CONTENT, one, 4) for one in _matches(_PAST)]
    assert [len(one) for one in columns] == widths
    assert tuple(column for one in columns for column in one) == _CONTENT.columns


def test_groups_are_picked_where_a_question_has_some() -> None:
    """South and north, in the order of the question."""
    wanted = replace(_PAST, wheres=(one_of("region", "north", "south"),))
    found = _matches(wanted)
    assert {one.how for one in found} == {CacheUse.FILTER}
    assert gather_slot(_CONTENT, found[0], 2)[0] == (2, 3)


def test_groups_are_added_up_where_a_question_has_fewer() -> None:
    """A total is the sum of all of its groups."""
    found = _matches(replace(_PAST, keys=()))
    assert [gather_slot(_CONTENT, one, 1) for one in found] == [((10,), (100,)), ((1000,),)]


def test_sums_are_exact_however_large() -> None:
    """Whole numbers that no word of 64 bits holds are added up all the same."""
    large = Content(_KEYS, tuple((2**80 + 1, -1, 2**62, 3) for _ in range(3)))
    found = _matches(replace(_PAST, keys=()))
    assert gather_slot(large, found[0], 1)[0] == (2**80 + 2**62 + 3,)
    close = Content(_KEYS, tuple((2**62 - 1,) * 4 for _ in range(3)))
    assert gather_slot(close, found[0], 1)[0] == (4 * (2**62 - 1),)


def test_a_group_of_no_groups_is_zero() -> None:
    """What can have no rows has none."""
    [match, *_] = _matches(replace(_PAST, keys=()))
    places = GroupMapping(2, np.array([1, 3]), np.array([1, 1]), 2, 0)
    assert gather_slot(_CONTENT, replace(match, places=places), 2)[0] == (0, 6)


def test_what_was_chosen_is_picked_with_its_spans() -> None:
    """A median and a largest value of one region, the span where there is one."""
    spans = tuple((Fraction(at), Fraction(at + 1)) for at in range(4))
    content = Content(_KEYS, (), ((5, 6, 7, 8), (9, 8, 7, 6)), ((), spans))
    median, largest = _matches(
        replace(_MEDIANS, keys=(), wheres=(one_of("region", "west"),)), _MEDIANS
    )
    assert gather_choice(content, median, 1).values == (8,)
    assert gather_choice(content, median, 1).spans == ()
    assert gather_choice(content, largest, 1).values == (6,)
    assert gather_choice(content, largest, 1).spans == ((Fraction(3), Fraction(4)),)
    whole = _matches(_MEDIANS, _MEDIANS)[0]
    assert gather_choice(content, whole, 4).values == (5, 6, 7, 8)


def test_a_content_of_another_sheet_is_refused() -> None:
    """Fewer groups, fewer columns, or columns that end early are no content of the sheet."""
    match = _matches(_PAST)[1]
    for content in (
        Content(_KEYS[:3], tuple(one[:3] for one in _CONTENT.columns)),
        Content(_KEYS, _CONTENT.columns[:1]),
        Content(_KEYS, tuple(one[:3] for one in _CONTENT.columns)),
    ):
        with pytest.raises(Mismatch):
            gather_slot(content, match, 4)
    [total, *_] = _matches(replace(_PAST, keys=()))
    with pytest.raises(Mismatch):
        gather_slot(Content(_KEYS[:3], tuple(one[:3] for one in _CONTENT.columns)), total, 1)
    with pytest.raises(Mismatch):
        gather_slot(_CONTENT, total, 2)
    with pytest.raises(Mismatch):
        gather_choice(_CONTENT, _matches(_MEDIANS, _MEDIANS)[0], 4)
