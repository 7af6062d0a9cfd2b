"""Sides of UNION ALL: the auditor compares each as a query of its own."""

from typing import Final

import pytest
from laws import for_each
from regions.ward import plan_of

from gateway.regions import scope
from gateway.regions.region import Box
from gateway.regions.resolved_plan import ResolvedPlan, clear_resolved
from gateway.regions.scope import ReleaseScope, aggregate_scopes, scope_of

_EMPTY: Final = "SELECT patient_id, birth_year, 0 AS x FROM patients WHERE 1 = 0"
_SIDES: Final = {
    "a condition": "SELECT patient_id, birth_year, income AS x FROM patients WHERE income <> 52311",
    "conditions on two columns": "SELECT patient_id, birth_year, height AS x FROM patients WHERE NOT (income = 7 AND height = 180)",
    "a pattern": "SELECT patient_id, birth_year, 5 AS x FROM patients WHERE name NOT LIKE 'a%'",
    "a join": "SELECT p.patient_id, p.birth_year, v.cost AS x FROM patients p JOIN visits v ON v.patient_id = p.patient_id WHERE v.cost <> 7",
    "two scans of a table": "SELECT v.patient_id, 1 AS birth_year, v.cost AS x FROM visits v JOIN visits w ON w.patient_id = v.patient_id WHERE w.cost <> 7",
    "EXISTS": "SELECT patient_id, birth_year, 5 AS x FROM patients p WHERE EXISTS (SELECT 1 FROM visits v WHERE v.patient_id = p.patient_id AND v.cost = 7)",
    "rows of persons": "SELECT patient_id, 1 AS birth_year, COUNT(*) AS x FROM visits WHERE cost <> 7 GROUP BY patient_id",
    "a window": "SELECT patient_id, 1 AS birth_year, x FROM (SELECT patient_id, SUM(cost) OVER (PARTITION BY patient_id) AS x FROM visits WHERE cost <> 7) w",
}  # fmt: skip
_ABOVE: Final = {
    "all rows": "SELECT COUNT(*) FROM ({side}) t",
    "a condition": "SELECT COUNT(*) FROM ({side}) t WHERE t.x > 3",
    "a condition in the aggregate": "SELECT COUNT(*) FILTER (WHERE t.x > 3) FROM ({side}) t",
    "a choice in the aggregate": "SELECT SUM(CASE WHEN t.x > 3 THEN 1 ELSE 0 END) FROM ({side}) t",
    "groups": "SELECT t.birth_year, COUNT(*) FROM ({side}) t GROUP BY t.birth_year",
    "rows of persons": "SELECT SUM(n) FROM (SELECT t.patient_id, COUNT(*) AS n FROM ({side}) t GROUP BY t.patient_id) g",
    "a join": "SELECT COUNT(*) FROM patients a JOIN ({side}) t ON t.patient_id = a.patient_id",
    "an outer join": "SELECT COUNT(t.patient_id) FROM patients a LEFT JOIN ({side}) t ON t.patient_id = a.patient_id",
    "EXISTS": "SELECT COUNT(*) FROM patients a WHERE EXISTS (SELECT 1 FROM ({side}) t WHERE t.patient_id = a.patient_id)",
}  # fmt: skip
_PLAIN: Final = [
    "a condition",
    "conditions on two columns",
    "a pattern",
    "a join",
    "two scans of a table",
]
"""Sides whose columns are columns of tables, so that a direct query has exactly their scopes."""


def _scopes(sql: str) -> list[ReleaseScope]:
    plan = plan_of(sql)
    whole = scope_of(plan, None, {})
    return [whole, *aggregate_scopes(plan, whole, {})]


def _compared(sql: str) -> set[tuple[object, ...]]:
    """The conditions over tables alone. Groups of persons and joins with a missing side are compared through these."""
    return {
        (one.shape, one.region.boxes, tuple(key.text for key in one.keys))
        for one in _scopes(sql)
        if "(" not in one.shape
        and one.region.boxes != (Box(()),)
        and not any("exists" in axis.name for axis in one.region.axes)
    }


def _over_union(above: str, side: str, *, first: bool) -> str:
    sides = [_SIDES[side], _EMPTY] if first else [_EMPTY, _SIDES[side]]
    return _ABOVE[above].format(side=" UNION ALL ".join(sides))


