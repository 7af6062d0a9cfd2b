"""Sets of narrow parts that answers show together: found whatever hides them, with limited work."""

import numpy as np
import pytest
from numpy.typing import NDArray

from gateway.overlap import narrow_sets
from gateway.overlap.narrow_sets import SetSearch

HALVES = 2  # the atoms 0 and 1 are wide, all others narrow


def answers(*rows: str) -> NDArray[np.bool_]:
    return np.array([[one == "1" for one in row] for row in rows])


def found(members: NDArray[np.bool_], wide: int = HALVES) -> list[list[int]]:
    parts = [[at] for at in range(wide, members.shape[1])]
    variances = np.full(len(members), 800.0)
    return [one.atoms for one in SetSearch(members, variances, parts).sets(lambda _: True)]


def test_difference_of_two_parts_is_found() -> None:
    """The whole without one part, and both halves without another."""
    assert found(answers("1110", "1001", "0100")) == [[2, 3]]


def test_nothing_is_found_where_a_half_stays() -> None:
    """Without the second half nothing cancels the wide atom."""
    assert found(answers("1110", "1001")) == []


def test_other_sets_are_found_behind_the_first_one() -> None:
    """Both a pair of answers and a single answer cancel the new one: the sets are different, and each is found."""
    sets = found(answers("11000000", "10100000", "01010000", "11001111"))
    assert sorted(sets) == [[2, 3], [4, 5, 6, 7]]


def test_parts_that_are_not_narrow_are_left_out() -> None:
    """What released sizes show to be large is not free."""
    members = answers("1110", "1001", "0100")
    search = SetSearch(members, np.full(3, 800.0), [[2], [3]])
    assert list(search.sets(lambda part: part != [3])) == []


def test_work_is_limited(monkeypatch: pytest.MonkeyPatch) -> None:
    """Many ways to cancel the new answer: the search ends after so many combinations."""
    draws = np.random.default_rng(1)
    narrow = draws.integers(0, 2, (24, 40)).astype(np.bool_)
    members = np.concatenate([np.ones((24, 1), dtype=np.bool_), narrow], axis=1)
    several = found(members, wide=1)
    assert 1 < len(several) <= narrow_sets.MOST_COMBINATIONS
    monkeypatch.setattr(narrow_sets, "MOST_COMBINATIONS", 48)
    fewer = found(members, wide=1)
    assert 0 < len(fewer) < len(several)
    monkeypatch.setattr(narrow_sets, "MOST_COMBINATIONS", 0)
    assert found(members, wide=1) == []
