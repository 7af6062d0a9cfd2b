"""`policy explain`: the plan, the deciding rules and the price of a statement, for authors of policies.

The source is not asked, no ledger is read and nothing is charged. A statement passes through the same stages as
a query, so what is permitted here is permitted there.
"""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Final

from gateway.admin.cost_estimate import (
    CostForecast,
    columns_json,
    forecast_cost,
    forecast_json,
    forecast_lines,
)
from gateway.binding.bound import Cut, explain_bound
from gateway.datasets.view import Borrow, BoundQuery, Question, Views, rules_for
from gateway.errors import Code, GatewayError, OperatorError, Refusal
from gateway.overlap.auditor import History, NewQuery, audit
from gateway.overlap.description import region_lines, unread_lines
from gateway.policy.files.load import LoadedPolicies
from gateway.policy.levels import level_notices
from gateway.policy.policy import Policy, UnreadableConditions
from gateway.policy.subjects import Subject
from gateway.pricing.price import spread_of_part
from gateway.twin import Twin, open_twin

_NOT_LOOKED_AT: Final = "whether earlier answers stand against it is not looked at here: say --home, or ask for an estimate"


@dataclass(frozen=True)
class HistoryVerdict:
    """What an auditor sees of a statement: lines for each of its parts, and the conditions that cannot be
    compared.
    """

    parts: tuple[tuple[str, ...], ...]
    unread: tuple[str, ...]
    opaque: UnreadableConditions


@dataclass(frozen=True)
class Explanation:
    """The meaning of the statement, the reason of the permission and the cost; or the refusal of any stage."""

    subject: str
    dataset: str
    permits: tuple[str, ...]
    forbids: tuple[str, ...]
    bound: BoundQuery | None
    refusal: Refusal | None
    price: CostForecast | None = None
    compared: HistoryVerdict | None = None


@contextmanager
def open_temporary_twin(programs_bin: Path | None) -> Iterator[Twin]:
    """A temporary twin in a directory of its own, which disturbs no running gateway."""
    with TemporaryDirectory(prefix="gateway-") as place:
        home = Path(place)
        home.chmod(0o711)  # the server's OS user has to pass through
        with open_twin(home, programs_bin) as twin:
            yield twin


def explain(question: Question, policy: Policy, borrow: Borrow) -> Explanation:
    """The result of all stages before the source would be asked."""
    found = Explanation(question.subject.name, policy.name, (), (), None, None)
    try:
        rules = rules_for(question, policy)
        found = replace(
            found,
            permits=tuple(rule.id for rule in rules.permits),
            forbids=tuple(rule.id for rule in rules.forbids),
        )
        bound = Views(policy).bind(question, borrow)
        found = replace(found, bound=bound)
        price = forecast_cost(bound, policy)
    except Refusal as refusal:
        return replace(found, refusal=refusal)
    compared = _compared(price, policy)
    try:
        audit(audited_queries(price), History(), policy.auditing)
    except Refusal as refusal:  # without any past: its conditions, or its parts beside one another
        return replace(found, refusal=refusal, compared=compared)
    return replace(found, price=price, compared=compared)


def audited_queries(price: CostForecast) -> list[NewQuery]:
    """The statement's parts as the auditor sees them."""
    there = zip(price.scopes, price.extra_scopes, price.parts, strict=bool(price.scopes))
    return [
        NewQuery(one, spread_of_part(part))
        for scope, extra_scopes, part in there
        for one in (scope, *extra_scopes)
    ]


def _compared(price: CostForecast, policy: Policy) -> HistoryVerdict | None:
    """Of what is about persons."""
    if not price.scopes:
        return None
    parts = (tuple(region_lines(one, policy.dataset)) for one in price.scopes)
    opaque = policy.auditing.opaque
    return HistoryVerdict(
        tuple(dict.fromkeys(parts)), tuple(unread_lines(price.scopes, opaque)), opaque
    )


