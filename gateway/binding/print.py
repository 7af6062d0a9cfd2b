"""A bound statement as text, for people and for golden files."""

from gateway.binding.bound import Bound, Empty, Fetch, PassThrough, Release, Stage, Step
from gateway.plan.formulas import form_text
from gateway.plan.print import explain_plan


def explain_bound(bound: Bound) -> str:
    """Its steps with their plans, its finishing, and the uses it needs."""
    if isinstance(bound, PassThrough):
        return f"passes: {bound.statement.kind.value}"
    lines = [line for step in bound.steps for line in _step(step)]
    if bound.statement.head:
        lines.append(f"around: {bound.statement.kind.value}")
    lines.append(f"finishing {bound.finishing.text()}")
    lines += [f"use {use}" for use in sorted(bound.uses)]
    return "\n".join(lines)


def _step(step: Step) -> list[str]:
    match step:
        case Release():
            plan = explain_plan(step.plan).splitlines()
            ends = (
                [f"  intervals of {'; '.join(map(form_text, step.bounds))}"] if step.bounds else []
            )
            return [f"{step.name} {plan[0]}", *ends, *plan[1:]]
        case Fetch():
            return [f"{step.name} fetch {step.table.name}"]
        case Empty():
            return [f"{step.name} empty {step.table.name}"]
        case Stage():
            columns = ", ".join(f"{one.id.rsplit('.', 1)[-1]} {one.type}" for one in step.fields)
            return [f"{step.name} stage ({columns}) {step.sql.text()}"]
