"""Which rules and account limits apply to a subject.

INVARIANT: nothing remembers which rules apply: they are found anew for every query, so no verdict outlives the time, the
address or the purpose that its conditions read. What is kept of bound statements is kept by the rules that apply.
INVARIANT: a permitting rule applies only when its condition is true and its row rules can be bound; a forbidding
rule applies unless its condition is false.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from itertools import product
from typing import Final

from gateway.catalog.tables import Dataset
from gateway.errors import Code, NotPermitted
from gateway.policy.conditions.condition import Facts
from gateway.policy.conditions.request_facts import normal_address
from gateway.policy.policy import Budget, Effect, Policy, Rule, smallest_budget
from gateway.policy.row_rules import BoundRows, bind_rows
from gateway.policy.subjects import Subject

FRONT_ENDS: Final = ("rest", "pgwire", "cli")


@dataclass(frozen=True)
class RequestContext:
    """The facts of a request that conditions may read. Hour and weekday (Monday is 1) are UTC.

    A fact that is None is not known: a condition that reads it is an error, so it permits nothing.
    """

    front_end: str
    purpose: str | None
    hour: int
    weekday: int
    address: str | None = None
    tls: bool | None = None
    time: datetime | None = None


@dataclass(frozen=True)
class ApplicableRules:
    """The rules on a dataset that apply, for one purpose; the row rules of the permitting ones are bound to the subject."""

    dataset: Dataset
    purpose: str | None
    permits: tuple[Rule, ...]
    forbids: tuple[Rule, ...]
    rows: Mapping[str, Mapping[str, BoundRows]]


def purpose_of(subject: Subject, asked: str | None) -> str | None:
    """The purpose of a request: the named one, or the subject's only one."""
    if asked is None:
        return subject.purposes[0] if len(subject.purposes) == 1 else None
    if asked not in subject.purposes:
        known = ", ".join(f"`{purpose}`" for purpose in subject.purposes)
        hint = (
            f"your purposes are {known}" if known else "you have no purposes; leave the purpose out"
        )
        raise NotPermitted(Code.PURPOSE_NOT_PERMITTED, "", hint)
    return asked


@dataclass(frozen=True, slots=True)
class Peer:
    """The other end of a connection: its address as the socket shows it, and whether it is inside TLS."""

    front_end: str
    address: str = ""
    tls: bool = False


def rules_at(
    policy: Policy, subject: Subject, peer: Peer, purpose: str | None, now: datetime
) -> ApplicableRules:
    """The rules that apply now; `purpose` is the named one, or None."""
    moment = now.astimezone(UTC)
    held = purpose_of(subject, purpose)
    address = normal_address(peer.address)
    here = RequestContext(
        peer.front_end, held, moment.hour, moment.isoweekday(), address, peer.tls, moment
    )
    return applicable_rules(policy, subject, here)


def applicable_rules(
    policy: Policy, subject: Subject, circumstances: RequestContext
) -> ApplicableRules:
    """The rules that apply to this request."""
    facts = facts_of(policy, subject, circumstances)
    permits = []
    forbids = []
    bound: dict[str, Mapping[str, BoundRows]] = {}
    for rule in policy.rules:
        if rule.effect is Effect.FORBID:
            if not rule.when.is_false(facts):
                forbids.append(rule)
        elif (
            rule.when.is_true(facts)
            and (rows := bound_rows(rule, subject, circumstances.purpose)) is not None
        ):
            permits.append(rule)
            bound[rule.id] = rows
    purpose = circumstances.purpose
    return ApplicableRules(policy.dataset, purpose, tuple(permits), tuple(forbids), bound)


def facts_of(policy: Policy, subject: Subject, circumstances: RequestContext) -> Facts:
    """The facts for conditions. Unknown ones are left out, so that reading them is an error."""
    held: dict[str, object] = {
        name: list(value) if isinstance(value, tuple) else value
        for name, value in subject.attributes.items()
    }
    request: dict[str, object] = {
        "dataset": policy.name,
        "front_end": circumstances.front_end,
        "hour": circumstances.hour,
        "weekday": circumstances.weekday,
    }
    for name in ("purpose", "address", "tls", "time"):
        if (known := getattr(circumstances, name)) is not None:
            request[name] = known
    return {"subject": {**held, "name": subject.name}, "request": request}


def bound_rows(rule: Rule, subject: Subject, purpose: str | None) -> Mapping[str, BoundRows] | None:
    """The row rules of a rule with their values; None if one of them is missing, so that it holds for no row."""
    found = {}
    for table, rows in rule.rows.items():
        bound = bind_rows(rows, subject, purpose)
        if bound is None:
            return None
        found[table] = bound
    return found


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
        and _can_apply(rule, policy, subject)
    ]
    return smallest_budget(budgets) if budgets else None


def _can_apply(rule: Rule, policy: Policy, subject: Subject) -> bool:
    return any(
        rule.when.can_be_true(facts_of(policy, subject, each))
        and bound_rows(rule, subject, each.purpose) is not None
        for each in _all_circumstances(rule, subject)
    )


def _all_circumstances(rule: Rule, subject: Subject) -> Iterator[RequestContext]:
    """Every request that the rule's condition could distinguish from the others, but for addresses and times."""
    reads = {path.name for path in rule.when.reads if path.root == "request"}
    if any(rows.reads_purpose for rows in rule.rows.values()):
        reads.add("purpose")
    purposes: tuple[str | None, ...] = (None, *subject.purposes) if "purpose" in reads else (None,)
    front_ends = FRONT_ENDS if "front_end" in reads else FRONT_ENDS[:1]
    hours = range(24) if "hour" in reads else range(1)
    weekdays = range(1, 8) if "weekday" in reads else range(1, 2)
    secure = (False, True) if "tls" in reads else (False,)
    for front_end, purpose, hour, weekday, tls in product(
        front_ends, purposes, hours, weekdays, secure
    ):
        yield RequestContext(front_end, purpose, hour, weekday, tls=tls)
