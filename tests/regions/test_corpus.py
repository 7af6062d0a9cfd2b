"""Every statement that is bound has a scope."""

import json
from collections.abc import Iterator
from dataclasses import replace

from binding.cases import every
from binding.clinic import CLINIC
from laws import for_each
from regions.ward import NOON

from gateway.binding.bind import bind
from gateway.binding.bound import Cut
from gateway.bounding.time_zone import fold_moments
from gateway.errors import Refusal
from gateway.plan.aggregates import Aggregate
from gateway.regions import resolved_plan as followed
from gateway.regions.scope import aggregate_scopes, normal_text, scope_of
from gateway.regions.scope_json import scope_json, scope_of_json
from gateway.sensitivity.analysis import EnumeratedGroups
from gateway.sensitivity.analyze import analyze_release

ACCEPTED = [case for case in every() if not case.refused]


def _plans(sql: str) -> Iterator[tuple[Aggregate, dict[str, str]]]:
    bound = bind(sql, CLINIC)
    if not isinstance(bound, Cut):
        return
    constants = {step.name: f"content of {step.name}" for step in bound.steps}
    for release in bound.releases:
        for keys in release.plan.sets:
            plan = replace(
                release.plan,
                keys=tuple(release.plan.keys[place] for place in keys),
                sets=(tuple(range(len(keys))),),
            )
            made = fold_moments(plan, NOON)
            assert isinstance(made, Aggregate)
            yield made, constants


@for_each("topic", sorted({case.topic for case in ACCEPTED}))
def test_every_statement_has_a_scope_that_can_be_stored(topic: str) -> None:
    """It is the same when it is read again, it survives the state, and its axes have short names."""
    for case in ACCEPTED:
        if case.topic != topic:
            continue
        for plan, constants in _plans(case.sql):
            try:
                found = analyze_release(plan, pairs=True, enumerated_groups=10_000, min_units=10)
            except Refusal:
                continue
            listed = found.groups if isinstance(found.groups, EnumeratedGroups) else None
            made = scope_of(plan, listed, constants)
            followed.clear_resolved()
            again = scope_of(plan, listed, constants)
            assert again == made, case.title
            assert scope_of_json(json.loads(json.dumps(scope_json(made)))) == made, case.title
            assert all(len(one.name) < 300 for one in made.region.axes), case.title
            assert all(
                key.cells is None or len(key.cells) == len(key.values or ()) for key in made.keys
            )
            aggregate_scopes(plan, made, constants)
            for _, measure in plan.measures:
                for argument in measure.arguments:
                    assert normal_text(plan.child, argument, constants)


def test_listed_values_of_the_keys_make_up_all_groups() -> None:
    """The groups of a statement are all combinations of them, in order."""
    sql = "SELECT region, birth_year % 3, smoker, COUNT(*) FROM patients GROUP BY 1, 2, 3"
    [(plan, constants)] = _plans(sql)
    found = analyze_release(plan, pairs=True, enumerated_groups=10_000, min_units=10)
    assert isinstance(found.groups, EnumeratedGroups)
    first, second, third = (
        one.values or () for one in scope_of(plan, found.groups, constants).keys
    )
    combined = tuple((one, two, three) for one in first for two in second for three in third)
    assert combined == found.groups.keys
