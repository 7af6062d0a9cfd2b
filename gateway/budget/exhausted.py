"""Refusals of an exhausted budget: which account, what the query needs, what is left, when to try again.

All amounts are in epsilon, the unit in which people plan: an amount in the ledger's currency is worth its share
of the account's cap.
"""

from datetime import datetime
from fractions import Fraction

from gateway.budget.account import Account, Balance, Currency, RateLimit
from gateway.errors import BudgetExhausted, Code
from gateway.units import Delta, format_decimal, format_down

_FREE = "repeating an answered query is free"


def as_epsilon(account: Account, currency: Currency, amount: Fraction) -> Fraction:
    """The epsilon that `amount` of the currency is worth on this account."""
    cap = account.limits.cost(currency).value
    return account.limits.epsilon.value * amount / cap if cap else Fraction(0)


def budget_exhausted(
    account: Account, currency: Currency, balance: Balance, cost: Fraction
) -> BudgetExhausted:
    left = max(
        Fraction(0),
        account.limits.epsilon.value - as_epsilon(account, currency, balance.spent),
    )
    needs = as_epsilon(account, currency, cost) or cost
    return BudgetExhausted(
        Code.BUDGET_EXHAUSTED,
        f"`{account.name}` has epsilon {format_down(left)} left for its lifetime, the query needs"
        f" {format_decimal(needs)}",
        f"use a lower epsilon, or ask an administrator to raise the limit; {_FREE}",
    )


def thresholds_exhausted(account: Account, balance: Balance, delta: Delta) -> BudgetExhausted:
    left = max(Fraction(0), account.limits.for_thresholds.value - balance.delta_spent)
    return BudgetExhausted(
        Code.THRESHOLDS_EXHAUSTED,
        f"`{account.name}` has delta {format_down(left)} left for thresholds, the query needs {delta}",
        f"group by columns with a declared domain, which need no threshold; {_FREE}",
    )


def window_exhausted(
    account: Account, window: RateLimit, given: Fraction, needs: Fraction, moment: datetime
) -> BudgetExhausted:
    left = max(Fraction(0), window.epsilon.value - given)
    reopens = window.every.next_start(moment)
    return BudgetExhausted(
        Code.WINDOW_EXHAUSTED,
        f"`{account.name}` has epsilon {format_down(left)} left in this {window.every}, the query needs"
        f" {format_decimal(needs)}",
        f"the next {window.every} begins at {reopens:%Y-%m-%d %H:%M} UTC; {_FREE}",
    )
