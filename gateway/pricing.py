"""What a statement costs: the request to the ledger, and the noise that the charge pays for."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Final, Protocol, TypeVar

from gateway.binding.bound import Cut
from gateway.budget.account import Currency, Limits, cost_on_path
from gateway.budget.charge import ChargeRequest, Idempotency, Measurement, Receipt
from gateway.budget.remembered import path_of
from gateway.cells import in_ranges
from gateway.errors import BudgetExhausted, Code, SyntaxRefused, UnsupportedSql
from gateway.noise.noisy import NoisyTable
from gateway.noise.pricing import Noise, Priced, priced, slots_of, unshown
from gateway.noise.recoded import Recoded
from gateway.noise.rolling import PricedRelease
from gateway.opening import analyst_account
from gateway.plan.forms import Form
from gateway.policy.rules import Policy
from gateway.question import Estimate, ExpectedColumn, Request
from gateway.sensitivity.analysis import Analysis, Thresholded
from gateway.sensitivity.rolled import Rolled
from gateway.store.draft import Draft
from gateway.store.journal import Journal
from gateway.trail.record import Asked
from gateway.understanding import Understood
from gateway.units import Delta, Epsilon

# how many statements with thresholds the delta kept for them covers
N = TypeVar("N", int, float)
_THRESHOLDED_STATEMENTS: Final = 1024
_NOISE: Final = {Currency.PURE: Noise.LAPLACE, Currency.ZCDP: Noise.GAUSSIAN}


class Sold(Protocol):
    """A dataset, as far as prices go."""

    @property
    def policy(self) -> Policy: ...
    @property
    def currency(self) -> Currency: ...


@dataclass(frozen=True)
class Spending:
    """A statement that is permitted, and what its releases measure."""

    request: Request
    understood: Understood
    releases: tuple[Rolled, ...]

    @property
    def analyses(self) -> tuple[Analysis, ...]:
        """Of all parts of all releases: the price is split over them all."""
        return tuple(part for release in self.releases for part in release.parts)

    @property
    def measures(self) -> bool:
        """Whether anything is measured: keys that are listed by the policy alone cost nothing."""
        return slots_of(self.analyses) > 0

    @property
    def thresholded(self) -> int:
        return sum(isinstance(one.groups, Thresholded) for one in self.analyses)


def price_of(serving: Sold, request: Request) -> Epsilon:
    """What the analyst offers for the whole statement, within what the policy takes."""
    privacy = serving.policy.privacy
    price = privacy.default_price if request.epsilon is None else request.epsilon
    if not price:
        raise SyntaxRefused(Code.BAD_REQUEST, "`epsilon` is above 0")
    if price > privacy.highest_price:
        raise SyntaxRefused(
            Code.BAD_REQUEST,
            f"`epsilon` is {price}, and a question may cost {privacy.highest_price} at most",
        )
    return price


def charge_request(asked: Asked, serving: Sold, spending: Spending) -> ChargeRequest:
    """The whole statement as one charge."""
    parts = slots_of(spending.analyses)
    each = _delta(spending) / max(spending.thresholded, 1)
    measurements = []
    for name, analysis in _named(spending.releases):
        hidden = isinstance(analysis.groups, Thresholded)
        for number in range(len(analysis.slots)):
            delta = Delta(each if hidden and number == 0 else Fraction(0))
            mechanism = f"discrete {_NOISE[serving.currency].value}"
            share = Fraction(1, parts)
            measurements.append(Measurement(f"{name}.{number + 1}", mechanism, share, delta))
        for number in range(len(analysis.slots), len(analysis.slots) + len(analysis.choices)):
            share, none = Fraction(1, parts), Delta(Fraction(0))
            measurements.append(Measurement(f"{name}.{number + 1}", "exponential", share, none))
    once = spending.request.idempotency
    return ChargeRequest(
        asked.query_id,
        asked.subject,
        analyst_account(asked.subject, serving.policy.name),
        price_of(serving, spending.request),
        tuple(measurements),
        None if once is None else Idempotency(*once),
    )


def bought(
    serving: Sold, spending: Spending, paid: Receipt | Fraction | None
) -> tuple[PricedRelease, ...]:
    """The noise that the charge pays for, or that a price would.

    INVARIANT: a charge pays for one draw. A question that is repeated with its idempotency key is not charged
    again, so nothing is drawn again: many answers for one charge would be averaged.
    """
    if isinstance(paid, Receipt) and paid.repeated:
        raise UnsupportedSql(
            Code.NOT_ANSWERED_YET,
            "a question that is repeated with its idempotency key: the first answer is not kept",
            "ask with a new key, at the price of a new question",
        )
    if paid is None:
        parts = tuple(Priced(one, ()) for one in spending.analyses)
    else:
        cost = paid.cost if isinstance(paid, Receipt) else paid
        parts = priced(spending.analyses, _NOISE[serving.currency], cost, _delta(spending))
    return _by_release(spending, parts)


def noise_at(serving: Sold, spending: Spending, cost: Fraction) -> tuple[PricedRelease, ...]:
    """The noise that so much would buy, without the thresholds, which do not change it: to try a price."""
    return _by_release(spending, unshown(spending.analyses, _NOISE[serving.currency], cost))


def limits_on_path(journal: Journal, serving: Sold, subject: str) -> list[Limits]:
    """The caps that a question of this subject has to fit, from the analyst's account up; nothing is written."""

    def look(draft: Draft) -> list[Limits]:
        path = path_of(draft, analyst_account(subject, serving.policy.name))
        return [one.limits for one in path]

    return journal.commit(look)


