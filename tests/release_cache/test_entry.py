"""Sheets share their equal parts, and nothing about them changes."""

from dataclasses import replace

from release_cache.log_entries import entry, scope, slot

from gateway.regions.scope import GroupKey
from gateway.release_cache.entry import Interned


def key(*values: bool | int) -> GroupKey:
    return GroupKey("flag", None, tuple(values), None)


def test_entries_share_the_parts_that_are_equal() -> None:
    """They are equal to what came in; slots, keys, axes and cells are there once."""
    alike = Interned()
    first = [entry(1, replace(scope(), keys=(key(1, 2),)), slots=(slot(7), slot(9)))]
    again = [entry(2, replace(scope(), keys=(key(1, 2),)), slots=(slot(7), slot(9)))]
    one, two = alike.entry(first[0]), alike.entry(again[0])
    assert (one, two) == (first[0], again[0])
    assert one.slots is two.slots
    assert one.scope.keys[0] is two.scope.keys[0]
    assert one.scope.region.axes is two.scope.region.axes
    assert one.scope.region.boxes[0].parts[0][1] is two.scope.region.boxes[0].parts[0][1]


def test_keys_keep_their_types_when_they_are_equal_all_the_same() -> None:
    """1 is no true: a key of numbers does not become one of truths because such a one was there before."""
    alike = Interned()
    truths, numbers = (replace(scope(), keys=(key(*values),)) for values in ((True,), (1,)))
    assert truths.keys == numbers.keys
    for about, kind in ((truths, bool), (numbers, int)):
        values = alike.scope(about).keys[0].values
        assert values is not None
        assert type(values[0]) is kind