def _lost() -> list[object]:
    """Scopes of direct queries that the same queries over a union with an empty side do not have."""
    found: list[object] = []
    for above, text in _ABOVE.items():
        for side in _PLAIN:
            direct = _compared(text.format(side=_SIDES[side]))
            assert direct
            found += [
                (above, side, first, missing)
                for first in (True, False)
                for missing in direct - _compared(_over_union(above, side, first=first))
            ]
    return found


def test_side_is_compared_as_direct_query_is() -> None:
    """A query over a union with an empty side has the scopes of the same query on the other side."""
    assert _lost() == []


def test_comparison_finds_conditions_that_are_lost_in_unions(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Without the sides, the scopes of nearly all of these queries are lost: the law above can fail."""
    clear_resolved()
    monkeypatch.setattr(ResolvedPlan, "sides", ())
    assert len(_lost()) > len(_ABOVE) * len(_PLAIN)
    clear_resolved()


_DEEP: Final = [(above, side) for above in _ABOVE for side in _SIDES]


@for_each("case", _DEEP)
def test_union_has_a_scope_for_each_table_of_its_sides(case: tuple[str, str]) -> None:
    """No side is left out: its condition is on an axis of some scope, whatever stands above it."""
    above, side = case
    for first in (True, False):
        axes = {
            one.name
            for each in _scopes(_over_union(above, side, first=first))
            for one in each.region.axes
        }
        direct = {
            one.name
            for each in _scopes(_ABOVE[above].format(side=_SIDES[side]))
            for one in each.region.axes
            if one.column is not None or not one.readable
        }
        assert direct
        assert direct <= axes


def test_scans_of_a_table_have_one_name_in_both_sides() -> None:
    """The rows of two sides never meet, so the second side is `visits` and not `visits#2`; what joins them is."""
    text = " UNION ALL ".join(f"SELECT patient_id FROM visits WHERE cost <> {one}" for one in "78")
    found = _scopes(f"SELECT COUNT(*) FROM visits v JOIN ({text}) t ON t.patient_id = v.patient_id")
    assert [one.shape for one in found[1:]] == ["visits join visits#2"] * 2
    alone = _scopes(f"SELECT COUNT(*) FROM ({text}) t")
    assert [one.shape for one in alone[1:]] == ["visits"] * 2


def test_statement_with_too_many_sides_is_opaque(monkeypatch: pytest.MonkeyPatch) -> None:
    """What is not compared side by side cannot be compared at all."""
    sides = [f"SELECT patient_id FROM patients WHERE birth_year = {1950 + one}" for one in range(4)]
    sql = f"SELECT COUNT(*) FROM ({' UNION ALL '.join(sides)}) t"
    assert not any(one.unreadable for one in _scopes(sql))
    monkeypatch.setattr(scope, "MOST_SIDES", 2)
    assert _scopes(sql)[-1].unreadable


def test_unions_that_are_read_twice_have_two_names() -> None:
    """A person may have several rows in a union, so conditions on two readings of it do not contradict each other."""
    union = (
        "(SELECT patient_id, birth_year AS x, 0 AS k FROM patients"
        " UNION ALL SELECT patient_id, 0, 1 FROM patients)"
    )
    found = _scopes(
        f"SELECT COUNT(*) FROM {union} u JOIN {union} w ON w.patient_id = u.patient_id"
        " WHERE u.k = 0 AND w.k = 1 AND u.x <> 1950"
    )
    assert not found[0].region.is_nothing
    assert "patients.birth_year" in {axis.name for one in found for axis in one.region.axes}


@pytest.mark.parametrize("levels", [2, 12])
def test_sides_of_unions_of_unions_are_counted_before_they_are_put_together(levels: int) -> None:
    """Expressions that multiply with each union are opaque before they are long."""
    query = "SELECT patient_id, birth_year AS x FROM patients"
    for _ in range(levels):
        query = (
            f"SELECT patient_id, x + x + x + x AS x FROM ({query}"
            " UNION ALL SELECT patient_id, 0 FROM patients WHERE 1 = 0) t"
        )
    found = _scopes(f"SELECT COUNT(*) FROM ({query}) z WHERE x > 5")
    longest = max(len(axis.name) for one in found for axis in one.region.axes)
    assert longest < 10_000
    opaque = [name for one in found for name in one.unreadable]
    assert any(name.startswith("a side of") for name in opaque) == (levels == 12)
