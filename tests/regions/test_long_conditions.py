"""Conditions with very many parts are counted before they are read, and then treated as opaque."""

import random

import pytest
from overlap.walk import scopes

from gateway.regions import predicate as reading
from gateway.regions.tabulate import tabulate_condition

_FEW = 80


@pytest.fixture
def read(monkeypatch: pytest.MonkeyPatch) -> list[object]:
    """The comparisons that were read."""
    seen: list[object] = []

    def counted(*given: object) -> object:
        seen.append(given[0])
        return tabulate_condition(*given)  # type: ignore[arg-type]  # handed on as they are

    monkeypatch.setattr(reading, "tabulate_condition", counted)
    return seen


def _boxes(many: int) -> list[str]:
    chance = random.Random(many)  # noqa: S311 - no secret
    return [
        f"(birth_year BETWEEN {chance.randint(1920, 1960)} AND {chance.randint(1961, 2020)}"
        f" AND income > {chance.randint(0, 200_000)})"
        for _ in range(many)
    ]


@pytest.mark.parametrize(
    "condition",
    [
        " OR ".join(_boxes(600)),
        f"NOT ({' OR '.join(_boxes(600))})",
        " AND ".join(f"NOT {one}" for one in _boxes(300)),
        f"region = 'north' AND ({' OR '.join(_boxes(500))})",
    ],
    ids=["or", "not or", "and not", "and or"],
)
def test_condition_of_very_many_boxes_is_not_begun(condition: str, read: list[object]) -> None:
    """No more than a few of its thousands of comparisons are looked at."""
    [scope] = scopes("clinic", f"SELECT COUNT(*) FROM patients WHERE {condition}")
    assert scope.unreadable
    assert len(read) < _FEW


def test_many_conditions_on_one_column_are_read() -> None:
    """They are a list, and regions of one column have one box."""
    years = " OR ".join(f"birth_year = {year}" for year in range(1921, 2020, 2))
    [scope] = scopes("clinic", f"SELECT COUNT(*) FROM patients WHERE {years}")
    assert not scope.unreadable
    assert len(scope.region.boxes) == 1


def test_choice_of_very_many_branches_is_opaque_in_an_aggregate() -> None:
    """Its branches are not looked at one by one."""
    arms = " ".join(f"WHEN income < {limit} THEN {limit}" for limit in range(100, 3_000, 100))
    sql = f"SELECT SUM(CASE {arms} ELSE 1 END) FROM patients"
    assert any(one.unreadable for one in scopes("clinic", sql))


@pytest.mark.parametrize("function", ["GREATEST({}, 7)", "LEAST({}, 7)", "ABS({} - 1)"])
def test_choices_that_are_nested_deep_are_opaque(function: str, read: list[object]) -> None:
    """Each level reads its argument several times, so the work is bounded by the depth."""
    for depth in (2, 12):
        nested = "cost"
        for _ in range(depth):
            nested = function.format(nested)
        [scope] = scopes("clinic", f"SELECT COUNT(*) FROM visits WHERE {nested} > 5")
        assert bool(scope.unreadable) == (depth == 12)  # the deeper one
    assert len(read) < _FEW
