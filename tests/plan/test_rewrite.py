"""Rebuilding a plan over the same relations gives the plan, and over others passes every check again."""

import pytest
from binding.cases import Case, accepted, bind_case
from binding.clinic import CLINIC
from laws import for_each

from gateway.binding.bind import bind
from gateway.binding.bound import Cut
from gateway.catalog.domains import Values
from gateway.catalog.tables import Dataset
from gateway.plan.aggregates import Aggregate
from gateway.plan.fields import BOOLEAN
from gateway.plan.node import BrokenPlan, Node, walk_nodes
from gateway.plan.print import explain_plan
from gateway.plan.relations import Filter, Scan
from gateway.plan.rewrite import map_scalars, rebuild_node, rewrite_plan
from gateway.plan.scalars import Call, Literal, Ref, Scalar, map_parts, transform, walk_scalar

ACCEPTED = accepted()


def _release(sql: str, dataset: Dataset = CLINIC) -> Aggregate:
    bound = bind(sql, dataset)
    assert isinstance(bound, Cut)
    return bound.releases[-1].plan


def _plans(case: Case) -> list[Aggregate]:
    bound = bind_case(case)
    return [one.plan for one in bound.releases] if isinstance(bound, Cut) else []


def _always_rebuilt(node: Node) -> Node:
    return rebuild_node(node, tuple(_always_rebuilt(one) for one in node.below))


@for_each("case", ACCEPTED)
def test_plan_rebuilt_over_itself_is_the_plan(case: Case) -> None:
    """Nothing is lost, added or renamed on the way up, in any shape of plan."""
    for plan in _plans(case):
        assert _always_rebuilt(plan) == plan
        assert rewrite_plan(plan, lambda node: node) is plan


@for_each("case", ACCEPTED)
def test_rewriting_reaches_every_scan(case: Case) -> None:
    """No scan of any golden plan is left without the filter, and columns and labels stay as they were."""

    def filtered(node: Node) -> Node:
        return Filter(node, Literal(value=True, type=BOOLEAN)) if isinstance(node, Scan) else node

    for plan in _plans(case):
        changed = rewrite_plan(plan, filtered)
        scans = [node for node in walk_nodes(changed) if isinstance(node, Scan)]
        above = [
            node.child
            for node in walk_nodes(changed)
            if isinstance(node, Filter) and node.condition == Literal(value=True, type=BOOLEAN)
        ]
        assert len(scans) == sum(isinstance(node, Scan) for node in walk_nodes(plan))
        assert all(any(scan is one for one in above) for scan in scans)
        assert (changed.fields, changed.label) == (plan.fields, plan.label)


@for_each("case", ACCEPTED)
def test_mapper_changes_exactly_the_expressions_of_a_node(case: Case) -> None:
    """What `scalars` lists is what `map_scalars` changes, in the same order: no walker sees more or less than another."""
    for plan in _plans(case):
        for node in walk_nodes(plan):
            seen: list[Scalar] = []

            def note(scalar: Scalar, seen: list[Scalar] = seen) -> Scalar:
                seen.append(scalar)
                return scalar

            assert map_scalars(node, note) == node
            assert tuple(seen) == node.scalars


@for_each("case", ACCEPTED)
def test_mapper_changes_exactly_the_parts_of_an_expression(case: Case) -> None:
    """What `parts` lists is what `map_parts` changes, in the same order; `transform` changes all of it once."""
    for plan in _plans(case):
        for scalar in (one for node in walk_nodes(plan) for one in node.scalars):
            for one in walk_scalar(scalar):
                seen: list[Scalar] = []

                def note(part: Scalar, seen: list[Scalar] = seen) -> Scalar:
                    seen.append(part)
                    return part

                assert map_parts(one, note) == one
                assert tuple(seen) == one.parts
                seen.clear()
                assert transform(one, note) == one
                assert sorted(map(repr, seen)) == sorted(map(repr, walk_scalar(one)))


def test_domain_of_a_key_is_narrower_when_a_filter_is_put_below() -> None:
    """What is above reads the columns as they are now: a filter on a set narrows the groups."""

    def north(node: Node) -> Node:
        if not isinstance(node, Scan):
            return node
        region = next(one for one in node.fields if one.id == "patients.region")
        return Filter(node, Call("=", (Ref(region), Literal("north", region.type)), BOOLEAN))

    plan = rewrite_plan(_release("SELECT region, COUNT(*) FROM patients GROUP BY region"), north)
    assert isinstance(plan, Aggregate)
    assert plan.keys[0][1].domain == Values(("north",))
    assert "filter (patients.region = 'north')" in explain_plan(plan)


def test_rebuilding_is_refused_when_a_column_is_missing_below() -> None:
    """A plan cannot be put over rows that do not have what it reads."""
    plan = _release("SELECT AVG(income) FROM patients")
    other = _release("SELECT AVG(cost) FROM visits")
    with pytest.raises(BrokenPlan):
        rebuild_node(plan, other.below)
