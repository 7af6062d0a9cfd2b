"""Staged constants in conditions: while their values are unknown they are named by their content, wherever they are read."""

from collections.abc import Mapping
from dataclasses import replace

import pytest
from laws import for_each
from regions.ward import WARD, plan_of

from gateway.binding.bind import bind
from gateway.binding.bound import Cut, Stage
from gateway.plan.aggregates import Aggregate
from gateway.plan.relations import StagedRows
from gateway.regions.scope import ReleaseScope, aggregate_scopes, scope_of

_OF_PERSONS = (
    "SELECT COUNT(*) FROM (SELECT patient_id, COUNT(*) FILTER (WHERE cost > {}) AS k FROM visits GROUP BY 1) q WHERE k > 2",
    "SELECT SUM(k) FROM (SELECT patient_id, COUNT(*) FILTER (WHERE cost > {}) AS k FROM visits GROUP BY 1) q",
    "SELECT k, COUNT(*) FROM (SELECT patient_id, COUNT(*) FILTER (WHERE cost > {}) AS k FROM visits GROUP BY 1) q GROUP BY k",
    (
        "SELECT COUNT(*) FROM (SELECT patient_id, SUM(CASE WHEN cost > {} THEN 1 ELSE 0 END) AS k FROM visits GROUP BY 1) q"
        " WHERE k > 2"
    ),
    (
        "SELECT COUNT(*) FROM (SELECT patient_id, COUNT(*) FILTER (WHERE cost IN (SELECT people FROM regions)) AS k"
        " FROM visits WHERE cost < {} GROUP BY 1) q WHERE k = 0"
    ),
)
_WRITTEN = "(SELECT 1000)"


def _scopes(
    sql: str, content: str = "content", known: Mapping[str, StagedRows] | None = None
) -> tuple[ReleaseScope, ...]:
    """All that an answer reveals, where every constant of the statement has this content."""
    bound = bind(sql, WARD)
    assert isinstance(bound, Cut)
    plan: Aggregate = plan_of(sql)
    names = {one.name: f"{content} of {one.name}" for one in bound.steps}
    made = scope_of(plan, None, names, known)
    return made, *aggregate_scopes(plan, made, names, known)


def _known(sql: str) -> dict[str, StagedRows]:
    """The stages that give one value, with the value that they are written with."""
    bound = bind(sql, WARD)
    assert isinstance(bound, Cut)
    stages = [one for one in bound.steps if isinstance(one, Stage) and "1000" in one.sql.text()]
    columns = [tuple((each.id, each.type) for each in one.fields) for one in stages]
    return {one.name: StagedRows(of, ((1000,),)) for one, of in zip(stages, columns, strict=True)}


@for_each("sql", _OF_PERSONS)
def test_constant_in_an_aggregate_of_a_person_is_named_by_its_content(sql: str) -> None:
    """Its expression is over bases when the rows behind the number are looked at. Other contents are other rows."""
    staged = sql.format(_WRITTEN)
    assert _scopes(staged) == _scopes(staged)
    assert set(_scopes(staged)) != set(_scopes(staged, "another"))


@for_each("sql", [one for one in _OF_PERSONS if " IN " not in one])
def test_constant_whose_value_is_known_is_read_as_a_literal(sql: str) -> None:
    """The same scopes as of the statement that has the number itself; without the value they are opaque."""
    staged = sql.format(_WRITTEN)
    literal = {replace(one, unreadable=()) for one in _scopes(sql.format("1000"))}
    found = {replace(one, unreadable=()) for one in _scopes(staged, known=_known(staged))}
    assert found == literal
    assert {replace(one, unreadable=()) for one in _scopes(staged)} != literal


def test_constant_of_another_statement_has_no_name() -> None:
    """A constant without content is a bug, never another row set: it is not taken for one that has its content already."""
    with pytest.raises(KeyError):
        scope_of(plan_of(_OF_PERSONS[0].format(_WRITTEN)), None, {})
