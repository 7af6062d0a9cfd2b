"""The price of a statement: its request to the ledger, and the noise that the charge buys."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from itertools import islice
from typing import Final, TypeVar

from gateway.binding.bound import Cut
from gateway.budget.account import Account, Currency, analyst_account
from gateway.budget.balances import path_of
from gateway.budget.charge import (
    CachedMeasurement,
    ChargedMeasurement,
    ChargeRequest,
    CopiedDraw,
    Idempotency,
)
from gateway.clipping.served_histogram import PartKey, ServedHistogram
from gateway.datasets.view import Question, Session
from gateway.errors import BudgetExhausted, Code, SyntaxRefused
from gateway.noise.add_noise import NoisyTable
from gateway.noise.allocation import (
    CostShares,
    Distribution,
    ReleaseNoise,
    noise_without_thresholds,
    price_noise,
    purchase_noise,
    slots_of,
)
from gateway.noise.combined_noise import unit_variance
from gateway.plan.formulas import Form
from gateway.plan.relations import StagedRows
from gateway.policy.decide import Decision
from gateway.policy.levels import level_notices
from gateway.policy.policy import Policy
from gateway.requests.request import Estimate, ExpectedColumn, NullItem
from gateway.results.clipped_scopes import clip_notices, clipped_scopes, lost_shares
from gateway.results.columns import in_ranges
from gateway.results.left_out import left_out_notices
from gateway.results.rollup import PricedRelease
from gateway.results.rounding import RoundedColumn
from gateway.sensitivity.analysis import Analysis, ThresholdGroups
from gateway.sensitivity.grouping_sets import AnalyzedRelease
from gateway.state.journal import Journal
from gateway.units import Delta, Epsilon

N = TypeVar("N", int, float)
_THRESHOLDED_STATEMENTS: Final = 1024
"""How many statements with thresholds the delta that is kept for them covers, at least."""
UNSEEN: Final = Fraction(2**62)
"""How exactly one unit is seen where nothing is measured: not at all."""
_NOISE: Final = {Currency.PURE: Distribution.LAPLACE, Currency.ZCDP: Distribution.GAUSSIAN}


@dataclass(frozen=True)
class AnalyzedQuery:
    """A query that is bound, permitted and analysed: all that its quote depends on, except what happened before.

    `releases` are what the releases of `cut` measure, `currency` is that of the dataset's ledger. `epsilon` is the price
    that was asked for, or that the accuracy takes; None for the default price. `known` are the rows of stages that need
    nothing but the text of the statement. `nulled` are its items that cannot be answered. `histograms` are those that the
    clips of its parts were chosen from.
    """

    question: Question
    cut: Cut
    decision: Decision
    session: Session
    policy: Policy
    currency: Currency
    releases: tuple[AnalyzedRelease, ...]
    epsilon: Epsilon | None
    known: Mapping[str, StagedRows] = field(default_factory=dict)
    nulled: tuple[NullItem, ...] = ()
    histograms: Mapping[PartKey, ServedHistogram] = field(default_factory=dict)

    @property
    def subject(self) -> str:
        """The name of the subject."""
        return self.question.subject.name

    @property
    def most_rows(self) -> int:
        return self.policy.sizes.result_rows

    @property
    def analyses(self) -> tuple[Analysis, ...]:
        """Of all parts of all releases: the price is split over them all."""
        return tuple(part for release in self.releases for part in release.parts)

    @property
    def measures(self) -> bool:
        """True if anything is measured: keys that the policy lists cost nothing."""
        return slots_of(self.analyses) > 0

    @property
    def thresholded(self) -> int:
        return sum(isinstance(one.groups, ThresholdGroups) for one in self.analyses)


def price_of(query: AnalyzedQuery) -> Epsilon:
    """The price of the whole statement, within the limits of the policy."""
    privacy = query.policy.privacy
    price = privacy.default_price if query.epsilon is None else query.epsilon
    if not price:
        raise SyntaxRefused(Code.BAD_REQUEST, "`epsilon` must be more than 0")
    if price < privacy.lowest_price:
        raise SyntaxRefused(
            Code.BAD_REQUEST,
            f"`epsilon` is {price}, but a query costs at least {privacy.lowest_price}",
        )
    if price > privacy.highest_price:
        raise SyntaxRefused(
            Code.BAD_REQUEST,
            f"`epsilon` is {price}, but a query may cost at most {privacy.highest_price}",
        )
    return price


def require_worth(policy: Policy, price: Epsilon, part: Fraction) -> None:
    """Refuse to measure for less than the lowest price: the part of a price that is not cached is a price as well."""
    lowest = policy.privacy.lowest_price
    if part and price * part < lowest:
        raise SyntaxRefused(
            Code.BAD_REQUEST,
            f"what no earlier answer contains would cost less than {lowest}, the lowest price",
            "use a higher `epsilon`, or send what is new in a query of its own",
        )


def purchased_fraction(shares: Iterable[CostShares]) -> Fraction:
    """The fraction of the statement's price that is measured."""
    return sum((one.cost for one in shares), Fraction(0))


