"""The histograms of norms of a query: the clips say how much of a unit counts in full, and are chosen from these.

A histogram is a release like others: it is quoted, audited, charged, measured, kept and recorded as a query of its own, at
the price `clip.price`. It speaks of the rows that the subject may read of the tables and joins of a statement, and of one set
of keys. It is bought once for `clip.max_age`, when a query needs it first:

    find_wanted     which ones the query needs
    clip_query      the clips that follow from those that are there (`held_clips.py`)

INVARIANT: a clip follows from histograms and releases that the subject's own account was charged for, from the query and the policy.
What others bought is charged before it is read. docs/proofs/clip_choice.md.
INVARIANT: every clip is sound. A histogram that is missing, stale or wrong costs accuracy alone.
INVARIANT: a histogram is bought only for a query that can be charged beside it, and that costs no less.
"""

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from fractions import Fraction
from functools import partial
from math import isqrt
from typing import Final

from gateway.binding.bound import Cut, Release, Sql
from gateway.bounding.fan_out import mark_fan_out
from gateway.bounding.licences import Licences
from gateway.bounding.time_zone import fold_moments, reads_time
from gateway.budget.account import Account, Currency
from gateway.budget.report import quota_left
from gateway.clipping.norm_histogram import NormHistogram
from gateway.clipping.served_histogram import PartKey, ServedHistogram
from gateway.datasets.dataset import ServedDataset, SoldHistogram
from gateway.datasets.view import new_query_id
from gateway.engines.catalog.proofs import TableProof
from gateway.noise.combined_noise import AnyNoise, variance_of
from gateway.noise.mechanism import DiscreteGaussian, DiscreteLaplace, Mechanism
from gateway.plan.aggregates import Aggregate
from gateway.plan.node import BrokenPlan
from gateway.pricing.price import AnalyzedQuery, accounts_on_path, price_of
from gateway.release_cache.assemble import assemble_table
from gateway.release_cache.cache import ReleaseCache
from gateway.requests.request import Estimate
from gateway.results.clipped_scopes import scope_text
from gateway.sensitivity.analysis import Analysis
from gateway.sensitivity.grouping_sets import AnalyzedRelease, constant_per_unit
from gateway.sensitivity.norm_buckets import BUCKETS
from gateway.sensitivity.norm_release import analyze_norms, can_count_norms, needs_norms
from gateway.stages.analyze import proofs_for
from gateway.stages.charge import load_contents
from gateway.stages.purchase import Bill, Quote, Released
from gateway.stages.repeat_cache import RepeatCache
from gateway.state.journal import Journal
from gateway.units import Epsilon

_NAME: Final = "h"
_NOTHING: Final = Sql("", "SELECT 1")
_MOST_WANTED: Final = 4
"""How many histograms one statement looks for: each takes as much work as a query of its own."""


class Unsold:
    """A histogram that the account cannot have now: its quota or an earlier answer stands against it."""


@dataclass(frozen=True)
class ClippedPart:
    """A part whose rows are weighted: of the release at this place. `exact`: its histogram speaks of its very rows."""

    place: int
    analysis: Analysis
    exact: bool

    @property
    def key(self) -> PartKey:
        """The place of its release, and the names of its keys."""
        return part_key(self.place, self.analysis)


@dataclass(frozen=True)
class WantedHistogram:
    """A histogram that parts of a query need: the query that it is bought with, what it is of, and these parts.

    `instead` is the one of all rows, where this one is of those under the conditions of the statement. `quoted` is what the
    subject would be charged for it now, once it is known; before, it is the whole price.
    """

    query: AnalyzedQuery
    rows: Aggregate
    parts: tuple[ClippedPart, ...]
    instead: "WantedHistogram | None" = None
    quoted: Epsilon | None = None

    @property
    def price(self) -> Epsilon:
        """What it costs its subject."""
        return price_of(self.query) if self.quoted is None else self.quoted

    @property
    def over(self) -> str:
        """Its tables and keys, as analysts read them."""
        return _over(self.rows, filtered=self.instead is not None)

    def with_part(self, place: int, part: Analysis) -> "WantedHistogram":
        """The same, for one more part."""
        one = ClippedPart(place, part, part.plan.child == self.rows.child)
        instead = None if self.instead is None else self.instead.with_part(place, part)
        return replace(self, parts=(*self.parts, one), instead=instead)

    def serves(self, rows: Aggregate) -> bool:
        """Whether it is the histogram of these rows, too."""
        mine, others = ({key for _, key in one.keys} for one in (self.rows, rows))
        return mine == others and self.rows.child == rows.child


def part_key(place: int, part: Analysis) -> PartKey:
    """What a part of the release at this place is known by in its statement."""
    return place, tuple(name for name, _ in part.plan.keys)