def subject_and_policy(
    loaded: LoadedPolicies, name: str, dataset: str | None
) -> tuple[Subject, Policy]:
    """The subject and the policy of the statement."""
    subject = loaded.subjects.get(name)
    if subject is None:
        raise OperatorError(
            Code.SUBJECT_UNKNOWN, f"`{name}`", "subjects are declared in subjects.yaml"
        )
    known = ", ".join(f"`{one}`" for one in sorted(loaded.policies))
    if dataset is None and len(loaded.policies) != 1:
        raise OperatorError(
            Code.ARGUMENT_INVALID,
            f"a dataset must be named; there are {len(loaded.policies)}: {known}",
            "add --dataset NAME",
        )
    policy = loaded.policies.get(dataset or next(iter(loaded.policies)))
    if policy is None:
        raise OperatorError(Code.ARGUMENT_INVALID, f"dataset `{dataset}` does not exist", known)
    return subject, policy


def explanation_text(found: Explanation, verdict: Sequence[str] = ()) -> str:
    """The explanation as text; `verdict` is the auditor's, if the caller has read the history."""
    lines = []
    if found.bound is not None:
        lines += [*explain_bound(found.bound.bound).splitlines(), ""]
        lines += _result_lines(found.bound)
    lines.append(_decision(found))
    lines += [f"  {line}" for line in _why(found)]
    if found.price is not None:
        lines += forecast_lines(found.price)
    if found.compared is not None:
        lines += _compared_lines(found.compared)
        if found.refusal is None:
            lines += verdict or (_NOT_LOOKED_AT,)
    return "\n".join(lines)


def explanation_json(found: Explanation, verdict: Sequence[str] = ()) -> dict[str, Any]:
    """The explanation as JSON."""
    body: dict[str, Any] = {
        "subject": found.subject,
        "dataset": found.dataset,
        "decision": "permit" if found.refusal is None else "refuse",
        "applying": {
            "permit": list(found.permits),
            "forbid": list(found.forbids),
        },
    }
    if found.bound is not None:
        bound = found.bound.bound
        body["because"] = list(found.bound.decision.because)
        body["purpose"] = found.bound.decision.purpose
        body["plan"] = explain_bound(bound).splitlines()
        body["columns"] = [{"name": one.name, "type": one.type_name} for one in bound.result or ()]
        if found.price is not None:
            body["columns"] = columns_json(found.price)
            body["price"] = forecast_json(found.price)
        body["uses"] = [str(use) for use in sorted(bound.uses)] if isinstance(bound, Cut) else []
    if found.compared is not None:
        body["overlap"] = {
            "regions": [list(part) for part in found.compared.parts],
            "unreadable": list(found.compared.unread),
            "opaque_predicates": found.compared.opaque.value,
            "verdict": list(verdict),
        }
    if found.refusal is not None:
        body["refusal"] = {
            "code": found.refusal.code.value,
            "reason": found.refusal.reason.value,
            "title": found.refusal.title,
            "detail": found.refusal.detail,
            "hint": found.refusal.hint,
        }
    return body


def _result_lines(query: BoundQuery) -> Iterator[str]:
    if query.bound.result:
        columns = ", ".join(f"{one.name} {one.type_name}" for one in query.bound.result)
        yield f"result: {columns}"


def _compared_lines(compared: HistoryVerdict) -> Iterator[str]:
    yield "compared with earlier questions as:"
    for part in compared.parts:
        yield from (f"  {line}" for line in part)
    yield from compared.unread


def _decision(found: Explanation) -> str:
    if found.refusal is None:
        return f"permitted to {found.subject} on {found.dataset}"
    return f"refused to {found.subject} on {found.dataset}: {_told(found.refusal)}"


def _told(refusal: GatewayError) -> str:
    return f"{refusal}\n  hint: {refusal.hint}" if refusal.hint else str(refusal)


def _why(found: Explanation) -> Iterator[str]:
    if found.bound is not None:
        decision = found.bound.decision
        yield f"because of: {', '.join(decision.because)}"
        if decision.purpose is not None:
            yield f"purpose: {decision.purpose}"
        for table in decision.rows:
            yield f"rows of {table}: those that the row rules permit, as filters above its scan"
        yield from level_notices(decision.levels)
        yield f"budget of each analyst: epsilon {decision.budget.epsilon}"
        return
    yield f"permitting rules that apply: {', '.join(found.permits) or 'none'}"
    yield f"forbidding rules that apply: {', '.join(found.forbids) or 'none'}"
