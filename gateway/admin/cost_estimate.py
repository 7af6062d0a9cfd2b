"""Estimate of what a statement costs: price and noise from the policies alone, without a ledger.

The currency is the one that a ledger opened now would get, and caps are those of the policies: an open ledger
keeps its currency, and limits that were granted since are not known here.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any

from gateway.admin.open_accounts import ledger_of, limits_of
from gateway.binding.bound import Cut, Empty, Fetch, PassThrough
from gateway.budget.account import HALF, Currency
from gateway.budget.group_privacy import GroupGuarantee, group_guarantees
from gateway.datasets.view import BoundQuery
from gateway.noise.allocation import ReleaseNoise
from gateway.policy.policy import Policy
from gateway.pricing.price import AnalyzedQuery, estimate_price, noise_for_price, price_of
from gateway.regions.scope import ReleaseScope, scope_of, scopes_beside
from gateway.requests.request import AnswerColumn
from gateway.results.columns import answer_columns
from gateway.results.rollup import NoisyRelease
from gateway.sensitivity.analysis import EnumeratedGroups
from gateway.stages.analyze import analyze_plan
from gateway.units import Delta, Epsilon


@dataclass(frozen=True)
class CostForecast:
    """The price of a statement, its columns with their noise and margins, and the kind of its groups.

    `scopes` are those of its parts, which the auditor would compare with earlier queries. `extra_scopes` are those of
    single aggregates of each part.
    """

    currency: Currency
    price: Epsilon
    cost: Fraction | None
    delta: Delta
    columns: tuple[AnswerColumn, ...]
    margins: tuple[float | None, ...]
    parts: tuple[ReleaseNoise, ...]
    notices: tuple[str, ...] = ()
    several: tuple[GroupGuarantee, ...] = ()
    unit: str = ""
    converted_at: Delta = field(default_factory=Delta.zero)
    scopes: tuple[ReleaseScope, ...] = ()
    extra_scopes: tuple[tuple[ReleaseScope, ...], ...] = ()


def forecast_cost(bound: BoundQuery, policy: Policy) -> CostForecast:
    """The forecast at the default price; or the refusal of what cannot be bounded or paid for."""
    currency, cut = ledger_of(policy).currency, bound.bound
    if isinstance(cut, PassThrough):
        columns = answer_columns(cut, {})
        margins = (None,) * len(columns)
        return CostForecast(currency, Epsilon.zero(), None, Delta.zero(), columns, margins, ())
    now = bound.question.asked_at
    analyses = tuple(analyze_plan(one.plan, policy, currency, now) for one in cut.releases)
    query = AnalyzedQuery(
        bound.question, cut, bound.decision, bound.session, policy, currency, analyses, epsilon=None
    )
    cost = None
    if query.measures:
        # of a ledger that is opened with these policies
        rate = limits_of(policy.privacy.budget).opening_rate(currency)
        cost = price_of(query).value * rate
    releases = noise_for_price(query, cost)
    constants = _constants(cut)
    scopes = _scopes(query, constants)
    nothing = {
        step.name: NoisyRelease(one, ()) for step, one in zip(cut.releases, releases, strict=True)
    }
    said = estimate_price(query, releases)
    return CostForecast(
        currency,
        said.price,
        cost,
        said.delta,
        answer_columns(cut, nothing),
        tuple(one.expected_margin_95 for one in said.columns),
        tuple(part for one in releases for part in one.parts),
        said.notices,
        group_guarantees(limits_of(policy.privacy.budget), currency, cost),
        policy.dataset.unit,
        policy.privacy.budget.delta * HALF,
        scopes,
        tuple(
            scopes_beside(one, scope, constants)
            for one, scope in zip(query.analyses, scopes, strict=True)
        ),
    )


def _constants(cut: Cut) -> Mapping[str, str]:
    """Released inputs are identified by their place alone, because nothing runs."""
    return {
        step.name: step.table.name if isinstance(step, Fetch | Empty) else step.name
        for step in cut.steps
    }


def _scopes(query: AnalyzedQuery, constants: Mapping[str, str]) -> tuple[ReleaseScope, ...]:
    """Of each part of each release."""
    return tuple(
        scope_of(
            one.plan, one.groups if isinstance(one.groups, EnumeratedGroups) else None, constants
        )
        for one in query.analyses
    )


def forecast_lines(found: CostForecast) -> Iterator[str]:
    """The forecast as text."""
    if found.cost is None:
        yield "price: nothing is measured, nothing is charged"
    else:
        delta = f", delta {found.delta}" if found.delta else ""
        rho = "" if found.currency is Currency.PURE else f" (rho {float(found.cost):.3g})"
        yield f"price: epsilon {found.price}{rho}{delta}"
    for column, margin in zip(found.columns, found.margins, strict=True):
        yield f"  {column.name}: {_noise(column, margin)}"
    yield from found.notices
    if found.cost is not None:
        yield from _several_lines(found)
    for part in found.parts:
        yield f"groups: {_groups(part)}"


def _several_lines(found: CostForecast) -> Iterator[str]:
    """The meaning of epsilon for more than one unit, as text."""
    at = f" at delta {found.converted_at}" if found.currency is Currency.ZCDP else ""
    yield f"epsilon for one `{found.unit}`, and for several together{at}:"
    for one in found.several:
        yield f"  {one.units}: {one.question} by this question alone, {one.budget} by the whole budget"


def forecast_json(found: CostForecast) -> dict[str, Any]:
    """The forecast as JSON."""
    zcdp = found.currency is Currency.ZCDP
    return {
        "currency": found.currency.value,
        "epsilon": str(found.price),
        "rho": float(found.cost) if zcdp and found.cost is not None else None,
        "delta": str(found.delta),
        "together": [
            {
                "units": one.units,
                "question": None if one.question is None else str(one.question),
                "budget": str(one.budget),
            }
            for one in found.several
        ],
        "groups": [
            {
                "listed": len(groups.keys) if isinstance(groups, EnumeratedGroups) else None,
                "shown_from": part.shown_units,
                "blank_below": _blank_below(part),
            }
            for part in found.parts
            for groups in (part.analysis.groups,)
        ],
    }


def columns_json(found: CostForecast) -> list[dict[str, Any]]:
    return [
        {
            "name": column.name,
            "type": column.type,
            "noisy": column.noisy,
            "mechanism": column.mechanism,
            "scale": column.scale,
            "rank_error": column.rank_error,
            "expected_margin_95": margin,
        }
        for column, margin in zip(found.columns, found.margins, strict=True)
    ]


def _noise(column: AnswerColumn, margin: float | None) -> str:
    if not column.noisy:
        return "without noise"
    scale = "" if column.scale is None else f" of scale {column.scale:.4g}"
    noise = f"{(column.mechanism or 'some').replace('_', ' ')} noise{scale}"
    if column.rank_error is not None:
        near = f"95 % of answers are within {column.rank_error} rows of the exact value"
        return f"chosen by the exponential mechanism; {near}"
    if margin is None:
        return f"{noise}; how wide its interval is, is told with the answer"
    return f"{noise}; 95 % of answers are within {margin:.4g} of the exact value"


def _groups(release: ReleaseNoise) -> str:
    groups = release.analysis.groups
    if not isinstance(groups, EnumeratedGroups):
        return f"those with fewer than about {release.shown_units} units are not shown"
    many = len(groups.keys)
    listed = f"{many} are listed, the empty ones come too"
    if not release.analysis.plan.keys:
        listed = "one, without keys"
    below = _blank_below(release)
    if below is None:
        return listed
    return f"{listed}; aggregates of fewer than about {below} units are blank"


def _blank_below(release: ReleaseNoise) -> int | None:
    groups = release.analysis.groups
    blank = isinstance(groups, EnumeratedGroups) and groups.units is not None
    return groups.least if blank else None