def find_wanted(query: AnalyzedQuery, dataset: ServedDataset) -> tuple[WantedHistogram, ...]:
    """The histograms that the weights of a query are chosen from; none where the policy sells none."""
    found: list[WantedHistogram] = []
    if not dataset.policy.clipping.price:
        return ()
    for place, (step, release) in enumerate(zip(query.cut.releases, query.releases, strict=True)):
        for part in filter(needs_norms, release.parts):
            one = _wanted(query, dataset, step, part)
            if one is None:
                continue
            known = next((at for at, each in enumerate(found) if each.serves(one.rows)), None)
            if known is not None:
                found[known] = found[known].with_part(place, part)
            elif len(found) < _MOST_WANTED:
                # a statement with more grouping sets has the declared clip in the others
                found.append(one.with_part(place, part))
    return tuple(found)


def _wanted(
    query: AnalyzedQuery, dataset: ServedDataset, step: Release, part: Analysis
) -> WantedHistogram | None:
    """The histogram for a part, without it: of all rows, or where the policy says so of those that the statement selects.

    None where all rows or their keys follow from a staged constant, too. What a statement selects by one is audited after the
    charge, so such rows have the histogram of all rows.
    """
    if step.whole is None:
        raise BrokenPlan("a release before its rows are permitted")
    sold = _sold(query, dataset, step.whole, part)
    if not can_count_norms(sold.rows):
        return None
    of_all = WantedHistogram(_query_of(query, dataset, sold), sold.rows, ())
    if not dataset.policy.clipping.exact:
        return of_all
    exact = _sold(query, dataset, step.plan, part)
    if exact.rows.child == sold.rows.child or not can_count_norms(exact.rows):
        return of_all
    query = _query_of(query, dataset, exact, filtered=True)
    return WantedHistogram(query, exact.rows, (), of_all)


def _over(rows: Aggregate, *, filtered: bool) -> str:
    return f"{scope_text(rows)}, filtered" if filtered else scope_text(rows)


def _sold(
    query: AnalyzedQuery, dataset: ServedDataset, whole: Aggregate, part: Analysis
) -> SoldHistogram:
    """The histogram for a part of a statement; remembered with the statement, unless it depends on the time."""
    now, pairs = query.question.asked_at, query.currency is Currency.PURE
    names = frozenset(name for name, _ in part.plan.keys)
    proven = proofs_for(whole, dataset)
    made = partial(_make_sold, query.cut, whole, names, now, proven, pairs=pairs)
    if reads_time(whole):
        return made()
    key = (id(whole), id(proven), names)
    # the plan and the proofs are kept beside what is made of them, so that no others have their identities
    return dataset.histograms.get(key, lambda: (whole, proven, made()))[2]


def _make_sold(
    cut: Cut,
    whole: Aggregate,
    names: frozenset[str],
    now: datetime,
    proven: Mapping[str, TableProof],
    *,
    pairs: bool,
) -> SoldHistogram:
    # where N alone is counted, the groups that a unit has are all the same
    rows = _rows_of(whole, frozenset() if pairs else names, now, proven)
    analysis = analyze_norms(rows, tuple(key for _, key in rows.keys), pairs=pairs)
    alone = replace(
        cut,
        steps=(Release(_NAME, analysis.plan),),
        finishing=_NOTHING,
        columns=None,
        result=None,
        traced=None,
        again=None,
        instead=None,
        notices=(),
        listed=frozenset(),
    )
    return SoldHistogram(rows, alone, AnalyzedRelease(analysis.plan, (analysis,), ()))


def _rows_of(
    whole: Aggregate, names: frozenset[str], now: datetime, proven: Mapping[str, TableProof]
) -> Aggregate:
    """The rows that a histogram is of, and those of their keys that its norms are over."""
    folded = mark_fan_out(fold_moments(whole, now), Licences(proven).meets_one)
    if not isinstance(folded, Aggregate):
        raise BrokenPlan("a release that is none any more")
    keys = tuple((name, key) for name, key in folded.keys if name in names)
    grouped = Aggregate(folded.child, keys, (), (tuple(range(len(keys))),))
    # a unit that is in one group has the norm that it has without groups
    return Aggregate(folded.child, (), (), ((),)) if constant_per_unit(grouped) else grouped


def _query_of(
    query: AnalyzedQuery, dataset: ServedDataset, sold: SoldHistogram, *, filtered: bool = False
) -> AnalyzedQuery:
    """The query that buys a histogram."""
    price = dataset.policy.clipping.price
    request = replace(
        query.question.request,
        sql=f"-- histogram of norms: {_over(sold.rows, filtered=filtered)}",
        epsilon=price,
        accuracy=None,
        idempotency=None,
        parameters=(),
        types=(),
        fresh=False,
    )
    return replace(
        query,
        question=replace(query.question, query_id=new_query_id(), request=request),
        cut=sold.cut,
        policy=dataset.histogram_policy,
        releases=(sold.release,),
        epsilon=price,
        known={},
        nulled=(),
    )


