"""Policy of one file, from its tree; or all of its problems."""

from collections.abc import Mapping
from datetime import timedelta
from typing import Final

from gateway.errors import OperatorError
from gateway.policy.files.access import analyst_budget, parse_rules
from gateway.policy.files.tables import parse_dataset
from gateway.policy.model import PolicyModel, PrivacyModel
from gateway.policy.policy import (
    AnswerSettings,
    Auditing,
    Budget,
    Mechanism,
    Policy,
    Privacy,
    ResultLimits,
    Results,
    UnreadableConditions,
)
from gateway.policy.problems import Complaints, Path, PolicyError
from gateway.policy.rounding import read_reported
from gateway.policy.source_url import (
    InvalidSource,
    SourceUrl,
    placeholder_source,
    resolve_variables,
    source_from,
)
from gateway.policy.validate import parse_model
from gateway.policy.yaml import quote_word
from gateway.units import Epsilon

DEFAULT_MAX_AGE: Final = timedelta(days=7)
_RECKLESS_DELTA: Final = "1e-4"


def read_policy(complaints: Complaints, environment: Mapping[str, str] | None) -> Policy | None:
    """The policy of the file; None when `complaints` has problems instead.

    Without an environment the source is left open: enough to compare policies, not to use them.
    """
    model = parse_model(complaints)
    if model is None:
        return None
    source = _source(model.source, environment, complaints)
    dataset = parse_dataset(model, complaints)
    privacy = _privacy(model.privacy, complaints)
    auditing = _auditing(model, complaints)
    if dataset is None:
        return None
    reported = read_reported(model, dataset, complaints)
    rules = parse_rules(model.access, dataset, privacy.budget, complaints)
    if source is None or complaints.problems:
        return None
    reuse = model.reuse
    return Policy(
        dataset,
        source,
        privacy,
        rules,
        auditing,
        DEFAULT_MAX_AGE if reuse.max_age is None else reuse.max_age,
        ResultLimits(model.limits.enumerated_groups, model.limits.result_rows),
        Results(
            model.answers.clamp_results,
            model.answers.suppress_small,
            model.answers.reply_grid_ms,
            reported,
        ),
        model.limits.timeouts_per_day,
        AnswerSettings(reuse.tell),
    )


def sort_problems(problems: list[OperatorError]) -> list[OperatorError]:
    """The problems in the order of the file."""

    def place(problem: OperatorError) -> tuple[int, int]:
        if not isinstance(problem, PolicyError):
            return 0, 0
        return problem.place.line, problem.place.column

    return sorted(problems, key=place)


def _source(
    text: str, environment: Mapping[str, str] | None, complaints: Complaints
) -> SourceUrl | None:
    if environment is None:
        return placeholder_source(str(complaints.tree.plain().get("dataset")))
    try:
        source = source_from(resolve_variables(text, environment))
    except InvalidSource as error:
        complaints.add(("source",), str(error), error.hint)
        return None
    if source.url.password and "${" not in text:
        hint = "write `source: ${CLINIC_URL}` and set the variable"
        complaints.warn(("source",), "the file contains a password", hint)
    return source


def _privacy(model: PrivacyModel, complaints: Complaints) -> Privacy:
    path: Path = ("privacy",)
    budget = Budget(model.budget.epsilon, model.budget.delta)
    price = model.per_query
    if price.default > price.max:
        complaints.add((*path, "per_query", "default"), "the default price is above the highest")
    # the default price times 10⁻² is exact in decimal
    lowest = Epsilon(price.default.value / 100) if price.min is None else price.min
    if not lowest:
        complaints.add((*path, "per_query", "min"), "the lowest price must be more than 0")
    if lowest > price.default:
        complaints.add((*path, "per_query", "min"), "the lowest price is above the default")
    if price.default > budget.epsilon:
        message = "the default price is above the whole budget"
        complaints.add((*path, "per_query", "default"), message)
    elif price.max > budget.epsilon:
        complaints.warn((*path, "per_query", "max"), "this is more than the whole budget")
    if model.mechanism == "gaussian" and not budget.delta:
        message = "`mechanism: gaussian` needs a delta above zero"
        complaints.add((*path, "budget", "delta"), message)
    if budget.delta > type(budget.delta).parse(_RECKLESS_DELTA):
        hint = "delta should be far below 1 / number of units"
        complaints.warn(
            (*path, "budget", "delta"), "this delta is too large to protect individuals", hint
        )
    teams = {
        name: analyst_budget(each, budget, (*path, "teams", name), complaints)
        for name, each in model.teams.items()
    }
    return Privacy(budget, price.default, lowest, price.max, Mechanism(model.mechanism), teams)


def _auditing(model: PolicyModel, complaints: Complaints) -> Auditing:
    audit = model.audit
    seen: set[str] = set()
    for group, members in enumerate(audit.trust_groups):
        for place, name in enumerate(members):
            if name in seen:
                hint = "a subject can be in one trust group at most; merge the groups"
                message = f"{quote_word(name)} is already in a trust group"
                complaints.add(("audit", "trust_groups", group, place), message, hint)
            seen.add(name)
    return Auditing(
        audit.min_units,
        audit.narrow_cells,
        tuple(frozenset(members) for members in audit.trust_groups),
        UnreadableConditions(audit.opaque_predicates),
    )
