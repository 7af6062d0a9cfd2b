"""Balances of shared accounts for analysts: in tenths of the limit, with the remaining amount rounded down.

A copy of another analyst's answer does not change the dataset's account (see `shared_draws`), so exact figures
would reveal that it was a copy. Analysts therefore see a dataset's or a team's balance in steps, while
refusals, needed amounts and the ledger stay exact. An analyst's own account is exact, and so is everything for
administrators, auditors and the command line. Where the policy says `tell: everyone` nothing is hidden, and all
balances are exact.
"""

from collections.abc import Iterable, Mapping
from dataclasses import replace
from fractions import Fraction
from typing import Final

from gateway.budget.account import analyst_account
from gateway.budget.report import AccountBalance, RateLimitBalance
from gateway.policy.policy import AnswerSettings, Policy
from gateway.policy.subjects import Subject
from gateway.units import Epsilon

_STEPS: Final = 10
SEES_ALL: Final = frozenset({"admin", "auditor"})
"""The roles that are told every account exactly."""


def visible_balances(
    found: Iterable[AccountBalance], subject: Subject, policies: Mapping[str, Policy]
) -> list[AccountBalance]:
    """The accounts as the subject may see them; `policies` by dataset."""
    return [
        one
        if subject.role in SEES_ALL
        or one.account == analyst_account(subject.name, one.dataset)
        or (one.dataset in policies and policies[one.dataset].tell is AnswerSettings.EVERYONE)
        else round_to_tenths(one)
        for one in found
    ]


def round_to_tenths(standing: AccountBalance) -> AccountBalance:
    """The same account in steps; the spent and the remaining amount add up to the limit."""
    left = _floor(standing.epsilon_limit, standing.epsilon_remaining)
    return replace(
        standing,
        epsilon_spent=Epsilon(standing.epsilon_limit.value - left),
        epsilon_remaining=Epsilon(left),
        window=None if standing.window is None else _window_in_tenths(standing.window),
    )


def _window_in_tenths(window: RateLimitBalance) -> RateLimitBalance:
    left = _floor(window.epsilon_limit, window.epsilon_remaining)
    return replace(
        window,
        epsilon_spent=Epsilon(window.epsilon_limit.value - left),
        epsilon_remaining=Epsilon(left),
    )


def _floor(limit: Epsilon, left: Epsilon) -> Fraction:
    step = limit.value / _STEPS
    return left.value // step * step if step else Fraction(0)