def read_histogram(
    query: AnalyzedQuery, columns: Sequence[Sequence[int]], noises: Sequence[AnyNoise]
) -> NormHistogram:
    """The histogram that was released in one row."""
    numbers = tuple(column[0] for column in columns)
    spreads = None if query.currency is Currency.PURE else numbers[BUCKETS:]
    return NormHistogram(numbers[:BUCKETS], spreads, _mechanism(query.currency, noises[0]))


def _mechanism(currency: Currency, noise: AnyNoise) -> Mechanism:
    """The noise of a bucket; of several draws that were combined, one draw as exact as they are."""
    if isinstance(noise, DiscreteGaussian | DiscreteLaplace):
        return noise
    variance = variance_of(noise)
    if currency is Currency.PURE:
        return DiscreteLaplace(Fraction(max(1, isqrt(int(variance / 2)))))
    return DiscreteGaussian(variance)


def held_histogram(
    query: AnalyzedQuery, quote: Quote, cache: ReleaseCache, repeats: RepeatCache
) -> NormHistogram:
    """The histogram that the quote finds among earlier releases, for nothing."""
    contents = load_contents(cache, quote.taken)

    def read() -> NormHistogram:
        [release] = quote.releases
        [part] = release.measurements
        table, _ = assemble_table(part, None, contents)
        return read_histogram(query, table.measured, table.noises)

    return repeats.histogram(quote, contents, read)


def by_part(
    served: Iterable[tuple[WantedHistogram, NormHistogram]],
) -> Mapping[PartKey, ServedHistogram]:
    """The histogram of each part that has one."""
    return {
        part.key: ServedHistogram(histogram, part.exact)
        for wanted, histogram in served
        for part in wanted.parts
    }


def is_worth(
    query: AnalyzedQuery, wanted: Sequence[WantedHistogram], journal: Journal, now: datetime
) -> bool:
    """Whether these cost no more than the query, and each account on the path has so much left as both cost."""
    price = price_of_all(wanted)
    if not wanted or price > price_of(query):
        return False
    both = price_of(query) + price
    return all(
        _has_left(account, both, journal, now) for account in accounts_on_path(journal, query)
    )


def _has_left(account: Account, price: Epsilon, journal: Journal, now: datetime) -> bool:
    """For its lifetime and in its window."""
    left = journal.read(partial(quota_left, now=now, name=account.name))
    if left is None or left.epsilon_remaining < price:
        return False
    return left.window is None or left.window.epsilon_remaining >= price


def price_of_all(wanted: Iterable[WantedHistogram]) -> Epsilon:
    """What these histograms cost together."""
    return sum((one.price for one in wanted), Epsilon.zero())


def with_histograms(done: Released, bought: Sequence[Bill]) -> Released:
    """What is released, with what was charged for histograms before it."""
    paid = [one for one in bought if one.charged]
    if not paid:
        return done
    bill = done.bill
    charged = sum((one.charged for one in paid), bill.charged)
    rhos = [one.rho for one in (bill, *paid) if one.rho is not None]
    notice = f"epsilon {charged - bill.charged} of this was charged for {_counted(len(paid))}"
    return replace(
        done,
        bill=replace(
            bill,
            charged=charged,
            rho=sum(rhos, Fraction(0)) if rhos else None,
            notices=(*bill.notices, notice),
        ),
    )


def add_histograms(
    query: AnalyzedQuery, estimate: Estimate, missing: Sequence[WantedHistogram]
) -> Estimate:
    """The estimate with the price of the histograms that the query would buy first.

    The clip will be another one then, so nothing that was measured under the present one is a part of the answer.
    """
    if not missing or not estimate.price:
        return estimate
    more = price_of_all(missing)
    many = len(missing)
    notice = (
        f"epsilon {more} of the price is for {_counted(many)}, which later queries need not buy; the margins are those under the"
        f" clip without {'it' if many == 1 else 'them'}, and may be much larger under the clip that is chosen then"
    )
    early = _columns_of(query, {part.place for one in missing for part in one.parts})
    columns = tuple(
        replace(one, before_histogram=at in early) for at, one in enumerate(estimate.columns)
    )
    notices = (*estimate.notices, notice)
    return replace(estimate, price=price_of(query) + more, columns=columns, notices=notices)


def _columns_of(query: AnalyzedQuery, places: Collection[int]) -> frozenset[int]:
    """The columns of the answer that are computed from aggregates of the releases at these places."""
    cut = query.cut
    names = {one.name for place, one in enumerate(cut.releases) if place in places}
    readings = () if cut.traced is None else cut.traced.readings
    return frozenset(
        at
        for cells in readings
        if cells.name in names
        for at, form in enumerate(cells.forms)
        if form is not None
    )


def _counted(many: int) -> str:
    return "a histogram of norms" if many == 1 else f"{many} histograms of norms"
