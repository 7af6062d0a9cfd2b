"""What an analyst is told of accounts that others spend from, too: in tenths of the limit, rounded down in what is left.

A copy of somebody else's answer does not move the dataset's account (see `duplicates`). Exact figures would tell that it
was one. So the standing of a dataset or a team is told in steps, while refusals, needs and the ledger stay exact. The
subject's own account is told exactly, and everything to administrators, to auditors and at the home. Where the policy
says `tell: everyone` there is nothing to hide, and all of it is exact.
"""

from collections.abc import Iterable, Mapping
from dataclasses import replace
from fractions import Fraction
from typing import Final

from gateway.budget.account_names import analyst_account
from gateway.budget.report import Standing, WindowStanding
from gateway.policy.policy import Policy, Tell
from gateway.policy.subjects import Subject
from gateway.units import Epsilon

_STEPS: Final = 10
SEES_ALL: Final = frozenset({"admin", "auditor"})
"""The roles that are told every account exactly."""


def as_told(
    found: Iterable[Standing], subject: Subject, policies: Mapping[str, Policy]
) -> list[Standing]:
    """The accounts as the subject may see them; `policies` by dataset."""
    return [
        one
        if subject.role in SEES_ALL
        or one.account == analyst_account(subject.name, one.dataset)
        or (one.dataset in policies and policies[one.dataset].tell is Tell.EVERYONE)
        else in_tenths(one)
        for one in found
    ]


def in_tenths(standing: Standing) -> Standing:
    """The same account in steps; what is spent and what is left add up to the limit."""
    left = _floor(standing.epsilon_limit, standing.epsilon_remaining)
    return replace(
        standing,
        epsilon_spent=Epsilon(standing.epsilon_limit.value - left),
        epsilon_remaining=Epsilon(left),
        window=None if standing.window is None else _window_in_tenths(standing.window),
    )


def _window_in_tenths(window: WindowStanding) -> WindowStanding:
    left = _floor(window.epsilon_limit, window.epsilon_remaining)
    return replace(
        window,
        epsilon_spent=Epsilon(window.epsilon_limit.value - left),
        epsilon_remaining=Epsilon(left),
    )


def _floor(limit: Epsilon, left: Epsilon) -> Fraction:
    step = limit.value / _STEPS
    return left.value // step * step if step else Fraction(0)
