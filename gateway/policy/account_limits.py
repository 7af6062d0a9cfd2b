"""Account limits of analysts: the budget under the rules that can ever apply to them."""

from collections.abc import Iterator
from itertools import product

from gateway.policy.applicable import FRONT_ENDS, RequestContext, bound_rows, facts_of
from gateway.policy.conditions.condition import Truth
from gateway.policy.policy import Budget, Effect, Policy, Rule, smallest_budget
from gateway.policy.subjects import Subject


def account_budget(policy: Policy, subject: Subject) -> Budget | None:
    """The least of the budgets of all rules that can permit this subject something; None without any.

    Which of them apply to one query depends on its purpose, its hour and its front end. There is one account,
    so it has the budget of the strictest rule.
    """
    budgets = [
        rule.budget
        for rule in policy.rules
        if rule.effect is Effect.PERMIT
        and rule.budget is not None
        and bound_rows(rule, subject) is not None
        and _can_apply(rule, policy, subject)
    ]
    return smallest_budget(budgets) if budgets else None


def _can_apply(rule: Rule, policy: Policy, subject: Subject) -> bool:
    return any(
        rule.when.outcome(facts_of(policy, subject, each)) is Truth.TRUE
        for each in _all_circumstances(rule, subject)
    )


def _all_circumstances(rule: Rule, subject: Subject) -> Iterator[RequestContext]:
    """Every request that the rule's condition could distinguish from the others."""
    reads = {path.name for path in rule.when.reads if path.root == "request"}
    purposes: tuple[str | None, ...] = (None, *subject.purposes) if "purpose" in reads else (None,)
    front_ends = FRONT_ENDS if "front_end" in reads else FRONT_ENDS[:1]
    hours = range(24) if "hour" in reads else range(1)
    weekdays = range(1, 8) if "weekday" in reads else range(1, 2)
    for front_end, purpose, hour, weekday in product(front_ends, purposes, hours, weekdays):
        yield RequestContext(front_end, purpose, hour, weekday)
