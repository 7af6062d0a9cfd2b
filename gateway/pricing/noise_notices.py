"""Notices about columns that are mostly noise, with the price that would help.

Takes a query, the accounts that pay, and what was released for it. Gives a notice for each aggregate whose 95 % margin is
larger than its value in most groups: with the epsilon at which the margin is the mean of these values, if the policy
allows it, and the advice to ask for fewer groups.

INVARIANT: everything here is computed from noisy integers that are released and public parameters of the noise. Groups
whose aggregates are blank, and aggregates that are reported in ranges, do not count.
INVARIANT: the same released tables give the same notices, whichever front end asks.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from math import isfinite
from typing import Final

from gateway.budget.account import Account
from gateway.catalog.types import Family
from gateway.intervals.expected_error import error_of
from gateway.plan.formulas import AggregateRef
from gateway.pricing.accuracy import Promise, Trial
from gateway.pricing.price import AnalyzedQuery, noise_at, price_of
from gateway.requests.request import Accuracy
from gateway.results.rollup import NoisyRelease, PricedRelease, weighted_totals
from gateway.sensitivity.choices import Chosen
from gateway.units import Epsilon

_MOST_ROWS: Final = 10_000
_MOST_COLUMNS: Final = 3
_NUMBERS: Final = frozenset({Family.WHOLE, Family.EXACT, Family.FLOAT})


@dataclass(frozen=True, slots=True)
class _NoisyColumn:
    """A column of the result that is one aggregate of a release; `mean` is that of its values."""

    number: int
    name: str
    release: str
    ref: AggregateRef
    wide: int
    cells: int
    mean: float


def noise_notices(
    query: AnalyzedQuery,
    accounts: Sequence[Account],
    noisy: Mapping[str, NoisyRelease],
    small: Mapping[str, frozenset[int]],
) -> tuple[str, ...]:
    """A notice for each of the first columns that are mostly noise."""
    found = [one for one in _columns(query, noisy, small) if 2 * one.wide > one.cells]
    return tuple(_notice(query, accounts, one) for one in found[:_MOST_COLUMNS])


def _columns(
    query: AnalyzedQuery,
    noisy: Mapping[str, NoisyRelease],
    small: Mapping[str, frozenset[int]],
) -> Iterator[_NoisyColumn]:
    traced = query.cut.traced
    for cells in () if traced is None else traced.readings:
        release = noisy.get(cells.name)
        if release is None or release.rows > _MOST_ROWS:
            continue
        columns = zip(query.cut.result or (), cells.forms, strict=False)
        for number, (column, form) in enumerate(columns):
            if isinstance(form, AggregateRef) and _is_number(release, form):
                counted = _count(release, form, small.get(cells.name, frozenset()))
                yield _NoisyColumn(number, column.name, cells.name, form, *counted)


def _is_number(release: NoisyRelease, form: AggregateRef) -> bool:
    """Whether cells are noisy numbers, and not choices or ranges."""
    rolled = release.priced.rolled
    _, measure = rolled.plan.measures[form.place]
    chosen = any(isinstance(one.formulas[form.place], Chosen) for one in rolled.levels)
    ranged = any(rolled.ranges[form.place : form.place + 1])
    return measure.type.family in _NUMBERS and not chosen and not ranged


def _count(
    release: NoisyRelease, form: AggregateRef, blank: frozenset[int]
) -> tuple[int, int, float]:
    """How many values are smaller than their margins, of how many, and the mean of these values."""
    _, measure = release.priced.rolled.plan.measures[form.place]
    texts = (
        text
        for level in release.levels
        for text in level.texts(form.place, measure.type, clamp=False)
    )
    [intervals] = weighted_totals(release).intervals(form)  # a price changes noise alone
    wide, values = 0, list[float]()
    for row, (text, ends) in enumerate(zip(texts, intervals, strict=True)):
        if text is None or ends is None or row in blank:
            continue
        value = float(text)
        values.append(value)
        wide += max(value - ends[0], ends[1] - value) > abs(value)
    return wide, len(values), sum(values) / max(len(values), 1)


def _notice(query: AnalyzedQuery, accounts: Sequence[Account], column: _NoisyColumn) -> str:
    of = "1 cell" if column.cells == 1 else f"{column.cells} cells"
    said = f"the 95 % margin is larger than the value in {column.wide} of {of} of `{column.name}`"
    instead = "ask for fewer or larger groups" if column.cells > 1 else "ask about more rows"
    price = _price(query, accounts, column)
    if price is None:
        return f"{said}; {instead}"
    reached = "the mean of these cells" if column.cells > 1 else "the value"
    return f"{said}; epsilon {price} would bring it to {column.mean:.3g}, {reached}; or {instead}"


def _price(
    query: AnalyzedQuery, accounts: Sequence[Account], column: _NoisyColumn
) -> Epsilon | None:
    """The least price with a margin of the mean; None without one, or where it would not help or is not allowed."""
    if not isfinite(column.mean) or column.mean <= 0:
        return None
    place = [step.name for step in query.cut.releases].index(column.release)
    release, ledger = query.releases[place], accounts[0].ledger
    promises = []
    for level in release.levels:
        error = error_of(column.ref, level.formulas, release.ranges)
        if error is None or error.means or error.choice is not None:
            return None
        promises.append(Promise(column.number, level, error))

    def noise(price: Epsilon) -> PricedRelease:
        return noise_at(query, ledger.cost(price))[place]

    price = Trial(Accuracy(margin=Fraction(column.mean)), promises, noise).cheapest()
    if price is None or not price_of(query) < price <= query.policy.privacy.highest_price:
        return None
    return price