def charge_request(
    query: AnalyzedQuery,
    shares: Sequence[CostShares],
    *,
    owed: tuple[CachedMeasurement, ...] = (),
    touched: tuple[str, ...] | None = None,
    held: tuple[CopiedDraw, ...] = (),
) -> ChargeRequest:
    """What is bought of a statement as one charge; what accounts owe for what was there, and hold of what is bought."""
    whole = purchased_fraction(shares)
    each = delta_of_each(query)
    measurements = []
    for (name, analysis), part in zip(_named(query.releases), shares, strict=True):
        hidden = isinstance(analysis.groups, ThresholdGroups)
        for number, share in enumerate(part.slots):
            if share is not None:
                delta = Delta(each if hidden and number == 0 else Fraction(0))
                mechanism = f"discrete {_NOISE[query.currency].value}"
                measurements.append(
                    ChargedMeasurement(f"{name}.{number + 1}", mechanism, share / whole, delta)
                )
        for number, share in enumerate(part.choices, len(part.slots)):
            if share is not None:
                none = Delta(Fraction(0))
                measurements.append(
                    ChargedMeasurement(f"{name}.{number + 1}", "exponential", share / whole, none)
                )
    once = query.question.request.idempotency
    return ChargeRequest(
        query.question.query_id,
        query.subject,
        analyst_account(query.subject, query.policy.name),
        price_of(query) * whole,
        tuple(measurements),
        None if once is None else Idempotency(*once),
        owed=owed,
        touched=touched,
        held=held,
    )


def noise_for_price(query: AnalyzedQuery, cost: Fraction | None) -> tuple[PricedRelease, ...]:
    """The noise that a price buys if nothing is cached."""
    if cost is None:
        return by_release(query, [ReleaseNoise(one, ()) for one in query.analyses])
    noise = price_noise(query.analyses, _NOISE[query.currency], cost, _delta(query))
    return by_release(query, noise)


def purchases(
    query: AnalyzedQuery, shares: Sequence[CostShares], cost: Fraction
) -> tuple[ReleaseNoise | None, ...]:
    """The noise of the parts that are measured for `cost`; None for the other parts."""
    whole = purchased_fraction(shares)
    if not whole:
        return (None,) * len(shares)
    costs = [one.part(cost / whole) for one in shares]
    hidden = sum(
        isinstance(each.groups, ThresholdGroups) and bool(one.cost)
        for each, one in zip(query.analyses, shares, strict=True)
    )
    delta = delta_of_each(query) * hidden
    return purchase_noise(query.analyses, costs, _NOISE[query.currency], cost, delta)


def noise_at(query: AnalyzedQuery, cost: Fraction) -> tuple[PricedRelease, ...]:
    """The noise that a cost buys, without the thresholds, which do not change it: to try a price."""
    return by_release(query, noise_without_thresholds(query.analyses, _NOISE[query.currency], cost))


def accounts_on_path(journal: Journal, query: AnalyzedQuery) -> Sequence[Account]:
    """The accounts that the query is charged to, from the analyst's own up to the ledger's."""
    own = analyst_account(query.subject, query.policy.name)
    return journal.read(lambda draft: path_of(draft, own))


