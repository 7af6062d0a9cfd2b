"""A plan, written as SQL and bound again, is the same plan."""

from binding.cases import Case, bind_case, every
from binding.mutants import mutants
from binding.normal_form import normal
from binding.plan_round_trip import bound_again, releases
from binding.plan_sql import NotRenderable
from binding.plans import releases as random_releases
from hypothesis import HealthCheck, given, settings
from laws import for_each
from samples import draws

from gateway.binding.bound import Cut
from gateway.errors import Refusal
from gateway.plan.aggregates import Aggregate
from gateway.plan.print import explain_plan
from gateway.plan.uses import plan_uses

CASES = [case for case in every() if not case.refused and "release" in case.expected]
_ENOUGH_RELEASES = 200
_ENOUGH_MUTANTS = 500
_ENOUGH_BOUND = 100


def _cut(case: Case) -> Cut:
    bound = bind_case(case)
    assert isinstance(bound, Cut)
    return bound


@for_each("case", CASES)
def test_plan_binds_to_itself_when_written_as_sql(case: Case) -> None:
    """Every release of a golden case is found again in its own SQL: columns, types, labels and uses."""
    for release, before in releases(_cut(case)):
        again = bound_again(release.plan, before)
        assert explain_plan(again.normal) == explain_plan(normal(release.plan))
        assert again.normal == normal(release.plan)
        assert plan_uses(again.plan) == plan_uses(release.plan)


def test_releases_are_many() -> None:
    """The law above is tried on all releases of all golden cases: every plan has its SQL."""
    assert sum(len(releases(_cut(case))) for case in CASES) >= _ENOUGH_RELEASES


def test_normal_form_tells_plans_apart_when_one_thing_differs() -> None:
    """Another comparison, column, constant, measure, join kind or a dropped filter is another plan."""
    found: dict[str, int] = {}
    for case in CASES:
        for release, _ in releases(_cut(case)):
            mine = explain_plan(normal(release.plan))
            for what, other in mutants(release.plan):
                found[what] = found.get(what, 0) + 1
                assert explain_plan(normal(other)) != mine, what
    assert sum(found.values()) >= _ENOUGH_MUTANTS
    wanted = {"a filter dropped", "another join kind", "another measure", "another column"}
    wanted |= {"= for another", "< for another", "another constant", "no FILTER", "distinct"}
    wanted |= {"another order", "another frame", "another grouping set", "the sides of a union"}
    assert wanted <= found.keys()


def test_sql_tells_plans_apart_when_one_thing_differs() -> None:
    """The SQL of a plan with one thing changed binds to the changed plan, not to the old one."""
    tried = 0
    for case in CASES[::3]:
        for release, before in releases(_cut(case)):
            for what, other in list(mutants(release.plan))[:8]:
                try:
                    again = bound_again(other, before)
                except (Refusal, NotRenderable):
                    continue  # it is no plan that the binder makes
                tried += 1
                assert explain_plan(again.normal) != explain_plan(normal(release.plan)), what
    assert tried >= _ENOUGH_BOUND


@settings(max_examples=draws(150), deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(random_releases())
def test_random_plan_binds_to_itself_when_written_as_sql(plan: Aggregate) -> None:
    """A plan that no case has thought of is found again in its own SQL, and once more in that one's."""
    once = bound_again(plan)
    assert explain_plan(once.normal) == explain_plan(normal(plan))
    assert once.normal == normal(plan)
    assert plan_uses(once.plan) == plan_uses(plan)
    twice = bound_again(once.plan, once.before)
    assert twice.normal == once.normal
