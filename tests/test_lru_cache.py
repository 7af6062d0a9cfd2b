"""What is remembered: the same as what would be computed, told apart by all it depends on, and not too much of it."""

import threading
from collections import Counter
from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sensitivity.analyses import analysed, dataset, keys_of, plan_of, whole

from gateway.catalog.domains import Values
from gateway.functions.range_arithmetic import NOTHING, Bounds, bounds
from gateway.lru_cache import LruCache
from gateway.plan.aggregates import Aggregate
from gateway.ranges.relations import inner_columns
from gateway.sensitivity.analysis import EnumeratedGroups
from gateway.sensitivity.grouping_sets import _enumerated, enumerate_groups


class Square:
    """Counts how often it was computed."""

    def __init__(self) -> None:
        self.computed: Counter[int] = Counter()

    def of(self, number: int) -> int:
        self.computed[number] += 1
        return number * number


@settings(deadline=None)
@given(st.lists(st.integers(0, 30)), st.integers(4, 40))
def test_memory_gives_what_would_be_computed_whatever_was_asked_before(
    asked: list[int], most: int
) -> None:
    """And never holds more than it may."""
    memory: LruCache[int, int] = LruCache(most, lambda key, found: 1 + (key + found) % 5)
    square = Square()
    for one in asked:
        assert memory.get(one, lambda one=one: square.of(one)) == one * one  # type: ignore[misc]
        assert memory._weighs <= most
        weights = [1 + (key + found) % 5 for key, (found, _) in memory._there.items()]
        assert memory._weighs == sum(weights)
        assert all(weight <= most // 4 for weight in weights)


def test_memory_lets_go_of_what_was_not_used_for_longest() -> None:
    """A question that comes again and again stays; a result of None is one, too."""
    memory: LruCache[int, int | None] = LruCache(4, lambda _key, _found: 1)
    square = Square()

    def ask(number: int) -> None:
        memory.get(number, lambda: square.of(number) or None)

    for number in (0, 1, 2, 3, 0, 4, 0, 5, 0):
        ask(number)
    assert square.computed == Counter({0: 1, 1: 1, 2: 1, 3: 1, 4: 1, 5: 1})
    ask(1)
    assert square.computed[1] == 2


def test_memory_does_not_hold_what_is_too_large_for_it() -> None:
    """One large result does not drive out all others."""
    memory: LruCache[int, int] = LruCache(8, lambda key, _found: key)
    square = Square()
    for number in (1, 2, 3, 1, 2, 3):
        memory.get(number, lambda number=number: square.of(number))  # type: ignore[misc]
    assert square.computed == Counter({1: 1, 2: 1, 3: 2})


def test_memory_is_whole_when_several_threads_ask() -> None:
    """Whoever is second gets a right result, and its weight is counted once."""
    memory: LruCache[int, int] = LruCache(40, lambda _key, _found: 1)
    start = threading.Barrier(4)
    wrong: list[int] = []

    def work() -> None:
        start.wait()
        wrong.extend(
            number
            for number in list(range(60)) * 5
            if memory.get(number, lambda number=number: number * 3) != number * 3  # type: ignore[misc]
        )

    threads = [threading.Thread(target=work) for _ in range(4)]
    for one in threads:
        one.start()
    for one in threads:
        one.join()
    assert not wrong
    assert memory._weighs == len(memory._there) == 40


def test_cache_holds_one_entry_as_large_as_it_is_told_it_may_be() -> None:
    """With `largest` one entry may fill the cache; what weighs more is not kept, and drives out nothing."""
    cache: LruCache[str, int] = LruCache(120, lambda _key, weight: weight, largest=120)
    for name in ("a", "b"):
        cache.put(name, 40)
    cache.put("too large", 121)
    assert cache.find("a") == 40
    cache.put("c", 60)
    assert cache.find("b") is None
    assert (cache.find("a"), cache.find("c"), cache.find("too large")) == (40, 60, None)


def test_cache_weighs_a_value_anew_when_it_is_replaced() -> None:
    """The weight of the value before is given back, and what replaces it is the one used last."""
    cache: LruCache[str, int] = LruCache(10, lambda _key, weight: weight, largest=10)
    for name, weight in (("a", 6), ("b", 3), ("a", 2), ("c", 5)):
        cache.put(name, weight)
    assert (cache._weighs, list(cache)) == (10, ["b", "a", "c"])
    cache.put("a", 11)
    assert (cache._weighs, list(cache), "a" in cache) == (8, ["b", "c"], False)
    cache.clear()
    assert (cache._weighs, len(cache), cache.values()) == (0, 0, ())


def test_cache_counts_a_value_as_used_when_it_is_found_and_not_when_it_is_peeked_at() -> None:
    """So whoever only looks decides nothing about what stays."""
    cache: LruCache[str, int] = LruCache(2)
    cache.put("a", 1)
    cache.put("b", 2)
    assert (cache.peek("a"), cache.peek("z")) == (1, None)
    cache.put("c", 3)
    assert "a" not in cache
    assert cache.find("b") == 2
    cache.put("d", 4)
    assert cache.values() == (2, 4)


def test_cache_keeps_nothing_when_computing_fails() -> None:
    """A refusal reaches whoever asked, and the next one computes again."""
    cache: LruCache[str, int] = LruCache(4)

    def fail() -> int:
        raise ValueError("refused")

    with pytest.raises(ValueError, match="refused"):
        cache.get("a", fail)
    assert cache.get("a", lambda: 1) == 1


QUESTIONS = [
    "SELECT region, COUNT(*) FROM patients GROUP BY 1",
    "SELECT region, smoker, COUNT(*) FROM patients GROUP BY 1, 2",
    "SELECT smoker, region, COUNT(*) FROM patients GROUP BY 1, 2",
    "SELECT birth_year / 10 * 10, COUNT(*) FROM patients GROUP BY 1",
    "SELECT birth_year / 10 * 10, COUNT(*) FROM patients WHERE birth_year > 1950 GROUP BY 1",
    "SELECT birth_year, COUNT(*) FROM patients WHERE birth_year > 1950 GROUP BY 1",
    "SELECT birth_year, COUNT(*) FROM patients WHERE birth_year > 1951 GROUP BY 1",
    "SELECT FLOOR(cost / 1000), COUNT(*) FROM visits GROUP BY 1",
    "SELECT FLOOR(cost / 1000), COUNT(*) FROM visits WHERE cost < 2000 GROUP BY 1",
    "SELECT DATE_TRUNC('month', visit_date), COUNT(*) FROM visits GROUP BY 1",
    "SELECT name, COUNT(*) FROM patients GROUP BY 1",
    "SELECT 1, COUNT(*) FROM patients GROUP BY 1",
    "SELECT TRUE, COUNT(*) FROM patients GROUP BY 1",
]


def _columns(plan: Aggregate) -> dict[str, Bounds]:
    return dict(inner_columns(plan, narrowed=True))


def test_enumeration_is_the_same_when_it_comes_from_memory() -> None:
    """Value by value and type by type, in any order of the questions, and the same object the second time."""
    for sql in [*QUESTIONS, *reversed(QUESTIONS)]:
        plan = plan_of(sql)
        columns = _columns(plan)
        found = enumerate_groups(plan, columns, 10_000)
        wanted = _enumerated(tuple(key for _, key in plan.keys), columns, 10_000)
        assert found == wanted
        assert repr(found) == repr(wanted)
        assert enumerate_groups(plan_of(sql), _columns(plan_of(sql)), 10_000) is found


@pytest.mark.parametrize("sql", QUESTIONS[:2])
def test_enumeration_depends_on_the_limit(sql: str) -> None:
    """A lower limit is not answered from what a higher one found."""
    assert keys_of(sql) is not None
    plan = plan_of(sql)
    assert enumerate_groups(plan, _columns(plan), 3) is None
    assert keys_of(sql) is not None


def test_enumeration_depends_on_the_bounds_of_what_it_reads() -> None:
    """The same expression over narrower columns has fewer groups; columns it does not read say nothing."""
    of = dataset(
        1, {"x": ("integer", whole(5, 9)), "y": ("integer", whole(5, 9)), "b": ("boolean", None)}
    )
    plan = plan_of("SELECT FLOOR(CASE WHEN b THEN x ELSE y END), COUNT(*) FROM t GROUP BY 1", of)
    columns = _columns(plan)
    all_ = enumerate_groups(plan, columns, 10_000)
    for around in (columns | {"elsewhere.x": bounds(0, 1)}, dict(reversed(columns.items()))):
        assert enumerate_groups(plan, around, 10_000) is all_
    seen = set()
    # what is always NULL has bounds like those of 0, and is passed over where 0 is not
    for changed in (NOTHING, replace(NOTHING), bounds(7, 8, 1), bounds(5, 12, 1), NOTHING):
        given_ = columns | {"t.y": changed}
        found = enumerate_groups(plan, given_, 10_000)
        assert found == _enumerated(tuple(key for _, key in plan.keys), given_, 10_000)
        seen.add(found)
    assert len(seen) == 3, "two of them are the groups from 5 to 9"


def test_enumeration_depends_on_the_domain_of_a_column() -> None:
    """A policy that is loaded anew with other values gives other groups."""
    for values in (("north", "south"), ("north", "up"), ("north", "south")):
        of = dataset(1, {"region": ("text", Values(values))})
        groups = analysed("SELECT region, COUNT(*) FROM t GROUP BY 1", of=of).groups
        assert isinstance(groups, EnumeratedGroups)
        assert groups.keys == ((values[0],), (values[1],), (None,))
