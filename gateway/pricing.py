"""What a statement costs: the request to the ledger, and the noise that the charge pays for."""

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Final

from gateway.binding.bound import Cut
from gateway.budget.account import Currency, cost_on_path
from gateway.budget.charge import ChargeRequest, Idempotency, Measurement, Receipt
from gateway.budget.remembered import path_of
from gateway.errors import BudgetExhausted, Code, SyntaxRefused, UnsupportedSql
from gateway.noise.cells import Intervals
from gateway.noise.noisy import NoisyTable
from gateway.noise.pricing import Noise, Priced, priced, slots_of
from gateway.opening import analyst_account
from gateway.question import Estimate, ExpectedColumn, Request
from gateway.sensitivity.analysis import Analysis, Thresholded
from gateway.serving import Serving
from gateway.store.draft import Draft
from gateway.store.journal import Journal
from gateway.trail.record import Asked
from gateway.understanding import Understood
from gateway.units import Delta, Epsilon

# how many statements with thresholds the delta kept for them covers
_THRESHOLDED_STATEMENTS: Final = 1024
_NOISE: Final = {Currency.PURE: Noise.LAPLACE, Currency.ZCDP: Noise.GAUSSIAN}


@dataclass(frozen=True)
class Spending:
    """A statement that is permitted, and what its releases measure."""

    request: Request
    understood: Understood
    analyses: tuple[Analysis, ...]

    @property
    def measures(self) -> bool:
        """Whether anything is measured: keys that are listed by the policy alone cost nothing."""
        return slots_of(self.analyses) > 0

    @property
    def thresholded(self) -> int:
        return sum(isinstance(one.groups, Thresholded) for one in self.analyses)


def price_of(serving: Serving, request: Request) -> Epsilon:
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


def charge_request(asked: Asked, serving: Serving, spending: Spending) -> ChargeRequest:
    """The whole statement as one charge."""
    parts = slots_of(spending.analyses)
    each = _delta(spending) / max(spending.thresholded, 1)
    measurements = []
    for place, analysis in enumerate(spending.analyses):
        hidden = isinstance(analysis.groups, Thresholded)
        for number in range(len(analysis.slots)):
            delta = Delta(each if hidden and number == 0 else Fraction(0))
            name = f"r{place + 1}.{number + 1}"
            mechanism = f"discrete {_NOISE[serving.currency].value}"
            measurements.append(Measurement(name, mechanism, Fraction(1, parts), delta))
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
    serving: Serving, spending: Spending, paid: Receipt | Fraction | None
) -> tuple[Priced, ...]:
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
        return tuple(Priced(one, ()) for one in spending.analyses)
    cost = paid.cost if isinstance(paid, Receipt) else paid
    return priced(spending.analyses, _NOISE[serving.currency], cost, _delta(spending))


def expected_cost(
    journal: Journal, serving: Serving, subject: str, spending: Spending
) -> Fraction | None:
    """What the statement would be charged, in the ledger's currency; nothing is written."""
    if not spending.measures:
        return None
    price = price_of(serving, spending.request)

    def look(draft: Draft) -> Fraction:
        path = path_of(draft, analyst_account(subject, serving.policy.name))
        return cost_on_path(price, serving.currency, [one.limits for one in path])

    return journal.commit(look)


def estimated(serving: Serving, spending: Spending | None, releases: Sequence[Priced]) -> Estimate:
    """The price and the margins that can be told beforehand."""
    if spending is None:
        return Estimate(Epsilon.zero(), Delta.zero(), ())
    bound = spending.understood.bound
    price = price_of(serving, spending.request) if spending.measures else Epsilon.zero()
    margins: list[float | None] = [None] * len(bound.result or ())
    if isinstance(bound, Cut) and bound.traced is not None:
        names = [step.name for step in bound.releases]
        release = releases[names.index(bound.traced.cells.name)]
        width = len(release.noises)
        table = NoisyTable(((),), ((0,),) * width, release.noises)
        intervals = Intervals(table, release.analysis.formulas)
        for place, form in enumerate(bound.traced.cells.forms):
            formed = None if form is None else intervals.interval(form, 0)
            margins[place] = None if formed is None else (formed[1] - formed[0]) / 2
    columns = tuple(
        ExpectedColumn(one.name, margin)
        for one, margin in zip(bound.result or (), margins, strict=True)
    )
    return Estimate(price, Delta(_delta(spending)), columns)


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
