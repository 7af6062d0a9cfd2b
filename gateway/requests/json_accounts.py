"""JSON of accounts: numbers with at most 15 significant digits, as everywhere in the interface."""

from typing import Any

from gateway.budget.report import AccountBalance, RateLimitBalance
from gateway.units import Delta, Epsilon, format_down


def balance_json(standing: AccountBalance) -> dict[str, Any]:
    return {
        "account": standing.account,
        "dataset": standing.dataset,
        "epsilon_limit": display_number(standing.epsilon_limit),
        "epsilon_spent": display_number(standing.epsilon_spent),
        "epsilon_remaining": display_remaining(standing.epsilon_remaining),
        "delta_limit": display_number(standing.delta_limit),
        "window": None if standing.window is None else _window_json(standing.window),
    }


def display_number(amount: Epsilon | Delta) -> float:
    """The number for display alone; compared and summed amounts stay exact."""
    return float(str(amount))


def display_remaining(amount: Epsilon) -> float:
    """The remaining amount, never rounded up: a query at exactly this price is answered."""
    return float(format_down(amount.value))


def _window_json(window: RateLimitBalance) -> dict[str, Any]:
    return {
        "every": window.every,
        "epsilon_limit": display_number(window.epsilon_limit),
        "epsilon_spent": display_number(window.epsilon_spent),
        "epsilon_remaining": display_remaining(window.epsilon_remaining),
        "reopens_at": window.reopens_at.isoformat(),
    }