def estimate_price(
    query: AnalyzedQuery,
    releases: Sequence[PricedRelease],
    price: Epsilon | None = None,
) -> Estimate:
    """The price and the margins that are known before the query runs; `price` if it is below that of the whole."""
    cut = query.cut
    if price is None:
        price = price_of(query) if query.measures else Epsilon.zero()
    margins: list[float | None] = [None] * len(cut.result or ())
    ranks: list[int | None] = [None] * len(cut.result or ())
    losses: list[float | None] = [None] * len(cut.result or ())
    if cut.traced is not None:
        names = [step.name for step in cut.releases]
        for cells in cut.traced.readings:
            release = releases[names.index(cells.name)]
            for at, form in enumerate(cells.forms):
                if form is not None:
                    margins[at] = _wider(margins[at], expected_margin(form, release))
                    ranks[at] = _wider(ranks[at], release.rank_error(form))
                    losses[at] = _wider(losses[at], release.loss(form))
    columns = tuple(
        ExpectedColumn(one.name, margin, expected_rank_error_95=missed, expected_loss=lost)
        for one, margin, missed, lost in zip(cut.result or (), margins, ranks, losses, strict=True)
    )
    notices = (
        *level_notices(query.decision.levels),
        *in_ranges(one.rolled for one in releases),
        *clip_notices(clipped_scopes(query.releases, query.histograms)),
        *left_out_notices(query.releases),
    )
    # what costs no epsilon was released before, and costs no delta either
    delta = Delta(_delta(query)) if price.value else Delta.zero()
    return Estimate(price, delta, columns, notices)


def spread_of_part(part: ReleaseNoise) -> Fraction:
    """The least variance of a part when one unit moves a measurement by 1.

    What is chosen tells no number.
    """
    noises = iter(part.noises)
    found = [
        unit_variance(list(islice(noises, len(slot.measurements))), slot.most)
        for slot in part.analysis.slots
    ]
    return min(found, default=UNSEEN)


def by_release(query: AnalyzedQuery, parts: Sequence[ReleaseNoise]) -> tuple[PricedRelease, ...]:
    """The parts of all releases, release by release."""
    waiting = iter(parts)
    return tuple(
        PricedRelease(
            one, tuple(next(waiting) for _ in one.parts), lost_shares(place, one, query.histograms)
        )
        for place, one in enumerate(query.releases)
    )


def _named(releases: Sequence[AnalyzedRelease]) -> Iterator[tuple[str, Analysis]]:
    """`r1.2` is the second part of the first release."""
    for place, release in enumerate(releases):
        for number, part in enumerate(release.parts):
            yield f"r{place + 1}.{number + 1}", part


def expected_margin(form: Form, release: PricedRelease) -> float | None:
    """Half of the interval of a cell over nothing, where it is widest among the grouping sets."""
    widest = 0.0
    for level in release.rolled.levels:
        noises = release.noises(level)
        nothing = NoisyTable(((),), ((0,),) * len(noises), noises)
        [formed] = RoundedColumn(nothing, level.formulas, release.rolled.ranges).expected(form)
        if formed is None:
            return None
        widest = max(widest, (formed[1] - formed[0]) / 2)
    return widest


def _wider(one: N | None, other: N | None) -> N | None:
    return other if one is None or (other is not None and other > one) else one


def delta_of_each(query: AnalyzedQuery) -> Fraction:
    """The delta that each release with a threshold takes.

    INVARIANT: of the delta for thresholds a release takes no larger part than its price is of the dataset's epsilon.
    So delta is not used up before epsilon is, and nobody uses up more of it than their epsilon is of everybody's.
    """
    if not query.thresholded:
        return Fraction(0)
    budget = query.policy.privacy.budget
    kept = query.decision.budget.delta.value / 2
    if not kept:
        raise BudgetExhausted(
            Code.THRESHOLDS_EXHAUSTED,
            "the dataset has no delta for groups that are found in the data",
            "group by columns with a declared domain",
        )
    hidden = [one for one in query.analyses if isinstance(one.groups, ThresholdGroups)]
    least = min(map(slots_of, ([one] for one in hidden)))
    price = price_of(query).value * least / slots_of(query.analyses)
    most = Fraction(1, _THRESHOLDED_STATEMENTS * len(hidden))
    if not budget.epsilon:
        return kept * most  # nothing can be charged, and only an estimate comes this far
    return kept * min(most, price / budget.epsilon.value)


def _delta(query: AnalyzedQuery) -> Fraction:
    """The delta that the statement takes of the part reserved for thresholds."""
    return delta_of_each(query) * query.thresholded
