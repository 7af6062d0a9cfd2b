"""Rebuilding a plan over the same relations gives the plan, and over others passes every check again."""

import pytest
from binding.cases import Case, accepted, bind_case
from binding.clinic import CLINIC
from laws import for_each

from gateway.binding.bind import bind
from gateway.binding.bound import Cut
from gateway.catalog.domains import Values
from gateway.catalog.tables import Dataset
from gateway.plan.grouping import Aggregate
from gateway.plan.node import BrokenPlan, Node
from gateway.plan.print import explain
from gateway.plan.relations import Filter, Scan
from gateway.plan.rewrite import rebuilt, rewritten
from gateway.plan.scalars import Call, Literal, Ref
from gateway.plan.types import BOOLEAN

ACCEPTED = accepted()


def _release(sql: str, dataset: Dataset = CLINIC) -> Aggregate:
    bound = bind(sql, dataset)
    assert isinstance(bound, Cut)
    return bound.releases[-1].plan


def _always_rebuilt(node: Node) -> Node:
    return rebuilt(node, tuple(_always_rebuilt(one) for one in node.below))


@for_each("case", ACCEPTED)
def test_plan_rebuilt_over_itself_is_the_plan(case: Case) -> None:
    """Nothing is lost, added or renamed on the way up, in any shape of plan."""
    bound = bind_case(case)
    if not isinstance(bound, Cut):
        return
    for release in bound.releases:
        assert _always_rebuilt(release.plan) == release.plan
        assert rewritten(release.plan, lambda node: node) is release.plan


def test_domain_of_a_key_is_narrower_when_a_filter_is_put_below() -> None:
    """What is above reads the columns as they are now: a filter on a set narrows the groups."""

    def north(node: Node) -> Node:
        if not isinstance(node, Scan):
            return node
        region = next(one for one in node.fields if one.id == "patients.region")
        return Filter(node, Call("=", (Ref(region), Literal("north", region.type)), BOOLEAN))

    plan = rewritten(_release("SELECT region, COUNT(*) FROM patients GROUP BY region"), north)
    assert isinstance(plan, Aggregate)
    assert plan.keys[0][1].domain == Values(("north",))
    assert "filter (patients.region = 'north')" in explain(plan)


def test_rebuilding_is_refused_when_a_column_is_missing_below() -> None:
    """A plan cannot be put over rows that do not have what it reads."""
    plan = _release("SELECT AVG(income) FROM patients")
    other = _release("SELECT AVG(cost) FROM visits")
    with pytest.raises(BrokenPlan):
        rebuilt(plan, other.below)
