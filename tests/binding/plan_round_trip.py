"""A plan that goes through its own SQL: rendered, bound, and found in what comes out."""

from collections.abc import Sequence
from dataclasses import dataclass

from binding.clinic import CLINIC
from binding.normal_form import normal
from binding.plan_sql import rendered

from gateway.binding.bind import bind
from gateway.binding.bound import Cut, Release, Stage, Step
from gateway.plan.aggregates import Aggregate


@dataclass(frozen=True)
class Round:
    """`before` are the steps that the plan reads, under the names it knows them by."""

    plan: Aggregate
    before: tuple[Step, ...]
    normal: Aggregate


def bound_again(plan: Aggregate, before: Sequence[Step] = ()) -> Round:
    """What binding makes of the plan's own SQL."""
    bound = bind(rendered(plan, before), CLINIC)
    assert isinstance(bound, Cut)
    [release] = [
        one for one in bound.releases if bound.finishing.body.endswith(f'FROM "{one.name}"')
    ]
    steps = bound.steps[: bound.steps.index(release)]
    constants = {step.name: _reads(step, before) for step in steps if isinstance(step, Stage)}
    return Round(release.plan, steps, normal(release.plan, constants))


def _reads(stage: Stage, before: Sequence[Step]) -> str:
    """The step that a stage of the second statement hands on."""
    found = [step.name for step in before if f'FROM "{step.name}"' in stage.sql.body]
    assert len(found) == 1, stage.sql.body
    return found[0]


def releases(bound: Cut) -> list[tuple[Release, tuple[Step, ...]]]:
    """Each release of a statement with the steps before it."""
    return [
        (step, bound.steps[:place])
        for place, step in enumerate(bound.steps)
        if isinstance(step, Release)
    ]
