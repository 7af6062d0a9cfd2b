"""JSON of accounts: numbers with at most 15 significant digits, as everywhere in the interface."""

from typing import Any

from gateway.budget.report import Standing, WindowStanding
from gateway.units import Delta, Epsilon, format_down


def account_json(standing: Standing) -> dict[str, Any]:
    return {
        "account": standing.account,
        "dataset": standing.dataset,
        "epsilon_limit": number(standing.epsilon_limit),
        "epsilon_spent": number(standing.epsilon_spent),
        "epsilon_remaining": remaining(standing.epsilon_remaining),
        "delta_limit": number(standing.delta_limit),
        "window": None if standing.window is None else _window_json(standing.window),
    }


def number(amount: Epsilon | Delta) -> float:
    """The number for display alone; compared and summed amounts stay exact."""
    return float(str(amount))


def remaining(amount: Epsilon) -> float:
    """The remaining amount, never rounded up: a query at exactly this price is answered."""
    return float(format_down(amount.value))


def _window_json(window: WindowStanding) -> dict[str, Any]:
    return {
        "every": window.every,
        "epsilon_limit": number(window.epsilon_limit),
        "epsilon_spent": number(window.epsilon_spent),
        "epsilon_remaining": remaining(window.epsilon_remaining),
        "reopens_at": window.reopens_at.isoformat(),
    }