def expected_cost(
    journal: Journal, serving: Sold, subject: str, spending: Spending
) -> Fraction | None:
    """What the statement would be charged, in the ledger's currency; nothing is written."""
    if not spending.measures:
        return None
    price = price_of(serving, spending.request)
    return cost_on_path(price, serving.currency, limits_on_path(journal, serving, subject))


def estimated(
    serving: Sold, spending: Spending | None, releases: Sequence[PricedRelease]
) -> Estimate:
    """The price and the margins that can be told beforehand."""
    if spending is None:
        return Estimate(Epsilon.zero(), Delta.zero(), ())
    bound = spending.understood.bound
    price = price_of(serving, spending.request) if spending.measures else Epsilon.zero()
    margins: list[float | None] = [None] * len(bound.result or ())
    ranks: list[int | None] = [None] * len(bound.result or ())
    if isinstance(bound, Cut) and bound.traced is not None:
        names = [step.name for step in bound.releases]
        for cells in bound.traced.readings:
            release = releases[names.index(cells.name)]
            for at, form in enumerate(cells.forms):
                if form is not None:
                    margins[at] = _wider(margins[at], _margin(form, release))
                    ranks[at] = _wider(ranks[at], release.rank_error(form))
    columns = tuple(
        ExpectedColumn(one.name, margin, expected_rank_error_95=missed)
        for one, margin, missed in zip(bound.result or (), margins, ranks, strict=True)
    )
    notices = in_ranges(one.rolled for one in releases)
    return Estimate(price, Delta(_delta(spending)), columns, notices)


def _by_release(spending: Spending, parts: Sequence[Priced]) -> tuple[PricedRelease, ...]:
    waiting = iter(parts)
    return tuple(
        PricedRelease(one, tuple(next(waiting) for _ in one.parts)) for one in spending.releases
    )


def _named(releases: Sequence[Rolled]) -> Iterator[tuple[str, Analysis]]:
    """`r1.2` is the second part of the first release."""
    for place, release in enumerate(releases):
        for number, part in enumerate(release.parts):
            yield f"r{place + 1}.{number + 1}", part


def _margin(form: Form, release: PricedRelease) -> float | None:
    """Half of the interval of a cell over nothing, where it is widest among the grouping sets."""
    widest = 0.0
    for level in release.rolled.levels:
        noises = release.noises(level)
        nothing = NoisyTable(((),), ((0,),) * len(noises), noises)
        [formed] = Recoded(nothing, level.formulas, release.rolled.ranges).expected(form)
        if formed is None:
            return None
        widest = max(widest, (formed[1] - formed[0]) / 2)
    return widest


def _wider(one: N | None, other: N | None) -> N | None:
    return other if one is None or (other is not None and other > one) else one


def _delta(spending: Spending) -> Fraction:
    """What the statement takes of the delta that is kept for thresholds."""
    if not spending.thresholded:
        return Fraction(0)
    kept = spending.understood.decision.terms.budget.delta.value / 2
    if not kept:
        raise BudgetExhausted(
            Code.THRESHOLDS_EXHAUSTED,
            "the dataset keeps no delta for groups that are found in the data",
            "group by columns whose domain is declared",
        )
    return kept / _THRESHOLDED_STATEMENTS
